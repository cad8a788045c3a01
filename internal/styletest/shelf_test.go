package styletest

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/papertrace/patra/internal/app/registry"
	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/source"
	"github.com/papertrace/patra/internal/infra/sourcefile"
	"github.com/papertrace/patra/internal/infra/sqlstore"
	"github.com/papertrace/patra/internal/node"
	"github.com/papertrace/patra/internal/patratest"
	"github.com/papertrace/patra/internal/sim"
	"github.com/papertrace/patra/sources"
)

const (
	recordings = "../../../shared/fixtures"
	// shelved is how many items a shelf has, perPage how many fit a page: three
	// pages, the last of which is full as well.
	shelved = 30
	perPage = 10
	shelfAt = "http://127.0.0.1/shelf"
	// totalDroppedShort: a page comes without its total, and lacks items too.
	totalDroppedShort sim.Fault = "total_dropped_short"
)

// shelf serves items of a shipped source's recordings in the form of its replies:
// as many pages as it takes, whatever window is asked for.
type shelf struct {
	pack  string
	items func(t *testing.T) [][]byte
	// place is where a request says which item it wants first; count whether it
	// only wants to know how many there are.
	place func(q *http.Request) int
	count func(q *http.Request) bool
	write func(p leaf) string
	// size is how many items fit a page, perPage if 0.
	size int

	// What is left out, of which page, counted from 0.
	fault sim.Fault
	page  int

	all    [][]byte
	asked  int  // pages
	served bool // a page with something left out
}

// leaf is a page of a shelf. Total is -1 and next empty where they are left out,
// or not there.
type leaf struct {
	items        [][]byte
	total, at    int
	next         string // the place of the next page
	end, dropped bool   // nothing follows; the token was left out
}

func (p leaf) list() string {
	parts := make([]string, len(p.items))
	for i, it := range p.items {
		parts[i] = string(it)
	}
	return strings.Join(parts, ",")
}

// told is the total as a member of an object.
func (p leaf) told(name string) string {
	if p.total < 0 {
		return ""
	}
	return fmt.Sprintf("%q:%d,", name, p.total)
}

// following is the token as a member of an object, and otherwise what stands in
// its place at the end.
func (p leaf) following(name, otherwise string) string {
	switch {
	case p.next != "":
		return fmt.Sprintf(",%q:%q", name, p.next)
	case p.dropped:
		return ""
	}
	return otherwise
}

func (s *shelf) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	if s.count(q) {
		fmt.Fprint(w, s.write(leaf{total: len(s.all), end: true}))
		return
	}
	at := min(s.place(q), len(s.all))
	whole := leaf{items: s.all[at:min(at+cmp.Or(s.size, perPage), len(s.all))], total: len(s.all), at: at}
	reply := s.bind(whole)
	if s.asked == s.page {
		p := whole
		switch s.fault {
		case sim.TotalDropped:
			p.total = -1
		case totalDroppedShort:
			p.items = p.items[:max(0, len(p.items)-3)]
			p.total = -1
		case sim.TokenDroppedShort:
			p.items = p.items[:max(0, len(p.items)-3)]
			p.dropped = true
		case sim.TokenDropped:
			p.dropped = true
		}
		s.served = s.bind(p) != reply
		reply = s.bind(p)
	}
	s.asked++
	fmt.Fprint(w, reply)
}

// bind makes a reply of a page, with what leads to the next one.
func (s *shelf) bind(p leaf) string {
	to := p.at + len(p.items)
	p.end = to >= len(s.all)
	if !p.end && !p.dropped {
		p.next = strconv.Itoa(to)
	}
	return s.write(p)
}

// byParam reads the place from a parameter, with a word for the beginning.
func byParam(name string) func(*http.Request) int {
	return func(q *http.Request) int {
		n, _ := strconv.Atoi(q.URL.Query().Get(name))
		return n
	}
}

