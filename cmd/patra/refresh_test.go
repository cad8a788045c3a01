package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/papertrace/patra/internal/sim"
)

type refreshReport struct {
	Operation string
	Namespace string
	Status    string
	Noop      bool
	Window    struct{ From, To string }
	Watermark string
	Records   map[string]int64
	Requests  struct{ Sent int64 }
}

// TestRefresh_FromTheCommandLine reads records of both shipped sources again: by
// age, by a list of ids, and what is signalled.
func TestRefresh_FromTheCommandLine(t *testing.T) {
	t.Parallel()
	for _, code := range []string{"crossref", "pubmed"} {
		t.Run(code, func(t *testing.T) {
			dir := t.TempDir()
			db := "sqlite:" + filepath.Join(dir, "a.db")
			o, url := oracle(t, sim.Config{Records: 60, Seed: 4, Sources: []string{code}, Churn: &sim.Churn{}})
			if got, _, e := patra(t, "harvest", code, "--db", db, "--base-url", url+"/"+code, "--contact", "a@example.org", "--from", o.Now().Add(-40*24*time.Hour).Format(time.RFC3339)); got != 0 {
				t.Fatalf("harvest: exit %d: %s", got, e)
			}
			refresh := func(want int, args ...string) (r refreshReport, said string) {
				t.Helper()
				got, out, e := patra(t, append([]string{"refresh", code, "--db", db, "--base-url", url + "/" + code, "--contact", "a@example.org", "--json"}, args...)...)
				if got != want {
					t.Fatalf("refresh %v: exit %d, want %d: %s%s", args, got, want, out, e)
				}
				if want == 0 && !strings.Contains(out, `"expected_records"`) {
					if err := json.Unmarshal([]byte(out), &r); err != nil {
						t.Fatalf("%v: %s", err, out)
					}
				}
				return r, out + e
			}
			ids := exported(t, db, code)
			n := int64(len(ids))
			if n < 20 {
				t.Fatalf("only %d records", n)
			}
			time.Sleep(time.Millisecond) // what is older than nothing at all
			if _, said := refresh(0, "--older-than", "0s", "--dry-run"); !strings.Contains(said, `"expected_records":`+itoa(n)) || !strings.Contains(said, `"requests":`) {
				t.Errorf("dry run: %s", said)
			}
			r, _ := refresh(0, "--older-than", "0s")
			if r.Operation != "UPDATE" || r.Status != "COMPLETED" || r.Records["unchanged"] != n || r.Window.From != "0" || r.Window.To != itoa(n) || r.Watermark != itoa(n) {
				t.Errorf("all: %+v", r)
			}
			if !strings.HasPrefix(r.Namespace, "CUSTOM/refresh-older-than-0s-") {
				t.Errorf("namespace %s", r.Namespace)
			}
			if again, _ := refresh(0, "--older-than", "0s"); !again.Noop || again.Requests.Sent != 0 {
				t.Errorf("the same command again: %+v", again)
			}

			if _, err := o.Retract(code, ids[1].ID); err != nil {
				t.Fatal(err)
			}
			if err := o.Delete(code, ids[2].ID); err != nil {
				t.Fatal(err)
			}
			list := "\ufeff" + ids[1].ID + "\n\n" + ids[2].ID + "\r\n" + strings.ToUpper(ids[3].ID) + "\n" + ids[1].ID + "\n"
			if code == "crossref" {
				list += "https://doi.org/" + ids[4].ID + "\n"
			} else {
				list += "000" + ids[4].ID + "\n"
			}
			file := filepath.Join(dir, "ids.txt")
			if err := os.WriteFile(file, []byte(list), 0o600); err != nil {
				t.Fatal(err)
			}
			r, _ = refresh(0, "--ids", file)
			if r.Window.To != "4" || r.Records["updated"] != 1 || r.Records["unchanged"] != 2 || r.Records["missing"] != 1 {
				t.Errorf("by ids: %+v", r)
			}
			for _, e := range exported(t, db, code) {
				if e.ID == ids[1].ID && (e.Status != "RETRACTED" || e.Revision != 2) {
					t.Errorf("retracted: %+v", e)
				}
			}
			if err := os.WriteFile(file, []byte(ids[1].ID+"\n\nnot an id\n10.5\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			if _, said := refresh(exitUsage, "--ids", file); !strings.Contains(said, "line 3") || !strings.Contains(said, "line 4") || strings.Contains(said, "line 1") {
				t.Errorf("bad lines: %s", said)
			}
			if r, _ := refresh(0, "--signals", "--max", "5"); !r.Noop {
				t.Errorf("signals: %+v", r)
			}
			if r, _ := refresh(0, "--mapping-changed"); !r.Noop {
				t.Errorf("mapping: %+v", r)
			}
			for _, args := range [][]string{{"verify"}, {"coverage", code}, {"plan", "list"}, {"cursor", "list"}} {
				if got, out, e := patra(t, append(args, "--db", db)...); got != 0 || strings.Contains(out, "1970-") {
					t.Errorf("%v: exit %d: %s%s", args, got, out, e)
				}
			}
		})
	}
}

func TestRefresh_WantsOneWayToSayWhich(t *testing.T) {
	for _, args := range [][]string{
		{},
		{"--signals", "--mapping-changed"},
		{"--older-than", "soon"},
		{"--older-than", "90d", "--max", "-1"},
		{"--ids", filepath.Join(t.TempDir(), "none")},
		{"--signals", "--workers", "0"},
	} {
		code, out, e := patra(t, append([]string{"refresh", "crossref", "--db", "sqlite:" + filepath.Join(t.TempDir(), "a.db")}, args...)...)
		if code != exitUsage || out != "" || !strings.Contains(e, "next: patra refresh --help") {
			t.Errorf("%v: exit %d: %s%s", args, code, out, e)
		}
	}
	code, _, e := patra(t, "refresh", "zenodo", "--signals", "--db", "sqlite:"+filepath.Join(t.TempDir(), "a.db"))
	if code != exitUsage || !strings.Contains(e, "no_update") {
		t.Errorf("exit %d: %s", code, e)
	}
}

// exported are the records of a source as export shows them.
func exported(t *testing.T, db, code string) (out []control.ExportLine) {
	t.Helper()
	got, text, e := patra(t, "export", "--source", code, "--db", db, "--out", "-")
	if got != 0 {
		t.Fatalf("export: exit %d: %s", got, e)
	}
	for line := range bytes.Lines([]byte(text)) {
		var l control.ExportLine
		if err := json.Unmarshal(line, &struct {
			*control.ExportLine
			UpdatedAt  string `json:"updated_at"`
			Provenance any    `json:"provenance"`
		}{ExportLine: &l}); err != nil {
			t.Fatal(err)
		}
		out = append(out, l)
	}
	return out
}

func itoa(n int64) string {
	b, _ := json.Marshal(n)
	return string(b)
}
