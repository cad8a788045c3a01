// Package styletest walks every paging style, stop rule, reply shape and kind of
// auth that the oracle knows, each with a pack as a person would write it: nothing
// lost, no endless loop, no page asked for twice without cause.
//
// A row of a table is a pack, told by what differs from the plainest one, and the
// manners of the oracle it is written for. Each is harvested in virtual time
// without a fault and under the faults that suit it; what is stored is then held
// against the oracle's truth, and what was asked against what had to be.
package styletest

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/papertrace/patra/internal/app/keyring"
	"github.com/papertrace/patra/internal/app/registry"
	"github.com/papertrace/patra/internal/domain/credential"
	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/source"
	"github.com/papertrace/patra/internal/node"
	"github.com/papertrace/patra/internal/patratest"
	"github.com/papertrace/patra/internal/sim"
)

// row is a source to be harvested.
type row struct {
	name   string
	oracle sim.GenericStyle
	op     harvest.Operation // default HARVEST
	// The pack: blocks of YAML in place of those of the same key in the plainest
	// pack, which is [patratest.Generic]. One without a value takes the key away.
	pack     string // the whole
	search   string // endpoint items
	query    string // its parameters
	response string // what its replies say
	count    string // endpoint count; "none": nothing is counted
	detail   string // a third endpoint, by ids

	keys    []string    // the credentials, in the order in which they are tried
	paste   bool        // the credential is a token got by hand
	told    bool        // deletions come with the list of ids, and are all there is of a record
	paced   bool        // the source's own rate is kept to, and the oracle counts breaches
	spared  []sim.Fault // faults of which nobody could tell that they happened
	prepare func(r *run)
	records int           // default 70
	span    time.Duration // that they lie in, default 30 days
	rounds  int           // how often the clock moves on and the source is harvested again

	// What the pack makes patra ask for twice without a fault.
	again func(pages int) int
	// Faults that touch what the row is about; of paging styles all do.
	under []sim.Fault
	// Further claims on a harvest without faults.
	claim func(t *testing.T, r *run)
}

// text is the row's pack.
func (r row) text() string {
	return patratest.Generic{Pack: r.pack, Search: r.search, Query: r.query, Response: r.response, Count: r.count, Detail: r.detail}.Text()
}

// run is a row being harvested.
type run struct {
	*patratest.Rig
	t    *testing.T
	row  row
	dsn  string
	spec *source.Spec
	// Of the last harvest.
	rep   *control.Report
	watch *control.Watch
	// begun is where the first window began: what was last changed before it is not read.
	begun time.Time
}

const code = sim.Generic

// newRun builds a node over an oracle with the row's manners.
func newRun(t *testing.T, w row, faults sim.Faults, scripts ...sim.Script) *run {
	t.Helper()
	r := &run{t: t, row: w, dsn: patratest.SQLite.SpareDSN(t)}
	tweak, limit := patratest.Fast, -1.0
	if w.paced {
		tweak, limit = nil, 0
	}
	pack := patratest.TextPack(t, "generic.yaml", []byte(w.text()), tweak)
	spec, _, err := pack.Compile(source.Trigger{Operation: cmp.Or(w.op, harvest.Harvest)})
	if err != nil {
		t.Fatalf("%v\n%s", err, w.text())
	}
	r.spec = spec
	records := cmp.Or(w.records, 70)
	r.Rig = patratest.NewRig(t, patratest.RigConfig{
		DSN: r.dsn,
		Sim: sim.Config{
			Sources: []string{code}, Records: records, Span: w.span, Seed: 7, LimitRPS: limit, KeepLog: -1,
			Churn:   &sim.Churn{New: 10, Changed: 5, Deleted: 2},
			Generic: w.oracle, GenericAuth: sim.GenericAuth{Key: goodKey, Secret: hmacKey},
		},
		Packs: map[string]registry.Pack{code: pack},
		Node:  node.Config{Workers: 1, Poll: 10 * time.Second},
	})
	r.Base, r.Keys = "http://127.0.0.1", true // the only place a credential goes in plain
	if w.paste {
		r.row.keys = []string{r.pasted()}
	}
	r.credentials()
	if w.prepare != nil {
		w.prepare(r)
	}
	r.Sim.Script(scripts...)
	if err := r.Sim.SetFaults(faults); err != nil {
		t.Fatal(err)
	}
	return r
}

