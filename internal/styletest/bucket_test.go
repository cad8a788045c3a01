package styletest

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/patratest"
	"github.com/papertrace/patra/internal/sim"
)

const (
	bucketWindow = `window:
  key: updated
  filters: {from: updated, to: updated}
  precision: SECOND
  bound: OPEN
  updatedAt: PATH
  safetyLag: 10m
  baseline: 30d
  step: 30d
  minStep: 10d
`
	byHash      = bucketWindow + "  target: 20\n  strategy: HASH\n  split: {buckets: 16}\n"
	byBoth      = bucketWindow + "  strategy: HYBRID\n  split: {buckets: 16}\n"
	bucketQuery = "offset: ${page.offset}\nbucket: ${bucket}\nbuckets: ${buckets}"
	bucketCount = `query: {from: "${iso(window.from)}", to: "${iso(window.to)}", bucket: "${bucket}", buckets: "${buckets}", size: 1, style: offset, only: count}`
)

// buckets are sources that part their ids by a hash: where the dates are no help,
// and where the finest window is still over the wall. All are walked exactly, and
// on, as records come and change.
var buckets = []row{
	{
		name:   "HASH, every bucket counted",
		oracle: sim.GenericStyle{Paging: "offset", End: "total"},
		pack:   byHash,
		query:  bucketQuery,
		count:  bucketCount,
		rounds: 2,
		claim: func(t *testing.T, r *run) {
			r.inBuckets(4, harvest.StrategyHash)
			if n := r.watch.Progress().Cuts; n > 0 {
				t.Errorf("%d slices were cut again although all was counted", n)
			}
		},
	},
	{
		name:     "HASH, cut again where a budget is spent",
		oracle:   sim.GenericStyle{Paging: "token", End: "null"},
		pack:     byHash + "  maxRequests: 2\npagination: {type: TOKEN, pageSize: 10, total: ROUGH, end: NO_TOKEN}",
		query:    "token: ${page.token}\nbucket: ${bucket}\nbuckets: ${buckets}",
		response: "nextToken: next_token",
		count:    "none",
		claim: func(t *testing.T, r *run) {
			wasCut(t, r)
			r.inBuckets(4, harvest.StrategyHash)
		},
	},
	{
		name:     "HASH, cut again at a wall nobody told of",
		oracle:   sim.GenericStyle{Paging: "offset", Depth: 40, Beyond: "cut", Total: "absent"},
		pack:     byHash + `pagination: {type: OFFSET, pageSize: 20, order: "updated,id", end: EMPTY_PAGE, maxItems: 40}`,
		query:    bucketQuery,
		response: "total:",
		count:    "none",
		records:  150,
		claim: func(t *testing.T, r *run) {
			wasCut(t, r)
			r.inBuckets(4, harvest.StrategyHash)
		},
	},
	{
		name:   "HYBRID, buckets of windows that time does not cut",
		oracle: sim.GenericStyle{Paging: "offset", End: "total", Depth: 20, Beyond: "refuse"},
		pack:   byBoth + `pagination: {type: OFFSET, pageSize: 10, order: "updated,id", total: EXACT, end: TOTAL, maxItems: 20}`,
		query:  bucketQuery,
		count:  bucketCount,
		rounds: 2,
		claim: func(t *testing.T, r *run) {
			below(t, r)
			r.inBuckets(4, harvest.StrategyHybrid, harvest.StrategyTime)
		},
	},
	{
		name:     "HYBRID, cut again at a wall nobody told of",
		oracle:   sim.GenericStyle{Paging: "offset", Depth: 40, Beyond: "cut", Total: "absent"},
		pack:     byBoth + `pagination: {type: OFFSET, pageSize: 20, order: "updated,id", end: EMPTY_PAGE, maxItems: 40}`,
		query:    bucketQuery,
		response: "total:",
		count:    "none",
		records:  150,
		claim: func(t *testing.T, r *run) {
			wasCut(t, r)
			r.inBuckets(4, harvest.StrategyHybrid, harvest.StrategyTime)
		},
	},
}

