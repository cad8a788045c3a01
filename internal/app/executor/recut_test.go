package executor_test

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/source"
	"github.com/papertrace/patra/internal/patratest"
	"github.com/papertrace/patra/internal/sim"
)

// Manners of a source whose results are declared ascending, and of others.
var (
	ascending  = manner{style: "token", paging: `{type: TOKEN, pageSize: 10, order: "updated asc, id asc", total: ROUGH, end: [NO_TOKEN]}`, query: "order: asc\n      token: ${page.token}", reply: "      nextToken: next_token\n"}
	undeclared = manner{style: "token", paging: `{type: TOKEN, pageSize: 10, total: ROUGH, end: [NO_TOKEN]}`, query: "order: asc\n      token: ${page.token}", reply: "      nextToken: next_token\n"}
	lying      = manner{style: "token", paging: ascending.paging, query: "order: desc\n      token: ${page.token}", reply: "      nextToken: next_token\n"}
	seamed     = manner{style: "offset", paging: `{type: OFFSET, pageSize: 10, order: "updated,id:asc", total: EXACT, end: [TOTAL]}`, query: `offset: ${page.offset}`}
	frozen     = manner{style: "offset", paging: `{type: OFFSET, pageSize: 10, order: "updated:asc", snapshot: true, total: EXACT, end: [TOTAL]}`, query: `offset: ${page.offset}`}
)

// meddler stands between node and oracle and counts the pages asked for. answer,
// if it returns a reply, is heard instead of the oracle, for the n-th try from 1;
// bend changes what the oracle says.
type meddler struct {
	next   http.RoundTripper
	answer func(n int, r *http.Request) *http.Response
	bend   func(n int, body []byte) []byte

	mu sync.Mutex
	n  int
}

func (m *meddler) wrap(next http.RoundTripper) http.RoundTripper {
	m.next = next
	return m
}

func (m *meddler) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Query().Get("only") == "count" {
		return m.next.RoundTrip(r)
	}
	m.mu.Lock()
	m.n++
	n := m.n
	m.mu.Unlock()
	if m.answer != nil {
		if resp := m.answer(n, r); resp != nil {
			return resp, nil
		}
	}
	resp, err := m.next.RoundTrip(r)
	if err != nil || m.bend == nil {
		return resp, err
	}
	body, err := io.ReadAll(resp.Body)
	body = m.bend(n, body)
	resp.Body, resp.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	resp.Header.Del("Content-Length")
	return resp, err
}

func status(r *http.Request, code int, body string) *http.Response {
	return &http.Response{
		Status: http.StatusText(code), StatusCode: code, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: r,
		Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(body)), ContentLength: int64(len(body)),
	}
}

// forced makes 413 mean "cut the slice".
func forced(s *source.Spec) {
	s.Faults = append([]source.FaultRule{{Status: []int{413}, Level: harvest.Transient, Reaction: harvest.CutSlice, Code: "cut_here"}}, s.Faults...)
}

// runAs harvests, or fills back the same time, to the end and compares with the
// truth.
func (b *bench) runAs(op harvest.Operation) *control.Report {
	b.t.Helper()
	if op == harvest.Harvest {
		return b.exact()
	}
	from := b.Sim.Now().Add(-31 * 24 * time.Hour).Truncate(time.Second)
	to := from.Add(31*24*time.Hour - 10*time.Minute)
	rep, err := b.Node.Control.Harvest(b.t.Context(), control.HarvestRequest{Source: "generic", Operation: op, Activity: "past", From: from, To: to, BaseURL: b.Base + "/generic"})
	if err != nil {
		b.t.Fatal(err)
	}
	if rep.Status != "COMPLETED" || !rep.Watermark.Time().Equal(from) {
		b.t.Errorf("ended as %+v", rep)
	}
	patratest.MustEqual(b.t, b.Node.Store, b.Sim, "generic", to)
	patratest.MustVerify(b.t, b.Node.Store)
	return rep
}

// asked are the windows of the pages that reached the oracle since the i-th
// request, by their beginning.
func (b *bench) asked(since int) (from []time.Time) {
	b.t.Helper()
	for _, r := range b.Sim.Requests()[since:] {
		if r.Params.Get("only") == "count" {
			continue
		}
		at, err := time.Parse(time.RFC3339, r.Params.Get("from"))
		if err != nil {
			b.t.Fatal(err)
		}
		from = append(from, at)
	}
	return from
}

