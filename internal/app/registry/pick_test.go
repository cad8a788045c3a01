package registry_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/papertrace/patra/internal/app/registry"
	"github.com/papertrace/patra/internal/domain/credential"
	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/source"
	"github.com/papertrace/patra/internal/infra/sqlstore"
	"github.com/papertrace/patra/internal/patratest"
)

// Intervals relative to the instant of the pick.
var (
	pickAt  = time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)
	inPast  = [2]time.Time{pickAt.Add(-48 * time.Hour), pickAt} // its end is not part of it
	inForce = [2]time.Time{pickAt, {}}                          // its beginning is
	ahead   = [2]time.Time{pickAt.Add(time.Microsecond), {}}
)

func rateRow(scope source.Scope, op harvest.Operation, span [2]time.Time, qps float64) source.Row {
	return source.Row{
		Slot: source.Slot{Dimension: source.DimRateLimit, Scope: scope, Task: op}, From: span[0], To: span[1], Body: &source.Rate{QPS: qps},
	}
}

// pickCase is a line of the truth table: rows of one dimension, and the value
// that is to be in force for HARVEST; 1 is the platform's default.
type pickCase struct {
	name string
	rows []source.Row
	want float64
	from string
}

// pickCases are scope x interval x order x NULL. A zero rate is a column that
// is NULL.
func pickCases() []pickCase {
	const def = 1.0
	var out []pickCase
	spans := []struct {
		name string
		span [2]time.Time
		live bool
	}{{"none", [2]time.Time{}, false}, {"ended", inPast, false}, {"in force", inForce, true}, {"ahead", ahead, false}}
	for _, task := range spans {
		for _, whole := range spans {
			for _, null := range []bool{false, true} {
				c := pickCase{name: fmt.Sprintf("task %s, source %s, null %v", task.name, whole.name, null), want: def, from: "default"}
				taskRate := 0.25
				if null {
					taskRate = 0
				}
				if task.span != ([2]time.Time{}) {
					c.rows = append(c.rows, rateRow(source.ScopeTask, harvest.Harvest, task.span, taskRate))
				}
				if whole.span != ([2]time.Time{}) {
					c.rows = append(c.rows, rateRow(source.ScopeSource, "", whole.span, 0.5))
				}
				switch {
				case task.live && null:
					c.from = "TASK" // and NULL in it is the platform's default, never the source's 0.5 (R44)
				case task.live:
					c.from, c.want = "TASK", 0.25
				case whole.live:
					c.from, c.want = "SOURCE", 0.5
				}
				out = append(out, c)
			}
		}
	}
	older := [2]time.Time{pickAt.Add(-time.Hour), {}}
	for _, scope := range []source.Scope{source.ScopeSource, source.ScopeTask} {
		op := harvest.Operation("")
		if scope == source.ScopeTask {
			op = harvest.Harvest
		}
		out = append(out,
			pickCase{"newest start wins, " + string(scope), []source.Row{rateRow(scope, op, older, 0.75), rateRow(scope, op, inForce, 0.25)}, 0.25, string(scope)},
			pickCase{"newest start wins whatever the id, " + string(scope), []source.Row{rateRow(scope, op, inForce, 0.25), rateRow(scope, op, older, 0.75)}, 0.25, string(scope)},
			pickCase{"then the highest id, " + string(scope), []source.Row{rateRow(scope, op, inForce, 0.75), rateRow(scope, op, inForce, 0.25)}, 0.25, string(scope)},
		)
	}
	return append(
		out,
		pickCase{"an older TASK before a newer SOURCE", []source.Row{rateRow(source.ScopeTask, harvest.Harvest, older, 0.25), rateRow(source.ScopeSource, "", inForce, 0.5)}, 0.25, "TASK"},
		pickCase{"a TASK of another operation", []source.Row{rateRow(source.ScopeTask, harvest.Backfill, inForce, 0.25), rateRow(source.ScopeSource, "", older, 0.5)}, 0.5, "SOURCE"},
	)
}

