package node_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/papertrace/patra/internal/app/keyring"
	"github.com/papertrace/patra/internal/app/registry"
	"github.com/papertrace/patra/internal/domain/credential"
	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/source"
	"github.com/papertrace/patra/internal/infra/sqlstore"
	"github.com/papertrace/patra/internal/node"
	"github.com/papertrace/patra/internal/patratest"
	"github.com/papertrace/patra/internal/sim"
)

// keyRig is a rig whose sources are in the store, so that they can have
// credentials, and whose oracle is on this machine, so that it is sent them.
func keyRig(t *testing.T, c patratest.RigConfig) *patratest.Rig {
	t.Helper()
	r := patratest.NewRig(t, c)
	r.Base, r.Keys = "http://127.0.0.1", true
	for _, code := range []string{"pubmed", "crossref"} {
		_, err := r.Node.Store.ChangeSource(t.Context(), source.Provenance{Code: code, Origin: registry.Shipped}, source.Audit{Actor: "test", Action: "SOURCE_APPLY", Object: "source/" + code},
			func(source.Contents) ([]source.Change, error) { return nil, nil })
		if err != nil {
			t.Fatal(err)
		}
	}
	return r
}

func setKey(t *testing.T, n *node.Node, code, name string, secret credential.Secret, ref credential.SecretRef) {
	t.Helper()
	o := keyring.Offer{Credential: credential.Credential{Pool: code, Name: name, Scope: source.ScopeSource, Secret: ref}, Secret: secret}
	if _, err := n.Keys.Set(t.Context(), o, keyring.Order{Audit: source.Audit{Actor: "test"}}); err != nil {
		t.Fatal(err)
	}
}

// TestR47_RotationActsAtOnceAndChangesNothingElse rotates a key in the middle
// of a plan: the requests before go with the old one, those after with the new
// one, and but for it they are byte for byte those of a run without rotation.
func TestR47_RotationActsAtOnceAndChangesNothingElse(t *testing.T) {
	t.Parallel()
	patratest.EachKind(t, func(t *testing.T, e patratest.Engine) {
		harvest := func(rotateAt int) (lines []string, keys []string) {
			small := func(s *source.Spec) { patratest.Fast(s); s.Batching.IDs = 20 }
			r := keyRig(t, patratest.RigConfig{
				DSN: e.SpareDSN(t), Sim: sim.Config{Records: 400, Seed: 9, LimitRPS: -1}, Node: node.Config{Workers: 1},
				Packs: map[string]registry.Pack{"pubmed": patratest.ShippedPack(t, "pubmed", small)},
			})
			setKey(t, r.Node, "pubmed", "main", credential.NewSecret("sim-key-old-0001"), credential.SecretRef{})
			var mu sync.Mutex
			r.Sim.SetOnRequest(func(q *http.Request) {
				mu.Lock()
				defer mu.Unlock()
				keys = append(keys, q.Form.Get("api_key"))
				form := url.Values{}
				for k, v := range q.Form {
					if k != "api_key" && k != "WebEnv" { // the oracle's own choice
						form[k] = v
					}
				}
				h := q.Header.Clone()
				h.Del("X-Ingest-Correlation-Id")
				lines = append(lines, fmt.Sprint(q.Method, " ", q.URL.Path, " ", form.Encode(), " ", h))
				if len(keys) == rotateAt {
					o := keyring.Offer{Credential: credential.Credential{Pool: "pubmed", Name: "main"}, Secret: credential.NewSecret("sim-key-new-0002")}
					if _, err := r.Node.Keys.Rotate(context.WithoutCancel(t.Context()), o, keyring.Order{Audit: source.Audit{Actor: "test"}}); err != nil {
						t.Error(err)
					}
				}
			})
			to := r.Sim.Now().Add(-48 * time.Hour).UTC().Truncate(24 * time.Hour)
			rep, err := r.Node.Control.Harvest(t.Context(), control.HarvestRequest{Source: "pubmed", BaseURL: r.BaseOf("pubmed"), From: to.Add(-20 * 24 * time.Hour), To: to})
			if err != nil || rep.Slices.Failed > 0 {
				t.Fatalf("harvest: %+v, %v", rep, err)
			}
			patratest.MustVerify(t, r.Node.Store)
			return lines, keys
		}
		plain, _ := harvest(0)
		at := len(plain) / 2
		rotated, keys := harvest(at)
		if len(plain) < 8 {
			t.Fatalf("only %d requests", len(plain))
		}
		slices.Sort(plain)
		slices.Sort(rotated)
		if !slices.Equal(plain, rotated) {
			t.Errorf("requests differ:\n%s\n\n%s", strings.Join(plain, "\n"), strings.Join(rotated, "\n"))
		}
		for i, k := range keys {
			want := "sim-key-old-0001"
			if i >= at {
				want = "sim-key-new-0002"
			}
			if k != want {
				t.Errorf("request %d of %d went with %s", i+1, len(keys), k)
			}
		}
	})
}

