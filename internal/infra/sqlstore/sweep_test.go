package sqlstore_test

import (
	"cmp"
	"database/sql"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/papertrace/patra/internal/app/registry"
	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/source"
	"github.com/papertrace/patra/internal/infra/sqlstore"
	"github.com/papertrace/patra/internal/node"
	"github.com/papertrace/patra/internal/patratest"
	"github.com/papertrace/patra/internal/sim"
)

// TestSweep is the proof of the commit protocol: a harvest in which the store
// fails once at its k-th point, or is dead from there on, for every k until one
// completes untouched. A point is the moment before or after a statement or a
// commit, so that "after commit" is a commit whose success nobody learned of.
// After each a new process goes on until nothing is left: the integrity check
// is clean and the store equals the oracle.
//
// On SQLite every k runs, in virtual time: at a commit the store both fails and
// dies, at the other points it does so in turn. On the servers, which the same code
// asks, some k run: on MySQL every commit and each 37th other point of a source in two phases,
// on MariaDB and TiDB each 19th point of any kind of one in a single phase. PATRA_SOAK=1 runs everything. With -short only each 19th
// point runs.
func TestSweep(t *testing.T) {
	t.Parallel()
	patratest.EachEngine(t, func(t *testing.T, e patratest.Engine) {
		for _, code := range sweptOn(e) {
			for _, mode := range []string{"fail", "kill"} {
				t.Run(code+"/"+mode, func(t *testing.T) { sweep(t, e, code, mode) })
			}
		}
	})
}

// TestR88_CutAtEveryPoint is the sweep with lost connections: at its k-th point
// every connection to the server is cut. The harvest does not fail, it goes on by
// itself on new ones and ends exact. Only where COMMIT is under way is its run given
// back, to be taken again from what the store says.
func TestR88_CutAtEveryPoint(t *testing.T) {
	t.Parallel()
	for _, e := range patratest.Servers() {
		for _, code := range sweptOn(e) {
			t.Run(e.Name+"/"+code, func(t *testing.T) { sweep(t, e, code, "cut") })
		}
	}
}

// TestR88_OpensWhereverItIsCut: a process that begins while its connections are cut begins all
// the same, whatever it was asking.
func TestR88_OpensWhereverItIsCut(t *testing.T) {
	t.Parallel()
	for _, e := range patratest.Servers() {
		t.Run(e.Name, func(t *testing.T) {
			t.Parallel()
			proxy, dsn := patratest.NewProxy(t, e.DSN(t))
			for n := 1; ; n++ {
				proxy.CutAt(n)
				s, err := sqlstore.Open(t.Context(), dsn, sqlstore.Options{})
				if err != nil {
					t.Fatalf("cut at packet %d: %v", n, err)
				}
				isOver := proxy.WillCut()
				proxy.CutAt(0)
				if err := s.Close(); err != nil {
					t.Errorf("cut at packet %d: close: %v", n, err)
				}
				if isOver {
					if n < 20 {
						t.Errorf("a store is opened with %d packets", n-1)
					}
					return
				}
			}
		})
	}
}

// sweptOn lists the sources of which a harvest is swept on an engine: on SQLite both, on each
// of the servers one.
func sweptOn(e patratest.Engine) []string {
	switch {
	case e == patratest.SQLite || patratest.Soak():
		return []string{"pubmed", "crossref"}
	case e == patratest.MySQL:
		return []string{"pubmed"}
	}
	return []string{"crossref"}
}

