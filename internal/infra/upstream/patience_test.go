package upstream

import (
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/papertrace/patra/internal/domain/source"
	"github.com/papertrace/patra/internal/infra/gate"
)

// TestAsk_ASlowSourcesPaceGivesNothingBack: of a source that may be asked once in
// ten seconds, two walks and a count that begin together, as they do at the end of
// quiet hours, wait for their turns. None is told to come back later.
func TestAsk_ASlowSourcesPaceGivesNothingBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var reached []time.Duration // guarded by mu
		start := time.Now()
		answer := func(r *http.Request) (*http.Response, error) {
			mu.Lock()
			defer mu.Unlock()
			reached = append(reached, time.Since(start))
			return status(200, goodReply)(r)
		}
		spec := testSpec()
		spec.Rate = source.Rate{Key: "src", QPS: 0.1, Burst: 1}
		c := client(play(answer), gate.New(gate.Config{}, nil))
		var wg sync.WaitGroup
		for range 3 {
			wg.Go(func() {
				for range 2 {
					if _, err := c.Ask(t.Context(), spec, source.Call{Purpose: source.ForSearch}); err != nil {
						t.Errorf("after %s: %v", time.Since(start), err)
					}
				}
			})
		}
		wg.Wait()
		if len(reached) != 6 || reached[5] != 50*time.Second {
			t.Errorf("asked at %v", reached)
		}
	})
}
