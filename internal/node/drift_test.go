package node_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/papertrace/patra/internal/app/executor"
	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/source"
	"github.com/papertrace/patra/internal/infra/sourcefile"
	"github.com/papertrace/patra/internal/node"
	"github.com/papertrace/patra/internal/patratest"
	"github.com/papertrace/patra/internal/sim"
	"github.com/papertrace/patra/sources"
)

// fastPack writes a shipped pack without its brakes into a folder.
func fastPack(t *testing.T, dir, code string) {
	t.Helper()
	b, err := sources.FS.ReadFile(code + ".yaml")
	if err != nil {
		t.Fatal(err)
	}
	p, err := sourcefile.Parse(code, b)
	if err != nil {
		t.Fatal(err)
	}
	d := p.Definition
	d.RateLimit, d.Auth = &source.Rate{Limit: 2000, Window: source.Duration(time.Second), QPS: 1000, Burst: 1}, nil
	if d.Batching != nil {
		d.Batching = &source.Batching{IDs: 50}
	}
	pages := *d.Pagination
	if code == "crossref" {
		pages.PageSize = 100
	}
	d.Pagination = &pages
	window := *d.Window
	window.Target = 200
	d.Window = &window
	if err := os.WriteFile(filepath.Join(dir, code+".yaml"), sourcefile.Format(d), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestR47_RunningPlanNeverSeesTheRegistry rewrites and then deletes every row
// of the registry of a plan that is being worked on: first into another description
// that compiles, which whoever reads the registry would follow, then into one that
// does not. The oracle sees the very requests of a run that nobody disturbed.
func TestR47_RunningPlanNeverSeesTheRegistry(t *testing.T) {
	t.Parallel()
	patratest.Long(t, "a matrix of cases without concurrency")
	patratest.EachKind(t, func(t *testing.T, e patratest.Engine) {
		for _, code := range []string{"crossref", "pubmed"} {
			calm, _ := drift(t, e, code, false)
			disturbed, left := drift(t, e, code, true)
			if left != 0 {
				t.Errorf("%s: %d rows of the registry are left", code, left)
			}
			if len(calm) < 8 {
				t.Errorf("%s: only %d requests", code, len(calm))
			}
			if diff := cmp.Diff(calm, disturbed); diff != "" {
				t.Errorf("%s: requests differ:\n%s", code, diff)
			}
		}
	})
}

// drift harvests once and returns the requests as the oracle saw them, and how
// many rows the registry has left.
func drift(t *testing.T, e patratest.Engine, code string, disturb bool) (seen []string, left int) {
	t.Helper()
	packs := t.TempDir()
	fastPack(t, packs, code)
	now := time.Date(2026, 6, 30, 0, 0, 0, 0, time.UTC)
	o, err := sim.New(sim.Config{Sources: []string{code}, Records: 4000, Seed: 5, Now: now, Span: 5 * 24 * time.Hour, LimitRPS: -1})
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(o)
	defer srv.Close()
	dsn := e.SpareDSN(t)
	open := func() *node.Node {
		n, err := node.Open(t.Context(), node.Config{DB: dsn, Packs: packs, Contact: "a@example.org", Workers: 1, Logger: patratest.Logger(t)})
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	n := open()
	base := srv.URL + "/" + code
	planned, err := n.Planner.Plan(t.Context(), harvest.Trigger{
		Provenance: code, Operation: harvest.Harvest, Kind: "MANUAL", BaseURL: base, From: now.Add(-5 * 24 * time.Hour), To: now.Add(-2 * 24 * time.Hour), Params: "{}",
	})
	if err := errors.Join(err, n.Store.SetBaseURL(t.Context(), planned.Namespace, base), n.Close()); err != nil {
		t.Fatal(err)
	}
	db := patratest.Raw(t, dsn)
	q := "SELECT name FROM sqlite_master WHERE type='table' AND name LIKE 'reg_%'"
	if strings.HasPrefix(dsn, "mysql:") {
		q = "SELECT table_name FROM information_schema.tables WHERE table_schema=DATABASE() AND table_name LIKE 'reg_%'"
	}
	tables := column(t, db, q)
	exec := func(q string) {
		if _, err := db.ExecContext(t.Context(), q); err != nil {
			t.Errorf("%s: %v", q, err)
		}
	}
	if disturb {
		exec("UPDATE reg_prov_pagination_cfg SET page_size_value=37")
		exec("UPDATE reg_prov_http_cfg SET default_headers_json='{\"X-New\":\"1\"}'")
	}
	// Another process works on the plan. It remembers nothing of the registry as
	// it was when the plan was made.
	n = open()
	defer n.Close() //nolint:errcheck // a test's store
	if disturb {
		con, err := n.Registry.Select(t.Context(), code, harvest.Harvest, "")
		if err != nil || con.Spec.Paging.Size != 37 || con.Spec.HTTP.Headers["X-New"] == nil {
			t.Errorf("whoever reads the registry now does not see what was written: %d, %v, %v", con.Spec.Paging.Size, con.Spec.HTTP.Headers, err)
		}
	}
	var pages atomic.Int32
	o.SetOnRequest(func(r *http.Request) {
		walking := strings.HasSuffix(r.URL.Path, "/works") && r.FormValue("rows") != "0" || strings.Contains(r.URL.Path, "efetch")
		if !walking || !disturb {
			return
		}
		switch pages.Add(1) {
		case 2: // into nonsense
			exec("UPDATE reg_provenance SET base_url_default='https://elsewhere.example.org', record_type='other'")
			exec("UPDATE reg_prov_endpoint_def SET path_template='/elsewhere', default_query_params='{}'")
			exec("UPDATE reg_prov_window_offset_cfg SET timezone='Asia/Tokyo'")
		case 12: // several tasks later
			for _, table := range tables {
				exec("DELETE FROM " + table)
			}
		}
	})
	ex := n.Executor(executor.Config{Provenance: code, Operation: harvest.Harvest, Idle: func(ctx context.Context, _ int) (bool, error) {
		w, err := n.Control.Work(ctx, code, harvest.Harvest)
		return w.Ready+w.Leased+w.Later == 0, err
	}})
	if err := ex.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	sum, err := n.Store.Summary(t.Context(), planned.Plan.ID)
	if err != nil || sum.Status != harvest.PlanCompleted {
		t.Fatalf("%s: %+v, %v", code, sum, err)
	}
	for _, r := range o.Requests() {
		seen = append(seen, fmt.Sprintf("%s %s?%s %v", r.Method, r.Path, r.Params.Encode(), r.Header))
	}
	for _, table := range tables {
		n := 0
		if err := db.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM "+table).Scan(&n); err != nil {
			t.Fatal(err)
		}
		left += n
	}
	return seen, left
}

// column reads one column of texts.
func column(t *testing.T, db *sql.DB, q string) (out []string) {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close() //nolint:errcheck // read to its end
	for rows.Next() {
		var s string
		if err := rows.Scan(&s); err != nil {
			t.Fatal(err)
		}
		out = append(out, s)
	}
	if err := rows.Err(); err != nil || len(out) == 0 {
		t.Fatalf("%s: %d rows, %v", q, len(out), err)
	}
	return out
}
