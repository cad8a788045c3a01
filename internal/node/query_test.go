package node_test

import (
	"strings"
	"testing"
	"time"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/papertrace/patra/internal/patratest"
	"github.com/papertrace/patra/internal/sim"
)

// TestR7_QueryIsTheNamespace: another selection starts a cursor of its own at
// the baseline and leaves the old one alone; the same selection written another
// way goes on with the same cursor.
func TestR7_QueryIsTheNamespace(t *testing.T) {
	t.Parallel()
	r := patratest.NewRig(t, patratest.RigConfig{
		DSN: patratest.SQLite.SpareDSN(t),
		Sim: sim.Config{Records: 400, Seed: 9, LimitRPS: -1, Now: time.Date(2026, 3, 10, 15, 0, 0, 0, time.UTC)},
	})
	ask := func(q string) *control.Report {
		t.Helper()
		rep, err := r.Node.Control.Harvest(t.Context(), control.HarvestRequest{Source: "crossref", Query: q, BaseURL: r.Base + "/crossref"})
		if err != nil {
			t.Fatal(err)
		}
		return rep
	}
	all := ask("")
	some := ask(`type:journal-article`)
	if all.Namespace == some.Namespace || some.Records.Inserted != 0 || some.Records.Unchanged == 0 || some.Records.Unchanged >= all.Records.Inserted {
		t.Errorf("a part of what is held: %+v of %+v", some.Records, all.Records)
	}
	for _, same := range []string{`type:article`, `( type:journal-article )`} {
		rep := ask(same)
		if same == `( type:journal-article )` && (rep.Namespace != some.Namespace || !rep.Noop) {
			t.Errorf("%s is another namespace than type:journal-article: %s, noop %v", same, rep.Namespace, rep.Noop)
		}
	}
	r.Sim.Advance(24 * time.Hour)
	after := ask("")
	r.MustBeExact("crossref", after)
	if after.Namespace != all.Namespace {
		t.Error("everything has changed its namespace")
	}
}

// TestQuery_NobodyCanDecideIt: the message names the field and those that work.
func TestQuery_NobodyCanDecideIt(t *testing.T) {
	t.Parallel()
	r := patratest.NewRig(t, patratest.RigConfig{DSN: patratest.SQLite.SpareDSN(t), Sim: sim.Config{Records: 10, LimitRPS: -1}})
	for query, want := range map[string][]string{
		`oa:true`:              {"neither searches `oa` nor shows it", "fields that work: ti, ab, tiab"},
		`type:book AND @x:"y"`: {"column 15", "crossref does not understand the language of x"},
	} {
		_, err := r.Node.Control.Harvest(t.Context(), control.HarvestRequest{Source: "crossref", Query: query, BaseURL: r.Base + "/crossref"})
		for _, part := range want {
			if err == nil || !strings.Contains(err.Error(), part) {
				t.Errorf("%s: got %v, want %q", query, err, part)
			}
		}
	}
	if st := r.Sim.Stats().Sources["crossref"]; st.Requests != 0 {
		t.Errorf("%d requests were sent", st.Requests)
	}
}
