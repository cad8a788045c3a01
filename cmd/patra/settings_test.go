package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestSettings_LinesAsEditorsWriteThem(t *testing.T) {
	for _, c := range []struct{ name, text, contact, refused string }{
		{name: "plain", text: "PATRA_CONTACT=me@example.org", contact: "me@example.org"},
		{name: "by an editor of Windows", text: "\ufeff# ours\r\nPATRA_CONTACT=me@example.org\r\n", contact: "me@example.org"},
		{name: "with blanks", text: "  PATRA_CONTACT = me@example.org \n\n", contact: "me@example.org"},
		{name: "both kinds of comments", text: "# one\n; two\nPATRA_CONTACT=me@example.org", contact: "me@example.org"},
		{name: "in quotes", text: `PATRA_CONTACT="me@example.org"`, contact: "me@example.org"},
		{name: "in other quotes", text: `PATRA_CONTACT='me@example.org'`, contact: "me@example.org"},
		{name: "a mark within", text: "PATRA_CONTACT=me#2@example.org", contact: "me#2@example.org"},
		{name: "a mark within quotes", text: `PATRA_CONTACT="me #2@example.org"`, contact: "me #2@example.org"},
		{name: "a comment behind", text: "PATRA_CONTACT=me@example.org # mine", refused: ":1: PATRA_CONTACT: a comment needs a line of its own"},
		{name: "a comment behind quotes", text: `PATRA_CONTACT="me@example.org" # mine`, refused: ":1: PATRA_CONTACT: there is more behind the quote"},
		{name: "a quote that is not closed", text: `PATRA_CONTACT="me@example.org`, refused: ":1: PATRA_CONTACT: the quote \" is not closed"},
		{name: "no setting", text: "PATRA_CONTAKT=me@example.org", refused: ":1: PATRA_CONTAKT is not a setting: use PATRA_DB, "},
		{name: "twice", text: "PATRA_CONTACT=a\nPATRA_CONTACT=b", refused: ":2: PATRA_CONTACT is set twice"},
		{name: "no line of a setting", text: "me@example.org", refused: ":1: \"me@example.org\" is not NAME=value"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), settingsFile)
			if err := os.WriteFile(file, []byte(c.text), 0o600); err != nil {
				t.Fatal(err)
			}
			got, err := readSettings(file)
			switch {
			case c.refused != "":
				if err == nil || !strings.Contains(err.Error(), c.refused) {
					t.Errorf("got %v, want %q", err, c.refused)
				}
			case err != nil || got["PATRA_CONTACT"].value != c.contact:
				t.Errorf("got %q, %v, want %q", got["PATRA_CONTACT"].value, err, c.contact)
			}
		})
	}
}

// TestSettings_ThePlacesOfTheFile: the file of the folder goes before that of the user.
func TestSettings_ThePlacesOfTheFile(t *testing.T) {
	own := filepath.Join(t.TempDir(), "config")
	t.Setenv("XDG_CONFIG_HOME", own)
	here := t.TempDir()
	t.Chdir(here)
	ofUser := filepath.Join(own, "patra", settingsFile)
	if err := os.MkdirAll(filepath.Dir(ofUser), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ file, contact string }{{ofUser, "user@example.org"}, {filepath.Join(here, settingsFile), "here@example.org"}} {
		if err := os.WriteFile(c.file, []byte("PATRA_CONTACT="+c.contact), 0o600); err != nil {
			t.Fatal(err)
		}
		if got, err := readSettings(""); err != nil || got["PATRA_CONTACT"].value != c.contact {
			t.Errorf("read %+v, %v, want %s", got, err, c.contact)
		}
	}
}

// TestSettings_TheDatabaseOfAFile: the address of a server may have a password in it, which is not to
// stand in the environment.
func TestSettings_TheDatabaseOfAFile(t *testing.T) {
	t.Setenv("PATRA_DB", "")
	file := filepath.Join(t.TempDir(), "db")
	t.Setenv("PATRA_DB_FILE", file)
	if code, _, said := patra(t, "db", "migrate"); code != exitUsage || !strings.Contains(said, "PATRA_DB_FILE") {
		t.Errorf("a file that is not there: exit %d: %s", code, said)
	}
	db := filepath.Join(t.TempDir(), "of-file.db")
	if err := os.WriteFile(file, []byte("sqlite:"+db+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if code, _, said := patra(t, "db", "migrate"); code != exitDone {
		t.Fatalf("exit %d: %s", code, said)
	}
	if _, err := os.Stat(db); err != nil {
		t.Error(err)
	}
	t.Setenv("PATRA_DB", "sqlite:"+db)
	if code, _, said := patra(t, "db", "status"); code != exitUsage || !strings.Contains(said, "both given") {
		t.Errorf("both given: exit %d: %s", code, said)
	}
}

// TestSettings_PathsBeginAtTheFolderOfTheFile: a path in a file of settings is the same file
// wherever one stands, also of targets of events, of which one value may name several.
func TestSettings_PathsBeginAtTheFolderOfTheFile(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ key, value, want string }{
		{"PATRA_DB", "sqlite:a.db", "sqlite:/etc/p q/a.db"},
		{"PATRA_DB", "mysql://u:p@h/patra", "mysql://u:p@h/patra"},
		{"PATRA_SOURCES", "packs", "/etc/p q/packs"},
		{"PATRA_ARCHIVE", "/old", "/old"},
		{"PATRA_EVENTS", "file:ev.jsonl", "file:/etc/p%20q/ev.jsonl"},
		{"PATRA_EVENTS", "file:sub/ev.jsonl?rotate=1G#lake", "file:/etc/p%20q/sub/ev.jsonl?rotate=1G#lake"},
		{"PATRA_EVENTS", "file:/var/ev.jsonl", "file:/var/ev.jsonl"},
		{"PATRA_EVENTS", "stdout: file:a.jsonl#a  nats://h:4222?subject=s", "stdout: file:/etc/p%20q/a.jsonl#a  nats://h:4222?subject=s"},
	} {
		if got := fromFolder("/etc/p q", c.key, c.value); got != c.want {
			t.Errorf("%s=%s: got %s, want %s", c.key, c.value, got, c.want)
		}
	}
}