// credentials puts the row's keys into the store.
func (r *run) credentials() {
	r.t.Helper()
	if len(r.row.keys) == 0 {
		return
	}
	_, err := r.Node.Store.ChangeSource(r.t.Context(), source.Provenance{Code: code, Origin: registry.Shipped},
		source.Audit{Actor: "test", Action: "SOURCE_APPLY", Object: "source/" + code}, func(source.Contents) ([]source.Change, error) { return nil, nil })
	if err != nil {
		r.t.Fatal(err)
	}
	for i, k := range r.row.keys {
		file := filepath.Join(r.t.TempDir(), "key")
		if err := os.WriteFile(file, []byte(k), 0o600); err != nil {
			r.t.Fatal(err)
		}
		c := credential.Credential{Pool: code, Name: fmt.Sprintf("key-%d", i+1), Scope: source.ScopeSource, Secret: credential.SecretRef{Kind: credential.SecretFile, Ref: file}}
		if _, err := r.Node.Keys.Set(r.t.Context(), keyring.Offer{Credential: c}, keyring.Order{Audit: source.Audit{Actor: "test"}}); err != nil {
			r.t.Fatal(err)
		}
	}
}

// harvest works until nothing is left to do.
func (r *run) harvest() (err error) {
	r.watch = new(control.Watch)
	r.rep, err = r.Node.Control.Harvest(r.t.Context(), control.HarvestRequest{Source: code, BaseURL: r.BaseOf(code), Watch: r.watch})
	return err
}

// exact harvests, and fails the test unless all there is was stored.
func (r *run) exact() {
	r.t.Helper()
	r.complete(r.harvest())
}

// complete fails the test unless the harvest that was just made stored all there is.
func (r *run) complete(err error) {
	r.t.Helper()
	if err != nil || r.rep.Status != "COMPLETED" || r.rep.Watermark == nil || r.rep.Slices.Failed+r.rep.Slices.Open > 0 {
		r.t.Fatalf("not completed: %+v, %v\n%s", r.rep, err, r.asked())
	}
	if r.begun.IsZero() && r.spec.Paging.NewestFirst {
		r.begun = r.rep.Window.From.Time()
	}
	r.equal()
	patratest.MustVerify(r.t, r.Node.Store)
}

