package executor_test

import (
	"bytes"
	"fmt"
	"io"
	"math/bits"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/papertrace/patra/internal/domain/source"
	"github.com/papertrace/patra/internal/patratest"
	"github.com/papertrace/patra/internal/sim"
)

// refuser stands before the oracle and refuses requests for details.
type refuser struct {
	next   http.RoundTripper
	status func(ids []string) int // 0: let it through

	mu    sync.Mutex
	asked [][]string // guarded by mu; every request for details
}

func (f *refuser) RoundTrip(r *http.Request) (*http.Response, error) {
	if !detail(r) {
		return f.next.RoundTrip(r)
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	form, err := url.ParseQuery(string(body))
	if err != nil {
		return nil, err
	}
	ids := strings.Split(form.Get("ids"), ",")
	f.mu.Lock()
	f.asked = append(f.asked, ids)
	f.mu.Unlock()
	if code := f.status(ids); code != 0 {
		return &http.Response{StatusCode: code, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(`{}`)), Request: r}, nil
	}
	in := r.Clone(r.Context())
	in.Body = io.NopCloser(bytes.NewReader(body))
	return f.next.RoundTrip(in)
}

// newRefused is a bench of n records whose details are asked for by batch ids
// at a time.
func newRefused(t *testing.T, n, batch int, status func(ids []string) int) (*bench, *refuser) {
	t.Helper()
	f := &refuser{status: status}
	m := manners["two-phase"]
	m.target = 500
	b := newBench(t, m, setup{
		sim: sim.Config{Records: n},
		wrap: func(next http.RoundTripper) http.RoundTripper {
			f.next = next
			return f
		},
		tweak: func(s *source.Spec) {
			s.Batching.IDs, s.Paging.Size = batch, 500
			s.Faults = nil // 410 is here what it is by default
		},
	})
	return b, f
}

// guilty refuses whatever names one of these ids, given by number.
func guilty(status int, numbers ...int) func([]string) int {
	return func(ids []string) int {
		for _, n := range numbers {
			if slices.Contains(ids, fmt.Sprintf("g-%08d", n)) {
				return status
			}
		}
		return 0
	}
}

func numbers(n, step int) (out []int) {
	for i := range n {
		out = append(out, i*step)
	}
	return out
}

// TestR27_RefusedDetailsAreHalvedDownToTheGuilty: they are listed, all others
// kept, in one batch, for some 2 k log n requests more.
func TestR27_RefusedDetailsAreHalvedDownToTheGuilty(t *testing.T) {
	t.Parallel()
	patratest.Long(t, "a matrix of cases without concurrency")
	for _, status := range []int{400, 404, 410, 413, 422} {
		for _, c := range []struct {
			n, batch int
			guilty   []int
		}{
			{64, 64, []int{0}},
			{64, 64, []int{63}},
			{64, 64, []int{17, 18, 40}},
			{64, 64, []int{8, 9, 10, 11, 12, 13, 14, 15}}, // in a row is no broken endpoint
			{70, 10, []int{3, 33, 69}},
			{64, 64, numbers(9, 7)},
			{200, 200, numbers(40, 5)},
			{2, 2, []int{0, 1}},
			{3, 1, []int{1}},
		} {
			t.Run(fmt.Sprintf("%d/%d of %d by %d", status, len(c.guilty), c.n, c.batch), func(t *testing.T) {
				bubble(t, func(t *testing.T) {
					b, f := newRefused(t, c.n, c.batch, guilty(status, c.guilty...))
					rep := b.MustHarvest("generic")
					pages := (c.n + c.batch - 1) / c.batch
					if rep.Status != "COMPLETED" || b.ask(`SELECT COUNT(*) FROM ing_task_run_batch WHERE status_code='SUCCEEDED' AND phase='DETAIL'`) != pages {
						t.Fatalf("%+v", rep)
					}
					if n, bad := b.ask(`SELECT COUNT(*) FROM ing_record`), b.ask(`SELECT COUNT(*) FROM ing_bad_id`); n != c.n-len(c.guilty) || bad != len(c.guilty) {
						t.Errorf("%d records and %d bad ids, %d were guilty", n, bad, len(c.guilty))
					}
					for _, g := range c.guilty {
						if b.ask(`SELECT COUNT(*) FROM ing_bad_id WHERE ext_id=?`, fmt.Sprintf("g-%08d", g)) != 1 {
							t.Errorf("%d is not listed", g)
						}
					}
					if most := pages + 2*len(c.guilty)*bits.Len(uint(c.batch-1)); len(f.asked) > most {
						t.Errorf("%d requests for details, at most %d were needed", len(f.asked), most)
					}
					if n := b.ask(`SELECT SUM(sent) FROM ing_task_run_batch WHERE phase='DETAIL'`); n != len(f.asked) {
						t.Errorf("%d requests are on record of %d", n, len(f.asked))
					}
				})
			})
		}
	}
}

