package main

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// TestToken_IsShownOnceAndKeptAsAHash: nothing that is kept can tell a token, a name
// stands for one of them, and what is done is in the audit.
func TestToken_IsShownOnceAndKeptAsAHash(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "a.db")
	db := "sqlite:" + file
	step := func(want int, args ...string) (string, string) {
		t.Helper()
		code, out, e := patra(t, append(args, "--db", db)...)
		if code != want {
			t.Fatalf("%v: exit %d\n%s%s", args, code, out, e)
		}
		return out, e
	}
	step(exitUsage, "token", "new", "ci")
	step(exitUsage, "token", "new", "ci", "--role", "root")
	step(exitUsage, "token", "new", "a b", "--role", "viewer")
	step(exitUsage, "token", "new", "ci", "--role", "viewer", "--expires", "soon")
	if out, _ := step(0, "token", "new", "ci", "--role", "operator", "--expires", "90d", "--dry-run"); !strings.Contains(out, "would be made") || strings.Contains(out, "patra_") {
		t.Errorf("%s", out)
	}
	out, _ := step(0, "token", "new", "ci", "--role", "operator", "--expires", "90d", "--reason", "nightly", "--json")
	var made struct {
		Secret string
		Token  struct{ Name, Role, State string }
	}
	if err := json.Unmarshal([]byte(out), &made); err != nil || len(made.Secret) < 40 || made.Token.Role != "operator" {
		t.Fatalf("%s: %v", out, err)
	}
	if _, e := step(exitConflict, "token", "new", "ci", "--role", "viewer"); !strings.Contains(e, "token_taken") {
		t.Errorf("%s", e)
	}
	for _, args := range [][]string{{"token", "list"}, {"token", "list", "--json", "--all"}, {"audit", "list", "--json"}} {
		out, e := step(0, args...)
		if strings.Contains(out+e, made.Secret) || !strings.Contains(out, "ci") {
			t.Errorf("%v: %s%s", args, out, e)
		}
	}
	if dump := everyText(t, file); strings.Contains(dump, made.Secret) || !strings.Contains(dump, "TOKEN_NEW") {
		t.Error("the token is kept as it is, or its line in the audit is not")
	}
	step(exitUsage, "token", "revoke", "ci")
	if out, _ := step(0, "token", "revoke", "ci", "--dry-run"); !strings.Contains(out, "would be revoked") {
		t.Errorf("%s", out)
	}
	step(0, "token", "revoke", "ci", "--reason", "leaked")
	step(exitNotFound, "token", "revoke", "ci", "--reason", "again")
	if out, _ := step(0, "token", "list", "--all"); !strings.Contains(out, "revoked") {
		t.Errorf("%s", out)
	}
}

// TestServe_Listens: the API begins with the roles, tells where it is, asks for a
// token once there is one, and ends with them. Where others could reach it, it does
// not begin without.
func TestServe_Listens(t *testing.T) {
	t.Parallel()
	db := "sqlite:" + filepath.Join(t.TempDir(), "a.db")
	for args, want := range map[string]string{
		"--listen 8080": "--listen", "--read-only": "--listen", "--listen 0.0.0.0:0": "no_token", "--listen 127.0.0.1:0 --allow-host patra.example": "no_token",
	} {
		code, out, e := patra(t, append([]string{"serve", "--db", db}, strings.Fields(args)...)...)
		if code != exitUsage || !strings.Contains(e, want) {
			t.Errorf("%s: exit %d: %s%s", args, code, out, e)
		}
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var stdout, stderr lines
	ended := make(chan int, 1)
	go func() {
		ended <- run(ctx, []string{"serve", "planner", "--db", db, "--listen", "127.0.0.1:0"}, &stdout, &stderr)
	}()
	where := regexp.MustCompile(`listening on (http://127\.0\.0\.1:\d+)`)
	var url string
	deadline := time.After(patience)
	for url == "" {
		select {
		case code := <-ended:
			t.Fatalf("ended with %d:\n%s", code, stderr.String())
		case <-deadline:
			t.Fatalf("does not listen:\n%s", stderr.String())
		case <-time.After(20 * time.Millisecond):
		}
		if m := where.FindStringSubmatch(stderr.String()); m != nil {
			url = m[1]
		}
	}
	get := func(path, token string) (int, string) {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		if token != "" {
			req.Header.Set("Authorization", "Bearer "+token)
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		b, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return resp.StatusCode, string(b)
	}
	if status, body := get("/readyz", ""); status != 200 || !strings.Contains(body, `{"role":"planner","runs":true}`) {
		t.Errorf("%d %s", status, body)
	}
	_, list, _ := patra(t, "source", "list", "--json", "--db", db)
	if status, body := get("/api/v1/sources", ""); status != 200 || body != list {
		t.Errorf("%d: the API and the command say different things:\n%s\n%s", status, body, list)
	}
	_, out, _ := patra(t, "token", "new", "me", "--role", "viewer", "--db", db)
	if status, _ := get("/api/v1/sources", ""); status != 401 {
		t.Errorf("%d without a token", status)
	}
	if status, _ := get("/api/v1/sources", strings.TrimSpace(out)); status != 200 {
		t.Errorf("%d with one", status)
	}
	stop()
	select {
	case code := <-ended:
		if code != 0 {
			t.Errorf("exit %d:\n%s", code, stderr.String())
		}
	case <-time.After(patience):
		t.Fatal("does not end")
	}
}

// everyText is the database with its log, as bytes: texts stand in it as they are.
func everyText(t *testing.T, file string) string {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	wal, _ := os.ReadFile(file + "-wal") // if there is one
	return string(b) + string(wal)
}
