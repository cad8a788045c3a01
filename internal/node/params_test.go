package node_test

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/papertrace/patra/internal/app/registry"
	"github.com/papertrace/patra/internal/infra/sqlstore"
	"github.com/papertrace/patra/internal/node"
	"github.com/papertrace/patra/internal/patratest"
	"github.com/papertrace/patra/internal/sim"
)

// paramPack is a source whose conditions become parameters: of types the parameter
// that it calls kind, of journals one that a template builds, of the year two.
var paramPack = patratest.Generic{
	Pack: `rateLimit: {limit: 10000, window: 1s, qps: 5000, burst: 1}
query:
  capabilities:
    - {field: type, ops: [TERM]}
    - {field: jo, ops: [TERM]}
    - {field: pubdate, ops: [RANGE]}
  params:
    - {stdKey: types, name: kind, transform: "${upper(value)}", repeat: true}
    - {stdKey: journals, name: fq, repeat: true}
    - {stdKey: since, name: published-from}
    - {stdKey: until, name: published-to, transform: "${date(exclusive_day(time(value)), '2006/01/02')}"}
  rules:
    - {field: type, op: TERM, emit: PARAMS, params: {types: ["${plain(value)}"]}}
    - {field: jo, op: TERM, emit: PARAMS, params: {journals: ["${quote(value)}"]}}
    - {field: pubdate, op: RANGE, emit: PARAMS, params: {since: ["${date(from, '2006-01-02')}"], until: ["${iso(to)}"]}}
`,
	Query: `offset: ${page.offset}
fq: "${query.journals == '' ? '' : 'journal:' + query.journals}"
`,
	Count: `query: {from: "${iso(window.from)}", to: "${iso(window.to)}", size: 1, fq: "${query.journals == '' ? '' : 'journal:' + query.journals}"}
`,
}.Text()

// watched remembers what a source was asked, and answers as the oracle does, which
// knows nothing of the parameters of a selection.
type watched struct {
	oracle http.Handler
	mu     sync.Mutex
	asked  []url.Values
}

func (w *watched) ServeHTTP(out http.ResponseWriter, r *http.Request) {
	values := r.URL.Query()
	w.mu.Lock()
	w.asked = append(w.asked, r.URL.Query())
	w.mu.Unlock()
	for _, name := range []string{"kind", "fq", "published-from", "published-to"} {
		values.Del(name)
	}
	r.URL.RawQuery = values.Encode()
	w.oracle.ServeHTTP(out, r)
}

// TestQuery_ParamsReachTheSource: what a pack says of the parameters of a selection
// is what the source gets, in counts and on every page: shaped by transform, under
// the source's own name, and one for each condition with repeat.
func TestQuery_ParamsReachTheSource(t *testing.T) {
	t.Parallel()
	oracle, err := sim.New(sim.Config{Records: 60, Seed: 4, LimitRPS: -1, Sources: []string{"generic"}})
	if err != nil {
		t.Fatal(err)
	}
	w := &watched{oracle: oracle}
	store := patratest.Open(t, patratest.SQLite.SpareDSN(t), sqlstore.Options{Logger: patratest.Logger(t)})
	packs := map[string]registry.Pack{"generic": patratest.TextPack(t, "generic.yaml", []byte(paramPack), nil)}
	n := node.Assemble(node.Config{Logger: patratest.Logger(t)}, store, registry.NewStatic(packs, nil), patratest.Direct{Handler: w})
	report, err := n.Control.Harvest(t.Context(), control.HarvestRequest{
		Source: "generic", BaseURL: "http://oracle/generic",
		Query: `type:review type:letter jo:"Acta A" jo:"Acta B" pubdate:2024-02-01..2024-02-29`,
	})
	if err != nil {
		t.Fatal(err)
	}
	if report.Records.Inserted == 0 {
		t.Errorf("%+v", report.Records)
	}
	counts, pages := 0, 0
	for _, got := range w.asked {
		switch {
		case got.Has("offset"):
			pages++
		default:
			counts++
		}
		for name, want := range map[string]string{
			"kind": "LETTER & REVIEW", "fq": `journal:"Acta A" & journal:"Acta B"`, "published-from": "2024-02-01", "published-to": "2024/02/29",
		} {
			values := slices.Sorted(slices.Values(got[name]))
			if strings.Join(values, " & ") != want {
				t.Errorf("%s was sent as %q, want %s", name, values, want)
			}
		}
	}
	if counts == 0 || pages < 2 {
		t.Errorf("%d counts and %d pages were asked for", counts, pages)
	}
}
