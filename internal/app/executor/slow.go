package executor

import (
	"sync"
	"time"

	"github.com/papertrace/patra/internal/domain/harvest"
)

// SlowSources remembers how many tasks of each partition this process may have in hand, by
// how long its pages take.
type SlowSources struct {
	most int

	mu sync.Mutex
	of map[harvest.Partition]*slowSource // guarded by mu
}

type slowSource struct {
	harvest.Slowness
	inHand int
}

// NewSlowSources allows each partition as many tasks as there are workers.
func NewSlowSources(most int) *SlowSources {
	return &SlowSources{most: most, of: map[harvest.Partition]*slowSource{}}
}

func (s *SlowSources) find(p harvest.Partition) *slowSource {
	one := s.of[p]
	if one == nil {
		one = &slowSource{Slowness: harvest.Slowness{Most: s.most}}
		s.of[p] = one
	}
	return one
}

// Count adds a task to those in hand, or takes one away.
func (s *SlowSources) Count(p harvest.Partition, n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.find(p).inHand += n
}

// Note takes note of how long a page took, and tells how many tasks may be in hand now and
// whether that are fewer than before.
func (s *SlowSources) Note(p harvest.Partition, took, limit time.Duration) (now int, lowered bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	one := s.find(p)
	lowered = one.Note(time.Now(), took, limit, one.inHand)
	return one.Allowed(), lowered
}

// Full lists what no further task is taken of now.
func (s *SlowSources) Full() []harvest.Rest {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []harvest.Rest
	for p, one := range s.of {
		if one.inHand >= one.Allowed() {
			out = append(out, harvest.Rest{Provenance: p.Provenance, Endpoint: p.Endpoint, Operation: p.Operation})
		}
	}
	return out
}

// noteSlow takes note of how long the source took for a page, and marks the page by which
// it is known that fewer slices are to be worked on at once.
func (s *session) noteSlow(b *harvest.Batch, took time.Duration) {
	now, lowered := s.e.slow.Note(s.job.Partition(), took, s.spec.Cuts.SlowPage.D())
	if !lowered {
		return
	}
	b.Evidence.ConcurrencyDown++
	s.e.observe(Event{Kind: SourceSlow, Job: s.job})
	s.pageLog().Info("fewer slices at once", "page_took", took, "slices", now, "workers", s.e.cfg.Workers)
}
