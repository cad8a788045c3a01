package main

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/papertrace/patra/internal/infra/sqlstore"
	"github.com/papertrace/patra/internal/patratest"
	"github.com/papertrace/patra/internal/sim"
)

// patience is how long a test waits for an event before it gives up. It says
// nothing about how fast anything should be: on a busy machine all is slow.
const patience = 10 * time.Minute

func TestMain(m *testing.M) { patratest.Main(m) }

// patra runs a command line in this process.
func patra(t *testing.T, args ...string) (code int, out, errOut string) {
	t.Helper()
	var o, e bytes.Buffer
	code = run(t.Context(), args, &o, &e)
	return code, o.String(), e.String()
}

func oracle(t *testing.T, cfg sim.Config) (*sim.Sim, string) {
	t.Helper()
	s, err := sim.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(s)
	t.Cleanup(srv.Close)
	return s, srv.URL
}

// TestBadInput_OneClearMessage walks the mistakes people make: a code, a
// message that names the mistake, a next step, and nothing on stdout.
func TestBadInput_OneClearMessage(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	db, there := "sqlite:"+filepath.Join(dir, "a.db"), "sqlite:"+filepath.Join(dir, "there.db")
	patratest.Open(t, there, sqlstore.Options{})
	packs := filepath.Join(dir, "packs")
	if err := os.Mkdir(packs, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(packs, "y.yaml"), []byte("source: y\nnam: Y\nwindow:\n  precision: WEEK\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	broken := filepath.Join(dir, "broken.db")
	b, err := os.ReadFile(strings.TrimPrefix(there, "sqlite:"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(broken, b[:len(b)/3], 0o600); err != nil {
		t.Fatal(err)
	}
	others := filepath.Join(dir, "others.db")
	othersBytes := databaseOfOthers(t, others)
	for _, c := range []struct {
		name string
		args []string
		code int
		says []string
	}{
		{"a folder as database", []string{"harvest", "crossref", "--db", "sqlite:" + dir}, exitUsage, []string{dir + " is a folder [is_folder]", "next: name a file in it: --db sqlite:" + dir + "/patra.db"}},
		{"a folder to read from", []string{"verify", "--db", "sqlite:" + dir}, exitUsage, []string{dir + " is a folder [is_folder]", "next: name a file in it"}},
		{"a mistyped folder of the database", []string{"harvest", "crossref", "--db", "sqlite:" + dir + "/nonexist/x.db"}, exitUsage, []string{"there is no folder " + dir + "/nonexist", "mkdir -p " + dir + "/nonexist", "nothing was made"}},
		{"a mistyped folder to migrate in", []string{"db", "migrate", "--db", "sqlite:" + dir + "/nonexist/x.db"}, exitUsage, []string{"there is no folder " + dir + "/nonexist"}},
		{"a damaged database", []string{"harvest", "crossref", "--db", "sqlite:" + broken}, exitFailed, []string{"the database sqlite:" + broken + " is damaged [damaged]", "next: `patra verify --db sqlite:" + broken}},
		{"a damaged database to read", []string{"export", "--db", "sqlite:" + broken}, exitFailed, []string{"is damaged [damaged]", "put back a copy"}},
		{"another program's database", []string{"harvest", "crossref", "--db", "sqlite:" + others}, exitUsage, []string{"another program's", "a table notes", "[other_database]", "nothing was changed"}},
		{"another program's database to migrate", []string{"db", "migrate", "--db", "sqlite:" + others}, exitUsage, []string{"[other_database]"}},
		{"another program's database to read", []string{"status", "--db", "sqlite:" + others}, exitUsage, []string{"[other_database]"}},
		{"unknown source", []string{"harvest", "pubmde", "--db", db}, exitNotFound, []string{`no source "pubmde"`, "crossref", "pubmed", "next: patra harvest pubmed"}},
		{"no source", []string{"harvest"}, exitUsage, []string{"needs the name of a source"}},
		{"two sources", []string{"harvest", "a", "b"}, exitUsage, []string{"takes one source"}},
		{"bad dsn", []string{"harvest", "crossref", "--db", "bogus"}, exitUsage, []string{"not a database address", "sqlite:PATH"}},
		{"unknown kind of database", []string{"harvest", "crossref", "--db", "oracle:x"}, exitUsage, []string{`unknown kind "oracle"`}},
		{"database missing in address", []string{"harvest", "crossref", "--db", "mysql://u:geheim@h:1"}, exitUsage, []string{"host or database is missing"}},
		{"server not there", []string{"harvest", "crossref", "--db", "mysql://u:geheim@127.0.0.1:1/x"}, exitFailed, []string{"connect to mysql://u:xxxxx@127.0.0.1:1/x"}},
		{"empty window", []string{"harvest", "crossref", "--db", db, "--from", "2026-02-01", "--to", "2026-02-01"}, exitUsage, []string{"window is empty", "--from before --to"}},
		{"bad time", []string{"harvest", "crossref", "--from", "gestern"}, exitUsage, []string{"--from", "yesterday", "-7d"}},
		{"bad base url", []string{"harvest", "crossref", "--base-url", "ftp://x"}, exitUsage, []string{"--base-url"}},
		{"no workers", []string{"harvest", "crossref", "--workers", "0"}, exitUsage, []string{"--workers"}},
		{"unknown flag", []string{"harvest", "--nope"}, exitUsage, []string{"--nope", "next: patra harvest --help"}},
		{"unknown command", []string{"harvset"}, exitUsage, []string{"harvset"}},
		{"pack with mistakes", []string{"harvest", "y", "--sources", packs, "--db", db}, exitUsage, []string{"y.yaml:2:1", "did you mean name", "nothing was changed"}},
		{"no such folder of packs", []string{"harvest", "y", "--sources", filepath.Join(dir, "nowhere"), "--db", db}, exitFailed, []string{"nowhere"}},
		{"verify nothing", []string{"verify", "--db", "sqlite:" + filepath.Join(dir, "none.db")}, exitFailed, []string{"none.db"}},
		{"coverage of an unknown source", []string{"coverage", "nope", "--db", db}, exitNotFound, []string{"no source"}},
		{"unknown format", []string{"export", "--format", "xml"}, exitUsage, []string{"xml"}},
		{"password outside a URL", []string{"verify", "--db", "mysql:root:geheim@tcp(h:1)/x"}, exitUsage, []string{"mysql:(unreadable)"}},
		{"no number", []string{"plan", "list", "--limit", "0", "--db", db}, exitUsage, []string{"--limit", "use 1 to 1000000", "next: patra plan list --help"}},
		{"below one", []string{"plan", "show", "1", "--limit", "-1", "--db", db}, exitUsage, []string{"--limit"}},
		{"unknown verb of plan", []string{"plan", "lits"}, exitUsage, []string{`unknown command "lits"`, "did you mean list"}},
		{"unknown verb of cursor", []string{"cursor", "bogus"}, exitUsage, []string{"bogus"}},
		{"unknown verb of db", []string{"db", "bogus"}, exitUsage, []string{"bogus"}},
		{"unknown verb of credential", []string{"credential", "bogus"}, exitUsage, []string{"bogus"}},
		{"plan backwards", []string{"plan", "create", "crossref", "--db", db, "--from", "2026-02-02", "--to", "2026-02-01"}, exitUsage, []string{"--from before --to"}},
		{"plan at no address", []string{"plan", "create", "crossref", "--db", db, "--base-url", "foo"}, exitUsage, []string{"--base-url"}},
		{"bad time of a plan", []string{"plan", "create", "crossref", "--db", db, "--from", "soon"}, exitUsage, []string{"next: patra plan create --help"}},
		{"unknown progress", []string{"verify", "--progress", "rainbow"}, exitUsage, []string{"rainbow", "auto, bar, plain or none"}},
		{"unknown form of the log", []string{"verify", "--log-format", "xml"}, exitUsage, []string{"xml", "text or json"}},
		{"lease below zero", []string{"verify", "--lease", "-5s"}, exitUsage, []string{"--lease", "1s to 24h"}},
		{"instances below zero", []string{"verify", "--instances", "-4"}, exitUsage, []string{"--instances"}},
		{"export to a folder", []string{"export", "--db", there, "--out", dir}, exitUsage, []string{"is a folder"}},
		{"export of an unknown source", []string{"export", "--db", there, "--source", "nosuch"}, exitNotFound, []string{"no source"}},
		{"plans of an unknown source", []string{"plan", "list", "--db", there, "--source", "nosuch"}, exitNotFound, []string{"no source"}},
		{"cursors of an unknown source", []string{"cursor", "list", "--db", there, "--source", "nosuch"}, exitNotFound, []string{"no source"}},
		{"gaps of an unknown source", []string{"plan", "gaps", "nosuch", "--db", there}, exitNotFound, []string{"no source"}},
		{"retry of an unknown source", []string{"plan", "retry", "nosuch", "--reason", "x", "--db", there}, exitNotFound, []string{"no source"}},
		{"sim: records below zero", []string{"sim", "--records", "-1"}, exitUsage, []string{"records -1"}},
		{"sim: unknown source", []string{"sim", "--sources", "nope"}, exitUsage, []string{"nope"}},
		{"sim: bad faults", []string{"sim", "--faults", "wild"}, exitUsage, []string{"wild"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.name == "coverage of an unknown source" {
				patratest.Open(t, db, sqlstore.Options{})
			}
			code, out, errOut := patra(t, c.args...)
			if code != c.code {
				t.Errorf("exit %d, want %d\n%s", code, c.code, errOut)
			}
			for _, s := range c.says {
				if !strings.Contains(errOut, s) {
					t.Errorf("message lacks %q:\n%s", s, errOut)
				}
			}
			if !strings.HasPrefix(errOut, "patra: ") || strings.Contains(errOut, "geheim") || out != "" {
				t.Errorf("stdout %q, stderr %q", out, errOut)
			}
		})
	}
	if b, err := os.ReadFile(others); err != nil || !bytes.Equal(b, othersBytes) {
		t.Errorf("the database of another program was changed, %v", err)
	}
}

// databaseOfOthers makes a database as another program has it, and returns its bytes.
func databaseOfOthers(t *testing.T, path string) []byte {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	_, err = db.ExecContext(t.Context(), "CREATE TABLE notes (text TEXT)")
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestBadInput_Environment(t *testing.T) {
	for name, value := range map[string]string{"PATRA_LEASE": "banana", "PATRA_INSTANCES": "-4", "PATRA_LOG_FORMAT": "xml"} {
		t.Run(name, func(t *testing.T) {
			t.Setenv(name, value)
			if code, _, e := patra(t, "version"); code != exitUsage || !strings.Contains(e, value) {
				t.Errorf("exit %d: %s", code, e)
			}
		})
	}
}

// TestReading_LeavesBadPacksAlone: what is stored can be read although a pack in
// the folder has mistakes.
func TestReading_LeavesBadPacksAlone(t *testing.T) {
	dir := t.TempDir()
	db := "sqlite:" + filepath.Join(dir, "a.db")
	patratest.Open(t, db, sqlstore.Options{})
	if err := os.WriteFile(filepath.Join(dir, "y.yaml"), []byte("source: y\nnam: Y\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"verify"}, {"export"}, {"coverage", "crossref"}} {
		code, _, e := patra(t, append(args, "--db", db, "--sources", dir)...)
		if code != exitDone || !strings.Contains(e, "source packs are left out") {
			t.Errorf("%s: exit %d: %s", args[0], code, e)
		}
	}
}

// TestReading_BringsAnOldSchemaUpToDate: SQLite migrates by itself, also for
// those who only read.
func TestReading_BringsAnOldSchemaUpToDate(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	sqlite(t, path, "CREATE TABLE goose_db_version (id INTEGER PRIMARY KEY AUTOINCREMENT, version_id INTEGER NOT NULL, is_applied INTEGER NOT NULL, tstamp TIMESTAMP DEFAULT (datetime('now')))")
	sqlite(t, path, "INSERT INTO goose_db_version (version_id, is_applied) VALUES (0,1), (1,1), (2,1), (3,1), (4,1), (5,1)")
	files, err := filepath.Glob("../../internal/infra/sqlstore/migrations/sqlite/0000[1-5]_*.sql")
	if err != nil || len(files) != 5 {
		t.Fatalf("%v, %v", files, err)
	}
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		sqlite(t, path, string(b))
	}
	if code, out, _ := patra(t, "db", "status", "--db", "sqlite:"+path); code != exitDone || !strings.Contains(out, "schema 5,") {
		t.Errorf("exit %d: %s", code, out)
	}
	if code, out, e := patra(t, "verify", "--db", "sqlite:"+path); code != exitDone {
		t.Errorf("exit %d: %s%s", code, out, e)
	}
	if code, out, _ := patra(t, "db", "status", "--db", "sqlite:"+path); code != exitDone || strings.Contains(out, "schema 5,") {
		t.Errorf("exit %d: %s", code, out)
	}
}

// TestDataDir_IsMadeForTheDefaultDatabaseOnly: a user who names no database needs
// no folder; one who mistypes it gets none.
func TestDataDir_IsMadeForTheDefaultDatabaseOnly(t *testing.T) {
	home := filepath.Join(t.TempDir(), "share")
	t.Setenv("XDG_DATA_HOME", home)
	t.Setenv("PATRA_DB", "")
	other := filepath.Join(home, "other")
	if code, _, e := patra(t, "db", "migrate", "--db", "sqlite:"+filepath.Join(other, "patra.db")); code != exitUsage {
		t.Errorf("exit %d: %s", code, e)
	}
	if _, err := os.Stat(home); err == nil {
		t.Error("a folder was made for a database that is not the default")
	}
	if code, _, e := patra(t, "db", "migrate"); code != exitDone {
		t.Errorf("exit %d: %s", code, e)
	}
	if is, err := os.Stat(filepath.Join(home, "patra")); err != nil || is.Mode().Perm()&0o077 != 0 {
		t.Errorf("%v, %v", is, err)
	}
}

// TestDBStatus_MakesNothing where there is nothing.
func TestDBStatus_MakesNothing(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "none")
	if code, _, _ := patra(t, "db", "status", "--db", "sqlite:"+filepath.Join(dir, "a.db")); code == exitDone {
		t.Error("there is nothing, and it says so with 0")
	}
	if _, err := os.Stat(dir); err == nil {
		t.Error("it made a folder")
	}
}

// TestOutput_ThatIsNotWrittenIsAFailure, on a full disk for one.
func TestOutput_ThatIsNotWrittenIsAFailure(t *testing.T) {
	db := "sqlite:" + filepath.Join(t.TempDir(), "a.db")
	patratest.Open(t, db, sqlstore.Options{})
	for _, args := range [][]string{{"verify"}, {"plan", "list", "--json"}, {"coverage", "crossref", "--json"}, {"source", "new", "mine"}, {"source", "schema"}} {
		full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
		if err != nil {
			t.Skip("no /dev/full here")
		}
		var e bytes.Buffer
		if code := run(t.Context(), append(args, "--db", db), full, &e); code != exitFailed || !strings.Contains(e.String(), "no space left") {
			t.Errorf("%v: exit %d: %s", args, code, e.String())
		}
		if err := full.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestInterrupt_IsNotTheUpstreamsFault: told to stop while it plans, it says so.
func TestInterrupt_IsNotTheUpstreamsFault(t *testing.T) {
	db := "sqlite:" + filepath.Join(t.TempDir(), "a.db")
	o, url := oracle(t, sim.Config{Records: 50, Seed: 2})
	for _, args := range [][]string{{"harvest", "crossref"}, {"plan", "create", "crossref", "--dry-run"}} {
		ctx, stop := context.WithCancelCause(t.Context())
		o.SetOnRequest(func(*http.Request) { stop(errors.New("a signal")) })
		var out, e bytes.Buffer
		code := run(ctx, append(args, "--db", db, "--base-url", url+"/crossref", "--contact", "a@example.org"), &out, &e)
		if code != exitInterrupted || !strings.Contains(e.String(), "interrupted") {
			t.Errorf("%v: exit %d: %s", args, code, e.String())
		}
		stop(nil)
	}
}

// TestLocked_EndsWhenToldTo: another process holds the database for good.
func TestLocked_EndsWhenToldTo(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a.db")
	patratest.Open(t, "sqlite:"+path, sqlstore.Options{})
	hold, err := sql.Open("sqlite", "file:"+path+"?_txlock=immediate")
	if err != nil {
		t.Fatal(err)
	}
	defer hold.Close() //nolint:errcheck // a test's own
	tx, err := hold.Begin()
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback() //nolint:errcheck // a test's own
	ctx, stop := context.WithTimeout(t.Context(), time.Second)
	defer stop()
	var out, e bytes.Buffer
	began := time.Now()
	code := run(ctx, []string{"source", "pause", "crossref", "--reason", "x", "--db", "sqlite:" + path}, &out, &e)
	if code != exitInterrupted || time.Since(began) > patience {
		t.Errorf("exit %d after %v: %s", code, time.Since(began), e.String())
	}
}

func TestBadInput_NewerSchemaIsLeftAlone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	s := patratest.Open(t, "sqlite:"+path, sqlstore.Options{})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	sqlite(t, path, "INSERT INTO goose_db_version (version_id, is_applied) VALUES (9999, 1)")
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	code, _, errOut := patra(t, "harvest", "crossref", "--db", "sqlite:"+path)
	if code != exitConflict || !strings.Contains(errOut, "newer patra") || !strings.Contains(errOut, "next: ") {
		t.Errorf("exit %d: %s", code, errOut)
	}
	after, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(before, after) {
		t.Error("the store was changed")
	}
}

// TestR3_LaterStartIsRefused: a start past the watermark would skip a window
// for ever.
func TestR3_LaterStartIsRefused(t *testing.T) {
	t.Parallel()
	db := "sqlite:" + filepath.Join(t.TempDir(), "a.db")
	o, url := oracle(t, sim.Config{Records: 50, Seed: 2})
	if code, _, e := patra(t, "harvest", "crossref", "--db", db, "--base-url", url+"/crossref", "--contact", "a@example.org"); code != 0 {
		t.Fatalf("exit %d: %s", code, e)
	}
	o.Advance(24 * time.Hour)
	_, before, _ := patra(t, "coverage", "crossref", "--db", db, "--json")
	from := o.Now().Add(-time.Hour).UTC().Format(time.RFC3339)
	code, _, e := patra(t, "harvest", "crossref", "--db", db, "--base-url", url+"/crossref", "--from", from)
	if code != exitConflict || !strings.Contains(e, "past_watermark") || !strings.Contains(e, "BACKFILL") {
		t.Errorf("exit %d: %s", code, e)
	}
	_, after, _ := patra(t, "coverage", "crossref", "--db", db, "--json")
	if before != after {
		t.Errorf("coverage changed:\n%s\n%s", before, after)
	}
}

// TestFullDisk_NothingHalfWritten harvests onto a file system that is too small.
func TestFullDisk_NothingHalfWritten(t *testing.T) {
	t.Parallel()
	dir := smallDisk(t)
	path := filepath.Join(dir, "a.db")
	db := "sqlite:" + path
	_, url := oracle(t, sim.Config{Records: 3000, Seed: 2})
	code, _, e := patra(t, "harvest", "crossref", "--db", db, "--base-url", url+"/crossref", "--contact", "a@example.org")
	if code != exitFailed || !strings.Contains(e, "disk_full") || !strings.Contains(e, "free disk space") {
		t.Errorf("exit %d: %s", code, e)
	}
	if out, err := exec.Command("mount", "-o", "remount,size=200m", dir).CombinedOutput(); err != nil {
		t.Fatalf("remount: %v %s", err, out)
	}
	if code, out, e := patra(t, "verify", "--db", db); code != 0 {
		t.Errorf("verify: exit %d: %s%s", code, out, e)
	}
	// There was no room to give the task back, and nobody waits here until its minute is over.
	sqlite(t, path, `UPDATE ing_task SET leased_until='2000-01-01 00:00:00.000000' WHERE leased_until IS NOT NULL`)
	code, out, e := patra(t, "harvest", "crossref", "--db", db, "--base-url", url+"/crossref", "--contact", "a@example.org", "--lease", "1s", "--json")
	if code != 0 {
		t.Errorf("after room was made: exit %d: %s%s", code, out, e)
	}
}

// smallDisk is a folder with room for two megabytes.
func smallDisk(t *testing.T) string {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("needs root to mount a small file system")
	}
	dir := t.TempDir()
	if out, err := exec.Command("mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", dir).CombinedOutput(); err != nil {
		t.Skipf("cannot mount: %v %s", err, out)
	}
	t.Cleanup(func() {
		if out, err := exec.Command("umount", dir).CombinedOutput(); err != nil {
			t.Errorf("umount: %v %s", err, out)
		}
	})
	return dir
}

func TestReadOnlyDisk_SaysSo(t *testing.T) {
	code, _, e := patra(t, "harvest", "crossref", "--db", "sqlite:/proc/a.db")
	if code != exitFailed || !strings.Contains(e, "[read_only]") || !strings.Contains(e, "next: make the database") {
		t.Errorf("exit %d: %s", code, e)
	}
}

func sqlite(t *testing.T, path, stmt string) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.ExecContext(t.Context(), stmt); err != nil {
		t.Fatal(err)
	}
}

// TestHarvestExportVerify_SpeakTheContract checks the JSON forms others rely on.
func TestHarvestExportVerify_SpeakTheContract(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	db := "sqlite:" + filepath.Join(dir, "a.db")
	o, url := oracle(t, sim.Config{Records: 120, Seed: 4})
	code, out, e := patra(t, "harvest", "pubmed", "--db", db, "--base-url", url+"/pubmed", "--json")
	if code != 0 {
		t.Fatalf("exit %d: %s", code, e)
	}
	var rep map[string]any
	if err := json.Unmarshal([]byte(out), &rep); err != nil {
		t.Fatalf("not one JSON object: %v\n%s", err, out)
	}
	for _, k := range []string{"operation", "source", "namespace", "plan_key", "status", "window", "watermark", "noop", "slices", "records", "requests", "bytes", "duration_ms", "gaps"} {
		if _, ok := rep[k]; !ok {
			t.Errorf("report lacks %q", k)
		}
	}
	if rep["status"] != "COMPLETED" || !strings.HasPrefix(fmt.Sprint(rep["namespace"]), "EXPR/") {
		t.Errorf("report: %s", out)
	}
	file := filepath.Join(dir, "out.jsonl")
	if code, _, e := patra(t, "export", "--db", db, "--source", "pubmed", "--raw", "--out", file); code != 0 {
		t.Fatalf("export: exit %d: %s", code, e)
	}
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	truth := map[string]string{}
	for r := range o.Truth("pubmed") {
		truth[r.ID] = r.RawSHA256
	}
	last := ""
	for line := range strings.Lines(string(b)) {
		var r struct {
			Source, Type, ID, Status string
			Revision                 int
			RawSHA256                string `json:"raw_sha256"`
			Fields                   map[string]any
			Provenance               map[string]any
			Raw                      string
		}
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatalf("line: %v", err)
		}
		if r.ID <= last || r.Source != "pubmed" || r.Type != "article" || r.Revision != 1 || r.Fields["pmid"] != r.ID || !strings.HasPrefix(r.Raw, "<Pubmed") {
			t.Fatalf("line %s after %s: %+v", r.ID, last, r)
		}
		if truth[r.ID] != r.RawSHA256 {
			t.Errorf("%s: bytes differ from the truth", r.ID)
		}
		for _, k := range []string{"plan", "slice", "task", "run", "batch", "mapping_version", "fetched_at"} {
			if _, ok := r.Provenance[k]; !ok {
				t.Errorf("provenance lacks %q", k)
			}
		}
		last = r.ID
	}
	code, out, _ = patra(t, "verify", "--db", db, "--json")
	if code != 0 || !strings.Contains(out, `"clean":true`) {
		t.Errorf("verify: %d %s", code, out)
	}
	code, out, _ = patra(t, "coverage", "pubmed", "--db", db, "--json")
	if code != 0 || !strings.Contains(out, `"proven":[{`) {
		t.Errorf("coverage: %d %s", code, out)
	}
}

func TestDemo_EndsExact(t *testing.T) {
	t.Parallel()
	code, out, e := patra(t, "demo", "--headless", "--records", "300")
	if code != 0 || strings.Count(out, "  exact  ") != 4 {
		t.Errorf("exit %d\n%s\n%s", code, out, e)
	}
	if strings.Contains(out, "map[") {
		t.Errorf("the faults are not told in words:\n%s", out)
	}
	if got := faultWords(map[sim.Fault]int{sim.Slow: 1, sim.HTTP500: 3, sim.HTML200: 1}); got != "3 http 500, 1 html 200, 1 slow" || faultWords(nil) != "none" {
		t.Errorf("in words: %s", got)
	}
}

// TestR48_HelpDoesNotPrintTheEnvironment: a database address holds a password.
func TestR48_HelpDoesNotPrintTheEnvironment(t *testing.T) {
	t.Setenv("PATRA_DB", "mysql://u:geheim@127.0.0.1:1/x")
	for _, args := range [][]string{{"--help"}, {"harvest", "--help"}, {"verify"}} {
		_, out, errOut := patra(t, args...)
		if strings.Contains(out+errOut, "geheim") {
			t.Errorf("%v prints the password:\n%s%s", args, out, errOut)
		}
	}
}
