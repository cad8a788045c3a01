package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"math"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/papertrace/patra/internal/app/role"
	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/infra/httpapi"
	"github.com/papertrace/patra/internal/infra/sqlstore"
	"github.com/papertrace/patra/internal/node"
)

// What is asked of views.
const (
	viewWithin = 100  // milliseconds, of 95 in 100 answers of each
	mostBeside = 1.05 // of the time that a harvest takes alone
	// askEvery is how often something is asked, as by some open pages and a dashboard.
	askEvery = 50 * time.Millisecond
)

// view is how long one question took to answer.
type view struct {
	Path string `json:"path"`
	spread
	Asked int `json:"asked"`
	// CPU is what one answer costs this process, in milliseconds, of 95 in 100 asked
	// while nothing else goes on: on a busy machine it tells more than the clock.
	CPU float64 `json:"cpu_p95_ms"`
	// Busy is how long it takes beside a harvest that keeps all processors busy.
	Busy spread `json:"busy_ms"`
	// Packed is the size of a page of the console as it is sent, in bytes.
	Packed int `json:"packed_bytes,omitempty"`
}

// within is how long it may take, in milliseconds.
func (v view) within() float64 {
	if v.Packed > 0 {
		return pageWithin
	}
	return viewWithin
}

// views measures what operators ask of a full store.
func (r *report) views(ctx context.Context, o options) error {
	records := 1_000_000
	harvested := 100_000
	if o.quick {
		records = 20_000
		harvested = 5_000
	}
	return withOracle(ctx, job{Source: "crossref", Records: harvested}, func(base string) (err error) {
		if o.only != "views-server" {
			r.Views, err = run(ctx, o, "views", job{Source: "views", Records: records}, base)
			if err != nil {
				return err
			}
		}
		if dsn := os.Getenv("PATRA_BENCH_MYSQL"); dsn != "" {
			f, err := run(ctx, o, "views", job{Source: "views", Records: records, db: dsn}, base)
			if err != nil {
				return err
			}
			r.ViewsServer = &f
		}
		return nil
	})
}