// order are the update times of the oracle, oldest first.
func (b *bench) order() (at []time.Time) {
	for r := range b.Sim.Truth("generic") {
		at = append(at, r.UpdatedAt)
	}
	slices.SortFunc(at, time.Time.Compare)
	return at
}

// instant reads an instant of the store.
func (b *bench) instant(query string, args ...any) time.Time {
	b.t.Helper()
	text := b.text(query, args...)
	if text == "" {
		return time.Time{}
	}
	at, err := time.Parse("2006-01-02 15:04:05.999999", strings.NewReplacer("T", " ", "Z", "").Replace(text))
	if err != nil {
		b.t.Fatal(err)
	}
	return at
}

const (
	prefixEnd = `SELECT MAX(s.window_to) FROM ing_plan_slice s LEFT JOIN ing_task t ON t.slice_id=s.id WHERE s.status_code='DONE' AND t.id IS NULL`
	prefixes  = `SELECT COUNT(*) FROM ing_plan_slice s LEFT JOIN ing_task t ON t.slice_id=s.id WHERE s.status_code='DONE' AND t.id IS NULL`
	resliced  = `SELECT COUNT(*) FROM ing_plan_slice WHERE status_code='RESLICED'`
	cutFor    = `SELECT COUNT(*) FROM ing_plan_slice WHERE status_code='RESLICED' AND reason=?`
)

// TestR13_ResliceAtEveryPage cuts a walk at every page, sorted and unsorted,
// forwards and backwards: what the store has is the truth, and what was proven
// is not asked for again.
func TestR13_ResliceAtEveryPage(t *testing.T) {
	t.Parallel()
	patratest.Long(t, "a matrix of cases without concurrency")
	for _, c := range []struct {
		name   string
		m      manner
		proven bool
		step   int // items a page brings after the first
	}{
		{"sorted by token", ascending, true, 10},
		{"sorted by offset", seamed, true, 9},
		{"sorted in a snapshot", frozen, true, 10},
		{"order not declared", undeclared, false, 10},
		{"declared but not so", lying, false, 10},
	} {
		for _, op := range []harvest.Operation{harvest.Harvest, harvest.Backfill} {
			t.Run(fmt.Sprintf("%s/%s", c.name, op), func(t *testing.T) {
				engines(t, func(t *testing.T, s setup) {
					for k := 1; k <= 7; k++ {
						if s.engine != patratest.SQLite && k != 2 && k != 5 && os.Getenv("PATRA_SOAK") == "" {
							continue
						}
						since := 0
						var b *bench
						m := &meddler{answer: func(n int, r *http.Request) *http.Response {
							if n != k {
								return nil
							}
							since = len(b.Sim.Requests())
							return status(r, 413, "{}")
						}}
						s := s
						s.tweak, s.wrap = forced, m.wrap
						b = newBench(t, c.m, s)
						rep := b.runAs(op)
						if rep.Slices.Resliced != 1 {
							t.Fatalf("page %d: slices %+v", k, rep.Slices)
						}
						b.mustKeep(k, c.proven, c.step, since)
					}
				})
			})
		}
	}
}

// mustKeep checks what was counted as done when the walk was cut at page k.
func (b *bench) mustKeep(k int, proven bool, step, since int) {
	b.t.Helper()
	p := b.instant(prefixEnd)
	if !proven || k == 1 {
		if !p.IsZero() {
			b.t.Errorf("page %d: counted as done up to %s", k, p)
		}
		return
	}
	want := b.order()[10+step*(k-2)-1].Truncate(time.Second)
	if !p.Equal(want) {
		b.t.Errorf("page %d: counted as done up to %s, want %s", k, p, want)
	}
	for _, from := range b.asked(since) {
		if from.Before(p) {
			b.t.Errorf("page %d: asked again from %s, proven up to %s", k, from, p)
		}
	}
}

