package console

import (
	"strings"
	"testing"
)

// TestDiff_ShowsWhatChanged: the words that went and those that came are marked, and all
// passages together are the texts as they were.
func TestDiff_ShowsWhatChanged(t *testing.T) {
	long := strings.Repeat("a b ", 2000)
	for _, c := range []struct{ before, after, gone, came string }{
		{"Insulin in mice", "Insulin in old rats", "mice", "old|rats"},
		{"", "new", "", "new"},
		{"old", "", "old", ""},
		{"same", "same", "", ""},
		{"胰岛素与小鼠", "胰岛素与大鼠", "小", "大"},
		{"x " + long, long + "y", "x ", "y"},
	} {
		was, is := diff(c.before, c.after)
		for _, side := range []struct {
			passages          []passage
			text, kind, words string
		}{{was, c.before, "del", c.gone}, {is, c.after, "ins", c.came}} {
			var whole, marked string
			for _, p := range side.passages {
				whole += p.Text
				if p.Kind == side.kind {
					marked += p.Text
				}
			}
			if whole != side.text {
				t.Errorf("%.20q becomes %.40q", side.text, whole)
			}
			for w := range strings.SplitSeq(side.words, "|") {
				if !strings.Contains(marked, w) {
					t.Errorf("%.20q: %q is not marked among %.40q", side.text, w, marked)
				}
			}
			if side.words == "" && marked != "" {
				t.Errorf("%.20q: %.40q is marked", side.text, marked)
			}
		}
	}
}
