package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestInit_MakesAFolderThatWorks: the files are there, what is started in the folder uses
// them, doctor tells from which line a setting came, and nothing is written over.
func TestInit_MakesAFolderThatWorks(t *testing.T) {
	t.Setenv("PATRA_DB", "")
	t.Setenv("PATRA_CONTACT", "")
	home := t.TempDir()
	lit := filepath.Join(home, "lit")
	code, out, e := patra(t, "init", lit, "--contact", "you@example.org")
	if code != 0 || !strings.Contains(e, "next: cd "+lit) {
		t.Fatalf("exit %d, said %q", code, e)
	}
	for name := range strings.Lines(out) {
		if _, err := os.Stat(strings.TrimSpace(name)); err != nil {
			t.Error(err)
		}
	}
	t.Chdir(lit)
	if code, _, e := patra(t, "source", "list"); code != 0 {
		t.Fatalf("source list in the folder: exit %d, %s", code, e)
	}
	if _, err := os.Stat("patra.db"); err != nil {
		t.Errorf("the database of the settings was not used: %v", err)
	}
	if _, out, _ := patra(t, "doctor", "--json"); !strings.Contains(out, `"name":"contact","from":"patra.env:4"`) {
		t.Errorf("doctor does not tell where the contact came from: %s", out)
	}
	t.Chdir(home)
	settings := filepath.Join("lit", "patra.env")
	if _, out, _ := patra(t, "doctor", "--json", "--config", settings); !strings.Contains(out, filepath.Join("lit", "patra.db")) {
		t.Errorf("the path of a database does not begin at the folder of its file: %s", out)
	}
	before, err := os.ReadFile(settings)
	if err != nil {
		t.Fatal(err)
	}
	if code, _, e := patra(t, "init", "lit", "--contact", "other@example.org"); code != 2 || !strings.Contains(e, "is there already") {
		t.Errorf("init over a folder: exit %d, %s", code, e)
	}
	if after, _ := os.ReadFile(settings); string(after) != string(before) {
		t.Error("the settings were written over")
	}
}

// TestSettings_AFileIsReadOrRefusedByLine: the command line goes before the environment,
// and that before the file; what the file cannot say is refused with its line.
func TestSettings_AFileIsReadOrRefusedByLine(t *testing.T) {
	t.Setenv("PATRA_DB", "")
	t.Setenv("PATRA_CONTACT", "")
	file := filepath.Join(t.TempDir(), "set.env")
	for text, want := range map[string]string{
		"PATRA_DB=sqlite:x.db\nPATRA_LEAS=1m\n":             "set.env:2: PATRA_LEAS is not a setting",
		"# fine\n\nPATRA_DB":                                `set.env:3: "PATRA_DB" is not NAME=value`,
		"PATRA_LEASE=soon":                                  "set.env:1: ",
		"PATRA_KEY=secret":                                  "set.env:1: PATRA_KEY is read from the environment only",
		"PATRA_CONTACT=a@example.org\nPATRA_CONTACT=b@c.de": "set.env:2: PATRA_CONTACT is set twice",
	} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if code, _, e := patra(t, "doctor", "--config", file); code != 2 || !strings.Contains(e, want) || strings.Contains(e, "secret") {
			t.Errorf("%q: exit %d, %s; wanted %q", text, code, e, want)
		}
	}
	if err := os.WriteFile(file, []byte("PATRA_CONTACT='file@example.org'\nPATRA_DB=sqlite:none.db\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	wantOrigin := func(origin string, args ...string) {
		t.Helper()
		_, out, _ := patra(t, append([]string{"doctor", "--json", "--config", file}, args...)...)
		if !strings.Contains(out, `"name":"contact","from":"`+origin+`"`) {
			t.Errorf("the contact is not of %s: %.300s", origin, out)
		}
	}
	wantOrigin(file + ":1")
	t.Setenv("PATRA_CONTACT", "variable@example.org")
	wantOrigin("PATRA_CONTACT")
	wantOrigin("--contact", "--contact", "flag@example.org")
	if code, _, e := patra(t, "doctor", "--config", filepath.Join(t.TempDir(), "none.env")); code != 2 || !strings.Contains(e, "cannot be read") {
		t.Errorf("a file that is not there: exit %d, %s", code, e)
	}
}