// TestR13_WalksThatFailedProveNothing: after three walks that broke off the slice
// is cut, and none of them counts.
func TestR13_WalksThatFailedProveNothing(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		b := newBench(t, ascending, setup{faults: []sim.Script{{Fault: sim.CursorExpired, After: 1, Times: 3}}})
		rep := b.exact()
		if n := b.ask(prefixes); n != 0 || rep.Slices.Resliced != 1 {
			t.Errorf("slices %+v, %d beginnings counted as done", rep.Slices, n)
		}
	})
}

// TestR13_KillAtEveryPointOfACut: a walk that is cut again and again, killed at
// every call of the store in turn (in CI at every 17th).
func TestR13_KillAtEveryPointOfACut(t *testing.T) {
	t.Parallel()
	killAtEach(t, 17, func(t *testing.T, die *killer) {
		b := newBench(t, ascending, setup{hook: die.hook, tweak: budget(harvest.StrategyVolume, harvest.BudgetSpec{MaxRequests: 2})})
		// One that dies while it looks for more, all being done, has ended well: what it
		// leaves is held against the truth as well.
		_, _ = b.Harvest(t.Context(), "generic")
		if !die.dead {
			return
		}
		b.again()
		rep := b.MustHarvest("generic")
		b.MustBeExact("generic", rep)
		if n := b.ask(prefixes); n < 3 {
			t.Errorf("killed at %d, %q: %d beginnings proven", die.at, die.point, n)
		}
	})
}

// budget gives slices a budget, and a strategy.
func budget(strategy harvest.StrategyCode, b harvest.BudgetSpec) func(*source.Spec) {
	return func(s *source.Spec) { s.Window.Strategy, s.Window.Budget = strategy, &b }
}

// TestC17_ThresholdsCutTheWalk: one case per threshold, just below and just
// above, over the wire.
func TestC17_ThresholdsCutTheWalk(t *testing.T) {
	t.Parallel()
	patratest.Long(t, "walks of a thousand pages")
	one := strings.Replace(frozen.paging, "pageSize: 10", "pageSize: 1", 1)
	single := frozen
	single.paging = one
	single.target = 100_000
	single.blind = true
	fail := func(code int, tries ...int) func(int, *http.Request) *http.Response {
		return func(n int, r *http.Request) *http.Response {
			if slices.Contains(tries, n) {
				return status(r, code, "{}")
			}
			return nil
		}
	}
	heavy := func(size int) func(int, []byte) []byte {
		return func(n int, body []byte) []byte {
			if n == 3 {
				body = append(body, bytes.Repeat([]byte(" "), size-len(body))...)
			}
			return body
		}
	}
	for _, c := range []struct {
		name    string
		code    harvest.Code
		m       manner
		records int
		meddle  *meddler
		cut     bool
	}{
		{"pages below", harvest.CutDepth, single, 1000, &meddler{}, false},
		{"pages above", harvest.CutDepth, single, 1003, &meddler{}, true},
		{"429 below", harvest.CutThrottled, ascending, 70, &meddler{answer: fail(429, 1, 3, 4, 6)}, false},
		{"429 above", harvest.CutThrottled, ascending, 70, &meddler{answer: fail(429, 1, 3, 4, 6, 8)}, true},
		{"bytes below", harvest.CutHeavy, ascending, 70, &meddler{bend: heavy(5_000_000)}, false},
		{"bytes above", harvest.CutHeavy, ascending, 70, &meddler{bend: heavy(5_000_001)}, true},
		{"errors below", harvest.CutErrors, single, 70, &meddler{answer: fail(503, 2, 20)}, false},
		{"errors above", harvest.CutErrors, single, 70, &meddler{answer: fail(503, 2, 20, 40)}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				b := newBench(t, c.m, setup{sim: sim.Config{Records: c.records}, wrap: c.meddle.wrap})
				b.exact()
				if n := b.ask(cutFor, c.code); (n > 0) != c.cut || n > 1 || b.ask(resliced) != n {
					t.Errorf("%d slices were cut for %s, %d in all", n, c.code, b.ask(resliced))
				}
			})
		})
	}
}

