package styletest

import (
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/sim"
)

// A plan that was not paid for is no throttling: only a person can mend it.
const planFaults = `faults:
  - {code: plan_refused, status: 429, body: 'Plan upgrade required', level: L4}
  - {code: token_expired, status: 410, level: L1, reaction: RESTART}
`

// oneSlice does not let a slice be cut: what cannot be walked is a gap.
const oneSlice = `window:
  key: updated
  filters: {from: updated, to: updated}
  precision: SECOND
  bound: OPEN
  updatedAt: PATH
  safetyLag: 10m
  baseline: 30d
  step: 30d
  minStep: 30d
`

// bad is a source that cannot be harvested, and how that must end.
type bad struct {
	row
	code    string // of the fault that is told
	stopped bool   // whether the source is, or else one slice is a gap
	most    int    // requests
}

// TestStyles_NeverDone: what an upstream does wrong for good ends in a gap or
// stops the source, with a name, after a bounded number of requests. Nothing is
// called complete.
func TestStyles_NeverDone(t *testing.T) {
	tokens := func(name string, o sim.GenericStyle, pack string) row {
		return row{name: name, oracle: o, pack: pack, query: sendToken, response: nextToken}
	}
	links := func(name string, o sim.GenericStyle, pack string) row {
		return row{name: name, oracle: o, pack: pack, response: "nextUrl: next"}
	}
	const byURL = `pagination: {type: URL, pageSize: 20, total: ROUGH, end: NO_URL, maxPages: 20}` + "\n"
	const walks = 10 * 3 // runs, and walks in each
	for _, b := range []bad{
		{tokens("TOKEN, stuck", sim.GenericStyle{Paging: "token", End: "stuck"}, oneSlice+byToken), "page_repeats", false, walks*3 + 2},
		{tokens("TOKEN, stall", sim.GenericStyle{Paging: "token", End: "stall"}, oneSlice+byToken), "max_pages", false, 50 + 2},
		{links("URL, stuck", sim.GenericStyle{Paging: "url", End: "stuck"}, oneSlice+byURL), "page_repeats", false, walks*3 + 2},
		{links("URL, stall", sim.GenericStyle{Paging: "url", End: "stall"}, oneSlice+byURL), "max_pages", false, 20 + 2},
		{row{
			name: "R22 PAGE, in circles", oracle: sim.GenericStyle{Paging: "page", End: "circle"}, query: "page: ${page.no}",
			pack: oneSlice + `pagination: {type: PAGE, pageSize: 20, firstPage: 0, snapshot: true, total: ROUGH, end: EMPTY_PAGE}`,
		}, "nothing_new", false, 3 + harvest.MaxOldPages + 2},
		{row{
			name: "R22 OFFSET over a snapshot, in circles", oracle: sim.GenericStyle{Paging: "offset", End: "circle"}, query: sendOffset,
			pack: oneSlice + tillEmpty,
		}, "nothing_new", false, 3 + harvest.MaxOldPages + 2},
		{links("R49 URL, to another host", sim.GenericStyle{Paging: "url", Href: "foreign"}, oneSlice+byURL), "hostile_url", false, 1 + 2},
		{row{
			name: "R49 Link header, to another host", oracle: sim.GenericStyle{Paging: "link", Href: "foreign"},
			pack: oneSlice + byURL, response: "nextUrl: header:Link",
		}, "hostile_url", false, 1 + 2},
		{row{
			name: "OAI-PMH, stuck", oracle: sim.GenericStyle{Format: "oai", End: "stuck"},
			pack: strings.Replace(oaiPack("SECOND"), "minStep: 1d", "minStep: 30d", 1), search: oaiSearch("iso(window.from)", "iso(window.last)"), count: "none",
		}, "page_repeats", false, walks*3 + 2},
		{row{
			name: "OAI-PMH, stall", oracle: sim.GenericStyle{Format: "oai", End: "stall"},
			pack: strings.Replace(oaiPack("SECOND"), "minStep: 1d", "minStep: 30d", 1), search: oaiSearch("iso(window.from)", "iso(window.last)"), count: "none",
		}, "nothing_new", false, 50 + 2},
		{row{
			name: "tokenParam that is not in the link", oracle: sim.GenericStyle{Paging: "links", Href: "foreign"}, pack: byToken, query: sendToken,
			response: "nextToken: links[rel=next].href\ntokenParam: cursor",
		}, "schema_drift", true, 2 + 2},
		{row{
			name: "R24 missing items are no empty page", oracle: sim.GenericStyle{Paging: "offset", Empty: "missing"}, pack: tillEmpty, query: sendOffset,
		}, "schema_drift", true, 7 + 2},
		{row{
			name: "R24 items under another name", oracle: sim.GenericStyle{Paging: "offset"}, pack: tillEmpty, query: sendOffset, response: "items: results",
		}, "schema_drift", true, 2 + 2},
		{row{
			name: "R32 ids under another name", oracle: sim.GenericStyle{Paging: "token", ID: "composite"}, pack: byToken, query: sendToken, response: nextToken,
		}, "schema_drift", true, 1 + 2},
		{tokens("R24 exact total never reached", sim.GenericStyle{Paging: "token", Total: "wrong"}, oneSlice+
			`pagination: {type: TOKEN, pageSize: 20, total: EXACT, end: NO_TOKEN}`), "total_not_reached", false, walks*5 + 2},
		{row{
			name: "R24 silent wall, not declared", oracle: sim.GenericStyle{Paging: "offset", Depth: 40, Beyond: "cut"},
			pack:  oneSlice + `pagination: {type: OFFSET, pageSize: 20, order: "updated,id", total: EXACT, end: EMPTY_PAGE}`,
			query: sendOffset,
		}, "total_not_reached", false, walks*4 + 2},
		{row{
			name: "R24 wall before the total, not declared", oracle: sim.GenericStyle{Paging: "offset", Depth: 40}, pack: oneSlice, query: sendOffset,
		}, "empty_page", false, walks*4 + 2},
		{with(tokens("R24 silent wall before what cannot be cut", sim.GenericStyle{Paging: "token", Depth: 40, Beyond: "cut", Total: "absent"}, oneSlice+
			`pagination: {type: TOKEN, pageSize: 20, end: NO_TOKEN, maxItems: 40}`), func(w *row) { w.response, w.count = nextToken+"\ntotal:", "none" }), "over_wall", false, 1 + 2},
		{tokens("R43 wall that refuses, not declared", sim.GenericStyle{Paging: "token", Depth: 40}, oneSlice+byToken), "http_400", false, 3 + 2},
		{row{
			name: "R58 short pages with a lying flag never end a walk by themselves", oracle: sim.GenericStyle{Paging: "offset", Depth: 45, Beyond: "cut", Sizes: "varying"},
			pack:  oneSlice,
			query: sendOffset,
		}, "empty_page", false, walks*6 + 2},
		{tokens("R59 redirect that is not allowed", sim.GenericStyle{Paging: "token", Redirect: "301"}, byToken), "unexpected_redirect", true, 2 + 2},
		{with(authRow("R42 every key refused", "key", "auth: {type: API_KEY, in: HEADER, name: X-API-Key}", "a-key-that-is-wrong-1", "a-key-that-is-wrong-2"), func(w *row) {}), "auth_refused", true, 4},
		{with(authRow("R42 JWT expiry that is not declared", "jwt", "auth: "+loginByKey, goodKey), endsEarly), "http_403", false, 8},
	} {
		t.Run(b.name, func(t *testing.T) {
			t.Parallel()
			bubble(t, func(t *testing.T) {
				r := newRun(t, b.row, sim.Faults{})
				err := r.harvest()
				r.neverDone(b, err)
			})
		})
	}
}