// equal holds the export against the oracle's truth up to the watermark: the
// same records, with the same update times and bytes, and those GONE whose
// deletion the source tells of. A source without dates is read whole.
func (r *run) equal() {
	r.t.Helper()
	have := map[string]control.Exported{}
	if err := r.Node.Store.Export(context.WithoutCancel(r.t.Context()), control.ExportQuery{Sources: []string{code}}, func(e *control.Exported) error {
		have[e.ID] = *e
		return nil
	}); err != nil {
		r.t.Fatal(err)
	}
	undated := r.spec.Window.UpdatedAt == "NONE"
	var watermark time.Time
	if !r.spec.ByID() {
		watermark = r.rep.Watermark.Time()
	}
	tells := r.row.told || r.row.oracle.Deletions == "flag" || r.row.oracle.Format == "oai"
	compared := 0
	for want := range r.Sim.Truth(code) {
		got, ok := have[want.ID]
		delete(have, want.ID)
		due := want.UpdatedAt
		if want.Deleted && r.row.told {
			due = want.VisibleAt // its line in the list is of then
		}
		if r.spec.ByID() {
			undated = true
			if r.Sim.GenericSequence(want.ID) >= r.rep.Watermark.ID() {
				continue
			}
		}
		if !undated && !due.Before(watermark) || want.Deleted && !tells {
			continue
		}
		if due.Before(r.begun) {
			if ok {
				r.t.Errorf("%s is stored, though it was last changed %s, before the first window", want.ID, want.UpdatedAt)
			}
			continue
		}
		compared++
		updated, status := want.UpdatedAt, harvest.RecordActive
		if r.spec.Window.UpdatedAt != "PATH" {
			updated = time.Time{}
		}
		if want.Deleted {
			status = harvest.RecordGone
		}
		switch {
		case !ok:
			r.t.Errorf("%s is missing, updated %s, deleted %v", want.ID, want.UpdatedAt, want.Deleted)
		case want.Deleted && r.row.told && got.Status == status: // its bytes are those of the list
		case !got.UpdatedAt.Equal(updated):
			r.t.Errorf("%s was updated %s, should be %s", want.ID, got.UpdatedAt, updated)
		case got.RawSHA256 != want.RawSHA256:
			r.t.Errorf("%s has other bytes", want.ID)
		case got.Status != status:
			r.t.Errorf("%s is %s, should be %s", want.ID, got.Status, status)
		}
	}
	for id := range have {
		r.t.Errorf("%s is not known upstream", id)
	}
	if compared == 0 {
		r.t.Error("nothing was compared")
	}
}

// pages is how many requests for pages and details reached the oracle.
func (r *run) pages() (n int) {
	for _, q := range r.Sim.Requests() {
		if q.Params.Get("only") != "count" && q.Params.Get("only") != "head" && q.Path != "/login" && q.Path != "/oauth/token" {
			n++
		}
	}
	return n
}

// probes is how often the last page of a walk had to be asked for again: once a
// walk where a missing token or link is all that ends it, and never where totals
// are exact, or where the server holds the place.
func (r *run) probes() int {
	r.t.Helper()
	if r.spec.Paging.TotalExact || r.spec.Paging.Stateful {
		return 0
	}
	return scalar(r.t, r, `SELECT COUNT(*) FROM ing_task_run_batch WHERE phase='SEARCH' AND end_proof IN ('NO_TOKEN','NO_URL')`)
}

// repeats is how many requests were for what had been answered in full before.
func (r *run) repeats() int { return r.Sim.Stats().Sources[code].RepeatedOK }

// asked is the oracle's log, for failures.
func (r *run) asked() string {
	var b strings.Builder
	for _, q := range r.Sim.Requests() {
		fmt.Fprintf(&b, "%3d %s %s?%s %.80s -> %d %s %d records\n", q.Number, q.Method, q.Path, q.Params.Encode(), q.Body, q.Status, q.Fault, q.Records)
	}
	return b.String()
}

// isPage matches requests for pages and details.
func isPage(q *http.Request) bool {
	return q.Form.Get("only") != "count" && q.Form.Get("only") != "head" && !strings.HasSuffix(q.URL.Path, "/login") && !strings.HasSuffix(q.URL.Path, "/oauth/token")
}

// warm lets what lives as long as the process come to life outside of bubbles.
var warm sync.Once

// bubble runs f in virtual time. A goroutine left behind fails it.
func bubble(t *testing.T, f func(t *testing.T)) {
	t.Helper()
	warm.Do(func() {
		newRun(t, row{name: "warm", query: "offset: ${page.offset}", records: 5}, sim.Faults{}).exact()
	})
	synctest.Test(t, f)
}

// each runs f for the rows, in bubbles, as many at a time as there are cores.
func each(t *testing.T, rows []row, f func(t *testing.T, w row)) {
	t.Helper()
	known := map[string]bool{}
	for _, w := range rows {
		if known[w.name] {
			t.Fatalf("two rows are named %q", w.name)
		}
		known[w.name] = true
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			f(t, w)
		})
	}
}