// TestR69_HeavyPagesAreTheSources: how many bytes a page may have is the source's
// to say: one large item cuts no slice of a source whose replies may be large.
func TestR69_HeavyPagesAreTheSources(t *testing.T) {
	t.Parallel()
	spec, _, err := patratest.ShippedPack(t, "crossref", nil).Compile(source.Trigger{Operation: harvest.Harvest, Vars: map[string]string{"contact": "a@example.org"}})
	if err != nil || spec.Cuts.PageBytes != 32<<20 {
		t.Errorf("Crossref: pages of %d bytes, %v", spec.Cuts.PageBytes, err)
	}
	for _, c := range []struct {
		name         string
		largest, own int
		was          int
		cut          bool
	}{
		{"usual replies", 32 << 20, 0, 6_000_000, true},
		{"larger ones", 64 << 20, 0, 6_000_000, false},
		{"larger ones, a page over half of that", 64 << 20, 0, 32<<20 + 1, true},
		{"a threshold of its own", 32 << 20, 6_000_000, 6_000_000, false},
		{"over a threshold of its own", 32 << 20, 6_000_000, 6_000_001, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				m := &meddler{bend: func(n int, body []byte) []byte {
					if n == 3 {
						body = append(body, bytes.Repeat([]byte(" "), c.was-len(body))...)
					}
					return body
				}}
				b := newBench(t, ascending, setup{tweak: func(s *source.Spec) {
					s.HTTP.MaxBody = source.Size(c.largest)
					s.Cuts = source.Cuts{PageBytes: source.Size(c.own)}
				}, wrap: m.wrap})
				b.exact()
				if n := b.ask(cutFor, harvest.CutHeavy); (n > 0) != c.cut {
					t.Errorf("%d slices were cut", n)
				}
			})
		})
	}
}

// TestR69_StrainIsKeptOverAttempts: a source that asks to be left alone ends each attempt at
// its first 429, so that no run sees more than one. All of them together cut the slice, by
// how many there were or by how long it asked for.
func TestR69_StrainIsKeptOverAttempts(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		cuts  source.Cuts
		after string
		at    []int
		cut   bool
	}{
		{"429 below", source.Cuts{}, "40", []int{2, 3, 5, 7}, false},
		{"429 above", source.Cuts{}, "40", []int{2, 3, 4, 6, 7}, true},
		{"sum of Retry-After below", source.Cuts{RetryAfterSum: source.Duration(81 * time.Minute)}, "2400", []int{2, 4}, false},
		{"sum of Retry-After above", source.Cuts{RetryAfterSum: source.Duration(80 * time.Minute)}, "2400", []int{2, 4}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				m := &meddler{answer: func(n int, r *http.Request) *http.Response {
					if !slices.Contains(c.at, n) {
						return nil
					}
					return &http.Response{StatusCode: http.StatusTooManyRequests, Header: http.Header{"Retry-After": {c.after}}, Body: http.NoBody, Request: r}
				}}
				b := newBench(t, ascending, setup{sim: sim.Config{Records: 70}, tweak: func(s *source.Spec) { s.Cuts = c.cuts }, wrap: m.wrap})
				b.exact()
				if n := b.ask(cutFor, harvest.CutThrottled); (n > 0) != c.cut {
					t.Errorf("%d slices were cut", n)
				}
				if runs := b.ask(`SELECT COUNT(*) FROM ing_task_run`); runs <= len(c.at) {
					t.Errorf("%d runs, so that one has seen several of the complaints", runs)
				}
			})
		})
	}
}

