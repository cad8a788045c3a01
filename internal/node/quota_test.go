package node_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/papertrace/patra/internal/app/registry"
	"github.com/papertrace/patra/internal/app/role"
	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/infra/sourcefile"
	"github.com/papertrace/patra/internal/infra/sqlstore"
	"github.com/papertrace/patra/internal/patratest"
	"github.com/papertrace/patra/internal/sim"
)

// quotaPack is a source of a thousand requests a day for all its operations, of which
// each has a minimum.
const quotaPack = `source: generic
name: Generic
baseUrl: http://oracle/generic
recordType: item
identity: TEXT
http: {allowHttp: true, allowPrivate: true}
rateLimit:
  limit: 10
  window: 1s
  qps: 2
  burst: 1
  quotas: [{limit: 1000, window: 1d}]
  quotaShares: {harvest: 40, backfill: 20, update: 20}
window: {key: updated, filters: {from: updated, to: updated}, precision: SECOND, bound: OPEN, updatedAt: PATH, safetyLag: 10m, baseline: 1h, step: 1d, minStep: 1h, overlap: 10m, target: 40}
pagination: {type: TOKEN, pageSize: 2, total: EXACT, end: [NO_TOKEN, TOTAL]}
endpoints:
  items:
    usage: SEARCH
    path: /items
    format: JSON
    query: {from: "${iso(window.from)}", to: "${iso(window.to)}", style: token, size: "${page.size}", token: "${page.token}"}
    response: {items: items, total: total, id: id, updatedAt: {path: updated, format: RFC3339, key: updated}, version: v, nextToken: next_token, signals: {error: error}}
  count:
    usage: COUNT
    path: /items
    format: JSON
    query: {from: "${iso(window.from)}", to: "${iso(window.to)}", style: offset, size: "1", only: count}
    response: {root: total, total: total}
tasks:
  update:
    batching: {idBatchSize: 2}
    endpoints:
      again:
        usage: DETAIL
        method: POST
        path: /batch
        format: JSON
        form: {ids: "${join(ids, ',')}"}
        response: {items: items, id: id, updatedAt: {path: updated, format: RFC3339, key: updated}, version: v}
mapping: {fields: {title: title, url: id}, volatile: [updated, v, reads]}
schedule: {harvest: "@hourly"}
`

// newQuotaServed serves quotaPack from an oracle that enforces the quota.
func newQuotaServed(t *testing.T) *served {
	t.Helper()
	o, err := sim.New(sim.Config{
		Sources: []string{sim.Generic}, Seed: 7, LimitRPS: -1, KeepLog: -1, Now: time.Now(), Records: 3000, Span: 30 * 24 * time.Hour,
		Churn: &sim.Churn{New: 1500}, Quota: sim.Quota{Requests: 1000, Window: 24 * time.Hour},
	})
	if err != nil {
		t.Fatal(err)
	}
	p, err := sourcefile.Parse("generic.yaml", []byte(quotaPack))
	if err != nil {
		t.Fatal(err)
	}
	s := &served{t: t, oracle: o, poll: 5 * time.Minute, packs: map[string]registry.Described{"generic": {Definition: p.Definition, Hash: p.Hash(), Origin: registry.File}}}
	s.dsn = patratest.SQLite.SpareDSN(t)
	s.assemble(patratest.Open(t, s.dsn, sqlstore.Options{}))
	return s
}

// operationOf tells by what a request asks for which operation sent it, where every
// HARVEST reads what came after an instant and every BACKFILL what came before.
func operationOf(r sim.Request, began time.Time) harvest.Operation {
	if r.Method == http.MethodPost {
		return harvest.Update
	}
	to, err := time.Parse(time.RFC3339, r.Params.Get("to"))
	if err == nil && to.Before(began) {
		return harvest.Backfill
	}
	return harvest.Harvest
}