// neverDone holds how a harvest ended against how it must.
func (r *run) neverDone(b bad, err error) {
	r.t.Helper()
	if n := len(r.Sim.Requests()); n > b.most {
		r.t.Errorf("%d requests, want at most %d:\n%s", n, b.most, r.asked())
	}
	reason := ""
	switch {
	case err != nil: // it did not come to a plan
		reason = err.Error()
		if !b.stopped {
			r.t.Errorf("no plan: %v", err)
		}
	case r.rep.Slices.Done > 0 || r.rep.Status == "COMPLETED":
		r.t.Errorf("called complete: %+v\n%s", r.rep, r.asked())
	case b.stopped:
		reason = r.rep.State.Reason
		if !r.rep.State.Stopped {
			r.t.Errorf("the source was not stopped: %+v\n%s", r.rep, r.asked())
		}
	case len(r.rep.Gaps) != 1:
		r.t.Errorf("gaps: %+v\n%s", r.rep, r.asked())
	default:
		reason = r.rep.Gaps[0].Reason
	}
	if !strings.Contains(reason, b.code) {
		r.t.Errorf("ended with %q, want %s", reason, b.code)
	}
	if r.rep != nil && r.rep.Watermark != nil && *r.rep.Watermark != r.rep.Window.From {
		r.t.Errorf("the watermark moved from %s to %s", r.rep.Window.From, *r.rep.Watermark)
	}
}