// TestR69_StrainInDetailsCutsNoSlice: whatever the details of a two-phase slice cost, over
// the platform's threshold or the source's own, the slice is not cut: its parts would
// search again, and ask again for the details that are stored. No page is asked for twice.
func TestR69_StrainInDetailsCutsNoSlice(t *testing.T) {
	t.Parallel()
	const searches, details = 2, 7
	complain := func(code, times int) *meddler {
		return &meddler{answer: func(n int, r *http.Request) *http.Response {
			// Every other try, so that each is followed by one that is answered.
			if at := n - searches; at > 0 && at%2 == 1 && at < 2*times {
				return status(r, code, "{}")
			}
			return nil
		}}
	}
	heavy := func(size int) *meddler {
		return &meddler{bend: func(n int, body []byte) []byte {
			if n == searches+2 && len(body) < size {
				body = append(body, bytes.Repeat([]byte(" "), size-len(body))...)
			}
			return body
		}}
	}
	for _, c := range []struct {
		name   string
		cuts   source.Cuts
		meddle *meddler
	}{
		{"429, the platform's threshold", source.Cuts{}, complain(429, 5)},
		{"429, the source's own", source.Cuts{Throttled: 2}, complain(429, 2)},
		{"bytes, the platform's threshold", source.Cuts{}, heavy(5_000_001)},
		{"bytes, the source's own", source.Cuts{PageBytes: 100_000}, heavy(100_001)},
		{"failures, the source's own", source.Cuts{FailedPercent: 10, FailedOver: 5}, complain(503, 3)},
		{"time, the source's own", source.Cuts{WalkTime: source.Duration(4 * time.Second)}, &meddler{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				b := newBench(t, manners["two-phase"].exact(), setup{
					sim: sim.Config{Latency: time.Second}, tweak: func(s *source.Spec) { s.Cuts = c.cuts }, wrap: c.meddle.wrap,
				})
				b.exact()
				if n := b.ask(resliced); n != 0 {
					t.Errorf("%d slices were cut: %s", n, b.text(`SELECT GROUP_CONCAT(reason) FROM ing_plan_slice`))
				}
				const stored = `SELECT COUNT(*) FROM ing_task_run_batch WHERE status_code='SUCCEEDED' AND phase=?`
				if s, d := b.ask(stored, harvest.PhaseSearch), b.ask(stored, harvest.PhaseDetail); s != searches || d != details {
					t.Errorf("%d pages of the search and %d of details are stored, want %d and %d", s, d, searches, details)
				}
			})
		})
	}
}

// TestR69_DetailsCountWhereItIsSearchedAgain: what the details of a slice cost counts for its
// thresholds, within a run and over several. Where its walk begins again the slice is cut at the
// first page of the search for it: all of its details are asked for again then in any case.
func TestR69_DetailsCountWhereItIsSearchedAgain(t *testing.T) {
	t.Parallel()
	const searches = 2
	for _, c := range []struct {
		name       string
		cuts       source.Cuts
		status     int
		complaints int
		want       harvest.Code // that the slice is cut for
	}{
		{"429, just below the platform's", source.Cuts{}, 429, 4, ""},
		{"429, the platform's", source.Cuts{}, 429, 5, harvest.CutThrottled},
		{"429, just below its own", source.Cuts{Throttled: 3}, 429, 2, ""},
		{"429, its own", source.Cuts{Throttled: 3}, 429, 3, harvest.CutThrottled},
		{"failures, just below its own", source.Cuts{FailedPercent: 40, FailedOver: 6}, 503, 2, ""},
		{"failures, its own", source.Cuts{FailedPercent: 40, FailedOver: 6}, 503, 4, harvest.CutErrors},
	} {
		t.Run(c.name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				m := &meddler{answer: func(n int, r *http.Request) *http.Response {
					switch at := n - searches; {
					case at > 0 && at%2 == 1 && at < 2*c.complaints:
						return status(r, c.status, "{}") // every other try, so that each is followed by one that is answered
					case at == 2*c.complaints+1:
						return status(r, http.StatusGone, "{}") // the walk has to begin again
					}
					return nil
				}}
				b := newBench(t, manners["two-phase"].exact(), setup{tweak: func(s *source.Spec) { s.Cuts = c.cuts }, wrap: m.wrap})
				b.exact()
				if n := b.ask(`SELECT MAX(walk_no) FROM ing_task_run_batch`); n < 2 {
					t.Fatal("the walk was not begun again")
				}
				t.Logf("%d requests, %d slices cut", m.n, b.ask(resliced))
				if all, n := b.ask(resliced), b.ask(cutFor, c.want); all != n || (n > 0) != (c.want != "") {
					t.Errorf("%d slices were cut, %d for %q", all, n, c.want)
				}
			})
		})
	}
}