// viewsUnderTest fills a store, asks every read route of the API again and again while a
// harvest runs in the same process, and compares that harvest with one beside which
// nothing is asked. What command lines read they read by the same calls.
//
// The answers are judged beside a harvest at the pace that its source allows, which is
// the fastest there is. Another one, of a source without limits, keeps all processors
// busy, of which the oracle takes its share: it shows what the answers cost a harvest, and
// how long they take where there is no processor to spare.
func viewsUnderTest(ctx context.Context, j job, m *meter) (f figures, err error) {
	dsn, kind, address := addressOf(j.db)
	if err := migrate(ctx, dsn); err != nil {
		return f, err
	}
	store, err := sqlstore.Open(ctx, dsn, sqlstore.Options{})
	if err != nil {
		return f, err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	paced, err := newHarvester(store, j.base, packs)
	if err != nil {
		return f, err
	}
	fast, err := newHarvester(store, j.base, unlimitedPacks)
	if err != nil {
		return f, err
	}
	db, err := sql.Open(kind, address)
	if err != nil {
		return f, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	if _, _, err := fast.again(ctx); err != nil { // the first stores the records, and one to copy
		return f, err
	}
	size := amounts{Records: j.Records, Batches: j.Records / 10, Slices: j.Records / 25, Cursors: j.Records / 25}
	if err := seed(ctx, store, db, kind == "mysql", size); err != nil {
		return f, err
	}
	desk, err := openDesk(ctx, dsn, db)
	if err != nil {
		return f, err
	}
	defer func() { err = errors.Join(err, desk.node.Close()) }()
	if err := desk.askAlone(20); err != nil {
		return f, err
	}
	if err := m.start(); err != nil {
		return f, err
	}
	alone, _, err := paced.again(ctx)
	if err != nil {
		return f, err
	}
	var beside []float64
	for desk.fewest() < samples {
		took, _, err := desk.besides(ctx, paced)
		if err != nil {
			return f, err
		}
		beside = append(beside, took)
	}
	f.Beside = middle(beside) / alone
	f.Views = desk.spreads()
	desk.forget()
	if err := f.compareFast(ctx, desk, fast); err != nil {
		return f, err
	}
	for i, busy := range desk.spreads() {
		f.Views[i].Busy = busy.spread
	}
	f.Records = int64(size.Records)
	return f, m.stop(&f)
}

// samples is how often each question is asked at least: of fewer the slowest would be
// all that is told.
const samples = 20

// compareFast has a source without limits harvested, in turns alone and while questions
// are asked.
func (f *figures) compareFast(ctx context.Context, d *desk, fast *harvester) error {
	var alone, beside, cpuAlone, cpuBeside []float64
	for range 8 {
		took, cpu, err := fast.again(ctx)
		if err != nil {
			return err
		}
		alone = append(alone, took)
		cpuAlone = append(cpuAlone, cpu)
		took, cpu, err = d.besides(ctx, fast)
		if err != nil {
			return err
		}
		beside = append(beside, took)
		cpuBeside = append(cpuBeside, cpu)
	}
	f.BesideFast = middle(beside) / middle(alone)
	f.BesideCPU = middle(cpuBeside) / middle(cpuAlone)
	return nil
}

// besides harvests while questions are asked, whose own cost is taken off.
func (d *desk) besides(ctx context.Context, h *harvester) (took, cpu float64, err error) {
	answers, err := d.askWhile(ctx, func() (err error) {
		took, cpu, err = h.again(ctx)
		return err
	})
	return took, cpu - answers, err
}

// addressOf is a database as patra, and as database/sql, name it.
func addressOf(db string) (dsn, kind, address string) {
	rest, isServer := strings.CutPrefix(db, "mysql://")
	if !isServer {
		return "sqlite:" + db, "sqlite", "file:" + db + "?_pragma=busy_timeout(60000)"
	}
	host, name, _ := strings.Cut(rest, "/")
	return db, "mysql", strings.Replace(host, "@", "@tcp(", 1) + ")/" + name
}

// desk asks what operators, the pages of the console and dashboards ask.
type desk struct {
	node   *node.Node
	door   *httpapi.Door
	paths  []string
	asked  int            // how many questions were asked beside harvests; they go on where they were
	packed map[string]int // bytes of each page of the console

	mu   sync.Mutex
	took map[string][]float64 // guarded by mu; milliseconds
	cost map[string][]float64 // milliseconds of CPU
}

// openDesk opens the API over a store, and finds what can be read there.
func openDesk(ctx context.Context, dsn string, db *sql.DB) (*desk, error) {
	n, err := node.Open(ctx, node.Config{DB: dsn, Contact: "bench@example.org", Archive: os.TempDir()})
	if err != nil {
		return nil, err
	}
	d := &desk{node: n, packed: map[string]int{}, took: map[string][]float64{}, cost: map[string][]float64{}}
	board := new(role.Board)
	pages, err := d.newPages(board)
	if err != nil {
		return nil, err
	}
	d.door, err = httpapi.New(httpapi.Config{
		Control: n.Control, Board: board, Local: true, Redact: func(s string) string { return s }, Metrics: n.Metrics, Pages: pages,
		Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		return nil, err
	}
	ids := map[string]int64{}
	for of, q := range map[string]string{
		"plans":   `SELECT plan_id FROM ing_task WHERE provenance_code='` + seeded + `' ORDER BY id LIMIT 1`,
		"slices":  `SELECT id FROM ing_plan_slice WHERE provenance_code='` + seeded + `' AND status_code='FAILED' ORDER BY id LIMIT 1`,
		"cursors": `SELECT cursor_id FROM ing_plan_slice WHERE provenance_code='` + seeded + `' LIMIT 1`,
		"tasks":   `SELECT MAX(id) FROM ing_task WHERE provenance_code='` + seeded + `' AND status_code='QUEUED'`,
		"runs":    `SELECT MAX(id) FROM ing_task_run WHERE provenance_code='` + seeded + `' AND status_code='FAILED'`,

		"errors":     `SELECT MAX(id) FROM ing_error_group WHERE provenance_code='` + seeded + `'`,
		"quarantine": `SELECT MAX(id) FROM ing_quarantine WHERE provenance_code='` + seeded + `'`,
		"alerts":     `SELECT MAX(id) FROM ing_alert WHERE provenance_code='` + seeded + `'`,
	} {
		var id int64
		if err := db.QueryRowContext(ctx, q).Scan(&id); err != nil {
			return nil, fmt.Errorf("find one of %s: %w", of, err)
		}
		ids[of] = id
	}
	d.paths, err = d.readable(ids)
	if err != nil {
		return nil, err
	}
	return d, d.addPages(pages.Paths(), ids)
}

// readable are the routes that show something, filled in with what the store is full of.
// Those of a thing whose name or number is not known are left out, and so are previews,
// which stand beside a change of the same path.
func (d *desk) readable(ids map[string]int64) ([]string, error) {
	var doc struct {
		Paths map[string]map[string]struct {
			Parameters []struct {
				Name     string `json:"name"`
				In       string `json:"in"`
				Required bool   `json:"required"`
			} `json:"parameters"`
		} `json:"paths"`
	}
	body, status := d.ask("/api/v1/openapi.json")
	if status != http.StatusOK {
		return nil, fmt.Errorf("the document: %d", status)
	}
	if err := json.Unmarshal(body, &doc); err != nil {
		return nil, err
	}
	var out []string
	for _, path := range slices.Sorted(maps.Keys(doc.Paths)) {
		get, is := doc.Paths[path]["get"]
		if _, changes := doc.Paths[path]["post"]; !is || changes && strings.Contains(path, "{") {
			continue
		}
		of := strings.Split(path+"//////", "/")[3]
		id := fmt.Sprint(ids[of])
		if of == "records" {
			id = url.PathEscape(seededRecord)
		}
		full := strings.NewReplacer("{code}", seeded, "{id}", id, "{no}", "1", "{run}", fmt.Sprint(ids["runs"]), "{batch}", "1",
			"{name}", url.PathEscape(seeded+"/HARVEST")).Replace(path)
		if strings.Contains(full, "{") || strings.Contains(full, "/0") || of == "searches" && full != path {
			continue
		}
		query := url.Values{}
		narrowed := false
		for _, p := range get.Parameters {
			switch {
			case p.In == "query" && p.Name == "source":
				narrowed = !p.Required
				if p.Required {
					query.Set("source", seeded)
				}
			case p.Name == "operation" && strings.HasSuffix(path, "/timeline"):
				query.Set("operation", string(harvest.Harvest)) // it refuses to show all that there are
			case p.In == "query" && p.Name == "query":
				query.Set("query", "tiab:insulin AND year:2020..2026")
			case p.In == "query" && p.Name == "sources":
				query.Set("sources", seeded)
			case p.In == "query" && p.Required:
				query.Set(p.Name, "2026-01-01T00:00:00Z")
			}
		}
		out = append(out, full+"?"+query.Encode())
		if narrowed {
			query.Set("source", seeded)
			out = append(out, full+"?"+query.Encode())
		}
	}
	return out, nil
}

func (d *desk) ask(path string) ([]byte, int) {
	req := httptest.NewRequest(http.MethodGet, path, http.NoBody)
	req.Host = "127.0.0.1:8080"
	req.RemoteAddr = "127.0.0.1:40000"
	rec := httptest.NewRecorder()
	d.door.ServeHTTP(rec, req)
	return rec.Body.Bytes(), rec.Code
}

// middle is the median.
func middle(of []float64) float64 { return slices.Sorted(slices.Values(of))[len(of)/2] }

// askWhile asks for one thing after the other until f is done, and tells how many seconds
// of CPU the answers took, by what each takes while nothing else goes on.
func (d *desk) askWhile(ctx context.Context, f func() error) (answers float64, err error) {
	ctx, stop := context.WithCancel(ctx)
	var asking sync.WaitGroup
	var failed error
	asking.Go(func() { answers, failed = d.askAll(ctx) })
	err = f()
	stop()
	asking.Wait()
	return answers, errors.Join(err, failed)
}

// askAlone asks for everything some times while nothing else goes on.
func (d *desk) askAlone(times int) error {
	for range times {
		for _, path := range d.paths {
			before, err := cpuTime()
			if err != nil {
				return err
			}
			body, status := d.ask(path)
			// Nothing was archived: there the answer is that nothing was found.
			if status != http.StatusOK && !strings.HasPrefix(path, "/api/v1/archives/rows") {
				return fmt.Errorf("%s: %d %.200s", path, status, body)
			}
			after, err := cpuTime()
			if err != nil {
				return err
			}
			d.cost[path] = append(d.cost[path], (after-before).Seconds()*1000)
		}
	}
	return nil
}

func (d *desk) askAll(ctx context.Context) (cpu float64, err error) {
	turn := time.NewTicker(askEvery)
	defer turn.Stop()
	for {
		select {
		case <-ctx.Done():
			return cpu, nil
		case <-turn.C:
		}
		path := d.paths[d.asked%len(d.paths)]
		d.asked++
		began := time.Now()
		body, status := d.ask(path)
		took := time.Since(began)
		if status >= http.StatusInternalServerError {
			return cpu, fmt.Errorf("%s: %d %.200s", path, status, body)
		}
		cpu += middle(d.cost[path]) / 1000
		d.mu.Lock()
		d.took[path] = append(d.took[path], took.Seconds()*1000)
		d.mu.Unlock()
	}
}

// fewest is how often the question was asked that was asked least.
func (d *desk) fewest() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	n := math.MaxInt
	for _, path := range d.paths {
		n = min(n, len(d.took[path]))
	}
	return n
}

// forget begins to measure anew.
func (d *desk) forget() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.took = map[string][]float64{}
}

// rank95 is the place, in a sorted list, of the value that 95 in 100 do not exceed.
func rank95(n int) int { return (n*95+99)/100 - 1 }

func (d *desk) spreads() []view {
	d.mu.Lock()
	defer d.mu.Unlock()
	var out []view
	for _, path := range slices.Sorted(maps.Keys(d.took)) {
		took := slices.Sorted(slices.Values(d.took[path]))
		cost := slices.Sorted(slices.Values(d.cost[path]))
		out = append(out, view{Path: path, spread: spread{P50: took[len(took)/2], P95: took[rank95(len(took))]}, Asked: len(took), CPU: cost[rank95(len(cost))], Packed: d.packed[path]})
	}
	return out
}

// judgeViews tells the slowest answers, and what they cost the harvest.
func (r *report) judgeViews(verdict func(ok bool, format string, args ...any)) {
	if len(r.Views.Views) > 0 {
		r.Views.judgeViews("SQLite", verdict)
	}
	if r.ViewsServer != nil {
		r.ViewsServer.judgeViews("MySQL", verdict)
	}
}

func (f *figures) judgeViews(where string, verdict func(ok bool, format string, args ...any)) {
	slowest := slices.SortedFunc(slices.Values(f.Views), func(a, b view) int { return int(1000 * (b.P95 - a.P95)) })
	for i, v := range slowest {
		if i < 5 || v.P95 >= v.within() {
			verdict(v.P95 < v.within(), "%s, %s: P50 %.1f ms, P95 %.1f ms of %d (under %.0f ms); CPU %.1f ms; all processors busy: P50 %.1f, P95 %.1f ms", where, v.Path, v.P50, v.P95, v.Asked, v.within(), v.CPU, v.Busy.P50, v.Busy.P95)
		}
	}
	pages := 0
	largest := view{}
	for _, v := range f.Views {
		if v.Packed > 0 {
			pages++
		}
		if v.Packed > largest.Packed {
			largest = v
		}
	}
	verdict(largest.Packed < pageBytes, "%s, the largest of %d pages of the console, %s, has %d bytes packed (under %d)", where, pages, largest.Path, largest.Packed, pageBytes)
	verdict(f.Beside < mostBeside, "%s, a harvest while %d routes and pages are asked, twenty questions a second, takes %.3f of its time alone (under %.2f)", where, len(f.Views), f.Beside, mostBeside)
	verdict(f.BesideCPU < mostBeside, "%s, one that keeps all processors busy takes %.3f of its CPU time alone, the answers not counted (under %.2f), and %.3f of its time", where, f.BesideCPU, mostBeside, f.BesideFast)
}

// printViews writes what was measured of views alone.
func (r *report) printViews(out io.Writer) error {
	r.judgeViews(verdicts(out))
	return json.NewEncoder(out).Encode(r)
}
