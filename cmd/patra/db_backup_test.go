package main

import (
	"database/sql"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/papertrace/patra/internal/sim"
)

// TestBackup_IsWholeWhileOthersWrite: a copy that was made while somebody was in the middle of a
// write is sound and has what was stored before; a harvest goes on from it to what the source has.
func TestBackup_IsWholeWhileOthersWrite(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path, copied := filepath.Join(dir, "a b?.db"), filepath.Join(dir, "copy of it.db")
	db, there := "sqlite:"+path, "sqlite:"+copied
	o, url := oracle(t, sim.Config{Records: 300, Seed: 5, LimitRPS: -1, Sources: []string{"crossref"}})
	say := func(args ...string) string {
		t.Helper()
		code, out, e := patra(t, args...)
		if code != exitDone {
			t.Fatalf("patra %s: exit %d\n%s%s", strings.Join(args, " "), code, out, e)
		}
		return out
	}
	harvest := func(db string) { say("harvest", "crossref", "--db", db, "--base-url", url+"/crossref") }
	export := func(db string) string { return say("export", "--format", "csv", "--db", db) }

	harvest(db)
	before := export(db)
	endWrite := beginWrite(t, path)
	var done control.Backup
	if err := json.Unmarshal([]byte(say("db", "backup", copied, "--db", db, "--json")), &done); err != nil {
		t.Fatal(err)
	}
	endWrite()
	is, err := os.Stat(copied)
	if err != nil || is.Size() != done.Bytes || is.Mode().Perm() != 0o600 {
		t.Errorf("the copy is %v, %v; told %+v", is, err, done)
	}
	say("verify", "--deep", "--db", there)
	if export(there) != before {
		t.Error("the copy has other records")
	}

	o.Advance(48 * time.Hour)
	harvest(db)
	harvest(there)
	if export(there) != export(db) || export(db) == before {
		t.Error("the harvest did not go on from the copy as from what was copied")
	}
}

// beginWrite holds the lock of the writer, with something written, until it is ended.
func beginWrite(t *testing.T, path string) (end func()) {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+strings.NewReplacer("?", "%3f", " ", "%20").Replace(path))
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	for _, statement := range []string{"BEGIN IMMEDIATE", "UPDATE ing_record SET status_code='GONE'"} {
		if _, err := db.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	return func() {
		if _, err := db.ExecContext(t.Context(), "ROLLBACK"); err != nil {
			t.Error(err)
		}
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestBackup_PutsNothingOverAFile, and leaves nothing behind where it is refused.
func TestBackup_PutsNothingOverAFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	db := "sqlite:" + filepath.Join(dir, "a.db")
	if code, _, e := patra(t, "db", "migrate", "--db", db); code != exitDone {
		t.Fatal(e)
	}
	old := filepath.Join(dir, "old")
	if err := os.WriteFile(old, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	before := tree(t, dir)
	for _, c := range []struct {
		name, file, says string
		code             int
	}{
		{"a file", old, "[file_exists]", exitUsage},
		{"the database itself", filepath.Join(dir, "a.db"), "[file_exists]", exitUsage},
		{"a folder", dir, "[file_exists]", exitUsage},
		{"a folder that is not there", filepath.Join(dir, "none", "copy"), "[file]", exitFailed},
	} {
		code, out, e := patra(t, "db", "backup", c.file, "--db", db)
		if code != c.code || !strings.Contains(e, c.says) || out != "" {
			t.Errorf("%s: exit %d: %s%s", c.name, code, out, e)
		}
	}
	if b, err := os.ReadFile(old); err != nil || string(b) != "mine" || tree(t, dir) != before {
		t.Errorf("%q, %v; there is now\n%s", b, err, tree(t, dir))
	}
}

// TestBackup_LeavesNothingOnAFullDisk: neither a part of the copy nor what SQLite writes beside it.
func TestBackup_LeavesNothingOnAFullDisk(t *testing.T) {
	t.Parallel()
	full := smallDisk(t)
	db := "sqlite:" + filepath.Join(t.TempDir(), "a.db")
	_, url := oracle(t, sim.Config{Records: 2000, Seed: 2, LimitRPS: -1, Sources: []string{"crossref"}})
	if code, _, e := patra(t, "harvest", "crossref", "--db", db, "--base-url", url+"/crossref"); code != exitDone {
		t.Fatalf("exit %d: %s", code, e)
	}
	code, out, e := patra(t, "db", "backup", filepath.Join(full, "copy.db"), "--db", db)
	if code != exitFailed || !strings.Contains(e, "[disk_full]") || out != "" {
		t.Errorf("exit %d: %s%s", code, out, e)
	}
	if left, err := os.ReadDir(full); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// TestBackup_OfAnOlderSchema: before an upgrade is when a copy is wanted most.
func TestBackup_OfAnOlderSchema(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "a.db")
	db, there := "sqlite:"+path, "sqlite:"+filepath.Join(dir, "copy.db")
	if code, _, e := patra(t, "db", "migrate", "--db", db); code != exitDone {
		t.Fatal(e)
	}
	sqlite(t, path, `DELETE FROM goose_db_version WHERE version_id > 61`)
	if code, _, e := patra(t, "db", "backup", filepath.Join(dir, "copy.db"), "--db", db); code != exitDone {
		t.Fatalf("exit %d: %s", code, e)
	}
	if _, out, e := patra(t, "db", "status", "--db", there); !strings.Contains(out, "schema 61,") {
		t.Errorf("the copy is told as %s%s", out, e)
	}
}