// TestC17_SlowPagesAndLongWalksAreCut: ten pages that take longer in the mean than the
// source says, and a run that walks for as long as it may, just below and just above.
func TestC17_SlowPagesAndLongWalksAreCut(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		cuts source.Cuts
		code harvest.Code
		cut  bool
	}{
		{"slow pages below", source.Cuts{SlowPage: source.Duration(time.Second)}, harvest.CutSlow, false},
		{"slow pages above", source.Cuts{SlowPage: source.Duration(time.Second - time.Millisecond)}, harvest.CutSlow, true},
		{"long walk below", source.Cuts{WalkTime: source.Duration(15 * time.Second)}, harvest.CutBudget, false},
		{"long walk above", source.Cuts{WalkTime: source.Duration(11 * time.Second)}, harvest.CutBudget, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				m := ascending
				m.paging = strings.Replace(m.paging, "pageSize: 10", "pageSize: 20", 1)
				m.target = 900
				b := newBench(t, m, setup{
					sim: sim.Config{Records: 240, Latency: time.Second}, tweak: func(s *source.Spec) { s.Cuts = c.cuts },
				})
				b.exact()
				n := b.ask(cutFor, c.code)
				if (n > 0) != c.cut || b.ask(resliced) != n {
					t.Errorf("%d slices were cut for %s, %d in all", n, c.code, b.ask(resliced))
				}
				const small = `SELECT COUNT(*) FROM ing_plan_slice WHERE JSON_EXTRACT(slice_spec, '$.pageSize')=10`
				if c.code == harvest.CutSlow && (b.ask(small) > 0) != c.cut {
					t.Errorf("%d slices have pages half as large", b.ask(small))
				}
			})
		})
	}
}

// TestC17_ShortSlicesAreLeftWhole: thresholds are advice, and where a slice
// cannot be cut the walk goes on; a wall is none, and makes a gap.
func TestC17_ShortSlicesAreLeftWhole(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		long := func(s *source.Spec) { s.Window.MinStep = source.Duration(60 * 24 * time.Hour) }
		m := &meddler{bend: func(n int, body []byte) []byte { return append(body, bytes.Repeat([]byte(" "), 6_000_000)...) }}
		b := newBench(t, undeclared, setup{tweak: long, wrap: m.wrap})
		b.exact()
		if n := b.ask(resliced); n != 0 || m.n != 8 { // seven pages, and the last once more
			t.Errorf("%d slices were cut, %d pages asked for", n, m.n)
		}
		m = &meddler{answer: func(n int, r *http.Request) *http.Response {
			if n == 3 {
				return status(r, 413, "{}")
			}
			return nil
		}}
		b = newBench(t, undeclared, setup{tweak: func(s *source.Spec) { long(s); forced(s) }, wrap: m.wrap})
		if rep := b.MustHarvest("generic"); rep.Status != "PARTIAL" || len(rep.Gaps) != 1 || !strings.Contains(rep.Gaps[0].Reason, "cannot be cut smaller") {
			t.Errorf("ended as %s with gaps %+v", rep.Status, rep.Gaps)
		}
	})
}

// TestR24_LongerThanDeclared: a slice longer than its source declares is cut, and
// one that cannot be cut is walked to its end all the same: no record is left
// behind for having been updated in the same instant as many others.
func TestR24_LongerThanDeclared(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"token", "scroll", "url", "two-phase"} {
		for _, whole := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/whole=%v", name, whole), func(t *testing.T) {
				bubble(t, func(t *testing.T) {
					b := newBench(t, manners[name], setup{sim: sim.Config{Records: 200}, tweak: func(s *source.Spec) {
						s.Paging.Size, s.Paging.MaxPages = 20, 3
						s.Window.Target = 10_000 // as if the source had told fewer
						if whole {
							s.Window.MinStep = s.Window.Step
						}
					}})
					b.exact()
					if n := b.ask(resliced); (n == 0) != whole {
						t.Errorf("%d slices were cut", n)
					}
				})
			})
		}
	}
}

// TestR26_ChildrenOfHeavyPagesHaveSmallerOnes, and whoever goes on with one of
// them keeps to its size.
func TestR26_ChildrenOfHeavyPagesHaveSmallerOnes(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		ctx, stop := contextWithStop()
		m := &meddler{}
		m.bend = func(n int, body []byte) []byte {
			switch n {
			case 2:
				body = append(body, bytes.Repeat([]byte(" "), 6_000_000)...)
			case 5:
				stop()
			}
			return body
		}
		b := newBench(t, seamed, setup{wrap: m.wrap})
		if _, err := b.Harvest(ctx, "generic"); err != nil {
			t.Fatal(err)
		}
		if n := b.ask(`SELECT COUNT(*) FROM ing_task WHERE status_code='QUEUED' AND attempts>0`); n != 1 {
			t.Fatalf("%d children were left in the middle", n)
		}
		b.again()
		b.exact()
		var sizes []string
		for _, r := range b.Sim.Requests() {
			if page(&http.Request{Form: r.Params}) {
				sizes = append(sizes, r.Params.Get("size"))
			}
		}
		if len(sizes) < 10 || fmt.Sprint(sizes[:2]) != "[10 10]" || slices.ContainsFunc(sizes[2:], func(s string) bool { return s != "5" }) {
			t.Errorf("pages of %v", sizes)
		}
		if n := b.ask(walks); n != 1 {
			t.Errorf("%d walks: the position was lost", n)
		}
	})
}