// TestC16_EachKeyHasItsOwnLimit at the oracle, which counts by key: keys add up
// where that is declared, and nowhere else, and no key is ever over its limit.
func TestC16_EachKeyHasItsOwnLimit(t *testing.T) {
	t.Parallel()
	took := map[string]time.Duration{}
	for _, scope := range []string{source.RateGlobal, source.RatePerKey} {
		dsn := patratest.SQLite.SpareDSN(t)
		synctest.Test(t, func(t *testing.T) {
			limited := func(s *source.Spec) {
				patratest.Fast(s)
				s.Batching.IDs = 5
				s.Auth.Rate = &source.Rate{Key: "pubmed", Scope: scope, Limit: 10, Window: source.Duration(time.Second), QPS: 9, Burst: 1}
			}
			r := keyRig(t, patratest.RigConfig{
				DSN: dsn, Sim: sim.Config{Records: 600, Seed: 9}, Node: node.Config{Workers: 8},
				Packs: map[string]registry.Pack{"pubmed": patratest.ShippedPack(t, "pubmed", limited)},
			})
			for _, k := range []string{"a", "b"} {
				setKey(t, r.Node, "pubmed", k, credential.NewSecret("sim-key-of-mine-000"+k), credential.SecretRef{})
			}
			start, to := time.Now(), r.Sim.Now().Add(-48*time.Hour).UTC().Truncate(24*time.Hour)
			rep, err := r.Node.Control.Harvest(t.Context(), control.HarvestRequest{Source: "pubmed", BaseURL: r.BaseOf("pubmed"), From: to.Add(-40 * 24 * time.Hour), To: to})
			if err != nil || rep.Slices.Failed > 0 {
				t.Fatalf("harvest: %+v, %v", rep, err)
			}
			took[scope] = time.Since(start)
			if st := r.Sim.Stats().Sources["pubmed"]; st.Breaches != (sim.Breaches{}) || st.Requests < 50 {
				t.Errorf("%s: %d requests, breaches %+v %v", scope, st.Requests, st.Breaches, st.BreachesByKey)
			}
			patratest.MustVerify(t, r.Node.Store)
		})
	}
	if one, each := took[source.RateGlobal], took[source.RatePerKey]; each > one*2/3 {
		t.Errorf("with limits for each of two keys it took %v, with one for both %v", each, one)
	}
}