// TestR27_TooLargeDetailsAreHalved: a reply beyond the limit on bodies is asked
// for in parts, and no id is to blame unless it is too large by itself.
func TestR27_TooLargeDetailsAreHalved(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		b := newBench(t, manners["two-phase"], setup{tweak: func(s *source.Spec) {
			s.Paging.Size = 10
			s.Batching.IDs = 64
			s.HTTP.MaxBody = 8 << 10 // pages fit, details do not
		}})
		b.exact()
		if n := b.ask(`SELECT COUNT(*) FROM ing_bad_id`); n != 0 {
			t.Errorf("%d ids were blamed", n)
		}
		if n := b.ask(`SELECT MAX(sent) FROM ing_task_run_batch WHERE phase='DETAIL'`); n < 3 {
			t.Errorf("%d requests: nothing was halved", n)
		}
	})
}

// TestR27_BrokenEndpointIsNoFaultOfTheIDs: where not one id is answered nothing
// is listed, little is asked, and the slice is a gap. So it is where the source
// says that it is not for us.
func TestR27_BrokenEndpointIsNoFaultOfTheIDs(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name     string
		n, batch int
		status   func([]string) int
		most     int // requests
	}{
		{"large", 200, 200, func([]string) int { return 400 }, 35},
		{"small", 60, 10, func([]string) int { return 404 }, 20},
		{"down", 200, 200, func([]string) int { return 500 }, 10*4 + 8*4}, // 10 runs of 4 tries, and from the third on one id alone
		{"down, one by one", 60, 1, func([]string) int { return 503 }, 10*4 + 8*4},
		{"forbidden", 64, 64, guilty(403, 5), 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				b, f := newRefused(t, c.n, c.batch, c.status)
				rep := b.MustHarvest("generic")
				if rep.Status != "PARTIAL" || len(rep.Gaps) != 1 {
					t.Errorf("%s, gaps %+v", rep.Status, rep.Gaps)
				}
				if n, bad := b.ask(`SELECT COUNT(*) FROM ing_record`), b.ask(`SELECT COUNT(*) FROM ing_bad_id`); n != 0 || bad != 0 {
					t.Errorf("%d records and %d bad ids were kept", n, bad)
				}
				if len(f.asked) > c.most {
					t.Errorf("%d requests, at most %d", len(f.asked), c.most)
				}
				f.status = func([]string) int { return 0 }
				time.Sleep(2 * time.Minute)
				b.exact()
			})
		})
	}
}

