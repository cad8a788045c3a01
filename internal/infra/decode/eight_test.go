package decode

import (
	"bytes"
	"slices"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

// oddTexts end where eight bytes do, and otherwise.
var oddTexts = []string{
	"", " ", "plain words of some length, one blank between two", "two  blanks at the end of eight", "eight by \tte", "a\u00a0b", "eight by\u2003te",
	"eight b \u00a0te", `an "article" of <b>two</b>`, `a \ b`, "a long del\x7f text", "ends here ", "1234567 ", "1234567  x", "1234567 \n", "\xff\xfe", "été — naïve et longue",
}

// FuzzEightAtOnce: what looks at eight bytes at a time finds what one byte after the other does.
func FuzzEightAtOnce(f *testing.F) {
	for _, s := range oddTexts {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		end := 0
		for end < len(b) && !endsWords(b[end:]) {
			end++
		}
		if got := words(b); got != end {
			t.Errorf("%q: words to %d, not to %d", b, got, end)
		}
		if got, want := hasSpecial(b), slices.ContainsFunc(b, func(c byte) bool { return special[c] }); got != want {
			t.Errorf("%q: special %v", b, got)
		}
	})
}

// FuzzUnquoted holds the texts of JSON strings against the library.
func FuzzUnquoted(f *testing.F) {
	for _, s := range append(oddTexts, `https:\/\/doi.org\/10.1\/x`, `a\nb\t\"c\"\\`, `\u00e9\/`, `\/\ud83d\ude00`, `\ud800\/`, `\b\f\r`) {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		quoted := slices.Concat([]byte{'"'}, b, []byte{'"'})
		if end, _ := scan(quoted, 0, 0, nil); end != len(quoted) {
			return // only what was read as a string comes there
		}
		want, _ := jsontext.AppendUnquote([]byte("before"), quoted)
		if got := appendUnquoted([]byte("before"), quoted); !bytes.Equal(got, want) {
			t.Errorf("%q: %q, not %q", quoted, got, want)
		}
	})
}