func checkPick(t *testing.T, c pickCase, con source.Contents) {
	t.Helper()
	def, choices := con.At(harvest.Harvest, pickAt)
	var ch source.Choice
	for _, x := range choices {
		if x.Dimension == source.DimRateLimit {
			ch = x
		}
	}
	from := "default"
	if ch.Row != nil {
		from = string(ch.Row.Scope)
	}
	if from != c.from || ch.Why == "" {
		t.Errorf("%s: from %s (%s), want %s", c.name, from, ch.Why, c.from)
	}
	whole := described(t, "crossref", registry.Shipped).Definition
	whole.RateLimit = def.RateLimit
	spec, _, err := source.Compile(whole, source.Trigger{Operation: harvest.Harvest})
	if err != nil {
		t.Fatalf("%s: %v", c.name, err)
	}
	if spec.Rate.QPS != c.want {
		t.Errorf("%s: the rate is %v, want %v: %s", c.name, spec.Rate.QPS, c.want, ch.Why)
	}
}

func TestR44_TruthTableOfThePick(t *testing.T) {
	t.Parallel()
	for _, c := range pickCases() {
		for i := range c.rows {
			c.rows[i].ID = int64(i + 1)
		}
		checkPick(t, c, source.Contents{Rows: c.rows})
	}
}

// TestR44_TruthTableOfThePickInTables: the same, through the tables.
func TestR44_TruthTableOfThePickInTables(t *testing.T) {
	t.Parallel()
	patratest.EachKindOfTable(t, func(t *testing.T, e patratest.Engine) {
		s := patratest.Open(t, e.DSN(t), sqlstore.Options{})
		for i, c := range pickCases() {
			checkPick(t, c, plant(t, s, fmt.Sprintf("case-%d", i), c.rows))
		}
	})
}