// TestBudget_SpentSliceIsCut: what is proven is kept and the rest goes on as one;
// without an order all is halved until it fits.
func TestBudget_SpentSliceIsCut(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		m      manner
		b      harvest.BudgetSpec
		cuts   int // exactly, or at least where nothing is kept
		proven bool
	}{
		{"requests", ascending, harvest.BudgetSpec{MaxRequests: 3}, 2, true},
		{"records", ascending, harvest.BudgetSpec{MaxRecords: 30}, 2, true},
		{"time", ascending, harvest.BudgetSpec{MaxDurationSec: 3}, 2, true},
		{"requests, unsorted", undeclared, harvest.BudgetSpec{MaxRequests: 3}, 2, false},
		{"records, unsorted", lying, harvest.BudgetSpec{MaxRecords: 30}, 2, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				b := newBench(t, c.m, setup{sim: sim.Config{Latency: time.Second}, tweak: budget(harvest.StrategyVolume, c.b)})
				b.exact()
				n, kept := b.ask(cutFor, "budget_spent"), b.ask(prefixes)
				if n != b.ask(resliced) || c.proven && (n != c.cuts || kept != n) || !c.proven && (n < c.cuts || kept != 0) {
					t.Errorf("%d slices were cut, %d with something proven", n, kept)
				}
				// Each cut costs at most one page more: the grain it was made in.
				if most := 7 + n; c.proven && b.pages() > most {
					t.Errorf("%d pages asked for, want at most %d", b.pages(), most)
				}
				if c.proven && b.ask(`SELECT MAX(n) FROM (SELECT COUNT(*) AS n FROM ing_plan_slice WHERE status_code<>'DONE' OR parent_id IS NULL GROUP BY parent_id) x`) > 1 {
					t.Error("what was left did not go on as one")
				}
			})
		})
	}
}

// TestBudget_DetailsAreForeseen: a two-phase slice that would cost too much is
// cut before its details are asked for.
func TestBudget_DetailsAreForeseen(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		m := manners["two-phase"]
		b := newBench(t, m, setup{tweak: budget(harvest.StrategyVolume, harvest.BudgetSpec{MaxRequests: 6})})
		b.exact()
		if n := b.ask(cutFor, "budget_spent"); n == 0 || b.ask(prefixes) != 0 {
			t.Errorf("%d slices were cut, %d with something proven", n, b.ask(prefixes))
		}
		if n := b.ask(`SELECT COUNT(*) FROM ing_task_run_batch b JOIN ing_task t ON t.id=b.task_id WHERE b.phase='DETAIL' AND t.status_code='PARTIAL'`); n != 0 {
			t.Errorf("%d details were asked for in vain", n)
		}
	})
}

// TestLandmark_WalkIsPartedAtItsToken: every page is asked for once, whatever the
// order; where the token has died the walk begins at the beginning.
func TestLandmark_WalkIsPartedAtItsToken(t *testing.T) {
	t.Parallel()
	for _, dead := range []bool{false, true} {
		t.Run(fmt.Sprintf("dead %v", dead), func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				s := setup{tweak: budget(harvest.StrategyLandmark, harvest.BudgetSpec{MaxRequests: 3})}
				if dead {
					s.faults = []sim.Script{{Fault: sim.CursorExpired, After: 2}} // the first page of the second part
				}
				b := newBench(t, lying, s)
				rep := b.exact()
				cuts, more := 2, 0
				if dead {
					more = 1 + 3 // the refusal, and the pages before
				}
				if rep.Slices.Resliced < 1 || rep.Slices.Resliced > int64(cuts) || b.pages() != 8+more { // the last once more
					t.Errorf("slices %+v, %d pages asked for", rep.Slices, b.pages())
				}
				if n := b.ask(`SELECT COUNT(DISTINCT window_from) FROM ing_plan_slice`); n != 1 {
					t.Errorf("parts of %d windows", n)
				}
			})
		})
	}
}

