package main

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"
)

// TestDeploy_SystemdTakesTheUnit: its own tool finds nothing to mend, where there is one;
// the unit runs nothing as root.
func TestDeploy_SystemdTakesTheUnit(t *testing.T) {
	t.Parallel()
	code, out, _ := patra(t, "deploy", "systemd")
	if code != 0 || !strings.Contains(out, "Type=notify\n") || !strings.Contains(out, "DynamicUser=yes\n") || !strings.Contains(out, "CapabilityBoundingSet=\n") {
		t.Fatalf("%d\n%s", code, out)
	}
	tool, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skipf("systemd-analyze is not installed (make test-deps), so nobody has looked at the unit: %v", err)
	}
	// The tool asks that the program be there.
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	unit := filepath.Join(t.TempDir(), "patra.service")
	if err := os.WriteFile(unit, []byte(strings.ReplaceAll(out, "/usr/local/bin/patra", self)), 0o600); err != nil {
		t.Fatal(err)
	}
	said, err := exec.CommandContext(t.Context(), tool, "verify", "--man=no", unit).CombinedOutput()
	if err != nil || strings.Contains(string(said), "patra.service") {
		t.Errorf("systemd-analyze verify: %v: %s", err, said)
	}
}

// TestDeploy_ServicesOfTheComposeFileHaveNoRights: each of ours is no root, has no
// capabilities and cannot write to its disk; commands are ones that there are.
func TestDeploy_ServicesOfTheComposeFileHaveNoRights(t *testing.T) {
	t.Parallel()
	code, out, _ := patra(t, "deploy", "compose")
	var file struct {
		Services map[string]struct {
			Image    string
			User     string
			ReadOnly bool     `yaml:"read_only"`
			CapDrop  []string `yaml:"cap_drop"`
			Command  []string
		}
	}
	if err := yaml.Unmarshal([]byte(out), &file); err != nil || code != 0 {
		t.Fatal(code, err)
	}
	ours := 0
	for name, s := range file.Services {
		if s.Image != "patra:local" {
			continue
		}
		ours++
		if s.User != "65532:65532" || !s.ReadOnly || len(s.CapDrop) != 1 || s.CapDrop[0] != "ALL" {
			t.Errorf("%s: %+v", name, s)
		}
		if code, _, said := patra(t, append(s.Command, "--help")...); code != 0 {
			t.Errorf("%s runs %v: %s", name, s.Command, said)
		}
	}
	if ours < 4 {
		t.Errorf("%d services of patra", ours)
	}
}

// TestNotify_SystemdIsTold what a service says, if it listens.
func TestNotify_SystemdIsTold(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "notify")
	l, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: socket, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	t.Setenv("NOTIFY_SOCKET", socket)
	notifySystemd("READY=1")
	if err := l.SetReadDeadline(time.Now().Add(10 * time.Second)); err != nil {
		t.Fatal(err)
	}
	b := make([]byte, 64)
	n, err := l.Read(b)
	if err != nil || string(b[:n]) != "READY=1" {
		t.Errorf("%q, %v", b[:n], err)
	}
}