// TestR48_CanaryIsNowhere harvests with secrets of every kind, good ones and
// bad ones, under every fault the oracle knows, and then looks for them.
func TestR48_CanaryIsNowhere(t *testing.T) {
	patratest.Long(t, "a matrix of cases without concurrency")
	canaries := []string{"sim-key-canary/A+1=", "bad-canary \"B\"&2", "sim-key-canary-C3", "plus-canary-D4=="}
	t.Setenv("MY_TEST_CANARY", canaries[2])
	file := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(file, []byte(canaries[3]+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var bad, logged, refused atomic.Int64
	t.Cleanup(func() {
		if bad.Load() == 0 || logged.Load() == 0 || refused.Load() == 0 {
			t.Errorf("nothing was looked at: %d bytes of log, a bad key sent %d times, told %d times", logged.Load(), bad.Load(), refused.Load())
		}
	})
	for i, fault := range sim.AllFaults {
		t.Run(string(fault), func(t *testing.T) {
			t.Parallel()
			var log bytes.Buffer
			var said strings.Builder
			spans := &collector{t: t}
			dsn := patratest.SQLite.SpareDSN(t)
			db := strings.TrimPrefix(dsn, "sqlite:")
			r := keyRig(t, patratest.RigConfig{
				DSN: dsn,
				Sim: sim.Config{Records: 60, Seed: uint64(i + 1), LimitRPS: -1, Faults: sim.Faults{Rates: map[sim.Fault]float64{fault: .4}, MaxInRow: 3, DelayMS: 1}},
				Node: node.Config{
					Workers: 2, Poll: time.Millisecond, Traces: spans.settings(),
					Logger: slog.New(slog.NewJSONHandler(&syncWriter{w: &log}, &slog.HandlerOptions{Level: slog.LevelDebug})),
				},
			})
			setKey(t, r.Node, "pubmed", "sealed", credential.NewSecret(canaries[0]), credential.SecretRef{})
			setKey(t, r.Node, "pubmed", "bad", credential.NewSecret(canaries[1]), credential.SecretRef{})
			setKey(t, r.Node, "pubmed", "env", credential.Secret{}, credential.SecretRef{Kind: credential.SecretEnv, Ref: "MY_TEST_CANARY"})
			setKey(t, r.Node, "crossref", "file", credential.Secret{}, credential.SecretRef{Kind: credential.SecretFile, Ref: file})
			with := map[string]int{}
			var mu sync.Mutex
			enough := func(string, int) {}
			r.Sim.SetOnRequest(func(q *http.Request) {
				mu.Lock()
				defer mu.Unlock()
				key := q.Form.Get("api_key") + strings.TrimPrefix(q.Header.Get("Crossref-Plus-API-Token"), "Bearer ")
				with[key]++
				enough(key, with[key])
			})
			for code, last := range map[string]string{"pubmed": canaries[2], "crossref": canaries[3]} {
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				mu.Lock()
				enough = func(key string, n int) { // of what the fault makes of a key
					if key == last && n == 8 {
						cancel()
					}
				}
				mu.Unlock()
				rep, err := r.Harvest(ctx, code)
				cancel()
				fmt.Fprintf(&said, "%v %+v %#v %+v\n", err, err, err, rep)
			}
			for _, c := range canaries[2:] {
				if with[c] == 0 {
					t.Errorf("%s was never sent: %v", c, with)
				}
			}
			tellAll(t, r.Node.Store, &said)
			lookFor(t, "the log", log.Bytes(), canaries)
			lookFor(t, "errors, reports, audit and export", []byte(said.String()), canaries)
			lookInFiles(t, db, canaries)
			spans.lookFor(r.Node, append(slices.Clone(canaries), "test@example.org"))
			mu.Lock()
			bad.Add(int64(with[canaries[1]]))
			mu.Unlock()
			logged.Add(int64(log.Len()))
			refused.Add(int64(strings.Count(said.String(), "CREDENTIAL_REFUSED")))
		})
	}
}

// tellAll writes down what the store gives out, and returns how many records that were.
func tellAll(t *testing.T, store *sqlstore.Store, said *strings.Builder) (records int) {
	t.Helper()
	err := store.Export(t.Context(), control.ExportQuery{Raw: true}, func(e *control.Exported) error {
		records++
		fmt.Fprintf(said, "%s %s %+v\n", e.Raw, e.Fields, e)
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	lines, err := store.Audits(t.Context(), "", 1000)
	if err != nil {
		t.Error(err)
	}
	fmt.Fprintf(said, "%+v\n", lines)
	return records
}

// lookInFiles looks for secrets in the files of a database that is still open, so
// that its WAL is there, and returns how many bytes it has seen.
func lookInFiles(t *testing.T, db string, secrets []string) (seen int) {
	t.Helper()
	for _, name := range []string{db, db + "-wal", db + "-shm"} {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		seen += len(b)
		lookFor(t, filepath.Base(name), b, secrets)
	}
	return seen
}

// lookFor reports every form of a secret found.
func lookFor(t *testing.T, where string, b []byte, secrets []string) {
	t.Helper()
	for form, s := range formsOf(secrets) {
		if i := bytes.Index(b, []byte(form)); i >= 0 {
			t.Errorf("%s holds %q of %q: ...%q...", where, form, s, b[max(0, i-80):min(len(b), i+80)])
		}
	}
}

// formsOf are the forms in which secrets may be found, with whose they are. One that has another
// in it is left out: where that is not, it is not either. Of a long one its beginning is enough.
func formsOf(secrets []string) map[string]string {
	all := map[string]string{}
	for _, s := range secrets {
		for _, form := range []string{
			s, url.QueryEscape(s), url.PathEscape(s), strings.ReplaceAll(s, `"`, `\"`), strings.ReplaceAll(s, `"`, `\\\"`),
			base64.RawStdEncoding.EncodeToString([]byte(s)), base64.RawURLEncoding.EncodeToString([]byte(s)), hex.EncodeToString([]byte(s)),
			s[4:14],
		} {
			all[form[:min(len(form), 32)]] = s
		}
	}
	out := maps.Clone(all)
	for form := range all {
		for other := range all {
			if other != form && strings.Contains(form, other) {
				delete(out, form)
			}
		}
	}
	return out
}

type syncWriter struct {
	mu sync.Mutex
	w  *bytes.Buffer
}

func (s *syncWriter) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.w.Write(p)
}

// TestR42_SourceWithoutItsCredentialIsNotPlanned: the reason is on the schedule
// instance, and nothing was asked.
func TestR42_SourceWithoutItsCredentialIsNotPlanned(t *testing.T) {
	t.Parallel()
	restricted := func(s *source.Spec) { patratest.Fast(s); s.Auth.Open = false }
	r := patratest.NewRig(t, patratest.RigConfig{
		DSN: patratest.SQLite.SpareDSN(t), Sim: sim.Config{Records: 20, Seed: 1, LimitRPS: -1},
		Packs: map[string]registry.Pack{"crossref": patratest.ShippedPack(t, "crossref", restricted)},
	})
	rep, err := r.Harvest(t.Context(), "crossref")
	if err == nil || !strings.Contains(err.Error(), "endpoint works needs a credential") {
		t.Errorf("harvest: %+v, %v", rep, err)
	}
	if n := len(r.Sim.Requests()); n != 0 {
		t.Errorf("%d requests were sent", n)
	}
}

// TestP18_PagesOfThoseWhoHaveAKey: a plan made with a credential at hand asks for
// the pages its holder may have, and keeps to them.
func TestP18_PagesOfThoseWhoHaveAKey(t *testing.T) {
	t.Parallel()
	for _, with := range []bool{false, true} {
		r := keyRig(t, patratest.RigConfig{
			DSN: patratest.SQLite.SpareDSN(t), Sim: sim.Config{Records: 60, Seed: 1, LimitRPS: -1, Now: time.Date(2026, 3, 10, 15, 0, 0, 0, time.UTC)},
			Packs: map[string]registry.Pack{"crossref": patratest.ShippedPack(t, "crossref", func(s *source.Spec) {
				patratest.Fast(s)
				s.Paging.Size, s.Auth.PageSize = 20, 50
			})},
		})
		if with {
			setKey(t, r.Node, "crossref", "main", credential.NewSecret("a-much-longer-token"), credential.SecretRef{})
		}
		r.MustBeExact("crossref", r.MustHarvest("crossref"))
		want := map[bool]string{false: "20", true: "50"}[with]
		for _, q := range r.Sim.Requests() {
			if rows := q.Params.Get("rows"); rows != "0" && rows != want {
				t.Errorf("with a key %v: rows=%s", with, rows)
			}
		}
	}
}

// TestR38_PlansByWhatAKeyIsAllowed: where requests with a key have limits of their
// own, a plan keeps to those while there is a key, and to the others without.
func TestR38_PlansByWhatAKeyIsAllowed(t *testing.T) {
	t.Parallel()
	r := keyRig(t, patratest.RigConfig{
		DSN: patratest.SQLite.SpareDSN(t), Sim: sim.Config{Records: 200, Seed: 11, LimitRPS: -1},
		Packs: map[string]registry.Pack{"pubmed": patratest.ShippedPack(t, "pubmed", func(s *source.Spec) {
			patratest.Fast(s)
			s.Window.Target = 20
			s.Paging.Size = 2
			s.Batching.IDs = 2
			keyed := s.Rate
			keyed.QPS, s.Auth.Rate = 100, &keyed
			s.Rate.Quotas = []source.QuotaConfig{{Limit: 60, Window: source.Duration(24 * time.Hour)}}
		})},
	})
	trigger := harvest.Trigger{Provenance: "pubmed", Operation: harvest.Harvest, Kind: "MANUAL", BaseURL: r.BaseOf("pubmed")}
	if p, err := r.Node.Planner.Preview(t.Context(), trigger); err != nil || len(p.Quotas) != 1 || p.Reason == "" {
		t.Errorf("without a key: %+v, %v", p, err)
	}
	setKey(t, r.Node, "pubmed", "main", credential.NewSecret("sim-key-main-0001"), credential.SecretRef{})
	p, err := r.Node.Planner.Preview(t.Context(), trigger)
	if err != nil || len(p.Quotas) != 0 || p.Reason != "" || p.Duration == 0 {
		t.Errorf("with a key: %+v, %v", p, err)
	}
	if made, err := r.Node.Planner.Plan(t.Context(), trigger); err != nil || made.Plan.Status != harvest.PlanReady {
		t.Errorf("with a key: %+v, %v", made, err)
	}
}
