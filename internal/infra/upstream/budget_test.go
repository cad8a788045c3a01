package upstream

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/papertrace/patra/internal/domain/source"
)

// TestR50_BodiesShareOneBudget: however many bodies grow beside each other, each
// to the limit of its source, all get there; only one at a time is large, and all the
// others together never have more than the shared memory.
func TestR50_BodiesShareOneBudget(t *testing.T) {
	var b budget
	var larges, shared atomic.Int64
	var wg sync.WaitGroup
	for i := range 16 {
		top := []int64{defaultMaxBody, mediumBody, smallBody, 3 << 20}[i%4]
		wg.Go(func() {
			r := &room{of: &b}
			var mine int64
			large := false
			for size := int64(smallBody); size <= top; size += 1 << 20 {
				if err := r.grow(t.Context(), size, func() {}); err != nil {
					t.Error(err)
				}
				switch now := size - smallBody; {
				case r.large && !large:
					large = true
					if n := larges.Add(1); n > 1 {
						t.Errorf("%d large bodies at once", n)
					}
				case !r.large:
					if n := shared.Add(now - mine); n > sharedBodies {
						t.Errorf("%d bytes at once", n)
					}
					mine = now
				}
			}
			if large {
				larges.Add(-1)
			}
			shared.Add(-mine)
			r.free()
			r.free()
		})
	}
	wg.Wait()
	if b.used != 0 || b.holders != 0 || b.large != nil || len(b.waiting) != 0 {
		t.Errorf("left: %d bytes of %d, large %v, %d waiting", b.used, b.holders, b.large != nil, len(b.waiting))
	}
	if frugality.wanted != 0 {
		t.Errorf("the collector is still told to run often, by %d", frugality.wanted)
	}
}

// TestR50_WaitingForMemory: a large body waits for a page that is being stored and
// not for one that waits as well, gives up with its context, and a small reply does
// not wait at all.
func TestR50_WaitingForMemory(t *testing.T) {
	var b budget
	stored := &room{of: &b}
	first := &room{of: &b}
	second := &room{of: &b}
	third := &room{of: &b}
	ok := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	// ask grows r beside the test; it is known to wait when so many do.
	ask := func(r *room, size int64, waiting int) chan error {
		t.Helper()
		done := make(chan error, 1)
		go func() { done <- r.grow(t.Context(), size, func() {}) }()
		for n := -1; n != waiting; runtime.Gosched() {
			b.mu.Lock()
			n = len(b.waiting)
			b.mu.Unlock()
		}
		return done
	}
	ok(stored.grow(t.Context(), 2<<20, nil))
	ok(first.grow(t.Context(), mediumBody, nil))
	one := ask(first, defaultMaxBody, 1)
	ok((&room{of: &b}).grow(t.Context(), smallBody, nil))

	left, leave := context.WithCancelCause(t.Context())
	gone := errors.New("gone")
	leave(gone)
	if err := third.grow(left, 2<<20, func() {}); !errors.Is(err, gone) || third.n != 0 || len(b.waiting) != 1 {
		t.Errorf("got %v, has %d, %d wait", err, third.n, len(b.waiting))
	}
	stored.free()
	ok(<-one)
	two := ask(second, mediumBody, 1)
	first.free()
	ok(<-two)

	// Who has nothing is first, and does not fit beside two who both want more.
	ok(stored.grow(t.Context(), 2<<20, nil))
	three := ask(third, 3<<20, 1)
	two = ask(second, defaultMaxBody, 2)
	four := make(chan error, 1)
	go func() { four <- stored.grow(t.Context(), mediumBody, func() {}) }()
	ok(<-two)
	second.free()
	ok(<-three)
	third.free()
	ok(<-four)
	stored.free()
	if b.used != 0 || b.holders != 0 || b.large != nil {
		t.Errorf("left: %d bytes of %d, large %v", b.used, b.holders, b.large != nil)
	}
}

// leaveCollectorOpen has nobody have said how the collector is to run.
func leaveCollectorOpen(t *testing.T) {
	t.Helper()
	for _, name := range []string{"GOGC", "GOMEMLIMIT"} {
		t.Setenv(name, "") // so that it is put back
		if err := os.Unsetenv(name); err != nil {
			t.Fatal(err)
		}
	}
}