// leaves are the slices of the source's plans that were walked.
func (r *run) leaves() (out []harvest.SliceSpec) {
	r.t.Helper()
	plans, err := r.Node.Store.Plans(r.t.Context(), control.PlanQuery{Source: code}, 100)
	if err != nil {
		r.t.Fatal(err)
	}
	for _, p := range plans {
		rows, err := r.Node.Store.Slices(r.t.Context(), control.SliceQuery{Plan: p.ID}, 0, 1000)
		if err != nil {
			r.t.Fatal(err)
		}
		for _, s := range rows {
			var spec harvest.SliceSpec
			if err := json.Unmarshal([]byte(s.Spec), &spec); err != nil {
				r.t.Fatal(err)
			}
			if s.Status != harvest.SliceResliced {
				out = append(out, spec)
			}
		}
	}
	return out
}

// inBuckets claims that there are at least so many slices over buckets, that all
// are of these strategies, and that HASH left the window whole.
func (r *run) inBuckets(least int, strategies ...harvest.StrategyCode) {
	r.t.Helper()
	n, text := 0, ""
	for _, s := range r.leaves() {
		text += fmt.Sprintf("%s %s\n", s.Strategy, s.Part())
		if _, of := s.Range.Bucket(); of > 1 {
			n++
		}
		if !slices.Contains(strategies, s.Strategy) || s.Strategy == harvest.StrategyHash && !s.Window.To.Equal(r.rep.Window.To.Time()) {
			r.t.Errorf("%s is a slice of %s", s.Part(), s.Strategy)
		}
	}
	if n < least {
		r.t.Errorf("%d slices over buckets, want %d:\n%s", n, least, text)
	}
}

// TestHash_ASourceWithoutDates is read whole by a BACKFILL, in buckets, and holds
// what there is; its requests say nothing of time. A second pass finds what is new.
func TestHash_ASourceWithoutDates(t *testing.T) {
	w := row{
		op:     harvest.Backfill,
		oracle: sim.GenericStyle{Paging: "token", End: "null", Dates: "none"},
		pack: `window: {key: pass, precision: DAY, updatedAt: NONE, strategy: HASH, split: {buckets: 64}, target: 20, maxOpen: 5}
pagination: {type: TOKEN, pageSize: 20, total: EXACT, end: NO_TOKEN}
mapping:
  fields: {title: title}
  volatile: [v, reads]`,
		query:    "from:\nto:\ntoken: ${page.token}\nbucket: \"${buckets > 1 ? text(bucket) : ''}\"\nbuckets: \"${buckets > 1 ? text(buckets) : ''}\"",
		response: "nextToken: next_token\nupdatedAt:",
		count:    `query: {bucket: "${bucket}", buckets: "${buckets}", size: 1, style: offset, only: count}`,
		records:  150,
	}
	bubble(t, func(t *testing.T) {
		r := newRun(t, w, sim.Faults{})
		for pass := range 2 {
			now := r.Sim.Now().Truncate(24 * time.Hour)
			from := now.AddDate(0, 0, -60)
			rep, err := r.Node.Control.Harvest(t.Context(), control.HarvestRequest{
				Source: code, Operation: harvest.Backfill, Activity: fmt.Sprint("pass ", pass), BaseURL: r.BaseOf(code),
				From: from, To: now.AddDate(0, 0, -1),
			})
			if err != nil || rep.Status != "COMPLETED" || !rep.Watermark.Time().Equal(from) {
				t.Fatalf("%+v, %v\n%s", rep, err, r.asked())
			}
			r.rep = rep
			r.equal()
			patratest.MustVerify(t, r.Node.Store)
			leaves := r.leaves()
			if len(leaves) < 8*(pass+1) {
				t.Errorf("pass %d: %d slices", pass, len(leaves))
			}
			for _, s := range leaves {
				if s.NominalWindow().Duration() != 59*24*time.Hour {
					t.Errorf("%s is a part of a pass", s.Part())
				}
			}
			if pass == 1 && (rep.Records.Inserted == 0 || rep.Records.Unchanged == 0) {
				t.Errorf("a second pass found %+v", rep.Records)
			}
			r.Sim.Advance(4 * 24 * time.Hour)
		}
		for _, q := range r.Sim.Requests() {
			if q.Params.Has("from") || q.Params.Has("to") {
				t.Fatalf("asked for time: %s", q.Params.Encode())
			}
		}
	})
}
