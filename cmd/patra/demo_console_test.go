package main

import (
	"context"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
)

// sought collects what a command writes and tells when it holds what is waited for.
type sought struct {
	mu    sync.Mutex
	text  strings.Builder // guarded by mu
	want  *regexp.Regexp
	found chan []string
}

func seekIn(pattern string) *sought {
	return &sought{want: regexp.MustCompile(pattern), found: make(chan []string, 1)}
}

func (l *sought) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text.Write(p)
	if m := l.want.FindStringSubmatch(l.text.String()); m != nil {
		select {
		case l.found <- m:
		default:
		}
	}
	return len(p), nil
}

// TestDemo_ServesAConsoleOverInventedSources: the demo says where its console is, the
// console says that everything is invented and has the switches, and stopping it is no
// failure.
func TestDemo_ServesAConsoleOverInventedSources(t *testing.T) {
	t.Parallel()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	out := seekIn(`faults:  (http://\S+)demo`)
	ended := make(chan int, 1)
	go func() { ended <- run(ctx, []string{"demo", "--no-browser", "--records", "40"}, out, io.Discard) }()
	select {
	case m := <-out.found:
		for path, want := range map[string]string{"": "Everything here is invented", "demo": `id="switch-http_500"`, "api/v1/status": `"source":"repository"`} {
			answer, err := http.Get(m[1] + path)
			if err != nil {
				t.Fatal(err)
			}
			b, err := io.ReadAll(answer.Body)
			answer.Body.Close()
			if err != nil || !strings.Contains(string(b), want) {
				t.Errorf("/%s answers %d %v without %s", path, answer.StatusCode, err, want)
			}
		}
		stop()
		if code := <-ended; code != 0 {
			t.Errorf("exit %d\n%s", code, out.text.String())
		}
	case code := <-ended:
		t.Fatalf("exit %d\n%s", code, out.text.String())
	}
}

// TestDemo_HasADatabaseOfItsOwn: one that is named is refused and not made.
func TestDemo_HasADatabaseOfItsOwn(t *testing.T) {
	file := filepath.Join(t.TempDir(), "mine.db")
	code, _, e := patra(t, "demo", "--headless", "--db", "sqlite:"+file)
	if _, err := os.Stat(file); code != exitUsage || !strings.Contains(e, "leave out --db") || err == nil {
		t.Errorf("exit %d, %v: %s", code, err, e)
	}
}

// TestUp_RunsEverythingAndSaysWhatToDoFirst: all roles and the console, and the command to
// begin with where nothing is scheduled.
func TestUp_RunsEverythingAndSaysWhatToDoFirst(t *testing.T) {
	t.Parallel()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	said := seekIn(`(?s)the console is at (http://\S+)/.*nothing is scheduled.*next: `)
	ended := make(chan int, 1)
	db := "sqlite:" + t.TempDir() + "/patra.db"
	go func() {
		ended <- run(ctx, []string{"up", "--no-browser", "--listen", "127.0.0.1:0", "--db", db}, io.Discard, said)
	}()
	select {
	case m := <-said.found:
		for path, want := range map[string]int{"/": http.StatusOK, "/readyz": http.StatusOK, "/demo": http.StatusNotFound} {
			answer, err := http.Get(m[1] + path)
			if err != nil {
				t.Fatal(err)
			}
			answer.Body.Close()
			if answer.StatusCode != want {
				t.Errorf("%s answers %d", path, answer.StatusCode)
			}
		}
		stop()
		if code := <-ended; code != 0 {
			t.Errorf("exit %d\n%s", code, said.text.String())
		}
	case code := <-ended:
		t.Fatalf("exit %d\n%s", code, said.text.String())
	}
}
