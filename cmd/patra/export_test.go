package main

import (
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/source"
	"github.com/papertrace/patra/internal/infra/sqlstore"
	"github.com/papertrace/patra/internal/patratest"
)

// TestExport_Out: a link is followed, a file keeps its mode, and what is no
// file stays what it is.
func TestExport_Out(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		err := writeOut(nil, filepath.Join(dir, name), func(w io.Writer) error {
			_, err := io.WriteString(w, text)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	write("new", "1")
	if err := os.Chmod(filepath.Join(dir, "new"), 0o640); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("new", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	write("link", "2")
	is, err := os.Lstat(filepath.Join(dir, "link"))
	if err != nil || is.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link is %v, %v", is, err)
	}
	b, err := os.ReadFile(filepath.Join(dir, "new"))
	if is, serr := os.Stat(filepath.Join(dir, "new")); err != nil || serr != nil || string(b) != "2" || is.Mode().Perm() != 0o640 {
		t.Errorf("%q, mode %v: %v", b, is.Mode(), err)
	}
	if err := syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	got := make(chan string, 1)
	go func() {
		b, _ := os.ReadFile(filepath.Join(dir, "pipe")) //nolint:errcheck // compared below
		got <- string(b)
	}()
	write("pipe", "3")
	if s := <-got; s != "3" {
		t.Errorf("through the pipe came %q", s)
	}
	if names, err := os.ReadDir(dir); err != nil || len(names) != 3 {
		t.Errorf("left behind: %v, %v", names, err)
	}
}

// TestExport_OutIntoAPipeWithoutAName: /dev/stdout and what a shell makes of >(PROGRAM) are links to
// a pipe that stands in no folder.
func TestExport_OutIntoAPipeWithoutAName(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	name := fmt.Sprintf("/proc/self/fd/%d", w.Fd())
	if _, err := os.Stat(name); err != nil {
		t.Skipf("this machine has no %s: %v", name, err)
	}
	err = writeOut(nil, name, func(w io.Writer) error {
		_, err := io.WriteString(w, "text")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	got := make([]byte, 9)
	if n, err := r.Read(got); err != nil || string(got[:n]) != "text" {
		t.Errorf("through the pipe came %q, %v", got[:n], err)
	}
}

// TestExport_OutOverADanglingLink: a link to a file that is not there yet is
// followed as any other. One that leads in a circle, or into a folder that is not
// there, is refused, and nothing is left behind.
func TestExport_OutOverADanglingLink(t *testing.T) {
	for _, c := range []struct {
		name, to string
		refused  string // a part of the message, empty if it is followed
	}{
		{"beside it", "there", ""},
		{"by another link", "second", ""},
		{"into a folder", "folder/there", ""},
		{"into a folder that is not there", "none/there", "no such file"},
		{"to itself", "link", "leads back to itself"},
	} {
		dir := t.TempDir()
		link := filepath.Join(dir, "link")
		err := errors.Join(
			os.Mkdir(filepath.Join(dir, "folder"), 0o700),
			os.Symlink("folder/there", filepath.Join(dir, "second")),
			os.Symlink(c.to, link),
		)
		if err != nil {
			t.Fatal(err)
		}
		before := tree(t, dir)
		err = writeOut(nil, link, func(w io.Writer) error {
			_, err := io.WriteString(w, "text")
			return err
		})
		if is, lerr := os.Lstat(link); lerr != nil || is.Mode()&os.ModeSymlink == 0 {
			t.Errorf("%s: the link was replaced (%v)", c.name, lerr)
		}
		if c.refused != "" {
			if err == nil || !strings.Contains(err.Error(), c.refused) {
				t.Errorf("%s: got %v", c.name, err)
			}
			if after := tree(t, dir); after != before {
				t.Errorf("%s: left behind\n%s", c.name, after)
			}
			continue
		}
		b, rerr := os.ReadFile(link)
		if err != nil || rerr != nil || string(b) != "text" {
			t.Errorf("%s: %q, %v, %v", c.name, b, err, rerr)
		}
	}
}

// tree lists the files of a folder.
func tree(t *testing.T, dir string) string {
	t.Helper()
	var names strings.Builder
	err := filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
		names.WriteString(path + "\n")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names.String()
}

// TestR85_RawIsWhatCame: the bytes of --raw hash to raw_sha256, whatever they are.
func TestR85_RawIsWhatCame(t *testing.T) {
	t.Parallel()
	for name, raw := range map[string]string{
		"json-spaces":  "{\n\t\"a\" :  1 ,\r\n  \"b\":[ ] , \"c\": \"\\u00e9 \\/ <&>\" }",
		"json-compact": `{"a":1,"b":1.0e2,"b":2}`,
		"json-breaks":  "{\"a\":\"\u2028 \u2029 \ufffd \U0001f600\"}",
		"json-text":    ` "only text" `,
		"xml":          "<r a='1'>\n  <b>\u00e9 &amp; \\ \"</b>\t</r>",
		"bare-xml":     "\ufeff <r/>",
		"latin1":       "{\"a\": \"caf\xe9\"}",
		"utf16":        "\xff\xfe<\x00r\x00",
		"nul":          "a\x00b\x1b[0m\x7f",
		"long":         "[" + strings.Repeat(" 1,\n", 50_000) + " 2]",
	} {
		t.Run(name, func(t *testing.T) {
			dsn := patratest.SQLite.DSN(t)
			storeRecord(t, dsn, name, []byte(raw))
			code, out, e := patra(t, "export", "--db", dsn, "--raw")
			if code != exitDone {
				t.Fatalf("exit %d: %s", code, e)
			}
			var line struct {
				Raw       *string
				RawBase64 *string `json:"raw_base64"`
				RawSHA256 string  `json:"raw_sha256"`
			}
			if err := json.Unmarshal([]byte(out), &line); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			text := strings.ToValidUTF8(raw, "") == raw
			if (line.Raw != nil) != text || (line.RawBase64 != nil) == text {
				t.Fatalf("raw or raw_base64, the other, both: %.200s", out)
			}
			var got []byte
			if text {
				got = []byte(*line.Raw)
			} else {
				var err error
				got, err = base64.StdEncoding.DecodeString(*line.RawBase64)
				if err != nil {
					t.Fatal(err)
				}
			}
			sum := sha256.Sum256(got)
			if hex.EncodeToString(sum[:]) != line.RawSHA256 || string(got) != raw {
				t.Errorf("came %.100q, exported %.100q", raw, got)
			}
		})
	}
}

// storeRecord stores one record with these bytes by the way every record takes: a
// plan of one slice, its task leased, one page that ends the walk.
func storeRecord(t *testing.T, dsn, id string, raw []byte) {
	t.Helper()
	storeRecords(t, dsn, "lab", harvest.Record{ID: id, Raw: raw, Fields: []byte(`{"title":"c"}`)})
}

// storeRecords stores records as storeRecord does. What is not given is filled in.
func storeRecords(t *testing.T, dsn, code string, records ...harvest.Record) {
	t.Helper()
	ctx := t.Context()
	store := patratest.Open(t, dsn, sqlstore.Options{})
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	day := time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)
	window := harvest.Window{From: day, To: day.Add(time.Hour)}
	calendar := harvest.Calendar{Precision: harvest.PrecisionSecond, Zone: time.UTC}
	selection := harvest.HashKey("all")
	snapshot := []byte(`{"specVersion":1,"provenanceCode":"` + code + `"}`)
	_, err := store.SavePlan(ctx, harvest.Draft{
		Trigger:   harvest.Trigger{Provenance: code, Operation: harvest.Harvest, Kind: harvest.TriggerManual},
		Namespace: harvest.HarvestNamespace(code, "search", "updated", selection),
		Endpoint:  "search", Span: window.Span(), SlicedTo: harvest.TimeMark(window.To), Strategy: harvest.StrategyTime, SliceParams: "{}",
		Selection: "{}", SelHash: selection, ConfigHash: harvest.HashKey("config"),
		SpecVersion: 1, Fingerprint: source.FingerprintBytes(snapshot), Snapshot: snapshot, PagingType: "TOKEN", PageSize: 10,
		Slices: harvest.DraftsOf(harvest.SliceDraft{Spec: harvest.NewSliceSpec(harvest.PartOf(window), calendar, 10, 0, 0), Expr: window.String()}),
	})
	must(err)
	jobs, err := store.LeaseTasks(ctx, harvest.LeaseRequest{Owner: "lab", TTL: time.Minute, Max: 1, SpecVersion: 1})
	must(err)
	run, err := store.StartRun(ctx, jobs[0].Lease)
	must(err)
	open, err := store.OpenBatch(ctx, jobs[0].Lease, harvest.BatchOpen{
		Run: run.Run, BatchNo: run.BatchNo, Walk: run.Walk, Phase: harvest.PhaseSearch, Ordinal: 1, Before: run.Search,
	})
	must(err)
	after := open.Before
	after.Pages++
	for i := range records {
		r := &records[i]
		sum := sha256.Sum256(r.Raw)
		r.Version = harvest.Version{UpdatedAt: day, ObservedAt: open.OpenedAt, ContentHash: sum}
		r.RawSHA256 = sum
		r.Status = cmp.Or(r.Status, harvest.RecordActive)
		r.MappingVersion = "m1"
	}
	_, err = store.CommitBatch(ctx, jobs[0], harvest.Batch{
		OpenedBatch: open, After: after, RecordType: "work", Records: records,
		Evidence: harvest.Evidence{Request: "GET /", HTTPStatus: 200, Sent: 1}, End: harvest.EndEmpty, Finish: true,
	}, nil, nil)
	must(err)
}