// TestPageStrategy_EachPageOnce: slices by page numbers of a result that does not
// change, the last without an end.
func TestPageStrategy_EachPageOnce(t *testing.T) {
	t.Parallel()
	m := manner{style: "page&base=1", paging: `{type: PAGE, pageSize: 10, firstPage: 1, snapshot: true, total: EXACT, end: [TOTAL, EMPTY]}`, query: `page: ${page.no}`}
	for _, c := range []struct {
		name string
		b    harvest.BudgetSpec
		cuts int
	}{{"plain", harvest.BudgetSpec{}, 0}, {"with a budget", harvest.BudgetSpec{MaxRequests: 1}, 3}} {
		t.Run(c.name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				b := newBench(t, m, setup{tweak: func(s *source.Spec) {
					budget(harvest.StrategyPage, c.b)(s)
					s.Window.Pages = 2
				}})
				rep := b.exact()
				if rep.Slices.Resliced != int64(c.cuts) {
					t.Errorf("slices %+v", rep.Slices)
				}
				var asked []string
				for _, r := range b.Sim.Requests() {
					if page(&http.Request{Form: r.Params}) {
						asked = append(asked, r.Params.Get("page"))
					}
				}
				slices.SortFunc(asked, strings.Compare)
				if fmt.Sprint(asked) != "[1 2 3 4 5 6 7]" {
					t.Errorf("asked for pages %v", asked)
				}
				if n := b.ask(`SELECT COUNT(*) FROM ing_task_run_batch WHERE end_proof='PAGE_RANGE'`); n != 3 {
					t.Errorf("%d slices ended at the end of their range", n)
				}
			})
		})
	}
}

// TestR27_EmptyDetailsAreAFault: an endpoint that answers well and says nothing
// is broken; none of the ids is bad for it.
func TestR27_EmptyDetailsAreAFault(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		silent := 6
		m := &meddler{answer: func(_ int, r *http.Request) *http.Response {
			if !strings.HasSuffix(r.URL.Path, "/batch") {
				return nil
			}
			silent--
			if silent < 0 {
				return nil
			}
			return status(r, 200, `{"items":[]}`)
		}}
		b := newBench(t, manners["two-phase"], setup{wrap: m.wrap})
		b.exact()
		if n := b.ask(`SELECT COUNT(*) FROM ing_bad_id`); n != 0 {
			t.Errorf("%d ids are listed as bad", n)
		}
		if n := b.ask(`SELECT COUNT(*) FROM ing_task_run WHERE error_code='details_missing'`); n != 2 {
			t.Errorf("%d runs ended for it, want 2", n)
		}
	})
}

// TestR31_TombstonesOfASearchNeedNoDetails: what a search says is deleted is
// stored at once; only the others are asked for.
func TestR31_TombstonesOfASearchNeedNoDetails(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		m := manners["two-phase"]
		m.reply += "      updatedAt: {path: updated, format: RFC3339, key: updated}\n      deleted: [{path: deleted, in: [\"true\"]}]\n"
		b := newBench(t, m, setup{sim: sim.Config{Generic: sim.GenericStyle{Deletions: "flag"}}})
		var gone []string
		for r := range b.Sim.Truth("generic") {
			if len(gone) < 15 {
				gone = append(gone, r.ID)
			}
		}
		for _, id := range gone {
			if err := b.Sim.Delete("generic", id); err != nil {
				t.Fatal(err)
			}
		}
		b.Sim.Advance(time.Hour)
		b.exact()
		if n := b.ask(`SELECT COUNT(*) FROM ing_record WHERE status_code='GONE'`); n != len(gone) {
			t.Errorf("%d tombstones of %d", n, len(gone))
		}
		for _, r := range b.Sim.Requests() {
			for _, id := range gone {
				if slices.Contains(strings.Split(cmp.Or(r.Params.Get("ids"), "-"), ","), id) {
					t.Errorf("details of %s were asked for", id)
				}
			}
		}
	})
}