// plant writes rows one by one, each superseding the one before in its slot,
// and reads them back.
func plant(t *testing.T, s *sqlstore.Store, code string, rows []source.Row) source.Contents {
	t.Helper()
	last := map[source.Slot]int64{}
	p := source.Provenance{Code: code, Origin: registry.API}
	for _, r := range rows {
		r.Supersedes = last[r.Slot]
		done, err := s.ChangeSource(t.Context(), p, source.Audit{Actor: "t", Action: "TEST", Object: code}, func(source.Contents) ([]source.Change, error) {
			return []source.Change{{Add: &r, Slot: r.Slot}}, nil
		})
		if err != nil {
			t.Fatalf("%s: %v", code, err)
		}
		last[r.Slot] = done[0].Add.ID
	}
	if len(rows) == 0 {
		return source.Contents{}
	}
	c, err := s.LoadSource(t.Context(), code)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestR44_NullInTaskRowIsThePlatformDefault names the case that merging would
// get wrong: the operation's row leaves the rate open, the source's sets it.
func TestR44_NullInTaskRowIsThePlatformDefault(t *testing.T) {
	t.Parallel()
	con := source.Contents{Rows: []source.Row{rateRow(source.ScopeSource, "", inForce, 0.5), rateRow(source.ScopeTask, harvest.Harvest, inForce, 0)}}
	checkPick(t, pickCase{name: "NULL over a value", want: 1, from: "TASK"}, con)
}

// TestR45_TaskIsRankedBeforeSource: a UNION ALL with LIMIT 1 and no order takes
// whichever comes first. Here the SOURCE row comes first in every order there
// is: table, id, start.
func TestR45_TaskIsRankedBeforeSource(t *testing.T) {
	t.Parallel()
	patratest.EachKindOfTable(t, func(t *testing.T, e patratest.Engine) {
		s := patratest.Open(t, e.DSN(t), sqlstore.Options{})
		older := [2]time.Time{pickAt.Add(-time.Hour), {}}
		for i, rows := range [][]source.Row{
			{rateRow(source.ScopeSource, "", inForce, 0.5), rateRow(source.ScopeTask, harvest.Harvest, older, 0.25)},
			{rateRow(source.ScopeTask, harvest.Harvest, older, 0.25), rateRow(source.ScopeSource, "", inForce, 0.5)},
		} {
			checkPick(t, pickCase{name: "rank", want: 0.25, from: "TASK"}, plant(t, s, fmt.Sprintf("rank-%d", i), rows))
		}
	})
}

// TestR45_OneMissingDimensionLosesNoOther: a plain join of all dimensions is empty as soon as one has no row. C20: required dimensions fail
// by name, the others default with a note; one is taken away at a time.
func TestR45_OneMissingDimensionLosesNoOther(t *testing.T) {
	t.Parallel()
	patratest.EachKindOfTable(t, func(t *testing.T, e patratest.Engine) {
		s := patratest.Open(t, e.DSN(t), sqlstore.Options{})
		def := described(t, "pubmed", registry.Shipped).Definition
		required := map[source.Dimension]string{
			source.DimWindow: "window: is required", source.DimPagination: "pagination: is required",
			source.DimEndpoint: "endpoints: is required", source.DimBatching: "batching.idBatchSize: is required",
		}
		optional := map[source.Dimension]string{
			source.DimHTTP: "http: not given", source.DimRateLimit: "rateLimit: not given", source.DimRetry: "retry: not given",
			source.DimMapping: "mapping: not given", source.DimFaults: "", source.DimAuth: "", source.DimSchedule: "", source.DimCuts: "",
			source.DimCapability: "query: lacks", source.DimRenderRule: "query: lacks", source.DimParamMap: "query: lacks",
		}
		for _, d := range source.Dimensions() {
			var rows []source.Row
			for _, r := range def.Rows(pickAt) {
				if r.Dimension != d {
					rows = append(rows, r)
				}
			}
			con := plant(t, s, "without-"+strings.ReplaceAll(string(d), "_", "-"), rows)
			con.Provenance.BaseURL = def.BaseURL
			con.Provenance.RecordType = def.RecordType
			con.Provenance.Identity = def.Identity
			con.Provenance.Zone = def.Zone
			got, choices := con.At(harvest.Harvest, pickAt)
			picked := 0
			for _, ch := range choices {
				if ch.Row != nil {
					picked++
				}
			}
			if picked != len(rows) {
				t.Errorf("without %s %d of %d rows were picked", d, picked, len(rows))
			}
			_, warnings, err := source.Compile(got, source.Trigger{Operation: harvest.Harvest})
			if want, must := required[d]; must {
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("without %s: want %q, got %v", d, want, err)
				}
				continue
			}
			want, known := optional[d]
			if !known {
				t.Errorf("%s: is it required or not?", d)
			}
			if err != nil && d != source.DimFaults || !strings.Contains(fmt.Sprint(warnings), want) {
				t.Errorf("without %s: %v, %v", d, err, warnings)
			}
		}
		// The base URL is the source's own.
		def.BaseURL = ""
		if _, _, err := source.Compile(def, source.Trigger{Operation: harvest.Harvest}); err == nil || !strings.Contains(err.Error(), "baseUrl: is required") {
			t.Errorf("without a base URL: %v", err)
		}
		// An UPDATE needs no window.
		def = described(t, "pubmed", registry.Shipped).Definition
		def.Window = nil
		if _, _, err := source.Compile(def, source.Trigger{Operation: harvest.Update}); err != nil && strings.Contains(err.Error(), "window") {
			t.Errorf("UPDATE without a window: %v", err)
		}
	})
}

// TestR45_EndpointsDoNotCollide: under a unique index of (provenance, scope, task,
// start) without the name, esearch and efetch would be one row.
func TestR45_EndpointsDoNotCollide(t *testing.T) {
	t.Parallel()
	patratest.EachKindOfTable(t, func(t *testing.T, e patratest.Engine) {
		s := patratest.Open(t, e.DSN(t), sqlstore.Options{})
		con := plant(t, s, "pubmed", exampleRows("pubmed"))
		var names []string
		for _, ch := range source.Choose(con.Rows, harvest.Update, pickAt) {
			if ch.Dimension == source.DimEndpoint && ch.Row != nil {
				names = append(names, ch.Name+" "+string(ch.Row.Body.(*source.Endpoint).Usage))
			}
		}
		if fmt.Sprint(names) != "[efetch DETAIL esearch SEARCH]" {
			t.Errorf("endpoints in force: %v", names)
		}
		// One name twice in one slot is a collision.
		r := exampleRows("pubmed")[0]
		_, err := s.ChangeSource(t.Context(), con.Provenance, source.Audit{Actor: "t", Action: "TEST", Object: "x"}, func(source.Contents) ([]source.Change, error) {
			return []source.Change{{Add: &r, Slot: r.Slot}}, nil
		})
		if _, ok := errors.AsType[source.Violations](err); !ok {
			t.Errorf("a second esearch in the same interval: %v", err)
		}
	})
}

