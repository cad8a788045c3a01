// Package doi says what a DOI is: what may stand before one, how it must look, and in
// which form two are compared. Whoever reads one asks here.
package doi

// text is a value as a text or as bytes.
type text interface{ ~string | ~[]byte }

// wrappers are written before DOIs, in small letters. Those of addresses are marked.
var wrappers = []struct {
	text    string
	address bool
}{
	{"https://", true},
	{"http://", true},
	{"dx.doi.org/", true},
	{"www.doi.org/", true},
	{"doi.org/", true},
	{"doi:", false},
	{"info:doi/", false},
	{"urn:doi:", false},
	{"[doi]", false},
}

// Bare takes off what stands before a DOI, and tells whether that was an address, in
// which signs may be escaped. A DOI itself begins with 10., so nothing within one is
// lost. What is no DOI may lose something too.
func Bare[T text](v T) (bare T, address bool) {
	v = Trim(v)
	for again := true; again; {
		again = false
		for _, w := range wrappers {
			if hasFold(v, w.text) {
				v = Trim(v[len(w.text):])
				address = address || w.address
				again = true
			}
		}
	}
	return v, address
}

// hasFold reports whether v begins with a text of small letters, whatever their case.
func hasFold[T text](v T, prefix string) bool {
	if len(v) < len(prefix) {
		return false
	}
	for i := range len(prefix) {
		if lower(v[i]) != prefix[i] {
			return false
		}
	}
	return true
}

func lower(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		return c | 0x20
	}
	return c
}

// marks are blanks, and characters without width that come along when a DOI is copied.
var marks = []string{"\u00a0", "\u200b", "\u200c", "\u200d", "\u2060", "\ufeff"}

// Trim takes blanks and characters without width off both ends.
func Trim[T text](v T) T {
	for len(v) > 0 {
		n := blankAt(v)
		if n == 0 {
			break
		}
		v = v[n:]
	}
	for len(v) > 0 {
		n := blankBefore(v)
		if n == 0 {
			break
		}
		v = v[:len(v)-n]
	}
	return v
}

func isBlank(c byte) bool { return c == ' ' || '\t' <= c && c <= '\r' }

// blankAt is the length of the blank that v begins with, blankBefore of the one that it
// ends with.
func blankAt[T text](v T) int {
	if isBlank(v[0]) {
		return 1
	}
	for _, m := range marks {
		if len(v) >= len(m) && string(v[:len(m)]) == m {
			return len(m)
		}
	}
	return 0
}

func blankBefore[T text](v T) int {
	if isBlank(v[len(v)-1]) {
		return 1
	}
	for _, m := range marks {
		if len(v) >= len(m) && string(v[len(v)-len(m):]) == m {
			return len(m)
		}
	}
	return 0
}

// Is reports whether a bare value reads 10.REGISTRANT/SUFFIX: four to nine digits,
// perhaps further numbers after dots, and a suffix without white space. Any other
// character may be part of a suffix.
func Is[T text](v T) bool {
	slash := registrant(v)
	if slash == 0 || slash == len(v)-1 {
		return false
	}
	for i := slash + 1; i < len(v); i++ {
		if isBlank(v[i]) {
			return false
		}
	}
	return true
}

// registrant is where the registrant of a DOI ends and its suffix begins, 0 if there is
// no registrant.
func registrant[T text](v T) int {
	if len(v) < 3 || v[0] != '1' || v[1] != '0' || v[2] != '.' {
		return 0
	}
	from := 3 // where the number begins that is being read
	first := true
	for i := 3; i < len(v); i++ {
		c := v[i]
		if '0' <= c && c <= '9' {
			continue
		}
		digits := i - from
		if c != '.' && c != '/' || digits == 0 || first && (digits < 4 || digits > 9) {
			return 0
		}
		if c == '/' {
			return i
		}
		from = i + 1
		first = false
	}
	return 0
}

// Lower makes the letters A to Z small and no others: DOIs that differ in another letter
// are two.
func Lower(s string) string {
	for i := range len(s) {
		if 'A' <= s[i] && s[i] <= 'Z' {
			b := []byte(s)
			for j := i; j < len(b); j++ {
				b[j] = lower(b[j])
			}
			return string(b)
		}
	}
	return s
}
