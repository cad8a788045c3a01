package node_test

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/papertrace/patra/internal/app/alert"
	"github.com/papertrace/patra/internal/app/registry"
	"github.com/papertrace/patra/internal/app/role"
	"github.com/papertrace/patra/internal/infra/notify"
	"github.com/papertrace/patra/internal/node"
	"github.com/papertrace/patra/internal/patratest"
)

// mailroom is a network with one more host in it, which takes alerts.
type mailroom struct {
	http.RoundTripper
	mu  sync.Mutex
	got []alert.Message // guarded by mu
	raw []string        // guarded by mu; all that was sent
}

// RoundTrip implements http.RoundTripper.
func (m *mailroom) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Host != "alerts.test" {
		return m.RoundTripper.RoundTrip(r)
	}
	var event struct {
		Data alert.Message `json:"data"`
	}
	body, err := io.ReadAll(r.Body)
	if err == nil {
		err = json.Unmarshal(body, &event)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.got = append(m.got, event.Data)
	m.raw = append(m.raw, r.URL.String()+" "+fmt.Sprint(r.Header)+" "+string(body))
	return reply(r, http.StatusNoContent, "", ""), err
}

// told are the messages of a state, as RULE SUBJECT.
func (m *mailroom) told(s alert.State) (out []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, x := range m.got {
		if x.State == s {
			out = append(out, string(x.Rule)+" "+x.Subject)
		}
	}
	return out
}

// newAlerted is a served source that can be put out, and somebody who is told.
func newAlerted(t *testing.T) (*out, *mailroom) {
	o := newOut(t)
	m := &mailroom{RoundTripper: o}
	log := slog.New(slog.NewTextHandler(o.log, nil))
	cfg := node.Config{Workers: 2, Poll: o.poll, Logger: log, Alerts: notify.FromText("webhook+http://alerts.test/in?key=" + alertKey)}
	o.Node = node.Assemble(cfg, o.Store, registry.New(o.Store, registry.Read(o.packs), nil, node.CheckSpec, log), m)
	return o, m
}

const alertKey = "4lert-k3y-0123456789"

// TestAlerts_TenThousandFailedPagesAreOne: pages that fail for twenty minutes, 500 in
// each, are one alert and one message; it is over when they are.
func TestAlerts_TenThousandFailedPagesAreOne(t *testing.T) {
	servedBubble(t, func(t *testing.T) {
		o, m := newAlerted(t)
		stop := o.begin(role.All...)
		defer func() { stop() }()
		time.Sleep(14*time.Minute + 30*time.Second)
		db := patratest.Raw(t, o.dsn)
		for minute := range 20 {
			_, err := db.Exec(`WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i<500)
				INSERT INTO ing_task_run_batch (run_id, task_id, slice_id, plan_id, provenance_code, operation_code, batch_no, walk_no, phase, ordinal, fence,
					status_code, before_position, error_code, opened_at, committed_at)
				SELECT b.run_id, b.task_id, b.slice_id, b.plan_id, b.provenance_code, b.operation_code, ?+n.i, b.walk_no, b.phase, ?+n.i, b.fence,
					'FAILED', b.before_position, 'http_500', b.opened_at, ? FROM n, (SELECT * FROM ing_task_run_batch WHERE batch_no=1 ORDER BY id LIMIT 1) b`,
				1000*(minute+1), 1000*(minute+1), time.Now().UTC().Format("2006-01-02 15:04:05.000000"))
			if err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Minute)
		}
		var failed int
		if err := db.QueryRow(`SELECT COUNT(*) FROM ing_task_run_batch WHERE status_code='FAILED'`).Scan(&failed); err != nil || failed != 10_000 {
			t.Fatalf("%d failed pages, %v", failed, err)
		}
		if fired := m.told(alert.Firing); strings.Join(fired, ", ") != "error_rate generic/HARVEST" {
			t.Errorf("told %v", fired)
		}
		time.Sleep(10 * time.Minute)
		if over := m.told(alert.Cleared); strings.Join(over, ", ") != "error_rate generic/HARVEST" || len(m.got) != 2 {
			t.Errorf("over %v, in all %+v", over, m.got)
		}
	})
}

// TestR74_AlertsGoOnWithoutADescription: what is known of a source that was harvested, and whose
// description cannot be read, is looked at all the same, and the look says what is missing.
func TestR74_AlertsGoOnWithoutADescription(t *testing.T) {
	servedBubble(t, func(t *testing.T) {
		o, _ := newAlerted(t)
		stop := o.begin(role.All...)
		time.Sleep(30 * time.Minute)
		stop()
		if _, err := patratest.Raw(t, o.dsn).Exec(`DELETE FROM reg_provenance`); err != nil {
			t.Fatal(err)
		}
		log := slog.New(slog.NewTextHandler(o.log, nil))
		o.Node = node.Assemble(node.Config{Logger: log}, o.Store, registry.New(o.Store, registry.Read(o.packs), nil, node.CheckSpec, log).ApplyPacks(false), o)
		facts, err := o.Control.AlertFacts(t.Context())
		if err != nil || len(facts.Sources) != 1 || facts.Sources[0].Unread == nil || len(facts.Sources[0].Traffic) == 0 {
			t.Errorf("%+v, %v", facts, err)
		}
	})
}
