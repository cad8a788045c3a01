package executor_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/papertrace/patra/internal/patratest"
)

// line is a line of a history: a record was changed, or deleted.
type line struct {
	ID      string `json:"id"`
	Updated string `json:"updated"`
	Deleted bool   `json:"deleted,omitempty"`
	Title   string `json:"title,omitempty"`
}

// chronicle is an upstream whose search is a history in pages, whatever order
// its lines are in, and whose details are what is there at its end.
type chronicle struct {
	pages [][]line
	live  map[string]line
	// strict: who asks for one that is not there gets nothing at all.
	strict bool
	// down is the page that fails for a while, and how often it still does.
	down, times int
}

func (c *chronicle) RoundTrip(r *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Date", time.Now().UTC().Format(http.TimeFormat))
	q := r.URL.Query()
	out := map[string]any{}
	switch at, _ := strconv.Atoi(q.Get("token")); {
	case detail(r):
		b, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, err
		}
		form, err := url.ParseQuery(string(b))
		if err != nil {
			return nil, err
		}
		items := []line{}
		for id := range strings.SplitSeq(form.Get("ids"), ",") {
			if l, ok := c.live[id]; ok {
				items = append(items, l)
			} else if c.strict {
				w.WriteHeader(http.StatusNotFound)
				return w.Result(), nil
			}
		}
		out["items"] = items
	case q.Get("only") == "count":
		out["items"], out["total"] = []line{}, 90
	case at == c.down && c.times > 0:
		c.times--
		w.WriteHeader(http.StatusInternalServerError)
	default:
		out["items"] = c.pages[at]
		if at+1 < len(c.pages) {
			out["next_token"] = strconv.Itoa(at + 1)
		}
	}
	if err := json.NewEncoder(w).Encode(out); err != nil {
		return nil, err
	}
	return w.Result(), nil
}

// orders calls f with every order of n things.
func orders(n int, f func([]int)) {
	var rec func(left, done []int)
	rec = func(left, done []int) {
		if len(left) == 0 {
			f(done)
			return
		}
		for i, v := range left {
			rest := append(append([]int(nil), left[:i]...), left[i+1:]...)
			rec(rest, append(append([]int(nil), done...), v))
		}
	}
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	rec(all, nil)
}

// TestR31_DeletedAndAddedAgainInOneWalk: a history names a record several times,
// changed and deleted, in every order of its lines, on one page or over several,
// also if the run ends in between. What happened last counts: it is there with
// its newest version, or GONE; and that a deleted one has no details surprises
// nobody, however many there are.
func TestR31_DeletedAndAddedAgainInOneWalk(t *testing.T) {
	t.Parallel()
	m := manners["two-phase"]
	m.reply += "      updatedAt: {path: updated, format: RFC3339, key: updated}\n      deleted: [{path: deleted, in: [\"true\"]}]\n"
	for _, spread := range []bool{false, true} {
		for down := range 4 {
			strict := down%2 == 1
			t.Run(fmt.Sprintf("spread %v, strict %v, down at page %d", spread, strict, down+1), func(t *testing.T) {
				bubble(t, func(t *testing.T) {
					c := &chronicle{live: map[string]line{}, pages: make([][]line, 4), strict: strict, down: down, times: 4}
					began := time.Now().Add(-48 * time.Hour)
					want, n := map[string]string{}, 0
					for _, story := range []string{"+", "-", "+-", "-+", "+-+", "-+-", "+-+-", "-+-+"} {
						orders(len(story), func(order []int) {
							id := fmt.Sprintf("h-%03d", n)
							n++
							for i, k := range order {
								l := line{ID: id, Updated: began.Add(time.Duration(k) * time.Hour).UTC().Format(time.RFC3339), Deleted: story[k] == '-'}
								page := n % 4
								if spread {
									page = i
								}
								c.pages[page] = append(c.pages[page], l)
								if l.Deleted || k < len(story)-1 {
									continue
								}
								l.Title = "newest of " + id
								c.live[id] = l
							}
							status := "GONE"
							if _, ok := c.live[id]; ok {
								status = "ACTIVE"
							}
							want[id] = status + began.Add(time.Duration(len(story)-1)*time.Hour).UTC().Format(time.DateTime)
						})
					}
					b := newBench(t, m, setup{wrap: func(http.RoundTripper) http.RoundTripper { return c }})
					rep := b.MustHarvest("generic")
					if rep.Status != "COMPLETED" || c.times != 0 {
						t.Fatalf("the page failed %d times less: %+v", c.times, rep)
					}
					for id, w := range want {
						if got := b.text(`SELECT status_code FROM ing_record WHERE ext_id=?`, id) + b.text(`SELECT updated_at FROM ing_record WHERE ext_id=?`, id); !strings.HasPrefix(got, w) {
							t.Errorf("%s is %s, want %s", id, got, w)
						}
					}
					if k := b.ask(`SELECT COUNT(*) FROM ing_bad_id`); k != 0 {
						t.Errorf("%d bad ids", k)
					}
					if k := b.ask(`SELECT COUNT(*) FROM ing_record`); k != n {
						t.Errorf("%d records, want %d", k, n)
					}
					patratest.MustVerify(t, b.Node.Store)
				})
			})
		}
	}
}
