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

// line shows all of them as they are now.
func (s *searchWatch) line(took time.Duration) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	parts := make([]searchPart, len(s.of))
	for i, one := range s.of {
		parts[i] = searchPart{one.code, one.watch.Progress()}
	}
	return searchLine(s.name, parts, took)
}

// searchPart is how far one source of a search is.
type searchPart struct {
	code string
	control.Progress
}

// searchLine says why nothing comes, if nothing does anywhere, then how far all are together,
// and then each.
func searchLine(name string, parts []searchPart, took time.Duration) string {
	var all control.Progress
	var waits, each []string
	knowsAll := true
	for _, p := range parts {
		knowsAll = knowsAll && p.Expected > 0
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
		each = append(each, p.code+" "+sourceProgress(p.Progress, took))
	}
	if !knowsAll {
		all.Expected = 0 // a share of some of them would be told as that of all
	}
	if len(parts) > 0 && len(waits) == len(parts) {
		all.Wait = strings.Join(waits, ", ")
	}
	return progressLine(name, all, took) + "  (" + strings.Join(each, "; ") + ")"
}

// sourceProgress is how far one source is, in few words.
func sourceProgress(p control.Progress, took time.Duration) string {
	paced := ""
	if isPaced(p, took) {
		paced = ", waits for its turn"
	}
	switch {
	case p.Wait != "":
		return p.Wait
	case p.State == "" || p.State == "planning":
		return "planning"
	case p.Expected > 0:
		return fmt.Sprintf("%d%%%s", min(100, p.Items*100/p.Expected), paced)
	}
	return fmt.Sprintf("%d records%s", p.Items, paced)
}
