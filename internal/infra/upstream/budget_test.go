package upstream

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/papertrace/patra/internal/domain/source"
)

// TestR50_BodiesShareOneBudget: however many bodies grow beside each other, each
// to the limit of its source, all get there, and together they never have more than
// the shared memory and one body beyond it.
func TestR50_BodiesShareOneBudget(t *testing.T) {
	var b budget
	var most, now atomic.Int64
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			r := &room{of: &b}
			var mine int64
			for size := int64(freeBody); size <= defaultMaxBody; size += 1 << 20 {
				if err := r.grow(t.Context(), size, func() {}); err != nil {
					t.Error(err)
				}
				now.Add(size - freeBody - mine)
				mine = size - freeBody
				for n := now.Load(); n > most.Load(); n = now.Load() {
					most.Store(n)
				}
			}
			now.Add(-mine)
			r.free()
			r.free()
		})
	}
	wg.Wait()
	if b.used != 0 || b.over != nil || len(b.waiting) != 0 {
		t.Errorf("left: %d bytes, %d waiting", b.used, len(b.waiting))
	}
	if most.Load() > sharedBodies+defaultMaxBody {
		t.Errorf("%d bytes at once", most.Load())
	}
}

// TestR50_WaitingForMemory: who waits goes on when another is done, gives up with
// its context, and a small reply does not wait at all.
func TestR50_WaitingForMemory(t *testing.T) {
	var b budget
	first, second, third := &room{of: &b}, &room{of: &b}, &room{of: &b}
	all := int64(sharedBodies + freeBody)
	ok := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	ok(first.grow(t.Context(), all, nil))
	ok(second.grow(t.Context(), all, nil)) // the one that may go beyond
	ok((&room{of: &b}).grow(t.Context(), freeBody, nil))

	left, leave := context.WithCancelCause(t.Context())
	gone := errors.New("gone")
	leave(gone)
	if err := third.grow(left, 2<<20, func() {}); !errors.Is(err, gone) || third.n != 0 || len(b.waiting) != 0 {
		t.Errorf("got %v, has %d", err, third.n)
	}
	waited := make(chan error)
	go func() { waited <- third.grow(t.Context(), 2<<20, func() {}) }()
	select {
	case <-waited:
		t.Error("did not wait")
	default:
	}
	second.free()
	ok(<-waited)
}

// TestR50_LargePagesOneAfterTheOther: pages that are held until they are committed
// keep others from being read, and let go of make room for them.
func TestR50_LargePagesOneAfterTheOther(t *testing.T) {
	const size = 15 << 20
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		io.WriteString(w, `{"items":[],"x":"`+strings.Repeat("x", size)+`"}`)
	}))
	defer srv.Close()
	c := New(Config{}, new(free), jsonDecoder{})
	defer c.Close()
	var wg sync.WaitGroup
	var done, most atomic.Int64
	for range 6 {
		wg.Go(func() {
			a, err := c.Ask(t.Context(), testSpec(), source.Call{Purpose: source.ForSearch, BaseURL: srv.URL, Held: true})
			if err != nil || a.Done == nil {
				t.Errorf("done is nil: %v, %v", a.Done == nil, err)
				return
			}
			c.bodies.mu.Lock()
			most.Store(max(most.Load(), c.bodies.used))
			c.bodies.mu.Unlock()
			done.Add(1)
			a.Done()
		})
	}
	wg.Wait()
	if done.Load() != 6 || c.bodies.used != 0 {
		t.Errorf("%d done, %d bytes left", done.Load(), c.bodies.used)
	}
	if most.Load() < size-2*freeBody || most.Load() > sharedBodies+size {
		t.Errorf("%d bytes at once", most.Load())
	}
	// Where nobody says when, it is when the answer is given.
	if a, err := c.Ask(t.Context(), testSpec(), source.Call{Purpose: source.ForSearch, BaseURL: srv.URL}); err != nil || a.Done != nil || c.bodies.used != 0 {
		t.Errorf("%d bytes left, %v", c.bodies.used, err)
	}
}