// TestR61_PlanRefusalStopsTheSource: a 429 that says so is L4, in the middle of a
// walk as well, and is not asked again.
func TestR61_PlanRefusalStopsTheSource(t *testing.T) {
	w := row{oracle: sim.GenericStyle{Paging: "token"}, pack: byToken + planFaults, query: sendToken, response: nextToken}
	bubble(t, func(t *testing.T) {
		r := newRun(t, w, sim.Faults{})
		var pages atomic.Int64
		r.Sim.SetOnRequest(func(q *http.Request) {
			if isPage(q) && pages.Add(1) == 3 {
				free := w.oracle
				free.Plan = "free"
				if err := r.Sim.SetGeneric(free); err != nil {
					t.Error(err)
				}
			}
		})
		r.neverDone(bad{row: w, code: "plan_refused", stopped: true, most: 2 + 3}, r.harvest())
	})
	t.Run("before the plan", func(t *testing.T) {
		w := w
		w.oracle.Plan = "free"
		bubble(t, func(t *testing.T) {
			r := newRun(t, w, sim.Faults{})
			if err := r.harvest(); err == nil || !strings.Contains(err.Error(), "plan_refused") {
				t.Errorf("a count refused for good: %v", err)
			}
			if n := len(r.Sim.Requests()); n != 1 {
				t.Errorf("%d requests:\n%s", n, r.asked())
			}
		})
	})
}

// TestR63_ThreeReactions meets one fault, a 422 for the third page, with each of
// the reactions a pack can declare.
func TestR63_ThreeReactions(t *testing.T) {
	for _, c := range []struct {
		reaction string
		fault    string
		restarts int64
		cuts     int64
		repeats  int
	}{
		{reaction: "RETRY"},
		{reaction: "RESTART", restarts: 1, repeats: 2},
		{reaction: "CUT", cuts: 1},
	} {
		t.Run(c.reaction, func(t *testing.T) {
			w := row{
				oracle: sim.GenericStyle{Paging: "token", Expired: "422"}, query: sendToken, response: nextToken,
				pack: byToken + "faults:\n  - {code: token_expired, status: 422, body: 'token expired', level: L1, reaction: " + c.reaction + "}\n",
			}
			bubble(t, func(t *testing.T) {
				r := newRun(t, w, sim.Faults{}, sim.Script{Fault: sim.CursorExpired, After: 1})
				r.exact()
				p := r.watch.Progress()
				if p.Restarts != c.restarts || p.Cuts != c.cuts || r.repeats()-r.probes() != c.repeats || r.Sim.Scripted() != 0 {
					t.Errorf("%d restarts, %d cuts, %d repeats, want %+v:\n%s", p.Restarts, p.Cuts, r.repeats(), c, r.asked())
				}
			})
		})
	}
	t.Run("not declared", func(t *testing.T) {
		w := row{oracle: sim.GenericStyle{Paging: "token", Expired: "422"}, query: sendToken, response: nextToken, pack: oneSlice + byToken}
		bubble(t, func(t *testing.T) {
			r := newRun(t, w, sim.Faults{}, sim.Script{Fault: sim.CursorExpired, After: 1, Times: -1})
			r.neverDone(bad{row: w, code: "http_422", most: 2 + 3}, r.harvest())
		})
	})
}

// TestR63_WallCutsAgain: a wall that is met and not foreseen, declared as CUT.
func TestR63_WallCutsAgain(t *testing.T) {
	w := row{
		oracle: sim.GenericStyle{Paging: "offset", End: "total", Depth: 40}, query: sendOffset, count: "none",
		pack: "faults:\n  - {code: over_wall, status: 400, body: 'can be paged', level: L1, reaction: CUT}\n",
	}
	bubble(t, func(t *testing.T) {
		r := newRun(t, w, sim.Faults{})
		r.exact()
		if p := r.watch.Progress(); p.Cuts == 0 {
			t.Errorf("nothing was cut: %+v\n%s", p, r.asked())
		}
	})
}