func sweep(t *testing.T, e patratest.Engine, code, mode string) {
	t.Parallel()
	dsn := e.SpareDSN(t)
	db := patratest.Raw(t, dsn)
	var tables []string
	s := &sweeper{code: code, kill: mode == "kill", bubble: e == patratest.SQLite, packs: map[string]registry.Pack{code: patratest.ShippedPack(t, code, smallPages)}}
	chosen := func(int, string) bool { return true }
	switch {
	case patratest.Soak():
	case e == patratest.MariaDB || e == patratest.TiDB || testing.Short():
		chosen = func(k int, _ string) bool { return k%19 == 0 }
	case e == patratest.MySQL:
		// Around each commit it is one of the three ways, in turn.
		turn := slices.Index([]string{"fail", "kill", "cut"}, mode)
		chosen = func(k int, at string) bool { return k%37 == 0 || isCommit(at) && k/2%3 == turn }
	default:
		// Two in turn and then two that are left out: what is before a statement and
		// what is after one take part in both ways.
		turn := 0
		if s.kill {
			turn = 2
		}
		chosen = func(k int, at string) bool { return k/2%4 == turn || isCommit(at) }
	}
	if mode == "cut" {
		s.proxy, dsn = patratest.NewProxy(t, dsn)
	}
	// A clean run tells how many points and requests there are.
	if s.bubble {
		patratest.Open(t, dsn, sqlstore.Options{}) // makes the schema outside the bubble
	}
	tables = Tables(t, db)
	clean := s.run(t, dsn, 0)
	besides := aside(t, db)
	if bad := besides[1] > 0; besides[0] != 1 || bad != (code == "pubmed") || besides[2] != 1 {
		t.Fatalf("a clean run leaves %v quarantined, bad ids and signals", besides)
	}
	if len(clean.points) < 60 {
		t.Fatalf("only %d points", len(clean.points))
	}
	ran := 0
	for k := 1; ; k++ {
		if k <= len(clean.points) && !chosen(k, clean.points[k-1]) {
			continue
		}
		ran++
		Clear(t, db, tables)
		out := s.run(t, dsn, k)
		if t.Failed() {
			t.Fatalf("at point %d of %d, %q (first run: %v)", k, len(clean.points), out.at, out.first)
		}
		if now := aside(t, db); now != besides {
			t.Fatalf("at point %d, %q: %v quarantined, bad ids and signals, a clean run leaves %v", k, out.at, now, besides)
		}
		if over := out.requests - clean.requests; over > s.mayRepeat(clean) {
			t.Fatalf("at point %d, %q: %d requests more than a clean run's %d", k, out.at, over, clean.requests)
		}
		if out.at == "" {
			break // untouched
		}
	}
	t.Logf("%d of %d points, %d requests", ran, len(clean.points), clean.requests)
}

// isCommit reports whether a point is before or after a commit.
func isCommit(at string) bool { return strings.HasSuffix(at, "commit") }

// sweeper runs one harvest and its recovery.
type sweeper struct {
	code   string
	kill   bool
	bubble bool
	proxy  *patratest.Proxy // cuts connections instead of failing; nil unless it is that
	packs  map[string]registry.Pack
}

type outcome struct {
	points   []string // of the first process
	at       string   // where it failed, empty if nowhere
	first    error
	requests int
}

// mayRepeat is how many requests one crash may cost: the count of the new plan,
// and the page in flight with the one asked for while it was committed. For the
// page with the id that has no details that is asked for twice more. Where the
// server holds the position the walk begins again.
func (s *sweeper) mayRepeat(clean outcome) int {
	if s.code == "crossref" {
		return 1 + clean.requests
	}
	return 1 + 2 + 2
}

func (s *sweeper) run(t *testing.T, dsn string, k int) (out outcome) {
	if !s.bubble {
		return s.once(t, dsn, k)
	}
	synctest.Test(t, func(t *testing.T) { out = s.once(t, dsn, k) })
	return out
}

func (s *sweeper) once(t *testing.T, dsn string, k int) (out outcome) {
	// Where time is real, a lease outlasts any pause of a busy machine, and a harvest
	// that lost the answer to a lease waits for it only that long.
	ttl := time.Minute
	poll := ttl / 10
	if !s.bubble {
		ttl = 5 * time.Second
		poll = 15 * time.Millisecond
	}
	var mu sync.Mutex
	hook := func(p string) error {
		mu.Lock()
		defer mu.Unlock()
		out.points = append(out.points, p)
		n := len(out.points)
		if k == 0 || n < k || n > k && !s.kill {
			return nil
		}
		out.at = cmp.Or(out.at, p)
		if s.proxy != nil {
			s.proxy.Cut()
			return nil
		}
		if s.bubble {
			return errors.New("the store refuses this")
		}
		// A slice whose page the store refused rests for a minute before it is
		// read again, for which there is no time outside a bubble.
		return fmt.Errorf("the store is gone: %w", harvest.ErrStoreAway)
	}
	cfg := patratest.RigConfig{
		DSN: dsn, Hook: hook, Sim: sim.Config{Records: 40, Seed: 11, Now: time.Now().Add(-60 * 24 * time.Hour).Truncate(24 * time.Hour).Add(16 * time.Hour), LimitRPS: -1, Span: 44 * time.Hour, Sources: []string{s.code}},
		Packs: s.packs, Bend: strew,
		Node: node.Config{LeaseTTL: ttl, Poll: poll, Workers: 1},
	}
	cfg.Sim.Churn = new(sim.Churn) // nothing happens by itself
	cfg.Oracle = withNotice(t, cfg.Sim, s.code)
	r := patratest.NewRig(t, cfg)
	rep, err := r.Harvest(t.Context(), s.code)
	out.first = err
	mu.Lock()
	k = 0 // from here on the hook is quiet
	mu.Unlock()
	if cerr := r.Node.Close(); cerr != nil {
		t.Errorf("close: %v", cerr)
	}
	if (out.at == "" || s.proxy != nil) && err != nil {
		t.Errorf("it did not end by itself: %v", err)
	}
	if out.at != "" && s.proxy == nil {
		// A new process, once the lease of the dead one has run out.
		if s.bubble {
			time.Sleep(ttl + ttl/10)
		} else {
			expireLeases(t, dsn)
		}
		cfg.Hook = nil
		r = patratest.NewRig(t, cfg)
		rep, err = r.Harvest(t.Context(), s.code)
		if err != nil {
			t.Errorf("recovery: %v", err)
		}
	} else {
		cfg.Hook = nil
		r = patratest.NewRig(t, cfg)
	}
	if rep == nil || rep.Watermark == nil {
		t.Errorf("no watermark")
		return out
	}
	if rep.Slices.Open+rep.Slices.Failed > 0 {
		t.Errorf("slices left: %+v", rep.Slices)
	}
	r.MustBeExact(s.code, rep)
	out.requests = len(r.Sim.Requests())
	// Hundreds of points, each with its connections: none may outlive its own.
	if err := r.Node.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
	return out
}

