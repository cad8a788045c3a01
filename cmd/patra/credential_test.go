package main

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/papertrace/patra/internal/sim"
)

// patraIn is patra with something on standard input.
func patraIn(t *testing.T, in string, args ...string) (code int, out, errOut string) {
	t.Helper()
	var o, e bytes.Buffer
	c := &cli{printer: printer{out: &o, err: &e}}
	root := c.root()
	root.SetArgs(args)
	root.SetOut(&o)
	root.SetErr(&e)
	root.SetIn(strings.NewReader(in))
	code = c.fail(t.Context(), root.ExecuteContext(t.Context()))
	return code, o.String(), e.String()
}

const canary = "sim-key-canary-E5/x"

func sealingKey(b byte) string { return base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{b}, 32)) }

// TestCredential_LifeOfAKey walks set, list, use, rotate, reseal and disable;
// the secret is on no screen and not in the database.
func TestCredential_LifeOfAKey(t *testing.T) {
	t.Setenv("PATRA_KEY", sealingKey(1))
	t.Setenv("MY_TEST_TOKEN", "plus-"+canary)
	path := filepath.Join(t.TempDir(), "a.db")
	db := "sqlite:" + path
	var screen strings.Builder
	step := func(want int, in string, args ...string) (out string) {
		t.Helper()
		code, out, e := patraIn(t, in, append(args, "--db", db, "--debug")...)
		screen.WriteString(out + e)
		if code != want {
			t.Fatalf("patra %s: exit %d, want %d\n%s%s", strings.Join(args, " "), code, want, out, e)
		}
		return out
	}
	if out := step(0, canary+"\n", "credential", "set", "pubmed", "main", "--stdin", "--reason", "first", "--dry-run"); !strings.Contains(out, "would be set") {
		t.Errorf("dry run: %s", out)
	}
	if out := step(0, "", "credential", "list", "pubmed"); out != "" {
		t.Errorf("a dry run has set: %s", out)
	}
	step(0, canary+"\n", "credential", "set", "pubmed", "main", "--stdin", "--reason", "first")
	step(0, "", "credential", "set", "crossref", "plus", "--env", "MY_TEST_TOKEN", "--endpoint", "works", "--task", "harvest", "--prefer")
	if out := step(0, "", "credential", "list"); !strings.Contains(out, "sealed, hash ") || !strings.Contains(out, "env MY_TEST_TOKEN") || !strings.Contains(out, "works, HARVEST, preferred") {
		t.Errorf("list: %s", out)
	}
	var list struct {
		Credentials []struct {
			Name, State string
			Secret      map[string]any
		}
	}
	if err := json.Unmarshal([]byte(step(0, "", "credential", "list", "pubmed", "--json")), &list); err != nil || len(list.Credentials) != 1 || list.Credentials[0].State != "ACTIVE" {
		t.Errorf("list: %+v, %v", list, err)
	}

	o, url := oracle(t, sim.Config{Records: 40, Seed: 4})
	step(0, "", "harvest", "pubmed", "--base-url", url+"/pubmed", "--with-credentials")
	step(0, "", "harvest", "crossref", "--base-url", url+"/crossref", "--with-credentials", "--contact", "a@example.org")
	for _, q := range o.Requests() {
		if q.Source == "pubmed" && q.Params.Get("api_key") != canary || q.Source == "crossref" && q.Path == "/works" && q.Params.Get("rows") != "0" && q.Header.Get("Crossref-Plus-API-Token") != "Bearer plus-"+canary {
			t.Errorf("request %d of %s went without its key", q.Number, q.Source)
		}
	}
	step(0, canary+"-second", "credential", "rotate", "pubmed", "main", "--stdin")
	t.Setenv("PATRA_KEY_PREVIOUS", sealingKey(1))
	t.Setenv("PATRA_KEY", sealingKey(2))
	step(0, "", "credential", "rotate", "pubmed", "--reseal")
	step(0, "", "credential", "disable", "pubmed", "main", "--reason", "leaked")
	if out := step(0, "", "credential", "list", "pubmed", "--all"); strings.Count(out, "\n") != 3 || !strings.Contains(out, "ENDED") || !strings.Contains(out, "DISABLED") {
		t.Errorf("list: %s", out)
	}
	step(0, "", "audit")
	step(0, "", "export", "--raw")

	for _, name := range []string{path, path + "-wal"} {
		b, err := os.ReadFile(name)
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		screen.Write(b)
	}
	for _, form := range []string{canary, strings.ReplaceAll(canary, "/", "%2F"), base64.RawStdEncoding.EncodeToString([]byte(canary))} {
		if strings.Contains(screen.String(), form) {
			t.Errorf("%s was shown or stored", form)
		}
	}
}

