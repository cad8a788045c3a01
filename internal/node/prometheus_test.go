package node_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/papertrace/patra/internal/app/role"
	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/node"
	"github.com/papertrace/patra/internal/patratest"
	"github.com/papertrace/patra/internal/sim"
)

// get reads what an address answers, empty if it does not.
func get(t *testing.T, url string) []byte {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		return nil
	}
	return b
}

// until waits for something to come about, and fails the test if it does not.
func until(t *testing.T, what string, is func() bool) {
	t.Helper()
	const patience = 5 * time.Minute // the machine may be busy
	for begun := time.Now(); !is(); {
		if time.Since(begun) > patience {
			t.Fatalf("%s: it did not come", what)
		}
		time.Sleep(200 * time.Millisecond)
	}
}

// TestPrometheus_ScrapesAndAlerts: Prometheus itself takes the rules that patra prints,
// scrapes a node that serves, and one of its alerts fires and clears as a source fails
// and answers again.
func TestPrometheus_ScrapesAndAlerts(t *testing.T) {
	t.Parallel()
	program, err := exec.LookPath("prometheus")
	if err != nil {
		t.Skipf("Prometheus has not scraped a node: %v (make test-deps installs it)", err)
	}
	rig := patratest.NewRig(t, patratest.RigConfig{DSN: patratest.SQLite.SpareDSN(t), Sim: sim.Config{Sources: []string{sim.Crossref}, Records: 20, LimitRPS: -1}})
	rig.MustHarvest("crossref")
	crossref := harvest.Partition{Provenance: "crossref", Endpoint: "works", Operation: harvest.Harvest}
	for range harvest.DefaultBreaker().After {
		if err := rig.Node.Store.CountFailure(t.Context(), crossref, harvest.BreakerLimits{}, harvest.CodeTimeout, "nothing came"); err != nil {
			t.Fatal(err)
		}
	}
	door, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() {
		served <- rig.Node.Serve(ctx, node.ServeConfig{Roles: []role.Role{role.Planner}, Poll: time.Hour, API: &node.API{Listener: door}})
	}()
	defer func() {
		stop()
		if err := <-served; err != nil {
			t.Error(err)
		}
	}()
	metrics := "http://" + door.Addr().String() + "/metrics"
	until(t, "the node serves", func() bool { return len(get(t, metrics)) > 0 })
	promtool(t, get(t, metrics))

	prometheus := startPrometheus(t, program, door.Addr().String())
	const alert = "PatraSourceOut firing crossref"
	until(t, "the alert fires", func() bool { return slices.Contains(alertsOf(t, prometheus), alert) })
	if err := rig.Node.Store.CountAnswer(t.Context(), crossref); err != nil {
		t.Fatal(err)
	}
	until(t, "the alert clears", func() bool { return !slices.Contains(alertsOf(t, prometheus), alert) })
	if up := get(t, prometheus+"/api/v1/query?query=up"); !bytes.Contains(up, []byte(`"1"]`)) {
		t.Errorf("it cleared since nothing was scraped: %s", up)
	}
}

// alertsOf are the alerts that Prometheus has, as name, state and source.
func alertsOf(t *testing.T, prometheus string) (out []string) {
	t.Helper()
	var said struct {
		Data struct {
			Alerts []struct {
				State  string
				Labels map[string]string
			}
		}
	}
	if b := get(t, prometheus+"/api/v1/alerts"); b != nil {
		if err := json.Unmarshal(b, &said); err != nil {
			t.Fatal(err)
		}
	}
	for _, a := range said.Data.Alerts {
		out = append(out, fmt.Sprintf("%s %s %s", a.Labels["alertname"], a.State, a.Labels["source"]))
	}
	return out
}

// startPrometheus starts one that scrapes an address by the rules that patra prints, and
// returns where it answers. It ends with the test.
func startPrometheus(t *testing.T, program, target string) string {
	t.Helper()
	dir := t.TempDir()
	rules, err := node.Deployment("alerts")
	if err != nil {
		t.Fatal(err)
	}
	write := func(name string, text []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	file := write("rules.yml", rules)
	if tool, err := exec.LookPath("promtool"); err == nil {
		if said, err := exec.CommandContext(t.Context(), tool, "check", "rules", file).CombinedOutput(); err != nil {
			t.Errorf("promtool check rules: %v: %s", err, said)
		}
	}
	config := write("prometheus.yml", fmt.Appendf(nil, "global: {scrape_interval: 500ms, scrape_timeout: 500ms, evaluation_interval: 500ms}\n"+
		"rule_files: [rules.yml]\nscrape_configs:\n  - job_name: patra\n    static_configs: [{targets: [%q]}]\n", target))
	free, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := free.Addr().String()
	if err := free.Close(); err != nil {
		t.Fatal(err)
	}
	ctx, kill := context.WithCancel(context.WithoutCancel(t.Context()))
	cmd := exec.CommandContext(ctx, program, "--config.file="+config, "--storage.tsdb.path="+filepath.Join(dir, "data"), "--web.listen-address="+address)
	var said strings.Builder
	cmd.Stdout = &said
	cmd.Stderr = &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		kill()
		_ = cmd.Wait() // it was killed
		if t.Failed() {
			t.Logf("Prometheus said:\n%s", said.String())
		}
	})
	until(t, "Prometheus is ready", func() bool { return get(t, "http://"+address+"/-/ready") != nil })
	return "http://" + address
}
