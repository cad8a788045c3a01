package proctest

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// hourlyPack is a source that does not count, so that every hour is a slice. As many may be open
// as a plan can have.
const hourlyPack = `source: hourly
name: Hourly
baseUrl: %s
zone: UTC
recordType: item
identity: TEXT
http: {allowHttp: true, allowPrivate: true}
window: {key: updated, filters: {from: updated, to: updated}, precision: SECOND, bound: OPEN, updatedAt: PATH, safetyLag: 10m, step: PT1H, minStep: PT1H, maxOpen: 1000000}
pagination: {type: TOKEN, pageSize: 100, end: [NO_TOKEN]}
endpoints:
  items:
    usage: SEARCH
    path: /items
    format: JSON
    query: {from: "${iso(window.from)}", to: "${iso(window.to)}", token: "${page.token}", size: "${page.size}"}
    response: {items: items, id: id, updatedAt: [{path: updated, key: updated}], nextToken: next}
mapping: {fields: {title: title}}
`

// TestPlan_LargePlansDoNotGrowTheProcess plans 1,000 hours and 100,000, each by a process of its
// own: what a plan takes in memory hardly grows with its slices.
func TestPlan_LargePlansDoNotGrowTheProcess(t *testing.T) {
	if testing.Short() {
		t.Skip("left out under -short: it plans 100,000 slices; make test runs it")
	}
	if _, err := os.Stat("/proc/self/status"); err != nil {
		t.Skipf("peak memory cannot be read on this system: %v", err)
	}
	small := planHours(t, 1_000)
	large := planHours(t, 100_000)
	t.Logf("%.1f MiB for 1,000 slices, %.1f MiB for 100,000", float64(small)/mib, float64(large)/mib)
	if small == 0 || large-small >= mostGrowth {
		t.Errorf("%d MiB for 1,000 slices, %d MiB for 100,000: %d MiB more at most", small/mib, large/mib, mostGrowth/mib)
	}
}

// planHours has a process plan so many hours, and tells the most memory that it has had.
func planHours(t *testing.T, hours int) int64 {
	t.Helper()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, `{"items":[],"next":null}`) //nolint:errcheck // whoever asks notices
	}))
	defer srv.Close()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "hourly.yaml"), fmt.Appendf(nil, hourlyPack, srv.URL), 0o600); err != nil {
		t.Fatal(err)
	}
	to := time.Now().UTC().Truncate(time.Hour).Add(-time.Hour)
	from := to.Add(-time.Duration(hours) * time.Hour)
	cmd := exec.Command(binary, "plan", "create", "hourly", "--from", from.Format(time.RFC3339), "--to", to.Format(time.RFC3339),
		"--sources", dir, "--contact", "test@example.org")
	cmd.Env = append(os.Environ(), "PATRA_DB=sqlite:"+filepath.Join(dir, "p.db"))
	var out lockedBuffer
	cmd.Stdout = &out
	cmd.Stderr = &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	most, err := peakOf(cmd)
	if err != nil || !strings.Contains(out.String(), "plan ") {
		t.Fatalf("plan %d hours: %v\n%s", hours, err, tail(out.String()))
	}
	return most
}
