package node_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/papertrace/patra/internal/app/registry"
	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/infra/sourcefile"
	"github.com/papertrace/patra/internal/infra/sqlstore"
	"github.com/papertrace/patra/internal/node"
	"github.com/papertrace/patra/internal/patratest"
	"github.com/papertrace/patra/internal/sim"
	"github.com/papertrace/patra/sources"
)

// guided is a node over a registry that was written by statements of SQL alone.
type guided struct {
	*node.Node
	t      *testing.T
	oracle *sim.Sim
	known  *registry.Registry
}

// newGuided runs statements on an empty store. The oracle is that of the shipped packs.
func newGuided(t *testing.T, e patratest.Engine, statements []string) guided {
	t.Helper()
	dsn := e.NewDSN(t)
	store := patratest.Open(t, dsn, sqlstore.Options{Logger: patratest.Logger(t)})
	if e == patratest.SQLite {
		statements = patratest.WithoutVariables(statements)
	}
	c, err := patratest.Raw(t, dsn).Conn(context.WithoutCancel(t.Context()))
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range statements {
		if _, err := c.ExecContext(t.Context(), s); err != nil {
			t.Fatalf("%v\n%s", err, s)
		}
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	oracle, err := sim.New(sim.Config{Sources: []string{sim.PubMed, sim.Crossref, sim.Generic}, Records: 300, Seed: 71, LimitRPS: -1, Now: time.Now().Add(-time.Hour), Span: 4 * 24 * time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	shelf := sourcefile.Shelf{Shipped: sources.FS}
	packs, err := shelf.Open()
	if err != nil {
		t.Fatal(err)
	}
	vars := map[string]string{"contact": "test@example.org", "tool": "patra-test"}
	known := registry.New(store, packs, vars, node.CheckSpec, patratest.Logger(t))
	n := node.Assemble(node.Config{Logger: patratest.Logger(t)}, store, known, patratest.Direct{Handler: oracle})
	return guided{Node: n, t: t, oracle: oracle, known: known}
}

// mustHarvest harvests a source of the oracle, whose store must then say what the oracle does.
func (g guided) mustHarvest(code, base string) *control.Report {
	g.t.Helper()
	rep, err := g.Control.Harvest(g.t.Context(), control.HarvestRequest{Source: code, BaseURL: base})
	if err != nil {
		g.t.Fatal(err)
	}
	if rep.Status != "COMPLETED" || rep.Records.Inserted == 0 {
		g.t.Fatalf("%s: %+v", code, rep)
	}
	patratest.MustEqual(g.t, g.Store, g.oracle, code, rep.Watermark.Time())
	patratest.MustVerify(g.t, g.Store)
	return rep
}

// hurry lets the sources of the design be asked as often as one likes, so that nobody waits for a server's clock.
const hurry = `INSERT INTO reg_prov_rate_limit_cfg (provenance_id, scope_code, effective_from, provider_limit, rate_tokens_per_second, max_concurrent_requests)
	SELECT id, 'SOURCE', '2025-01-01', 1000000, 10000, 4 FROM reg_provenance`

// inOurDays runs f on SQLite in a bubble whose clock shows a time at which the design's rows are in force, and on a
// server by the clock there is.
func inOurDays(t *testing.T, f func(t *testing.T, e patratest.Engine)) {
	patratest.EachKindOfTable(t, func(t *testing.T, e patratest.Engine) {
		if e != patratest.SQLite {
			f(t, e)
			return
		}
		synctest.Test(t, func(t *testing.T) {
			time.Sleep(time.Until(time.Date(2026, 3, 10, 15, 0, 0, 0, time.UTC)))
			f(t, e)
		})
	})
}

// TestR71_TheGuidesContractsHarvestExactly: what the design's statements say of Crossref and PubMed compiles for the
// operations they are about. By it Crossref is harvested and PubMed read again, without a difference to the oracle.
func TestR71_TheGuidesContractsHarvestExactly(t *testing.T) {
	t.Parallel()
	for _, example := range []string{"quick-start", "example"} {
		t.Run(example, func(t *testing.T) {
			inOurDays(t, func(t *testing.T, e patratest.Engine) {
				g := newGuided(t, e, append(patratest.GuideStatements(t, example, nil), hurry))
				rep := g.mustHarvest("crossref", "http://oracle/crossref")
				// The quick start leaves the endpoints to the pack, which knows how to count.
				if days := rep.Slices.Done > 20; days != (example == "example") {
					t.Errorf("%d slices", rep.Slices.Done)
				}
				g.readAgain()
			})
		})
	}
}

// readAgain reads records of PubMed by their ids.
func (g guided) readAgain() {
	g.t.Helper()
	want := map[string]string{}
	for truth := range g.oracle.Truth("pubmed") {
		if !truth.Deleted && len(want) < 120 {
			want[truth.ID] = truth.RawSHA256
		}
	}
	var ids strings.Builder
	for id := range want {
		ids.WriteString(id + "\n")
	}
	rep, err := g.Control.Refresh(g.t.Context(), control.RefreshRequest{
		Source: "pubmed", IDs: strings.NewReader(ids.String()), BaseURL: "http://oracle/pubmed/entrez",
	})
	if err != nil {
		g.t.Fatal(err)
	}
	if rep.Records.Inserted != int64(len(want)) {
		g.t.Errorf("%d of %d records were read: %+v", rep.Records.Inserted, len(want), rep)
	}
	patratest.MustVerify(g.t, g.Store)
}

// ofSQLAlone describes the oracle's generic source, of which there is no pack, in the columns of the design and
// where these do not reach in patra's own. Days lie as the calendar has them.
var ofSQLAlone = []string{
	`INSERT INTO reg_provenance (provenance_code, provenance_name, base_url_default, timezone_default, record_type)
		VALUES ('generic', 'Generic', 'https://generic.example', 'UTC', 'item')`,
	`SET @id = (SELECT id FROM reg_provenance WHERE provenance_code = 'generic')`,
	`INSERT INTO reg_prov_endpoint_def (provenance_id, scope_code, endpoint_name, effective_from, endpoint_usage_code, http_method_code, path_template,
		default_query_params, request_content_type, is_auth_required, page_param_name, response_paths)
		VALUES (@id, 'SOURCE', 'items', '2025-01-01', 'SEARCH', 'GET', '/items',
		JSON_OBJECT('from', '${iso(window.from)}', 'to', '${iso(window.to)}', 'style', 'page'), 'application/json', 0, 'page',
		'{"items":["items"],"id":[{"path":"id"}],"updatedAt":[{"path":"updated","key":"updated"}],"version":[{"path":"v"}],"total":"total"}')`,
	`INSERT INTO reg_prov_window_offset_cfg (provenance_id, scope_code, effective_from, window_mode_code, window_size_value, window_size_unit_code,
		lookback_value, lookback_unit_code, overlap_value, overlap_unit_code, offset_type_code, default_date_field_name, filters, time_precision_code, bound_style_code)
		VALUES (@id, 'SOURCE', '2025-01-01', 'calendar', 1, 'DAY', 2, 'hour', 1, 'HOUR', 'DATE', 'updated', '{"from":"updated","to":"updated"}', 'SECOND', 'OPEN')`,
	`INSERT INTO reg_prov_pagination_cfg (provenance_id, scope_code, effective_from, pagination_mode_code, page_size_value, page_number_param_name,
		page_size_param_name, start_page_number)
		VALUES (@id, 'SOURCE', '2025-01-01', 'PAGE_NUMBER', 7, 'not-this-one', 'size', 0)`,
	hurry,
}

// TestR71_ASourceOfSQLAloneHarvestsExactly: a source that nobody has written a pack for is harvested by what
// statements of SQL say of it.
func TestR71_ASourceOfSQLAloneHarvestsExactly(t *testing.T) {
	t.Parallel()
	inOurDays(t, func(t *testing.T, e patratest.Engine) {
		g := newGuided(t, e, ofSQLAlone)
		rep := g.mustHarvest("generic", "http://oracle/generic")
		if rep.Slices.Done < 20 {
			t.Errorf("%d slices", rep.Slices.Done)
		}
		midnight := rep.Watermark.Time()
		if !midnight.Equal(midnight.Truncate(24 * time.Hour)) {
			t.Errorf("a window of the calendar ends at %s", midnight)
		}
		con, err := g.known.Contract(t.Context(), "generic", harvest.Harvest)
		if err != nil {
			t.Fatal(err)
		}
		if got := con.Spec.Window.Overlap.D(); got != 2*time.Hour {
			t.Errorf("windows reach back by %s: the longer of overlap and lookback counts", got)
		}
	})
}
