package main

import (
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/papertrace/patra/internal/app/control"
)

// searchWatch is one display for the sources of a search that are read side by side.
type searchWatch struct {
	name string
	mu   sync.Mutex // guards what follows
	of   []sourceWatch
}

type sourceWatch struct {
	code  string
	watch *control.Watch
}

// add has a source shown, too.
func (s *searchWatch) add(code string) *control.Watch {
	s.mu.Lock()
	defer s.mu.Unlock()
	w := new(control.Watch)
	s.of = append(s.of, sourceWatch{code, w})
	return w
}

// line says why nothing comes, if nothing does anywhere, then how far all are together,
// and then each.
func (s *searchWatch) line(took time.Duration) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all control.Progress
	var waits, parts []string
	for _, one := range s.of {
		p := one.watch.Progress()
		all.Items += p.Items
		all.Expected += p.Expected
		all.Sent += p.Sent
		all.HTTP429 += p.HTTP429
		all.HTTP5xx += p.HTTP5xx
		all.Failed += p.Failed
		all.Slices += p.Slices
		if p.Wait != "" {
			waits = append(waits, p.Wait)
		}
		parts = append(parts, one.code+" "+sourceProgress(p))
	}
	if len(s.of) > 0 && len(waits) == len(s.of) {
		all.Wait = strings.Join(waits, ", ")
	}
	return progressLine(s.name, all, took) + "  (" + strings.Join(parts, "; ") + ")"
}

// sourceProgress is how far one source is, in few words.
func sourceProgress(p control.Progress) string {
	switch {
	case p.Wait != "":
		return p.Wait
	case p.State == "" || p.State == "planning":
		return "planning"
	case p.Expected > 0:
		return fmt.Sprintf("%d%%", min(100, p.Items*100/p.Expected))
	}
	return fmt.Sprintf("%d records", p.Items)
}
