package main

import (
	"bytes"
	"errors"
	"testing"
	"time"
)

// Text of strangers must not steer a terminal or show other words than there are.
func TestPrinter_TextOfStrangersCannotSteerTheTerminal(t *testing.T) {
	for _, tc := range []struct {
		name, want string
		format     string
		args       []any
	}{
		{"escape sequence", `title \u001b[2Jgone`, "title %s", []any{"\x1b[2Jgone"}},
		{"direction override", `10.1/\u202efdp.exe`, "%s", []any{"10.1/\u202efdp.exe"}},
		{"isolates and marks", `\u2066a\u2069\u200f\u061c`, "%s", []any{"\u2066a\u2069\u200f\u061c"}},
		{"an error", `ask: \u0007`, "%v", []any{errors.New("ask: \a")}},
		{"carriage return", `0%\u000ddone`, "%v", []any{"0%\rdone"}},
		{"line separators", `a\u2028b`, "%s", []any{"a\u2028b"}},
		{"lines and tabs stay", "a\n\tb", "%s", []any{"a\n\tb"}},
		{"joiners and scripts stay", "نمی\u200cخواهم 中文 naïve", "%s", []any{"نمی\u200cخواهم 中文 naïve"}},
		{"numbers and times stay", "   7 1m0s", "%4d %s", []any{7, time.Minute}},
		{"styles of our own stay", "\x1b[32mok\x1b[0m", "%s", []any{styled("\x1b[32mok\x1b[0m")}},
		{"bytes for programs stay", "{\"a\":\"\u202e\"}", "%s", []any{[]byte("{\"a\":\"\u202e\"}")}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var out, notes bytes.Buffer
			c := &printer{out: &out, err: &notes}
			c.printf(tc.format, tc.args...)
			c.notef(tc.format, tc.args...)
			if out.String() != tc.want {
				t.Errorf("stdout: got %q, want %q", out.String(), tc.want)
			}
			if notes.String() != tc.want {
				t.Errorf("stderr: got %q, want %q", notes.String(), tc.want)
			}
		})
	}
}