func has(name, value string) func(*http.Request) bool {
	return func(q *http.Request) bool { return q.URL.Query().Get(name) == value }
}

func recorded(t *testing.T, file string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(recordings, file))
	if os.IsNotExist(err) {
		t.Skipf("no recordings at %s", recordings)
	}
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// shelves are the shipped packs that cannot be harvested from the oracle, since they do
// not tell of changes.
var shelves = []shelf{
	{
		pack: "semanticscholar",
		items: func(t *testing.T) (out [][]byte) {
			var v struct{ Data []json.RawMessage }
			if err := json.Unmarshal(recorded(t, "semanticscholar/bulk-p1.json"), &v); err != nil {
				t.Fatal(err)
			}
			for _, it := range v.Data[:shelved] {
				out = append(out, it)
			}
			return out
		},
		place: byParam("token"), count: has("fields", "paperId"),
		write: func(p leaf) string {
			return "{" + p.told("total") + `"data":[` + p.list() + "]" + p.following("token", `,"token":null`) + "}"
		},
	},
}

// read backfills one window from the shelf and returns how it ended and how many
// records are stored.
func (s *shelf) read(t *testing.T) (rep *control.Report, stored int) {
	t.Helper()
	rep, records := s.ask(t, "")
	return rep, len(records)
}

