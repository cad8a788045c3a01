package main

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/papertrace/patra/internal/infra/sqlstore"
	"github.com/papertrace/patra/internal/patratest"
	"github.com/papertrace/patra/internal/sim"
)

// harvested returns a database of SQLite with some records in it, as the bytes of
// its only file.
func harvested(t *testing.T, records int) []byte {
	t.Helper()
	path := filepath.Join(t.TempDir(), "whole.db")
	patratest.Open(t, "sqlite:"+path, sqlstore.Options{}).Close()
	_, url := oracle(t, sim.Config{Records: records, Seed: 3, LimitRPS: -1, Sources: []string{"crossref"}})
	if code, _, e := patra(t, "harvest", "crossref", "--db", "sqlite:"+path, "--base-url", url+"/crossref", "--contact", "a@example.org"); code != exitDone {
		t.Fatalf("exit %d: %s", code, e)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// damaged is the file of a database to do harm to.
type damaged struct {
	*testing.T
	path  string
	bytes []byte
	db    *sql.DB
}

// root is where the first page of a table or an index lies in the file.
func (d *damaged) root(name string) []byte {
	d.Helper()
	const page = 4096
	var n int
	if err := d.db.QueryRow(`SELECT rootpage FROM sqlite_master WHERE name=?`, name).Scan(&n); err != nil {
		d.Fatal(err)
	}
	return d.bytes[(n-1)*page : n*page]
}

// change alters one byte in the middle of what is found, which must be there once
// within part.
func (d *damaged) change(part, what []byte) {
	d.Helper()
	if bytes.Count(part, what) != 1 {
		d.Fatalf("found %d times", bytes.Count(part, what))
	}
	part[bytes.Index(part, what)+len(what)/2] ^= 1
}

// TestR83_DamageIsTold: nine kinds of damage to a file, and two more that are none
// of the file's. Each is an exit code that is not 0, what is wrong, and what to do.
func TestR83_DamageIsTold(t *testing.T) {
	t.Parallel()
	whole := harvested(t, 30)
	const deep = "--deep"
	for _, k := range []struct {
		name string
		harm func(d *damaged)
		flag string
		code int
		says []string
	}{
		{"nothing", func(*damaged) {}, "", exitDone, []string{"clean: the file is sound, every rule of the store holds in sqlite:"}},
		{"nothing, deep", func(*damaged) {}, deep, exitDone, []string{"clean: the file is sound", "30 bodies are what came"}},
		{"a byte of a body", func(d *damaged) {
			var raw []byte
			if err := d.db.QueryRow(`SELECT raw FROM ing_record_version WHERE id=7`).Scan(&raw); err != nil {
				d.Fatal(err)
			}
			d.change(d.bytes, raw[len(raw)/2:len(raw)/2+40])
		}, deep, exitDifferences, []string{"does not hold: what is stored of an item is what came", "version 7: "}},
		{"a byte in the key of an index", func(d *damaged) {
			var id []byte
			if err := d.db.QueryRow(`SELECT ext_id FROM ing_record WHERE id=7`).Scan(&id); err != nil {
				d.Fatal(err)
			}
			d.change(d.root("uk_record_key"), id)
		}, "", exitDifferences, []string{"does not hold: the file of the database is sound", "missing from index uk_record_key", "[damaged]", "next: put back a copy"}},
		{"a zeroed page of an index", func(d *damaged) { clear(d.root("idx_task_queue")) }, "", exitDifferences, []string{"does not hold: the file of the database is sound", "[damaged]"}},
		{"a page of garbage", func(d *damaged) {
			page := d.root("ing_record_version")
			for i := range page {
				page[i] = byte(rand.N(256))
			}
		}, "", exitDifferences, []string{"does not hold: the file of the database is sound", "[damaged]"}},
		{"two pages exchanged", func(d *damaged) {
			a, b := d.root("ing_record"), d.root("ing_outbox")
			was := bytes.Clone(a)
			copy(a, b)
			copy(b, was)
		}, "", exitDifferences, []string{"does not hold: the file of the database is sound", "[damaged]"}},
		{"a file cut off", func(d *damaged) { d.bytes = d.bytes[:len(d.bytes)/2] }, "", exitDifferences, []string{"does not hold: the file of the database is sound", "[damaged]"}},
		{"a wrong header", func(d *damaged) { copy(d.bytes, "SQLite format 9") }, "", exitFailed, []string{"[not_a_database]", "next: name a database"}},
		{"a text file", func(d *damaged) { d.bytes = bytes.Repeat([]byte("Dear diary, \n"), 1000) }, "", exitFailed, []string{"[not_a_database]", "next: name a database"}},
		{"a schema from the future", func(d *damaged) {
			for _, q := range []string{`INSERT INTO goose_db_version (version_id, is_applied) VALUES (999, 1)`, `PRAGMA wal_checkpoint(TRUNCATE)`} {
				if _, err := d.db.Exec(q); err != nil {
					d.Fatal(err)
				}
			}
			b, err := os.ReadFile(d.path)
			if err != nil {
				d.Fatal(err)
			}
			d.bytes = b
		}, "", exitConflict, []string{"schema 999", "newer patra", "next: use the patra that wrote it"}},
		{"an empty file", func(d *damaged) { d.bytes = nil }, "", exitConflict, []string{"schema 0", "next: patra db migrate"}},
	} {
		t.Run(k.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "a.db")
			if err := os.WriteFile(path, whole, 0o600); err != nil {
				t.Fatal(err)
			}
			d := &damaged{T: t, path: path, bytes: bytes.Clone(whole), db: patratest.Raw(t, "sqlite:"+path)}
			k.harm(d)
			if err := d.db.Close(); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, d.bytes, 0o600); err != nil {
				t.Fatal(err)
			}
			for _, json := range []bool{false, true} {
				args := []string{"verify", "--db", "sqlite:" + path}
				if k.flag != "" {
					args = append(args, k.flag)
				}
				if json {
					args = append(args, "--json")
				}
				code, out, e := patra(t, args...)
				if code != k.code {
					t.Errorf("exit %d, want %d: %s%s", code, k.code, out, e)
				}
				if json {
					mustSayClean(t, out, k.code)
					continue
				}
				for _, word := range k.says {
					if !strings.Contains(out+e, word) {
						t.Errorf("does not say %q: %s%s", word, out, e)
					}
				}
			}
			after, err := os.ReadFile(path)
			if err != nil || !bytes.Equal(after, d.bytes) {
				t.Errorf("verify changed the file (%v)", err)
			}
		})
	}
}