// TestR50_FrugalOnlyWhileLarge: the collector runs often while a large body is held
// and as before afterwards.
func TestR50_FrugalOnlyWhileLarge(t *testing.T) {
	leaveCollectorOpen(t)
	percent := func() int {
		n := debug.SetGCPercent(100)
		debug.SetGCPercent(n)
		return n
	}
	before := percent()
	var b budget
	r := &room{of: &b}
	for size, want := range map[int64]int{mediumBody: before, defaultMaxBody: thriftyGC} {
		if err := r.grow(t.Context(), size, nil); err != nil || percent() != want {
			t.Errorf("of %d bytes: %d percent, want %d: %v", size, percent(), want, err)
		}
		r.free()
		if percent() != before {
			t.Errorf("%d percent afterwards, before %d", percent(), before)
		}
	}
}

// TestR50_NeverMoreThanOrdinaryAfterALargeBody: the page of a large body is still being
// stored when nobody asks for thrift any more.
func TestR50_NeverMoreThanOrdinaryAfterALargeBody(t *testing.T) {
	leaveCollectorOpen(t)
	before := debug.SetGCPercent(2 * ordinaryGC)
	defer debug.SetGCPercent(before)
	r := &room{of: new(budget)}
	if err := r.grow(t.Context(), defaultMaxBody, nil); err != nil {
		t.Fatal(err)
	}
	r.free()
	if percent := debug.SetGCPercent(before); percent != ordinaryGC {
		t.Errorf("the heap may grow by %d percent behind a large body, want %d", percent, ordinaryGC)
	}
}

// TestR50_LargePagesOneAfterTheOther: pages that are held until they are committed
// keep others from being read, and let go of make room for them.
func TestR50_LargePagesOneAfterTheOther(t *testing.T) {
	const size = 15 << 20
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		io.WriteString(w, `{"items":[],"x":"`+strings.Repeat("x", size)+`"}`)
	}))
	defer srv.Close()
	c := newClient(Config{}, new(free), jsonDecoder{})
	defer c.Close()
	var wg sync.WaitGroup
	var done, held atomic.Int64
	for range 6 {
		wg.Go(func() {
			a, err := c.Ask(t.Context(), testSpec(), source.Call{Purpose: source.ForSearch, BaseURL: srv.URL, Held: true})
			if err != nil || a.Done == nil {
				t.Errorf("done is nil: %v, %v", a.Done == nil, err)
				return
			}
			if n := held.Add(1); n > 1 {
				t.Errorf("%d large pages at once", n)
			}
			done.Add(1)
			held.Add(-1)
			a.Done()
		})
	}
	wg.Wait()
	if done.Load() != 6 || c.bodies.large != nil {
		t.Errorf("%d done, one held: %v", done.Load(), c.bodies.large != nil)
	}
	// Where nobody says when, it is when the answer is given.
	if a, err := c.Ask(t.Context(), testSpec(), source.Call{Purpose: source.ForSearch, BaseURL: srv.URL}); err != nil || a.Done != nil || c.bodies.large != nil {
		t.Errorf("held: %v, %v", c.bodies.large != nil, err)
	}
}

// TestR50_WaitingForMemoryIsNotTheUpstreamsFault: a reply that waits until another's
// page is stored, for longer than the source may take in all, is read to its end.
func TestR50_WaitingForMemoryIsNotTheUpstreamsFault(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const total = 20 * time.Second
		reply := `{"items":[],"x":"` + strings.Repeat("x", 2*mediumBody) + `"}`
		c := client(play(status(http.StatusOK, reply)), new(free))
		defer c.Close()
		spec := testSpec()
		spec.HTTP.TotalTimeout = source.Duration(total)
		spec.Retry.Attempts = 1
		ask := func() (source.Answer, error) {
			return c.Ask(t.Context(), spec, source.Call{Purpose: source.ForSearch, BaseURL: "http://127.0.0.1", Held: true})
		}
		first, err := ask()
		if err != nil {
			t.Fatal(err)
		}
		var second source.Answer
		var failed error
		asked := make(chan struct{})
		go func() {
			defer close(asked)
			second, failed = ask()
		}()
		time.Sleep(3 * total)
		first.Done()
		<-asked
		if failed != nil || second.Page == nil {
			t.Fatalf("after waiting: %v", failed)
		}
		second.Done()
	})
}
