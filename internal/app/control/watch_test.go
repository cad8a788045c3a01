package control

import (
	"strings"
	"testing"
	"time"

	"github.com/papertrace/patra/internal/domain/harvest"
)

// TestWatch_SaysWhatIsWaitedFor: nothing is waited for while there is something to take or
// one's own tasks go on; else it is said until when, and whether the rest is not due yet, in
// the hands of others, or both.
func TestWatch_SaysWhatIsWaitedFor(t *testing.T) {
	soon := time.Now().Add(time.Hour)
	for _, c := range []struct {
		name    string
		left    Work
		working int
		says    string
	}{
		{"ready", Work{Ready: 1, Leased: 1, NextAt: soon}, 0, ""},
		{"one's own", Work{Leased: 1, NextAt: soon}, 1, ""},
		{"one's own, and later", Work{Leased: 1, Later: 1, NextAt: soon}, 1, ""},
		{"later", Work{Later: 1, NextAt: soon, NextCode: harvest.CodeRate}, 0, "(" + string(harvest.CodeRate) + ")"},
		{"of others", Work{Leased: 2, NextAt: soon}, 0, "another process has the rest in hand (lease_held)"},
		{"of others, and later", Work{Leased: 2, Later: 3, NextAt: soon}, 0, "another process has a part of the rest in hand, the other is not due yet (lease_held)"},
	} {
		w := new(Watch)
		w.waiting(c.left, c.working)
		said := w.Progress().Wait
		if c.says == "" {
			if said != "" {
				t.Errorf("%s: said %q", c.name, said)
			}
			continue
		}
		if !strings.HasPrefix(said, "waiting until "+Time(soon.Truncate(time.Second)).String()+": ") || !strings.HasSuffix(said, c.says) {
			t.Errorf("%s: said %q, want %q", c.name, said, c.says)
		}
	}
}
