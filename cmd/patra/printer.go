package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/papertrace/patra/internal/app/control"
)

// printer is how every command speaks: words, tables and JSON on stdout, notes and
// errors on stderr.
type printer struct {
	out, err io.Writer
	screen   screen
}

// screen is the terminal that stdout shows on. Its zero value is a pipe or a file,
// whose readers get the same words without glyphs, colours or line breaks of ours.
type screen struct {
	terminal bool
	width    int // columns; 0 if that is not known
	colour   bool
}

func screenOf(out io.Writer) screen {
	if !isTerminal(out) {
		return screen{}
	}
	return screen{terminal: true, width: terminalWidth(out), colour: os.Getenv("NO_COLOR") == ""}
}

// printf prints words for people to stdout. Arguments may hold text of upstreams
// and strangers: whatever in them a terminal would obey, or would use to show
// other words than there are, is shown as an escape. Bytes are printed as they
// are; output for programs is made of them.
func (p *printer) printf(format string, args ...any) { fmt.Fprintf(p.out, format, showable(args)...) }

// notef is [printer.printf] to stderr.
func (p *printer) notef(format string, args ...any) { fmt.Fprintf(p.err, format, showable(args)...) }

// printJSON prints one object for programs on a line of its own.
func (p *printer) printJSON(v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("marshal output: %w", err)
	}
	p.printf("%s\n", b)
	return nil
}

// printProblem says what went wrong and what to do next.
func (p *printer) printProblem(pr control.Problem) {
	p.notef("patra: %s [%s]\n", pr.Title, pr.Code)
	if pr.Detail != "" {
		p.notef("  %s\n", strings.ReplaceAll(pr.Detail, "\n", "\n  "))
	}
	if pr.Next != "" {
		p.notef("next: %s\n", pr.Next)
	}
}

// stated is a word for a state, of a family, with the glyph before it.
type stated struct {
	word   string
	family control.Family
	glyph  string
}

func withGlyph[S ~string](word S, family control.Family) stated {
	return stated{string(word), family, family.Glyph()}
}

// freshText is how fresh something is.
func freshText(f control.Freshness) stated { return stated{f.Word(), f.Family(), f.Glyph()} }

// text is the state as a list shows it: with its glyph where people look.
func (p *printer) text(s stated) string {
	if p.screen.terminal {
		return s.glyph + " " + s.word
	}
	return s.word
}

// glyph is the sign of a family alone, in its colour where there are colours.
func (p *printer) glyph(f control.Family) styled {
	return styled(p.coloured(f.Glyph(), f))
}

// colours of the families on a terminal, by their ANSI numbers.
var colours = map[control.Family]string{
	control.Waiting: "90", control.Active: "34", control.OK: "32", control.Partial: "33",
	control.Failed: "31", control.Off: "90", control.Stopped: "31", control.Remarked: "33",
}

func (p *printer) coloured(text string, f control.Family) string {
	number := colours[f]
	if !p.screen.colour || number == "" || text == "" {
		return text
	}
	return "\x1b[" + number + "m" + text + "\x1b[0m"
}

// styled is text of our own that may steer the terminal.
type styled string

func showable(args []any) []any {
	out := make([]any, len(args))
	for i, arg := range args {
		out[i] = arg
		var text string
		switch arg := arg.(type) {
		case string:
			text = arg
		case error:
			text = arg.Error()
		case fmt.Stringer:
			text = arg.String()
		}
		if safe := printable(text); safe != text {
			out[i] = safe
		}
	}
	return out
}

// printable shows as escapes what a terminal would obey: control characters
// other than line ends and tabs, and marks that turn the direction of text.
func printable(s string) string {
	if !strings.ContainsFunc(s, commanding) {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		if commanding(r) {
			fmt.Fprintf(&b, `\u%04x`, r)
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}

func commanding(r rune) bool {
	switch r {
	case '\n', '\t':
		return false
	case '\u2028', '\u2029', utf8.RuneError:
		return true
	}
	return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r)
}
