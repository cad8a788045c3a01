package executor_test

import (
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/papertrace/patra/internal/patratest"
	"github.com/papertrace/patra/internal/sim"
)

// detail matches requests for details.
func detail(r *http.Request) bool { return strings.HasSuffix(r.URL.Path, "/batch") }

// TestR27_DetailsAccountForEveryID: details that come late, wrong or not at
// all; only an id that never has any ends on the list of bad ids.
func TestR27_DetailsAccountForEveryID(t *testing.T) {
	t.Parallel()
	patratest.Long(t, "a matrix of cases without concurrency")
	for _, c := range []struct {
		fault sim.Fault
		times int
	}{
		{sim.DetailMissing, 1},
		{sim.DetailMissing, 2},
		{sim.DetailExtra, 1},
		{sim.DetailBadItem, 1},
		{sim.DetailBadItem, 2},
		{sim.HTTP500, 1},
		{sim.ServedLost, 1},
		{sim.Slow, 1},
	} {
		for k := 0; k < 7; k += 3 {
			t.Run(fmt.Sprintf("%s/%d/page %d", c.fault, c.times, k+1), func(t *testing.T) {
				bubble(t, func(t *testing.T) {
					b := newBench(t, manners["two-phase"], setup{faults: []sim.Script{{Fault: c.fault, When: detail, After: k, Times: c.times}}})
					b.exact()
					if n := b.ask(`SELECT COUNT(*) FROM ing_bad_id`); n != 0 {
						t.Errorf("%d ids on the list of bad ones", n)
					}
					if b.Sim.Scripted() != 0 {
						t.Error("the fault was never served")
					}
				})
			})
		}
	}
}

// TestR27_IDWithoutDetailsIsListedAndTheSliceDone: the record is deleted
// between search and details, so nobody will ever answer for it.
func TestR27_IDWithoutDetailsIsListedAndTheSliceDone(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		b := newBench(t, manners["two-phase"], setup{})
		var gone string
		first := true
		b.Sim.SetOnRequest(func(r *http.Request) {
			if !detail(r) || !first {
				return
			}
			first = false
			gone, _, _ = strings.Cut(r.Form.Get("ids"), ",")
			if err := b.Sim.Delete("generic", gone); err != nil {
				t.Error(err)
			}
		})
		rep := b.exact()
		if id := b.text(`SELECT ext_id FROM ing_bad_id`); id != gone || rep.Slices.Done != 1 {
			t.Errorf("bad id %q, want %q; %+v", id, gone, rep.Slices)
		}
		if n := b.ask(`SELECT COUNT(*) FROM ing_record`); n != 69 {
			t.Errorf("%d records, want 69", n)
		}
	})
}

// TestR27_UnreadableDetailIsQuarantinedOnce, however often it was asked for.
// The oracle's bad items have lost their id, so the id is listed as well.
func TestR27_UnreadableDetailIsQuarantinedOnce(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		b := newBench(t, manners["two-phase"], setup{faults: []sim.Script{{Fault: sim.DetailBadItem, When: detail, After: 2, Times: 3}}})
		rep := b.MustHarvest("generic")
		if rep.Status != "COMPLETED" {
			t.Fatalf("%+v", rep)
		}
		if q, l := b.ask(`SELECT COUNT(*) FROM ing_quarantine`), b.ask(`SELECT COUNT(*) FROM ing_bad_id`); q != 1 || l != 1 {
			t.Errorf("%d in quarantine, %d bad ids", q, l)
		}
	})
}

// TestR27_KillBetweenThePhases: ids found are not searched for again.
func TestR27_KillBetweenThePhases(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		k := &killer{}
		b := newBench(t, manners["two-phase"], setup{hook: k.hook})
		b.Sim.SetOnRequest(func(r *http.Request) {
			if detail(r) {
				// Details are asked for while the last page of ids is made
				// durable; between the phases is when it has been.
				for b.ask(`SELECT COUNT(*) FROM ing_task_run_batch WHERE end_proof IS NOT NULL`) == 0 {
					time.Sleep(time.Millisecond)
				}
				k.kill()
			}
		})
		if _, err := b.Harvest(t.Context(), "generic"); err == nil {
			t.Fatal("the dead node went on")
		}
		searched := len(b.Sim.Requests())
		b.Sim.SetOnRequest(nil)
		b.again()
		b.exact()
		for _, r := range b.Sim.Requests()[searched:] {
			if r.Path == "/items" && r.Params.Get("only") == "" {
				t.Error("searched again for ids that were committed")
			}
		}
	})
}

// TestR32_RenamedIDStopsTheSource: nothing of such a page is kept.
func TestR32_RenamedIDStopsTheSource(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"token", "offset-total", "two-phase", "scroll"} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				m := manners[name]
				m.id = "identifier"
				b := newBench(t, m, setup{})
				rep := b.MustHarvest("generic")
				b.stopped(rep, 0)
				if n := b.ask(`SELECT COUNT(*) FROM ing_record`) + b.ask(`SELECT COUNT(*) FROM ing_quarantine`); n != 0 {
					t.Errorf("%d rows were kept", n)
				}
			})
		})
	}
}

