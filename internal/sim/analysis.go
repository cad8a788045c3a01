package sim

import (
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// plainLetters are those that do not come apart into a letter and its marks.
var plainLetters = strings.NewReplacer("ł", "l", "ø", "o", "œ", "oe", "æ", "ae", "ß", "ss", "đ", "d", "ð", "d", "þ", "th", "ı", "i")

// wordsOf gives the words of a text as a search engine keeps them: small letters
// without marks, and digits.
func wordsOf(s string) []string {
	s = plainLetters.Replace(strings.ToLower(s))
	var b strings.Builder
	for _, r := range norm.NFKD.String(s) {
		switch {
		case unicode.Is(unicode.Mn, r):
		case unicode.IsLetter(r) || unicode.IsDigit(r):
			b.WriteRune(r)
		default:
			b.WriteByte(' ')
		}
	}
	return strings.Fields(b.String())
}

// holds says whether words stand one after another in a text; the last may be the
// beginning of one.
func holds(text, words []string, prefix bool) bool {
	last := len(words) - 1
	for at := 0; at+last < len(text); at++ {
		if !slices.Equal(text[at:at+last], words[:last]) {
			continue
		}
		if have := text[at+last]; have == words[last] || prefix && strings.HasPrefix(have, words[last]) {
			return true
		}
	}
	return false
}
