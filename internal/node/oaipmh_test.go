package node_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/papertrace/patra/internal/app/registry"
	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/source"
	"github.com/papertrace/patra/internal/infra/upstream"
	"github.com/papertrace/patra/internal/node"
	"github.com/papertrace/patra/internal/patratest"
	"github.com/papertrace/patra/internal/sim"
)

// TestPackFromOAI_HarvestsAsItIs: the pack that is made of what a repository says of
// itself compiles for every operation and brings all the repository has, with every
// fault on the way, whichever form its datestamps have.
func TestPackFromOAI_HarvestsAsItIs(t *testing.T) {
	t.Parallel()
	for _, granularity := range []string{"second", "day"} {
		t.Run(granularity, func(t *testing.T) {
			t.Parallel()
			heavy, err := sim.ParseFaults("heavy")
			if err != nil {
				t.Fatal(err)
			}
			oracle, err := sim.New(sim.Config{
				Sources: []string{sim.Generic}, Records: 120, Seed: 4, LimitRPS: -1, Now: time.Date(2026, 3, 10, 15, 0, 0, 0, time.UTC), Span: 20 * 24 * time.Hour,
				Generic: sim.GenericStyle{Format: "oai", Granularity: granularity, Most: 7},
			})
			if err != nil {
				t.Fatal(err)
			}
			asking := patratest.NewRig(t, patratest.RigConfig{DSN: patratest.SQLite.SpareDSN(t), Oracle: oracle, Socket: true})
			text, err := asking.Node.Control.PackFromOAI(t.Context(), sim.Generic, asking.Base+"/generic/oai", "")
			if err != nil {
				t.Fatal(err)
			}
			if n := len(oracle.Requests()); n != 3 {
				t.Errorf("%d questions were asked", n)
			}
			pack := patratest.TextPack(t, "generic.yaml", []byte(text), func(s *source.Spec) {
				patratest.Fast(s)
				s.HTTP.BaseURL = asking.Base
			})
			mustCompile(t, pack)
			if err := oracle.SetFaults(heavy); err != nil {
				t.Fatal(err)
			}
			r := patratest.NewRig(t, patratest.RigConfig{
				DSN: patratest.SQLite.SpareDSN(t), Oracle: oracle, Packs: map[string]registry.Pack{sim.Generic: pack}, Socket: true,
				Node: node.Config{Workers: 2, Poll: 50 * time.Millisecond},
			})
			for range 2 {
				rep, err := r.Node.Control.Harvest(t.Context(), control.HarvestRequest{Source: sim.Generic})
				if err != nil || rep.Status != "COMPLETED" {
					t.Fatalf("%+v, %v", rep, err)
				}
				r.MustBeExact(sim.Generic, rep)
				oracle.Advance(48 * time.Hour)
			}
		})
	}
}

// mustCompile compiles a pack for every operation.
func mustCompile(t *testing.T, pack registry.Pack) {
	t.Helper()
	for _, op := range []harvest.Operation{harvest.Harvest, harvest.Backfill, harvest.Update} {
		spec, _, err := pack.Compile(source.Trigger{Operation: op})
		if err != nil {
			t.Fatalf("%s: %v", op, err)
		}
		for _, bad := range upstream.Check(spec) {
			t.Errorf("%s: %s", op, bad)
		}
	}
}

// TestPackFromOAI_ReadsWhatRepositoriesSay holds packs against recorded answers.
func TestPackFromOAI_ReadsWhatRepositoriesSay(t *testing.T) {
	t.Parallel()
	const recordings = "../../../shared/fixtures/oai-pmh"
	noSets := `<OAI-PMH xmlns="http://www.openarchives.org/OAI/2.0/"><error code="noSetHierarchy">none</error></OAI-PMH>`
	hostile := `<OAI-PMH><Identify><repositoryName>a"` + "\n" + `source: evil&#10;name: x</repositoryName><earliestDatestamp>never</earliestDatestamp>` +
		`<granularity>YYYY-MM-DD</granularity></Identify></OAI-PMH>`
	for _, c := range []struct {
		name    string
		replies map[string]string // a file, or the reply itself
		want    []string
		err     string
	}{
		{
			name: "seconds and sets", replies: map[string]string{
				"Identify": "eur-identify.xml", "ListMetadataFormats": "eur-listmetadataformats.xml", "ListSets": "eur-listsets.xml",
			},
			want: []string{
				"name: \"Erasmus University : Research Online\"", "precision: SECOND", "beginning: 2001-01-01", "deletions: no", "# Formats: oai_dc.",
				"#   3:5  EUR Medical Dissertations",
			},
		},
		{
			name: "no sets", replies: map[string]string{"Identify": "nsdl-identify.xml", "ListMetadataFormats": "eur-listmetadataformats.xml", "ListSets": noSets},
			want: []string{"name: \"National Science Digital Library\"", "precision: SECOND", "beginning: 1900-01-01", "# There are no sets."},
		},
		{
			name: "what is said stays within its line", replies: map[string]string{"Identify": hostile, "ListMetadataFormats": "eur-listmetadataformats.xml", "ListSets": noSets},
			want: []string{`name: "a\" source: evil name: x"`, "precision: DAY", "the earliest unknown"},
		},
		{
			name: "an error", replies: map[string]string{"Identify": "nsdl-id-does-not-exist.xml"}, err: "not_oai",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			for verb, reply := range c.replies {
				if !strings.HasPrefix(reply, "<") {
					b, err := os.ReadFile(filepath.Join(recordings, reply))
					if os.IsNotExist(err) {
						t.Skipf("no recordings at %s", recordings)
					}
					if err != nil {
						t.Fatal(err)
					}
					c.replies[verb] = string(b)
				}
			}
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "text/xml")
				_, _ = w.Write([]byte(c.replies[r.URL.Query().Get("verb")]))
			}))
			defer srv.Close()
			rig := patratest.NewRig(t, patratest.RigConfig{DSN: patratest.SQLite.SpareDSN(t), Sim: sim.Config{Records: sim.None}})
			text, err := rig.Node.Control.PackFromOAI(t.Context(), "", srv.URL+"/oai/", "3:5")
			if c.err != "" {
				if err == nil || !strings.Contains(err.Error(), c.err) {
					t.Errorf("%v, want %s", err, c.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			whole, err := rig.Node.Control.PackFromOAI(t.Context(), "repo", srv.URL+"/oai/", "")
			if err != nil {
				t.Fatal(err)
			}
			for _, want := range c.want {
				if !strings.Contains(whole, want) {
					t.Errorf("lacks %q:\n%s", want, whole)
				}
			}
			for name, s := range map[string]string{"oai-127-0-0-1.yaml": text, "repo.yaml": whole} {
				mustCompile(t, patratest.TextPack(t, name, []byte(s), nil))
			}
			if !strings.Contains(text, `      set: "3:5"`) || !strings.Contains(text, "source: oai-127-0-0-1\n") {
				t.Errorf("%s", text)
			}
		})
	}
}