// TestR45_CredentialsByScopeBeforePreferred: a preferred key of the source does not
// win over the operation's own.
func TestR45_CredentialsByScopeBeforePreferred(t *testing.T) {
	t.Parallel()
	key := func(id int64, endpoint string, scope source.Scope, preferred bool, from time.Time) credential.Credential {
		c := credential.Credential{ID: id, Endpoint: endpoint, Scope: scope, Preferred: preferred, Status: credential.Active, From: from}
		if scope == source.ScopeTask {
			c.Task = harvest.Harvest
		}
		return c
	}
	older := pickAt.Add(-time.Hour)
	all := []credential.Credential{
		key(1, "", source.ScopeSource, true, pickAt), key(2, "", source.ScopeSource, false, pickAt), key(3, "", source.ScopeTask, false, older),
		key(4, "", source.ScopeTask, true, older), key(5, "works", source.ScopeSource, false, older), key(6, "", source.ScopeSource, false, older),
		key(7, "", source.ScopeSource, false, pickAt), key(8, "other", source.ScopeTask, true, pickAt),
	}
	var got []int64
	for _, c := range credential.Candidates(all, credential.Aim{Endpoint: "works", Task: harvest.Harvest}, pickAt) {
		got = append(got, c.ID)
	}
	if fmt.Sprint(got) != "[5 4 3 1 7 2 6]" {
		t.Errorf("order %v", got)
	}
}

// exampleRows are rows for two sources, some for the source and some for one
// operation of it.
func exampleRows(code string) []source.Row {
	from := time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC)
	row := func(d source.Dimension, scope source.Scope, op harvest.Operation, name string, body any) source.Row {
		return source.Row{Slot: source.Slot{Dimension: d, Scope: scope, Task: op, Name: name}, From: from, Body: body}
	}
	day := source.Duration(24 * time.Hour)
	if code == "pubmed" {
		return []source.Row{
			row(source.DimEndpoint, source.ScopeTask, harvest.Update, "esearch", &source.Endpoint{
				Usage: source.UsageSearch, Method: "GET", Path: "/eutils/esearch.fcgi", Query: map[string]string{"db": "pubmed", "retmode": "json"}, Format: "JSON",
			}),
			row(source.DimEndpoint, source.ScopeTask, harvest.Update, "efetch", &source.Endpoint{
				Usage: source.UsageDetail, Method: "GET", Path: "/eutils/efetch.fcgi", Query: map[string]string{"db": "pubmed", "retmode": "xml"}, Format: "XML",
			}),
			row(source.DimWindow, source.ScopeTask, harvest.Update, "", &source.WindowConfig{Key: "EDAT", Step: day, Overlap: &day}),
			row(source.DimPagination, source.ScopeTask, harvest.Update, "", &source.PaginationConfig{Type: harvest.PageNumber, PageSize: 100, FirstPage: new(1)}),
			row(source.DimHTTP, source.ScopeSource, "", "", &source.HTTP{
				Headers:        source.Headers{"User-Agent": new("PapertraceHarvester/1.0"), "From": new("ops@example.com")},
				ConnectTimeout: source.Duration(2 * time.Second), ReadTimeout: source.Duration(10 * time.Second),
			}),
		}
	}
	return []source.Row{
		row(source.DimEndpoint, source.ScopeTask, harvest.Harvest, "works", &source.Endpoint{Usage: source.UsageSearch, Method: "GET", Path: "/works", Format: "JSON"}),
		row(source.DimWindow, source.ScopeTask, harvest.Harvest, "", &source.WindowConfig{Key: "indexed", Step: day}),
		row(source.DimPagination, source.ScopeTask, harvest.Harvest, "", &source.PaginationConfig{Type: harvest.PageToken}),
		row(source.DimHTTP, source.ScopeSource, "", "", &source.HTTP{
			Headers:        source.Headers{"User-Agent": new("PapertraceHarvester/1.0"), "mailto": new("ops@example.com")},
			ConnectTimeout: source.Duration(2 * time.Second), ReadTimeout: source.Duration(12 * time.Second),
		}),
	}
}

