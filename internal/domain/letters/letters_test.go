package letters

import (
	"testing"
	"unicode"
)

// TestPlain_IsPlain: what stands for a letter has no accent itself, and is of small
// letters; each letter of the list is small, for it is looked up so.
func TestPlain_IsPlain(t *testing.T) {
	for marked, text := range plain {
		if unicode.ToLower(marked) != marked && marked != 'ẞ' {
			t.Errorf("%c is no small letter, and will not be found", marked)
		}
		for _, r := range text {
			if _, again := Plain(r); again || IsMark(r) || !unicode.IsLetter(r) {
				t.Errorf("%q stands for %c, and is not plain", text, marked)
			}
		}
	}
	for r, want := range map[rune]string{'ü': "u", 'ß': "ss", 'ø': "o", 'ς': "σ", 'ﬃ': "ffi"} {
		if got, _ := Plain(r); got != want {
			t.Errorf("%c is %q, not %q", r, got, want)
		}
	}
	if got := Narrow('Ａ'); got != 'A' || Narrow('あ') != 'あ' {
		t.Errorf("%c", got)
	}
}
