package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/papertrace/patra/internal/app/control"
)

// tableOf is a table of two sources as a screen shows it.
func tableOf(s screen) string {
	var out bytes.Buffer
	p := &printer{out: &out, screen: s}
	p.table([]column{{head: "SOURCE", width: 10}, {head: "NAME"}, {head: "ROWS", right: true, gap: 2}, {head: "STATE"}, {head: "REASON", wraps: true}}, [][]any{
		{"cnki", "中国知网", 7, withGlyph("stopped", control.Stopped), "the key was refused by the source\nand nobody has mended it since"},
		{"crossref", "Cro\u0301ssref", 12, withGlyph("ready", control.OK), ""},
	})
	return out.String()
}

func TestTable_PipeGetsWholeRowsWithoutGlyphs(t *testing.T) {
	want := "" +
		"SOURCE     NAME     ROWS  STATE   REASON\n" +
		"cnki       中国知网    7  stopped the key was refused by the source and nobody has mended it since\n" +
		"crossref   Cro\u0301ssref   12  ready\n"
	if got := tableOf(screen{}); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// Wide characters take two columns and marks none, so that what stands behind
// them stays under its head; long text goes on below and is not lost.
func TestTable_FitsTheTerminal(t *testing.T) {
	want := "" +
		"SOURCE    NAME      ROWS  STATE      REASON\n" +
		"cnki      中国知网     7  ■ stopped  the key was refused by\n" +
		"                                     the source and nobody\n" +
		"                                     has mended it since\n" +
		"crossref  Cro\u0301ssref    12  ✓ ready\n"
	got := tableOf(screen{terminal: true, width: 60})
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	for line := range strings.Lines(got) {
		if w := textWidth(strings.TrimSuffix(line, "\n")); w > 60 {
			t.Errorf("%d columns: %s", w, line)
		}
	}
}

func TestTable_TooNarrowForColumnsShowsBlocks(t *testing.T) {
	want := "" +
		"SOURCE  cnki\nNAME    中国知网\nROWS    7\nSTATE   ■ stopped\n" +
		"REASON  the key was refused by\n        the source and nobody\n        has mended it since\n" +
		"\n" +
		"SOURCE  crossref\nNAME    Cro\u0301ssref\nROWS    12\nSTATE   ✓ ready\nREASON  \n"
	if got := tableOf(screen{terminal: true, width: 30}); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// Before a table becomes blocks, and before words are broken, columns are left out that can
// be spared; a pipe and -o wide, which have no width, get all of them.
func TestTable_SparesColumnsBeforeWords(t *testing.T) {
	table := func(width int) string {
		var out bytes.Buffer
		p := &printer{out: &out, screen: screen{terminal: true, width: width}}
		p.table([]column{{head: "A"}, {head: "FIRST", spare: true}, {head: "B", wraps: true}, {head: "SECOND", spare: true}},
			[][]any{{"a", "first", "an_instant_of_some_long kind", "second"}})
		return out.String()
	}
	for width, want := range map[int]string{
		0:  "A  FIRST  B                             SECOND\na  first  an_instant_of_some_long kind  second\n",
		41: "A  FIRST  B                        SECOND\na  first  an_instant_of_some_long  second\n          kind\n",
		40: "A  FIRST  B\na  first  an_instant_of_some_long kind\n",
		26: "A  B\na  an_instant_of_some_long\n   kind\n",
		25: "A  FIRST  B\na  first  an_instant_of_s\n          ome_long kind\n",
		15: "A  B\na  an_instant_o\n   f_some_long\n   kind\n",
		14: "A       a\nFIRST   first\nB       an_instant_o\n        f_some_long\n        kind\nSECOND  second\n",
	} {
		if got := table(width); got != want {
			t.Errorf("on %d columns:\n%s\nnot\n%s", width, got, want)
		}
	}
}

func TestTable_ColoursOnlyWhereTheyAreShown(t *testing.T) {
	if got := tableOf(screen{terminal: true, width: 200, colour: true}); !strings.Contains(got, "\x1b[31m■ stopped\x1b[0m  the key") {
		t.Errorf("no colour in\n%q", got)
	}
	if got := tableOf(screen{terminal: true, width: 60, colour: true}); strings.Count(got, "\x1b[31m") != 1 {
		t.Errorf("colours on lines without a state:\n%q", got)
	}
	if got := tableOf(screen{terminal: true, width: 200}); strings.Contains(got, "\x1b") {
		t.Errorf("colour in\n%q", got)
	}
}

func TestTable_StrangersCannotSteerTheTerminal(t *testing.T) {
	var out bytes.Buffer
	p := &printer{out: &out}
	p.table([]column{{head: "A"}, {head: "B"}}, [][]any{{"\x1b[2J", "x\ty"}})
	if want := "A         B\n\\u001b[2J x y\n"; out.String() != want {
		t.Errorf("got %q, want %q", out.String(), want)
	}
}

func TestWrapped_LosesNothing(t *testing.T) {
	for _, text := range []string{"", "short", "several words that do not fit", strings.Repeat("x", 40), "漢字かな交じり文は空白なしで続く", " a  b", strings.Repeat("字 ", 9)} {
		lines := wrapped(text, 7)
		if strings.ReplaceAll(strings.Join(lines, ""), " ", "") != strings.ReplaceAll(text, " ", "") {
			t.Errorf("%q became %q", text, lines)
		}
		for _, l := range lines {
			if textWidth(l) > 7 {
				t.Errorf("%q: %q takes %d columns", text, l, textWidth(l))
			}
		}
	}
}