// TestCredential_BadInput: what is wrong is said, and nothing given is repeated.
func TestCredential_BadInput(t *testing.T) {
	t.Setenv("PATRA_KEY", "")
	dir := t.TempDir()
	db := "sqlite:" + filepath.Join(dir, "a.db")
	packs := filepath.Join(dir, "packs")
	if err := os.Mkdir(packs, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("MY_TEST_SHORT", "sixchr")
	open := filepath.Join(dir, "open")
	if err := errors.Join(os.WriteFile(open, []byte(canary), 0o600), os.Chmod(open, 0o666)); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, in string
		args     []string
		code     int
		says     string
	}{
		{"a secret as an argument", "", []string{"set", "pubmed", "main", canary}, exitUsage, "process list"},
		{"a secret as a flag", "", []string{"set", "pubmed", "main", "--value", canary}, exitUsage, "process list"},
		{"a secret as a flag, with =", "", []string{"set", "pubmed", "main", "--value=" + canary}, exitUsage, "process list"},
		{"a secret as a name", "", []string{"set", "pubmed", canary, "--env", "MY_TEST_NOWHERE", "--later"}, exitUsage, "is not a name"},
		{"a secret as a variable", "", []string{"set", "pubmed", "main", "--env", canary}, exitUsage, "name of a variable"},
		{"a variable that is not there", "", []string{"set", "pubmed", "main", "--env", "MY_TEST_NOWHERE"}, exitUsage, "--later"},
		{"a short secret in a variable", "", []string{"set", "pubmed", "main", "--env", "MY_TEST_SHORT"}, exitUsage, "shorter than 16 bytes"},
		{"a short secret, later", "", []string{"set", "pubmed", "main", "--env", "MY_TEST_SHORT", "--later"}, exitUsage, "shorter than 16 bytes"},
		{"a secret with the mask", "sim-key-***-" + canary, []string{"set", "pubmed", "main", "--stdin"}, exitUsage, "holds ***"},
		{"the sealing key", "", []string{"set", "pubmed", "main", "--env", "PATRA_KEY"}, exitUsage, "never a credential"},
		{"the sealing key, later", "", []string{"set", "pubmed", "main", "--env", "PATRA_KEY", "--later"}, exitUsage, "never a credential"},
		{"a file that anybody can write", "", []string{"set", "pubmed", "main", "--file", open}, exitUsage, "written by everybody"},
		{"no secret", "", []string{"set", "pubmed", "main"}, exitUsage, "one of --env, --file and --stdin"},
		{"two secrets", "", []string{"set", "pubmed", "main", "--env", "A", "--stdin"}, exitUsage, "one of --env, --file and --stdin"},
		{"an empty secret", "\n", []string{"set", "pubmed", "main", "--stdin"}, exitUsage, "shorter than"},
		{"two lines", canary + "\n" + canary, []string{"set", "pubmed", "main", "--stdin"}, exitUsage, "has 2 lines"},
		{"no sealing key", canary, []string{"set", "pubmed", "main", "--stdin"}, exitUsage, "openssl rand"},
		{"no name", "", []string{"set", "pubmed"}, exitUsage, "needs a source and the name"},
		{"unknown source", "", []string{"set", "pubmde", "main", "--env", "MY_TEST_NOWHERE", "--later"}, exitNotFound, "pubmed"},
		{"unknown endpoint", "", []string{"set", "pubmed", "main", "--env", "MY_TEST_NOWHERE", "--later", "--endpoint", "einfo"}, exitUsage, "esearch"},
		{"unknown operation", "", []string{"set", "pubmed", "main", "--env", "MY_TEST_NOWHERE", "--later", "--task", "fetch"}, exitUsage, "backfill"},
		{"rotate what is not there", "", []string{"rotate", "pubmed", "main", "--env", "MY_TEST_NOWHERE", "--later"}, exitNotFound, "no credential"},
		{"disable what is not there", "", []string{"disable", "pubmed", "main"}, exitNotFound, "no credential"},
		{"reseal with a secret", "", []string{"rotate", "pubmed", "--reseal", "--stdin"}, exitUsage, "no secret"},
		{"list an unknown source", "", []string{"list", "nope"}, exitNotFound, "nope"},
	} {
		t.Run(c.name, func(t *testing.T) {
			code, out, e := patraIn(t, c.in, append([]string{"credential"}, append(c.args, "--db", db)...)...)
			if code != c.code || !strings.Contains(e, c.says) || !strings.HasPrefix(e, "patra: ") || out != "" {
				t.Errorf("exit %d, want %d and %q:\n%s%s", code, c.code, c.says, out, e)
			}
			if strings.Contains(out+e, canary) {
				t.Errorf("the secret is repeated:\n%s%s", out, e)
			}
		})
	}
}