// TestR69_OneQuotaForThreeOperations: a thousand requests a day, which the upstream
// enforces, are wanted by a HARVEST of every hour, a BACKFILL of a month and an UPDATE of
// all that is held, which together want more than twice as many. None is refused, no
// operation gets less than its minimum on any day on which it has so much to do, what is
// kept back is left to the HARVEST, and the plans have said what the walks took.
func TestR69_OneQuotaForThreeOperations(t *testing.T) {
	t.Parallel()
	servedBubble(t, func(t *testing.T) {
		const day = 24 * time.Hour
		s := newQuotaServed(t)
		began := time.Now()
		stop := s.begin(role.All...)
		plan := func(tr harvest.Trigger) {
			t.Helper()
			tr.Provenance = "generic"
			tr.Kind = "MANUAL"
			if _, err := s.Planner.Plan(t.Context(), tr); err != nil {
				t.Fatal(err)
			}
		}
		plan(harvest.Trigger{Operation: harvest.Backfill, Activity: "month", From: began.Add(-30 * day), To: began.Add(-2 * time.Hour)})
		time.Sleep(day)
		plan(harvest.Trigger{Operation: harvest.Update, Activity: "again", Pick: harvest.CandidatePick{SeenBefore: time.Now()}})
		time.Sleep(2 * day)
		stop()

		st := s.oracle.Stats().Sources["generic"]
		if st.Breaches != (sim.Breaches{}) {
			t.Errorf("breaches: %+v", st.Breaches)
		}
		sent := map[int]map[harvest.Operation]int{}
		for _, r := range s.oracle.Requests() {
			d := int(r.At.Sub(began) / day)
			if sent[d] == nil {
				sent[d] = map[harvest.Operation]int{}
			}
			sent[d][operationOf(r, began.Add(-time.Hour))]++
		}
		t.Logf("sent by day: %v", sent)
		least := map[harvest.Operation]int{harvest.Harvest: 360, harvest.Backfill: 180, harvest.Update: 180}
		for d := range 3 {
			for op, n := range least {
				if d == 0 && op == harvest.Update {
					continue // there was none
				}
				if sent[d][op] < n {
					t.Errorf("day %d: %d requests of %s, its minimum is %d", d, sent[d][op], op, n)
				}
			}
		}
		planned, walked := s.plannedAndSent()
		t.Logf("planned %d, sent %d", planned, walked)
		if off := planned - walked; walked < 1000 || 10*max(off, -off) > walked {
			t.Errorf("%d requests were planned for slices that took %d", planned, walked)
		}
		s.gateIsToldOf()
		patratest.MustVerify(t, s.Store)
	})
}

// gateIsToldOf fails unless every page says what the rate gate said of its request, and
// the runs sum up what their pages took.
func (s *served) gateIsToldOf() {
	s.t.Helper()
	db := patratest.Raw(s.t, s.dsn)
	var pages, told, permits, ofRuns, sent, kept int64
	err := db.QueryRowContext(s.t.Context(), `SELECT COUNT(*), SUM(JSON_EXTRACT(response_digest, '$.rate.limitKey')='generic' AND
		JSON_EXTRACT(response_digest, '$.rate.permitCost')=1 AND JSON_EXTRACT(response_digest, '$.rate.r')>0 AND
		JSON_EXTRACT(response_digest, '$.rate.decision') IN ('ALLOW', 'WAIT')), SUM(JSON_EXTRACT(stats, '$.permitsTotal')), SUM(sent)
		FROM ing_task_run_batch WHERE status_code='SUCCEEDED'`).Scan(&pages, &told, &permits, &sent)
	if err != nil {
		s.t.Fatal(err)
	}
	if pages == 0 || told != pages || permits != sent {
		s.t.Errorf("%d of %d pages say what the gate said, with %d permits for %d requests", told, pages, permits, sent)
	}
	err = db.QueryRowContext(s.t.Context(), `SELECT SUM(JSON_EXTRACT(stats, '$.permitsTotal')), SUM(JSON_EXTRACT(stats, '$.quotaSoftHits'))
		FROM ing_task_run WHERE status_code<>'RUNNING'`).Scan(&ofRuns, &kept)
	if err != nil {
		s.t.Fatal(err)
	}
	if ofRuns < permits || kept == 0 {
		s.t.Errorf("runs tell of %d permits where pages took %d, and of %d refusals for what is kept back", ofRuns, permits, kept)
	}
}

// plannedAndSent is how many requests were planned for the slices that are done, and how
// many these took.
func (s *served) plannedAndSent() (planned, sent int64) {
	s.t.Helper()
	db := patratest.Raw(s.t, s.dsn)
	err := db.QueryRowContext(s.t.Context(), `SELECT COALESCE(SUM(JSON_EXTRACT(p.slice_spec, '$.hints.expectedRequests')),0),
		COALESCE(SUM((SELECT SUM(b.sent) FROM ing_task_run_batch b WHERE b.slice_id=p.id)),0)
		FROM ing_plan_slice p WHERE p.status_code='DONE'`).Scan(&planned, &sent)
	if err != nil {
		s.t.Fatal(err)
	}
	return planned, sent
}