// TestR27_WhatDoesNotPassIsHalvedInTheEnd: what may pass is asked for again as it
// was. Only when it has not over two runs are ids taken to be guilty of it, as
// long as the endpoint gives details of others, before and after.
func TestR27_WhatDoesNotPassIsHalvedInTheEnd(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name     string
		n, batch int
		status   int
		guilty   []int
	}{
		{"one", 64, 64, 500, []int{5}},
		{"unavailable", 64, 64, 503, []int{63}},
		{"some", 64, 64, 502, []int{0, 17, 18, 40}},
		{"in a row", 64, 64, 500, []int{8, 9, 10, 11, 12, 13, 14, 15, 16, 17}},
		{"one by one", 5, 1, 500, []int{0, 4}},
		{"two pages", 70, 35, 500, []int{3, 69}},
	} {
		t.Run(c.name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				b, f := newRefused(t, c.n, c.batch, guilty(c.status, c.guilty...))
				rep := b.MustHarvest("generic")
				if n, bad := b.ask(`SELECT COUNT(*) FROM ing_record`), b.ask(`SELECT COUNT(*) FROM ing_bad_id`); rep.Status != "COMPLETED" || n != c.n-len(c.guilty) || bad != len(c.guilty) {
					t.Fatalf("%s: %d records and %d bad ids, %d were guilty", rep.Status, n, bad, len(c.guilty))
				}
				for i, ids := range f.asked[:8] { // two runs of four tries
					if want := f.asked[0]; len(ids) != len(want) {
						t.Errorf("request %d was for %d ids", i, len(ids))
					}
				}
			})
		})
	}
}

// TestR27_OutageWhileHalvingBlamesNobody: the endpoint fails for one id, and then
// for good.
func TestR27_OutageWhileHalvingBlamesNobody(t *testing.T) {
	t.Parallel()
	for _, down := range []int{1, 10, 17, 19} { // after so many requests that were answered or tried to the end
		t.Run(fmt.Sprint(down), func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				var n atomic.Int64
				b, f := newRefused(t, 64, 64, func(ids []string) int {
					if n.Add(1) > int64(8+down) {
						return 503
					}
					return guilty(500, 60)(ids)
				})
				rep := b.MustHarvest("generic")
				if bad := b.ask(`SELECT COUNT(*) FROM ing_bad_id`); rep.Status != "PARTIAL" || bad != 0 {
					t.Errorf("%s, %d bad ids", rep.Status, bad)
				}
				f.status = guilty(500, 60)
				time.Sleep(30 * time.Minute)
				rep = b.MustHarvest("generic")
				if n, bad := b.ask(`SELECT COUNT(*) FROM ing_record`), b.ask(`SELECT COUNT(*) FROM ing_bad_id`); rep.Status != "COMPLETED" || n != 63 || bad != 1 {
					t.Errorf("%s: %d records, %d bad ids", rep.Status, n, bad)
				}
			})
		})
	}
}

// TestR27_IDsOneByOneAreGuiltyUpToAPoint: with one id to a request a broken
// endpoint shows only over several.
func TestR27_IDsOneByOneAreGuiltyUpToAPoint(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		b, f := newRefused(t, 30, 1, func([]string) int { return 404 })
		rep := b.MustHarvest("generic")
		if rep.Status != "PARTIAL" || len(f.asked) != 8 {
			t.Errorf("%s after %d requests, want a gap after 8", rep.Status, len(f.asked))
		}
	})
}

// TestR27_TransientFaultWhileHalvingKeepsNothing of the batch; the next run
// begins it again.
func TestR27_TransientFaultWhileHalvingKeepsNothing(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		var up atomic.Bool
		b, _ := newRefused(t, 64, 64, func(ids []string) int {
			if !up.Load() && len(ids) == 4 {
				return 503
			}
			return guilty(400, 5)(ids)
		})
		go func() {
			time.Sleep(2 * time.Second)
			if n := b.ask(`SELECT COUNT(*) FROM ing_record`) + b.ask(`SELECT COUNT(*) FROM ing_bad_id`); n != 0 {
				t.Errorf("%d rows were kept", n)
			}
			up.Store(true)
		}()
		rep := b.MustHarvest("generic")
		if n, bad := b.ask(`SELECT COUNT(*) FROM ing_record`), b.ask(`SELECT COUNT(*) FROM ing_bad_id`); rep.Status != "COMPLETED" || n != 63 || bad != 1 {
			t.Errorf("%s: %d records, %d bad ids", rep.Status, n, bad)
		}
		if n := b.ask(`SELECT COUNT(*) FROM ing_task_run WHERE error_code='http_503'`); n == 0 {
			t.Error("no run met the fault")
		}
	})
}
