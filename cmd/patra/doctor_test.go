package main

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/papertrace/patra/internal/infra/sqlstore"
	"github.com/papertrace/patra/internal/patratest"
)

// TestDoctor_Prints: a line for each thing, its fix where it is not well, and a summary
// that counts what the lines show.
func TestDoctor_Prints(t *testing.T) {
	var out bytes.Buffer
	c := &cli{printer: printer{out: &out, err: &out}}
	c.printDoctor(control.DoctorWithoutStore(control.Instance{
		Build: control.Build{Version: "v1", Commit: "0123", Go: "go1.26", OS: "linux", Arch: "amd64"},
		Settings: []control.Setting{
			{Name: "db", Value: "mysql://patra@db.example:3306/patra", From: "PATRA_DB"},
			{Name: "sources", From: control.FromDefault},
			{Name: "contact", From: control.FromDefault},
		},
	}, nil, control.Problem{Code: "unreachable", Title: "connect to mysql://patra@db.example:3306/patra: nobody answers", Next: "is it running?"}, false))
	patratest.Golden(t, "doctor.txt", out.Bytes())
}

// TestDoctor_OfWhatIsThere: a new database is well; one that is not there is no failure
// unless it was named; a password is not shown; the exit code says whether something has
// to be mended; values say where they came from.
func TestDoctor_OfWhatIsThere(t *testing.T) {
	db := "sqlite:" + filepath.Join(t.TempDir(), "a.db")
	patratest.Open(t, db, sqlstore.Options{})
	t.Setenv("PATRA_CONTACT", "jane@example.org")
	t.Setenv("PATRA_DB_WAIT", "1s")
	code, out, errOut := patra(t, "doctor", "--db", db, "--json")
	var d control.Doctor
	if err := json.Unmarshal([]byte(out), &d); err != nil || code != 0 || d.Ill() {
		t.Fatalf("%d %s %s %v", code, out, errOut, err)
	}
	from := map[string]string{}
	value := map[string]string{}
	for _, s := range d.Settings {
		from[s.Name] = s.From
		value[s.Name] = s.Value
	}
	if from["db-wait"] != "PATRA_DB_WAIT" || value["db-wait"] != "1s" || from["db-slow"] != "default" || value["db-slow"] != "3s" {
		t.Errorf("how slow a database may be is told as %v from %v", value, from)
	}
	if from["db"] != "--db" || from["contact"] != "PATRA_CONTACT" || from["lease"] != "default" || strings.Contains(out, "jane@") {
		t.Errorf("%v in %s", from, out)
	}
	if from["registry-cache"] != "default" || value["registry-cache"] != "2s" {
		t.Errorf("how long descriptions are kept is told as %q from %s", value["registry-cache"], from["registry-cache"])
	}
	if _, out, _ := patra(t, "doctor", "--db", db, "--registry-cache", "5s"); !strings.Contains(out, "registry-cache: 5s (--registry-cache)") {
		t.Errorf("how long descriptions are kept is not told in %s", out)
	}
	absent := "sqlite:" + filepath.Join(t.TempDir(), "none.db")
	code, out, _ = patra(t, "doctor", "--db", absent)
	if code != exitFailed || !strings.Contains(out, "1 failed") || !strings.Contains(out, "not looked at: see store") {
		t.Errorf("%d %s", code, out)
	}
	t.Setenv("XDG_DATA_HOME", t.TempDir())
	t.Setenv("PATRA_DB", "")
	code, out, _ = patra(t, "doctor")
	if code != 0 || !strings.Contains(out, "there is no database yet") {
		t.Errorf("%d %s", code, out)
	}
	t.Setenv("PATRA_DB", "mysql://patra:s3cret-password@127.0.0.1:1/patra")
	code, out, errOut = patra(t, "doctor")
	if code != exitFailed || strings.Contains(out+errOut, "s3cret") || !strings.Contains(out, "db: mysql://patra@127.0.0.1:1/patra (PATRA_DB)") {
		t.Errorf("%d %s %s", code, out, errOut)
	}
}

// TestDoctor_SaysThatAProxyOfTheEnvironmentIsNotFollowed, which other programs do; its address, in
// which a password may be, is not shown.
func TestDoctor_SaysThatAProxyOfTheEnvironmentIsNotFollowed(t *testing.T) {
	for _, name := range []string{"HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"} {
		t.Setenv(name, "")
	}
	db := "sqlite:" + filepath.Join(t.TempDir(), "none.db")
	const says = "https_proxy is set, and not followed"
	if _, out, _ := patra(t, "doctor", "--db", db); strings.Contains(out, "not followed") {
		t.Errorf("no proxy is set:\n%s", out)
	}
	t.Setenv("https_proxy", "http://jane:geheim@proxy.example:3128")
	if _, out, _ := patra(t, "doctor", "--db", db); !strings.Contains(out, says) || strings.Contains(out, "proxy.example") {
		t.Errorf("not told, or more than that:\n%s", out)
	}
}
