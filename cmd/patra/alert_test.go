package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/papertrace/patra/internal/app/alert"
	"github.com/papertrace/patra/internal/infra/sqlstore"
	"github.com/papertrace/patra/internal/patratest"
	"github.com/papertrace/patra/internal/sim"
)

// plantAlert makes one that fires.
func (d *desk) plantAlert() {
	d.Helper()
	store := patratest.Open(d.T, "sqlite:"+d.file, sqlstore.Options{})
	found := alert.Find(alert.Facts{Sources: []alert.SourceFacts{{Code: "mini", Stopped: true, StoppedBy: "auth_refused: answered 401"}}})
	err := store.UpdateAlerts(d.Context(), nil, func(now time.Time, held []alert.Alert) []alert.Change { return alert.Judge(now, held, found, true) })
	if err != nil {
		d.Fatal(err)
	}
}

// TestAlert_ShownKnownAndSnoozed: an alert is listed with its sentence, shown with its
// rule, and acknowledged and snoozed with a preview, a reason and a line of the audit.
func TestAlert_ShownKnownAndSnoozed(t *testing.T) {
	d := newDesk(t, sim.Config{Records: 10, Seed: 3})
	d.must(0, "source", "list") // makes the database
	out, note := d.must(0, "alert", "list")
	says(t, out, "nothing fires")
	says(t, note, "sent to nobody")
	d.plantAlert()
	out, _ = d.must(0, "alert", "list")
	says(t, out, "source_stopped", "firing", "critical", "mini", "answered 401")
	out, _ = d.must(0, "alert", "show", "1")
	says(t, out, "A fatal fault", "next: patra source check mini")
	d.must(exitNotFound, "alert", "show", "9")
	d.must(exitUsage, "alert", "ack", "1")
	out, _ = d.must(0, "alert", "ack", "1", "--dry-run", "--json")
	var look struct {
		Applied, Changes bool
		Token            string
	}
	if err := json.Unmarshal([]byte(out), &look); err != nil || look.Applied || !look.Changes || look.Token == "" {
		t.Fatalf("%+v, %v", look, err)
	}
	d.must(0, "alert", "ack", "1", "--apply", look.Token, "--reason", "the key is on its way")
	d.must(exitConflict, "alert", "ack", "1", "--apply", look.Token, "--reason", "again")
	out, _ = d.must(0, "alert", "list")
	says(t, out, "known")
	out, _ = d.must(0, "alert", "snooze", "1", "--for", "2h", "--reason", "lunch")
	says(t, out, "snoozed until")
	out, _ = d.must(0, "alert", "list", "--json")
	says(t, out, `"snoozed_until"`, `"acknowledged_because"`, "the key is on its way")
	out, _ = d.must(0, "alert", "snooze", "1", "--for", "0s", "--reason", "back")
	says(t, out, "no longer snoozed")
	d.must(exitUsage, "alert", "snooze", "1", "--for", "-2h", "--reason", "x")
	out, _ = d.must(0, "audit", "list")
	says(t, out, "ALERT_ACK", "ALERT_SNOOZE", "alert/1", "lunch")
}

// TestAlert_TestSaysWhetherItArrived: a message that says it is a test goes to the
// targets of the environment; what did not arrive is told, without the address.
func TestAlert_TestSaysWhetherItArrived(t *testing.T) {
	d := newDesk(t, sim.Config{Records: 10, Seed: 3})
	_, note := d.must(exitUsage, "alert", "test")
	says(t, note, "no_alert_target", "PATRA_ALERTS")
	status, body := 200, ""
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b := new(strings.Builder)
		_ = r.Write(b)
		body = b.String()
		w.WriteHeader(status)
	}))
	defer srv.Close()
	t.Setenv("PATRA_ALERTS", "webhook+"+srv.URL+"/v3ry-s3cret-path#ops")
	out, _ := d.must(0, "alert", "test", "--dry-run")
	says(t, out, "ops (webhook): a message would be sent")
	if body != "" {
		t.Error("a dry run sends")
	}
	out, _ = d.must(0, "alert", "test", "ops")
	says(t, out, "ops (webhook): sent")
	says(t, body, "patra.alert.test")
	status = 500
	out, note = d.must(exitFailed, "alert", "test")
	says(t, out, "not sent", "500")
	if strings.Contains(out+note, "v3ry-s3cret-path") {
		t.Errorf("the address was printed: %s%s", out, note)
	}
	d.must(exitNotFound, "alert", "test", "nobody")
	t.Setenv("PATRA_ALERTS", "telegram+https://x/v3ry-s3cret-path")
	_, note = d.must(exitUsage, "alert", "test")
	says(t, note, "alert_targets", "no kind of target")
}