// mustSayClean holds the JSON of verify against its exit code.
func mustSayClean(t *testing.T, out string, code int) {
	t.Helper()
	var v struct {
		Clean    *bool
		Findings []control.Finding
		Exit     int
	}
	if err := json.Unmarshal([]byte(out), &v); err != nil {
		t.Fatalf("not one JSON object: %v: %s", err, out)
	}
	switch code {
	case exitDone, exitDifferences:
		if v.Clean == nil || *v.Clean != (code == exitDone) || (len(v.Findings) == 0) != (code == exitDone) {
			t.Errorf("exit %d: %s", code, out)
		}
	default:
		if v.Exit != code {
			t.Errorf("exit %d: %s", code, out)
		}
	}
}

// TestR83_DeepGoesOnWhereItStopped: interrupted, it says where to go on; what lies
// before is not read again, and nothing behind is left out.
func TestR83_DeepGoesOnWhereItStopped(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a.db")
	if err := os.WriteFile(path, harvested(t, 1200), 0o600); err != nil {
		t.Fatal(err)
	}
	db := patratest.Raw(t, "sqlite:"+path)
	damage := func(ids ...int64) {
		for _, id := range ids {
			if _, err := db.Exec(`UPDATE ing_record_version SET raw=x'00' WHERE id=?`, id); err != nil {
				t.Fatal(err)
			}
		}
	}
	damage(1, 500, 501, 1100)
	s := patratest.Open(t, "sqlite:"+path, sqlstore.Options{ReadOnly: true})
	ctx, stop := context.WithCancel(t.Context())
	found, at, err := s.VerifyBodies(ctx, 0, func(control.DeepCheck) { stop() })
	if !interrupted(ctx, err) || at.Bodies != 500 || at.After != 500 || len(found) != 2 || found[0].Object != "version 1" || found[1].Object != "version 500" {
		t.Errorf("%v, %+v, %v", found, at, err)
	}
	code, out, e := patra(t, "verify", "--db", "sqlite:"+path, "--deep", "--after", fmt.Sprint(at.After), "--json")
	if code != exitDifferences || !strings.Contains(out, `"bodies":700`) || strings.Count(out, `"version `) != 2 || !strings.Contains(out, `"version 501"`) || !strings.Contains(out, `"version 1100"`) {
		t.Errorf("exit %d: %s%s", code, out, e)
	}
	// Through the command: its last line is what goes on.
	var o, told bytes.Buffer
	ctx, stop = context.WithCancel(t.Context())
	defer stop()
	code = run(&stoppedLater{Context: ctx, stop: stop, left: 700}, []string{"verify", "--deep", "--db", "sqlite:" + path}, &o, &told)
	_, next, _ := strings.Cut(told.String(), "next: patra ")
	if code != exitInterrupted || !strings.Contains(o.String(), "version 1:") || strings.Contains(o.String(), "clean") {
		t.Fatalf("exit %d: %s%s", code, o.String(), told.String())
	}
	var read, after int64
	if n, err := fmt.Sscanf(told.String(), "patra: interrupted after version %d of 1200 [interrupted]\nnext: patra verify --deep --after %d", &read, &after); n != 2 || read != after || read < 1 || read > 1100 {
		t.Fatalf("%v: %s", err, told.String())
	}
	damage(read, read+1)
	code, out, e = patra(t, append(strings.Fields(next), "--db", "sqlite:"+path)...)
	if code != exitDifferences || !strings.Contains(out, fmt.Sprintf("version %d:", read+1)) || strings.Contains(out, fmt.Sprintf("version %d:", read)) || strings.Contains(out, "version 1:") {
		t.Errorf("%s: exit %d: %s%s", next, code, out, e)
	}
	if wasRead := strings.Contains(o.String(), "version 500:"); wasRead != (read >= 500) {
		t.Errorf("it stopped after version %d: %s", read, o.String())
	}
}

