package source

import (
	"fmt"
	"strconv"
	"strings"
)

// TotalWorth is what a source's totals are worth: EXACT, ABOUT n% or UNKNOWN.
type TotalWorth string

// The codes that stand at its beginning.
const (
	totalExact = "EXACT"
	totalAbout = "ABOUT"
)

// mostWithin is the widest tolerance: a total that half of may be missed is no total.
const mostWithin = 50

// canonical writes the code in its canonical form, and one blank before the percents.
func (t TotalWorth) canonical() TotalWorth {
	word, rest := t.split()
	word = DictTotal.Canonical(word)
	if rest != "" {
		word += " " + rest
	}
	return TotalWorth(word)
}

// split parts the word from the percents behind it.
func (t TotalWorth) split() (word, rest string) {
	text := strings.TrimSpace(string(t))
	at := strings.IndexFunc(text, func(r rune) bool { return r == ' ' || r >= '0' && r <= '9' })
	if at < 0 {
		return text, ""
	}
	return text[:at], strings.ReplaceAll(text[at:], " ", "")
}

// parse returns the code, and of ABOUT the percents.
func (t TotalWorth) parse() (code string, percent int, err error) {
	code, rest := t.split()
	if code != totalAbout {
		if rest != "" {
			err = fmt.Errorf("%q: only %s has percents", t, totalAbout)
		}
		return code, 0, err
	}
	digits, ok := strings.CutSuffix(rest, "%")
	percent, bad := strconv.Atoi(digits)
	if !ok || bad != nil || percent < 1 || percent > mostWithin {
		return code, 0, fmt.Errorf("%q: write how much of it a walk may miss, from ABOUT 1%% to ABOUT %d%%", t, mostWithin)
	}
	return code, percent, nil
}
