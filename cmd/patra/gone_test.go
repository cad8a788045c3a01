package main

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/papertrace/patra/internal/infra/sqlstore"
	"github.com/papertrace/patra/internal/patratest"
	"github.com/papertrace/patra/internal/sim"
)

// ways to lose the file of a database under a process that uses it.
var losses = []struct {
	name string
	lose func(path string) error
	says string
	// back undoes it, nil if it cannot be undone.
	back func(path string) error
}{
	{"rm", func(path string) error {
		return errors.Join(os.Remove(path), os.Remove(path+"-wal"), os.Remove(path+"-shm"))
	}, "was deleted or moved away", nil},
	{"mv", func(path string) error { return os.Rename(path, path+".away") }, "was deleted or moved away", func(path string) error { return os.Rename(path+".away", path) }},
	{"another in its place", func(path string) error {
		b, err := os.ReadFile(path)
		// At no time is there none: the new one takes the place of the old one.
		return errors.Join(err, os.WriteFile(path+".new", b, 0o600), os.Link(path, path+".away"), os.Rename(path+".new", path))
	}, "another file was put in the place", func(path string) error { return os.Rename(path+".away", path) }},
}

// TestR83_LostFileIsNeverCalledDone: the database is deleted, moved or replaced
// while a harvest plans, at its first page and at its second. The harvest ends
// with an error, and if the file comes back the next one goes on.
func TestR83_LostFileIsNeverCalledDone(t *testing.T) {
	t.Parallel()
	for _, k := range losses {
		for page, when := range []string{"while it plans", "at the first page", "at the second page"} {
			t.Run(k.name+" "+when, func(t *testing.T) {
				t.Parallel()
				path := emptyStore(t)
				o, url := oracle(t, sim.Config{Records: 3000, Seed: 3, LimitRPS: -1, Sources: []string{"crossref"}})
				var pages, lost atomic.Int64
				o.SetOnRequest(func(r *http.Request) {
					if plans := r.URL.Query().Get("rows") == "0"; plans != (page == 0) || !plans && pages.Add(1) != int64(page) || lost.Add(1) != 1 {
						return
					}
					if err := k.lose(path); err != nil {
						t.Error(err)
					}
				})
				args := []string{"harvest", "crossref", "--db", "sqlite:" + path, "--base-url", url + "/crossref", "--contact", "a@example.org", "--workers", "1", "--lease", "1s"}
				code, out, e := patra(t, args...)
				if code != exitFailed || out != "" || !strings.Contains(e, "[database_gone]") || !strings.Contains(e, k.says) || !strings.Contains(e, "next: ") {
					t.Errorf("exit %d: %s%s", code, out, e)
				}
				if _, err := os.Stat(path); err == nil && k.name != "another in its place" {
					t.Errorf("a new file was made")
				}
				if k.back == nil || page < 2 {
					return
				}
				if err := k.back(path); err != nil {
					t.Fatal(err)
				}
				o.SetOnRequest(nil)
				if code, _, e := patra(t, args...); code != exitDone {
					t.Errorf("put back, exit %d: %s", code, e)
				}
				if code, out, e := patra(t, "verify", "--deep", "--db", "sqlite:"+path); code != exitDone || !strings.Contains(out, "3000 bodies") {
					t.Errorf("put back, verify: exit %d: %s%s", code, out, e)
				}
			})
		}
	}
}

// emptyStore makes a database without anything in it.
func emptyStore(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "a.db")
	s := patratest.Open(t, "sqlite:"+path, sqlstore.Options{})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestR83_RenewalSeesTheLostFile: a worker that waits for a reply learns from the
// renewal of its lease that its database is gone, and waits no longer.
func TestR83_RenewalSeesTheLostFile(t *testing.T) {
	t.Parallel()
	path := emptyStore(t)
	o, url := oracle(t, sim.Config{Records: 300, Seed: 3, LimitRPS: -1, Sources: []string{"crossref"}})
	var asked atomic.Int64
	o.SetOnRequest(func(r *http.Request) {
		if r.URL.Query().Get("rows") == "0" || asked.Add(1) != 1 { // a count, with no lease yet
			return
		}
		if err := os.Rename(path, path+".away"); err != nil {
			t.Error(err)
		}
		<-r.Context().Done() // no reply before the client hangs up
	})
	code, out, e := patra(t, "harvest", "crossref", "--db", "sqlite:"+path, "--base-url", url+"/crossref", "--contact", "a@example.org", "--workers", "1", "--lease", "1s", "--verbose")
	if code != exitFailed || out != "" || !strings.Contains(e, "[database_gone]") {
		t.Errorf("exit %d: %s%s", code, out, e)
	}
	if strings.Contains(e, "lease not renewed") {
		t.Errorf("it went on until its lease had run out: %s", e)
	}
	if n := asked.Load(); n != 1 {
		t.Errorf("the reply was waited for, and %d pages were asked for", n)
	}
}

// TestR83_ServeEndsWithoutItsFile, even if it has nothing to do.
func TestR83_ServeEndsWithoutItsFile(t *testing.T) {
	path := emptyStore(t)
	var out bytes.Buffer
	told := &lockedBuffer{on: "patra: serving", then: func() {
		if err := os.Remove(path); err != nil {
			t.Error(err)
		}
	}}
	ctx, giveUp := context.WithTimeout(t.Context(), 30*time.Second)
	defer giveUp()
	code := run(ctx, []string{"serve", "--db", "sqlite:" + path, "--poll", "100ms"}, &out, told)
	if code != exitFailed || !strings.Contains(told.String(), "[database_gone]") {
		t.Errorf("exit %d: %s%s", code, out.String(), told.String())
	}
}

// lockedBuffer calls then once the text was written.
type lockedBuffer struct {
	mu   sync.Mutex
	b    bytes.Buffer
	on   string
	then func()
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	n, err := l.b.Write(p)
	if l.then != nil && strings.Contains(l.b.String(), l.on) {
		l.then()
		l.then = nil
	}
	return n, err
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}