// stoppedLater is a context that ends after it was asked so many times whether it
// has: in the middle of something, whatever the clock says.
type stoppedLater struct {
	context.Context
	stop func()
	left int
}

func (c *stoppedLater) Err() error {
	c.left--
	if c.left == 0 {
		c.stop()
	}
	return c.Context.Err()
}

// TestPrivate_FilesAreTheirOwners: whatever the umask, database, log and export
// are made for their owner alone. What is there keeps its mode.
func TestPrivate_FilesAreTheirOwners(t *testing.T) {
	t.Parallel()
	_, url := oracle(t, sim.Config{Records: 20, Seed: 3, LimitRPS: -1, Sources: []string{"crossref"}})
	for _, mask := range []int{0, 0o022, 0o377} {
		dir := t.TempDir()
		path, out := filepath.Join(dir, "a.db"), filepath.Join(dir, "out.jsonl")
		was := syscall.Umask(mask)
		code, _, e := patra(t, "harvest", "crossref", "--db", "sqlite:"+path, "--base-url", url+"/crossref", "--contact", "a@example.org")
		s, err := sqlstore.Open(t.Context(), "sqlite:"+path, sqlstore.Options{}) // makes the files beside it
		if code != exitDone || err != nil {
			syscall.Umask(was)
			t.Fatalf("umask %o: exit %d: %s, %v", mask, code, e, err)
		}
		code, _, e = patra(t, "export", "--db", "sqlite:"+path, "--out", out)
		syscall.Umask(was)
		if code != exitDone {
			t.Errorf("umask %o: exit %d: %s", mask, code, e)
		}
		for _, name := range []string{path, path + "-wal", path + "-shm", out} {
			mustHaveMode(t, name, 0o600)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		for _, name := range []string{path, out} {
			if err := os.Chmod(name, 0o640); err != nil {
				t.Fatal(err)
			}
		}
		if code, _, e := patra(t, "export", "--db", "sqlite:"+path, "--out", out); code != exitDone {
			t.Errorf("exit %d: %s", code, e)
		}
		mustHaveMode(t, path, 0o640)
		mustHaveMode(t, out, 0o640)
	}
}

func mustHaveMode(t *testing.T, name string, want fs.FileMode) {
	t.Helper()
	is, err := os.Stat(name)
	if err != nil || is.Mode().Perm() != want {
		t.Errorf("%s: %v, %v", name, is, err)
	}
}