// expireLeases lets every lease run out at once.
func expireLeases(t *testing.T, dsn string) {
	t.Helper()
	db := patratest.Raw(t, dsn)
	if _, err := db.Exec(`UPDATE ing_task SET leased_until='2000-01-01 00:00:00.000000' WHERE leased_until IS NOT NULL`); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}

// withNotice is an oracle in which one record was retracted by another, within the
// window that is harvested.
func withNotice(t *testing.T, c sim.Config, code string) *sim.Sim {
	t.Helper()
	o, err := sim.New(c)
	if err != nil {
		t.Fatal(err)
	}
	for r := range o.Truth(code) {
		if _, err := o.Retract(code, r.ID); err != nil {
			t.Fatal(err)
		}
		break
	}
	o.Advance(48 * time.Hour) // past the safety lag of a day
	return o
}

var searchCount = regexp.MustCompile(`"count":"([1-9][0-9]*)"`)

// strew puts into each page of details an item that cannot be read, and into
// PubMed's list of ids one that has no details.
func strew(path string, body []byte) []byte {
	text := string(body)
	switch {
	case strings.HasSuffix(path, "/works"):
		text = strings.Replace(text, `"items":[{`, `"items":[{"DOI":"10.5555/undated"},{`, 1)
	case strings.HasSuffix(path, "/efetch.fcgi"):
		text = strings.Replace(text, "<PubmedArticle>", `<PubmedArticle><MedlineCitation><PMID Version="1">none</PMID></MedlineCitation></PubmedArticle><PubmedArticle>`, 1)
	case strings.HasSuffix(path, "/esearch.fcgi"):
		text = strings.Replace(text, `"idlist":["`, `"idlist":["99999999","`, 1)
		text = searchCount.ReplaceAllStringFunc(text, func(count string) string {
			n, err := strconv.Atoi(searchCount.FindStringSubmatch(count)[1])
			if err != nil {
				panic(err)
			}
			return fmt.Sprintf(`"count":"%d"`, n+1)
		})
	}
	return []byte(text)
}

// aside is what the store keeps besides records: distinct items in quarantine, bad
// ids and signals.
func aside(t *testing.T, db *sql.DB) [3]int {
	t.Helper()
	var n [3]int
	for i, q := range []string{`SELECT COUNT(DISTINCT raw_sha256) FROM ing_quarantine`, `SELECT COUNT(*) FROM ing_bad_id`, `SELECT COUNT(*) FROM ing_signal`} {
		if err := db.QueryRow(q).Scan(&n[i]); err != nil {
			t.Fatal(err)
		}
	}
	return n
}

// smallPages makes several pages of few records: one slice with three pages of
// details, or one of several pages.
func smallPages(s *source.Spec) {
	patratest.Fast(s)
	s.Window.Baseline = source.Duration(4 * 24 * time.Hour)
	s.Batching.IDs = 8
	if s.Detail == nil {
		s.Paging.Size = 10
	}
}
