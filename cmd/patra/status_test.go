package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"strings"
	"testing"
	"time"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/patratest"
)

var _ = flag.Bool("update", false, "write testdata anew")

// aMorning is how sources fare on one morning: one is late since its upstream fails, one
// is stopped, one is well, one has two selections, one was never harvested.
func aMorning() control.Status {
	at := func(hour, minute int) *control.Time {
		return new(control.Time(time.Date(2026, 3, 1, hour, minute, 0, 0, time.UTC)))
	}
	seconds := func(d time.Duration) *control.Seconds { return new(control.Seconds(d / time.Second)) }
	return control.Status{
		At: *at(12, 0),
		Needs: []control.Need{
			{Source: "crossref", Level: control.NeedStopped, Cause: "auth_refused", Since: at(11, 52), Text: "stopped since 2026-03-01T11:52:00Z: auth_refused: HTTP 401", Next: "patra source check crossref"},
			{Source: "pubmed", Level: control.NeedLate, Cause: "http_503", Since: at(10, 40), Text: "3h0m0s behind (limit 1h40m0s) since 2026-03-01T10:40:00Z: http_503, 12 in a row", Next: "patra source check pubmed"},
		},
		Sources: []control.SourceStatus{
			{Source: "arxiv", Never: true, Freshness: control.FreshWaiting, Next: "patra harvest arxiv", Lines: []control.LineStatus{}},
			{
				Source: "crossref", Freshness: control.FreshStopped, Lag: seconds(30 * time.Minute), Limit: seconds(100 * time.Minute), LastSuccess: at(11, 50),
				Queued:  control.Counted{Count: 14},
				Rate:    &control.RateStatus{Limit: 3, Allowed: 3},
				Cause:   &control.Cause{Code: "auth_refused", Text: "HTTP 401", At: at(11, 52)},
				Waiting: &control.WaitingFor{Reason: control.ReasonLineStopped, Text: control.ReasonLineStopped.Meaning(), Unblocks: "patra source resume crossref"},
				Lines:   []control.LineStatus{{Schedule: "crossref/HARVEST", Freshness: control.FreshOnTime}},
			},
			{
				Source: "europepmc", Freshness: control.FreshOnTime, Lag: seconds(12 * time.Minute), Limit: seconds(100 * time.Minute), LastSuccess: at(11, 58),
				Running: control.Counted{Count: 1}, Quarantined: control.Counted{Count: 10_000, More: true},
				Rate: &control.RateStatus{Limit: 5, Allowed: 5, Used: 1.5, Quotas: []control.QuotaStatus{{Window: "24h0m0s", Limit: 1000, Left: 710}}},
				Lines: []control.LineStatus{
					{Schedule: "cancer", Freshness: control.FreshOnTime, Lag: seconds(12 * time.Minute), Limit: seconds(100 * time.Minute)},
					{Schedule: "insulin", Freshness: control.FreshWaiting, Unknown: "nothing of it was harvested yet"},
				},
			},
			{
				Source: "pubmed", Freshness: control.FreshLate, Lag: seconds(3 * time.Hour), Limit: seconds(100 * time.Minute), LateSince: at(10, 40), LastSuccess: at(9, 0),
				Queued:    control.Counted{Count: 2},
				OldestGap: &control.Gap{Slice: 7, Cursor: 1, From: harvest.TimeMark(time.Time(*at(1, 0))), To: harvest.TimeMark(time.Time(*at(2, 0))), Status: "FAILED", Reason: "http_400"},
				Cause:     &control.Cause{Code: "http_503", Text: "L1 http_503 (HTTP 503)", At: at(11, 59), Since: at(10, 31), Count: 12},
				Waiting:   &control.WaitingFor{Reason: control.ReasonCircuitOpen, Text: control.ReasonCircuitOpen.Meaning(), Until: at(12, 5), Unblocks: "an answer"},
				Lines:     []control.LineStatus{{Schedule: "pubmed/HARVEST", Freshness: control.FreshLate}},
			},
		},
		Events: []control.OutboxTarget{
			{Name: "lake", Kind: "file", State: control.TargetFollows, Sent: 1200, Since: *at(1, 0)},
			{Name: "nats", Kind: "nats", State: control.TargetOut, Backlog: 310, OldestAt: at(11, 40), Failures: 7, Error: "connection refused", RetryAt: at(12, 2), Since: *at(1, 0)},
		},
	}
}

// TestStatus_PrintsAsItAlwaysDid: the words, the table and the document that people and
// programs read.
func TestStatus_PrintsAsItAlwaysDid(t *testing.T) {
	var out bytes.Buffer
	c := &cli{printer: printer{out: &out, err: &out}}
	c.printStatus(aMorning())
	patratest.Golden(t, "status.txt", out.Bytes())
	out.Reset()
	if err := c.printJSON(aMorning()); err != nil {
		t.Fatal(err)
	}
	var pretty bytes.Buffer
	if err := json.Indent(&pretty, out.Bytes(), "", "  "); err != nil {
		t.Fatal(err)
	}
	patratest.Golden(t, "status.json", pretty.Bytes())
}

// TestStatus_OfNoSource: a name that is none is refused with the nearest, in words and
// as a document.
func TestStatus_OfNoSource(t *testing.T) {
	t.Parallel()
	db := patratest.SQLite.DSN(t)
	if code, _, errOut := patra(t, "db", "migrate", "--db", db); code != 0 {
		t.Fatal(errOut)
	}
	code, out, errOut := patra(t, "status", "crosref", "--db", db)
	if code != exitNotFound || out != "" {
		t.Errorf("%d %q", code, out)
	}
	patratest.Golden(t, "status_error.txt", []byte(errOut))
	code, out, _ = patra(t, "status", "crosref", "--json", "--db", db)
	if code != exitNotFound || !strings.Contains(out, `"code":"unknown_source"`) {
		t.Errorf("%d %q", code, out)
	}
	patratest.Golden(t, "status_error.json", []byte(out))
}
