package main

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// printf prints words for people to stdout. Arguments may hold text of upstreams
// and strangers: whatever in them a terminal would obey, or would use to show
// other words than there are, is shown as an escape. Bytes are printed as they
// are; output for programs is made of them.
func (c *cli) printf(format string, args ...any) { fmt.Fprintf(c.out, format, showable(args)...) }

// notef is [cli.printf] to stderr.
func (c *cli) notef(format string, args ...any) { fmt.Fprintf(c.err, format, showable(args)...) }

// show prints what control answers: as one JSON object if that was asked for, else
// in words.
func (c *cli) show(v any, words func()) error {
	if c.json {
		return c.printJSON(v)
	}
	words()
	return nil
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
