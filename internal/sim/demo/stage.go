package demo

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/papertrace/patra/internal/sim"
)

// Config says what is shown.
type Config struct {
	// Records is how many each source has at the start.
	Records int
	// Seed: the same seed, the same records.
	Seed uint64
	// Faults happen from the start, beside those that are switched on.
	Faults sim.Faults
	// Now is where the clock begins; zero: the real time.
	Now time.Time
}

// Stage plays the upstreams of a demonstration. Its methods may be called from any
// goroutine.
type Stage struct {
	players map[string]*player // by the code of the source
	// ask has a source read something at once; nil: nobody does.
	ask func(source string) error

	mu sync.Mutex
	on map[string]bool // kinds that are switched on; guarded by mu
}

// player is one upstream on the stage.
type player struct {
	sim      *sim.Sim
	upstream string // the name by which the simulator knows it
}

// The sources on the stage. Two are invented from the ground up, because some faults can
// only befall a source that leads from page to page in their way.
const (
	Repository = "repository" // its tokens hold their own place
	Archive    = "archive"    // it keeps the place of a walk itself
)

// New sets the stage.
func New(c Config) (*Stage, error) {
	if c.Now.IsZero() {
		c.Now = time.Now()
	}
	busy := &sim.Churn{New: 3000, Changed: 600, Volatile: 300, Deleted: 20, Retracted: 20, Late: 0.01}
	cfg := sim.Config{Records: c.Records, Seed: c.Seed, Faults: c.Faults, Now: c.Now, Span: 3 * 24 * time.Hour, Churn: busy}
	cfg.Sources = []string{sim.PubMed, sim.Crossref, sim.Generic}
	first, err := sim.New(cfg)
	if err != nil {
		return nil, err
	}
	cfg.Sources = []string{sim.Generic}
	cfg.Seed++
	second, err := sim.New(cfg)
	if err != nil {
		return nil, err
	}
	return &Stage{on: map[string]bool{}, players: map[string]*player{
		sim.PubMed:   {first, sim.PubMed},
		sim.Crossref: {first, sim.Crossref},
		Repository:   {first, sim.Generic},
		Archive:      {second, sim.Generic},
	}}, nil
}

// Sources are the codes of those on the stage.
func (s *Stage) Sources() []string { return slices.Sorted(maps.Keys(s.players)) }

// OnSwitch says how a source is asked something at once.
func (s *Stage) OnSwitch(ask func(source string) error) { s.ask = ask }

// ServeHTTP serves each source under the path of its code.
func (s *Stage) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	code, rest, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	p := s.players[code]
	if p == nil {
		http.Error(w, "nobody on this stage is called "+code, http.StatusNotFound)
		return
	}
	asked := r.Clone(r.Context())
	asked.URL.Path = "/" + p.upstream + "/" + rest
	asked.URL.RawPath = ""
	p.sim.ServeHTTP(w, asked)
}

// tick is how often the clock of the upstreams follows the real one.
const tick = time.Second

// Run lets time pass upstream as it passes here: records come, change and go.
func (s *Stage) Run(ctx context.Context) {
	every := time.NewTicker(tick)
	defer every.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-every.C:
		}
		s.Follow(time.Now())
	}
}

// Follow sets the clock of the upstreams forward to now.
func (s *Stage) Follow(now time.Time) {
	for _, one := range s.sims() {
		one.Advance(now.Sub(one.Now()))
	}
}

func (s *Stage) sims() []*sim.Sim {
	var out []*sim.Sim
	for _, code := range s.Sources() {
		if one := s.players[code].sim; !slices.Contains(out, one) {
			out = append(out, one)
		}
	}
	return out
}

// WritePacks writes the packs of the sources into a folder. base is where they are
// served.
func (s *Stage) WritePacks(dir, base string) error {
	for code, text := range packs(base) {
		if err := os.WriteFile(filepath.Join(dir, code+".yaml"), []byte(text), 0o600); err != nil {
			return fmt.Errorf("write the pack of %s: %w", code, err)
		}
	}
	return nil
}