// TestR32_OneHostileItemKeepsTheOthers of a page of a hundred.
func TestR32_OneHostileItemKeepsTheOthers(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		m := manners["token"]
		m.paging = strings.Replace(m.paging, "pageSize: 20", "pageSize: 100", 1)
		b := newBench(t, m, setup{sim: sim.Config{Records: 100}, faults: []sim.Script{{Fault: sim.InvalidUTF8, When: page, Times: -1}}})
		rep := b.MustHarvest("generic")
		if rep.Status != "COMPLETED" || rep.Records.Inserted != 99 || rep.Records.Quarantined != 1 {
			t.Errorf("%s %+v", rep.Status, rep.Records)
		}
	})
}

// garbler stands before the oracle and changes replies to searches, or to
// requests for details.
type garbler struct {
	next    http.RoundTripper
	details bool
	change  func(body string) string
}

func (g *garbler) wrap(next http.RoundTripper) http.RoundTripper {
	g.next = next
	return g
}

func (g *garbler) RoundTrip(r *http.Request) (*http.Response, error) {
	res, err := g.next.RoundTrip(r)
	if err != nil || detail(r) != g.details || r.URL.Query().Get("only") == "count" {
		return res, err
	}
	body, err := io.ReadAll(res.Body)
	if err != nil {
		return nil, err
	}
	text := g.change(string(body))
	res.Body, res.ContentLength = io.NopCloser(strings.NewReader(text)), int64(len(text))
	res.Header.Del("Content-Length")
	return res, res.Body.Close()
}

// TestR32_OneHostileIDKeepsTheOthers, in two phases as in one, also when the walk
// is gone on with by another run.
func TestR32_OneHostileIDKeepsTheOthers(t *testing.T) {
	t.Parallel()
	for name, id := range map[string]string{
		"empty": `""`, "null": `null`, "NUL": `"g-\u000000077"`, "too long": `"` + strings.Repeat("g", 600) + `"`,
		"line break": `"g-000\n00077"`, "tab": `"g-000\t00077"`, "no text": "\"g-\xff\"", "an object": `{"a":1}`,
	} {
		for _, manner := range []string{"token", "two-phase"} {
			t.Run(manner+"/"+name, func(t *testing.T) {
				bubble(t, func(t *testing.T) {
					g := &garbler{change: func(body string) string { return strings.Replace(body, `"g-00000033"`, id, 1) }}
					die := &killer{}
					b := newBench(t, manners[manner], setup{hook: die.hook, wrap: g.wrap})
					b.onPage(3, func(*http.Request) { die.kill() })
					if _, err := b.Harvest(t.Context(), "generic"); err == nil {
						t.Fatal("the dead node went on")
					}
					b.Sim.SetOnRequest(nil)
					time.Sleep(2 * time.Minute) // the dead one's lease
					b.again()
					rep := b.MustHarvest("generic")
					if rep.Status != "COMPLETED" {
						t.Fatalf("%+v", rep)
					}
					if n, q, bad := b.ask(`SELECT COUNT(*) FROM ing_record`), b.ask(`SELECT COUNT(*) FROM ing_quarantine`), b.ask(`SELECT COUNT(*) FROM ing_bad_id`); n != 69 || q != 1 || bad != 0 {
						t.Errorf("%d records, %d in quarantine, %d bad ids", n, q, bad)
					}
					patratest.MustVerify(t, b.Node.Store)
				})
			})
		}
	}
}

// TestR32_ManyHostileIDsStopTheSource: over a fifth of a page, or all of it.
func TestR32_ManyHostileIDsStopTheSource(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		bad  int // of pages of 50
		stop bool
	}{{19, false}, {20, true}, {50, true}} {
		for _, manner := range []string{"token", "two-phase"} {
			t.Run(fmt.Sprint(manner, "/", c.bad), func(t *testing.T) {
				bubble(t, func(t *testing.T) {
					m := manners[manner]
					m.paging = strings.Replace(m.paging, "pageSize: 20", "pageSize: 50", 1)
					g := &garbler{change: func(body string) string { return strings.Replace(body, `"id":"g-`, `"id":"\n-g-\n`, c.bad) }}
					b := newBench(t, m, setup{wrap: g.wrap})
					rep := b.MustHarvest("generic")
					if c.stop {
						b.stopped(rep, 0)
					} else if rep.Status != "COMPLETED" || rep.Records.Quarantined == 0 {
						t.Errorf("%s %+v", rep.Status, rep.Records)
					}
				})
			})
		}
	}
}

// TestR27_QuarantinedDetailsAreNotAskedForAgain: their ids are answered for.
func TestR27_QuarantinedDetailsAreNotAskedForAgain(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		date := regexp.MustCompile(`("id":"g-00000033"[^}]*"updated":")[^"]*`)
		g := &garbler{details: true, change: func(body string) string { return date.ReplaceAllString(body, "${1}soon") }}
		b := newBench(t, manners["two-phase"], setup{wrap: g.wrap})
		asked := 0
		b.Sim.SetOnRequest(func(r *http.Request) {
			if detail(r) && strings.Contains(r.Form.Get("ids"), "g-00000033") {
				asked++
			}
		})
		rep := b.MustHarvest("generic")
		if rep.Status != "COMPLETED" || rep.Records.Inserted != 69 || rep.Records.Quarantined != 1 || rep.BadIDs != 0 || asked != 1 {
			t.Errorf("%s %+v, %d bad ids, asked for %d times", rep.Status, rep.Records, rep.BadIDs, asked)
		}
	})
}