// ask is read of what a query asks for, and returns the fields of what is stored.
func (s *shelf) ask(t *testing.T, query string) (rep *control.Report, records map[string]string) {
	t.Helper()
	store := patratest.Open(t, patratest.SQLite.SpareDSN(t), sqlstore.Options{Logger: slog.New(slog.DiscardHandler)})
	pack := patratest.ShippedPack(t, s.pack, func(spec *source.Spec) {
		patratest.Fast(spec)
		spec.Paging.Size = cmp.Or(s.size, perPage)
		spec.Rate.Quotas = nil
		if spec.Auth != nil {
			spec.Auth.Open = true
		}
	})
	n := node.Assemble(node.Config{Workers: 1, Poll: time.Second, Logger: patratest.Logger(t)}, store,
		registry.NewStatic(map[string]registry.Pack{s.pack: pack}, map[string]string{"contact": "test@example.org", "tool": "patra-test"}), patratest.Direct{Handler: s})
	day := time.Now().UTC().Truncate(24*time.Hour).AddDate(0, 0, -10)
	rep, err := n.Control.Harvest(t.Context(), control.HarvestRequest{
		Source: s.pack, Operation: harvest.Backfill, Activity: "shelf", BaseURL: shelfAt, From: day, To: day.AddDate(0, 0, 1), Query: query,
	})
	if err != nil {
		t.Fatal(err)
	}
	patratest.MustVerify(t, store)
	records = map[string]string{}
	if err := store.Export(context.WithoutCancel(t.Context()), control.ExportQuery{Sources: []string{s.pack}}, func(e *control.Exported) error {
		records[e.ID] = string(e.Fields)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return rep, records
}

// oracles are the shipped packs that the oracle serves, see [TestR64_ServedByTheOracle].
// Which they are says the oracle: a pack with a mode of its own needs no line here.
func oracles() []string {
	return slices.DeleteFunc(slices.Clone(sim.Upstreams), func(code string) bool {
		return code == sim.Generic || code == sim.SemanticScholar || slices.Contains(sim.LookupOnly, code)
	})
}

// walked is how a shipped pack is walked: as by a BACKFILL, or as by a HARVEST if it
// allows no other.
func walked(t *testing.T, pack string) *source.Spec {
	t.Helper()
	vars := map[string]string{"contact": "test@example.org", "tool": "patra-test"}
	shipped := patratest.ShippedPack(t, pack, nil)
	spec, _, err := shipped.Compile(source.Trigger{Operation: harvest.Backfill, Vars: vars})
	if err != nil {
		spec, _, err = shipped.Compile(source.Trigger{Operation: harvest.Harvest, Vars: vars})
	}
	if err != nil {
		t.Fatal(err)
	}
	return spec
}

// endsByItems reports whether a walk ends by nothing but the items of its pages: a list
// that is there and empty, or records that all lie before the window.
func endsByItems(ends []harvest.EndProof) bool {
	return !slices.ContainsFunc(ends, func(e harvest.EndProof) bool { return e != harvest.EndEmpty && e != harvest.EndSorted })
}

// losable is what the replies of a shipped pack can lose that its walks end by.
func losable(t *testing.T, pack string) (out []sim.Fault) {
	t.Helper()
	spec := walked(t, pack)
	if spec.Search.Response.Token != "" || spec.Search.Response.URL != "" {
		out = append(out, sim.TokenDropped, sim.TokenDroppedShort)
	}
	if spec.Search.Response.Total != "" {
		out = append(out, sim.TotalDropped)
	}
	t.Logf("%s ends by %v; what is dropped: %v", pack, spec.Paging.End, out)
	if len(out) == 0 && !endsByItems(spec.Paging.End) {
		t.Errorf("%s ends by %v, and nothing of that can be dropped", pack, spec.Paging.End)
	}
	return out
}

// TestR64_EveryShippedPackLosesWhatItEndsBy: no pack is shipped whose replies are
// not tried without what its walks end by.
func TestR64_EveryShippedPackLosesWhatItEndsBy(t *testing.T) {
	files, err := sources.FS.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if sourcefile.IsCases(file.Name()) {
			continue
		}
		pack := strings.TrimSuffix(file.Name(), ".yaml")
		if slices.Contains(sim.LookupOnly, pack) {
			continue // there is no walk that could end
		}
		losable(t, pack)
		tried := slices.Contains(oracles(), pack) || slices.ContainsFunc(shelves, func(s shelf) bool { return s.pack == pack })
		if !tried {
			t.Errorf("%s is neither on a shelf nor served by the oracle", pack)
		}
	}
}

// TestR64_ShippedPacksBelieveNoMissingToken serves recorded items to every shipped
// pack that the oracle does not know, and leaves the token, the link or the total
// out of each page in turn, full and short: nothing is DONE with records missing.
func TestR64_ShippedPacksBelieveNoMissingToken(t *testing.T) {
	for _, s := range shelves {
		t.Run(s.pack, func(t *testing.T) {
			t.Parallel()
			s.all = s.items(t)
			read := func(t *testing.T, f sim.Fault, page int) (out shelf) {
				t.Helper()
				bubble(t, func(t *testing.T) {
					out = s
					out.fault, out.page = f, page
					rep, stored := out.read(t)
					if rep.Status != "COMPLETED" || stored != shelved {
						t.Errorf("%s, %d of %d stored after %d pages: %+v", rep.Status, stored, shelved, out.asked, rep.Slices)
					}
				})
				return out
			}
			calm := read(t, "", 0)
			if calm.asked != 4 { // the last once more, since nothing else proves the end
				t.Errorf("%d pages were asked for", calm.asked)
			}
			faults := losable(t, s.pack)
			if slices.Contains(faults, sim.TotalDropped) {
				faults = append(faults, totalDroppedShort)
			}
			if !slices.Contains(faults, sim.TokenDroppedShort) {
				faults = append(faults, sim.TokenDroppedShort) // which lacks items all the same
			}
			for _, f := range faults {
				served := false
				for page := range calm.asked {
					t.Run(fmt.Sprint(f, " page ", page+1), func(t *testing.T) {
						got := read(t, f, page)
						served = served || got.served
						if got.asked <= page {
							t.Error("the page was never asked for")
						}
						if got.asked > 3*calm.asked+3 {
							t.Errorf("%d pages were asked for, %d without the fault", got.asked, calm.asked)
						}
					})
				}
				if !served {
					t.Errorf("%s: no page of the shelf has anything to leave out", f)
				}
			}
		})
	}
}