// TestRegistry_ExampleRowsArePicked: PubMed update gets its TASK rows and the
// SOURCE row for HTTP; an operation without rows of its own gets only that.
func TestRegistry_ExampleRowsArePicked(t *testing.T) {
	t.Parallel()
	patratest.EachKindOfTable(t, func(t *testing.T, e patratest.Engine) {
		s := patratest.Open(t, e.DSN(t), sqlstore.Options{})
		pubmed, crossref := plant(t, s, "pubmed", exampleRows("pubmed")), plant(t, s, "crossref", exampleRows("crossref"))
		for _, c := range []struct {
			con  source.Contents
			op   harvest.Operation
			at   time.Time
			want string
		}{
			{pubmed, harvest.Update, pickAt, "http=SOURCE window=TASK pagination=TASK endpoint efetch=TASK endpoint esearch=TASK"},
			{pubmed, harvest.Harvest, pickAt, "http=SOURCE"},
			{crossref, harvest.Harvest, pickAt, "http=SOURCE window=TASK pagination=TASK endpoint works=TASK"},
			{crossref, harvest.Backfill, pickAt, "http=SOURCE"},
			{pubmed, harvest.Update, time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC), "http=SOURCE window=TASK pagination=TASK endpoint efetch=TASK endpoint esearch=TASK"},
			{pubmed, harvest.Update, time.Date(2024, 12, 31, 23, 59, 59, 0, time.UTC), ""},
		} {
			var got []string
			for _, ch := range source.Choose(c.con.Rows, c.op, c.at) {
				if ch.Row != nil {
					got = append(got, strings.TrimSpace(string(ch.Dimension)+" "+ch.Name)+"="+string(ch.Row.Scope))
				}
			}
			if strings.Join(got, " ") != c.want {
				t.Errorf("%s %s at %s:\n got %s\nwant %s", c.con.Provenance.Code, c.op, c.at, strings.Join(got, " "), c.want)
			}
		}
		def, _ := pubmed.At(harvest.Update, pickAt)
		if def.Window.Key != "EDAT" || def.Pagination.PageSize != 100 || def.HTTP.ReadTimeout.D() != 10*time.Second || *def.HTTP.Headers["From"] != "ops@example.com" ||
			*def.Window.Overlap != source.Duration(24*time.Hour) || def.Endpoints[1].Query["retmode"] != "json" || *def.Pagination.FirstPage != 1 {
			t.Errorf("values changed on their way: %+v", def)
		}
	})
}

// TestC14_ConfigHashSeesMoreThanFingerprint: a row that the compile does not
// use changes the hash of the configuration, not the snapshot.
func TestC14_ConfigHashSeesMoreThanFingerprint(t *testing.T) {
	t.Parallel()
	def := described(t, "crossref", registry.Shipped).Definition
	rows := def.Rows(pickAt)
	for i := range rows {
		rows[i].ID = int64(i + 1)
	}
	con := source.Contents{Provenance: def.Provenance(), Rows: rows}
	read := func(con source.Contents) (hash, fingerprint string) {
		t.Helper()
		d, _ := con.At(harvest.Harvest, pickAt)
		spec, _, err := source.Compile(d, source.Trigger{Operation: harvest.Harvest})
		if err != nil {
			t.Fatal(err)
		}
		fingerprint, err = spec.Fingerprint()
		if err != nil {
			t.Fatal(err)
		}
		return con.Hash(pickAt), fingerprint
	}
	hash, print := read(con)
	other := rateRow(source.ScopeTask, harvest.Backfill, inForce, 0.5)
	other.ID = 99
	con.Rows = append(con.Rows, other)
	hash2, print2 := read(con)
	if hash == hash2 || print != print2 {
		t.Errorf("config hash changed: %v, fingerprint changed: %v", hash != hash2, print != print2)
	}
	con.Rows[len(con.Rows)-1] = rateRow(source.ScopeTask, harvest.Harvest, inForce, 0.5)
	if _, print3 := read(con); print3 == print {
		t.Error("a row that is used leaves the fingerprint as it was")
	}
}
