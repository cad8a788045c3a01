package work

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// LookupKey is a number under which records are found that may have to do with each
// other. What is found is compared by what the records say: two values under one number
// by chance do no harm.
type LookupKey uint64

// The kinds of keys, in their two lowest bits.
const (
	keyID      LookupKey = 0 // an identifier that the record has
	keyPointer LookupKey = 1 // an identifier that it points to
	keyAlike   LookupKey = 2 // where they stand, or whose versions they are
	keyTitle   LookupKey = 3 // how their titles begin
	keyKinds   LookupKey = 3
)

// keyStem is set in keys of whose versions records are, and not in those of where they
// stand.
const keyStem LookupKey = 4

// IsID reports whether it is of an identifier that the record has: only these make
// works.
func (k LookupKey) IsID() bool { return k&keyKinds == keyID }

// IsPointer reports whether it is of an identifier that the record points to.
func (k LookupKey) IsPointer() bool { return k&keyKinds == keyPointer }

// IsAlike reports whether it is of what alike records have in common.
func (k LookupKey) IsAlike() bool { return k&keyAlike != 0 }

// IsTitle reports whether it is of how titles begin.
func (k LookupKey) IsTitle() bool { return k&keyKinds == keyTitle }

// IsMarked reports whether a record is found under the key with its [Mark]: that of a
// title, or of a place.
func (k LookupKey) IsMarked() bool { return k.IsTitle() || k.IsAlike() && k&keyStem == 0 }

// Most is how many records may be found under the key; if there are more it finds none.
func (k LookupKey) Most() int {
	switch {
	case k.IsAlike():
		return MostAlike
	case k.IsPointer():
		return MostPointing
	}
	return MostHolders
}

// MostPointing is how many records that point to one, or were merged into it, are looked for: as many as a
// book has chapters, and not as many as a journal has papers.
const MostPointing = 1000

// MostAlike is how many records that may be alike are compared with each other.
const MostAlike = 50

// Beside is the key of what points to an identifier, or of the identifier that is
// pointed to; false if it is neither.
func (k LookupKey) Beside() (LookupKey, bool) {
	if k.IsAlike() {
		return 0, false
	}
	return k ^ keyPointer, true
}

// mix is a number for a text, which may come in parts.
func mix(parts ...string) uint64 {
	// FNV-1a, as hash/fnv has it, without what it allocates.
	x := uint64(14695981039346656037)
	for _, s := range parts {
		for i := range len(s) {
			x ^= uint64(s[i])
			x *= 1099511628211
		}
	}
	// The bits are spread once more: those that are cut off must not be missed.
	x ^= x >> 33
	x *= 0xff51afd7ed558ccd
	x ^= x >> 33
	return x
}

func keyOf(kind LookupKey, parts ...string) LookupKey {
	return LookupKey(mix(parts...))&^keyKinds | kind
}

// KeyOf is the key of an identifier that a record has.
func KeyOf(id ID) LookupKey { return keyOf(keyID, id.String()) }

// Keys are those under which the record is found, sorted.
func (r *Record) Keys() []LookupKey {
	out := make([]LookupKey, 0, usualKeys)
	for _, c := range r.Claims {
		out = append(out, KeyOf(c.ID))
	}
	for _, p := range r.Pointers {
		out = append(out, keyOf(keyPointer, p.To.String()))
	}
	if r.MergedInto != "" {
		// The record that it was merged into is found by its own key.
		out = append(out, Key{r.Key.Source, r.Key.Type, r.MergedInto}.MergedKey())
	}
	for _, s := range r.Stems {
		out = append(out, keyOf(keyAlike, "stem ", s)|keyStem)
	}
	out = r.appendLikeness(out)
	slices.Sort(out)
	return slices.Compact(out)
}

// usualKeys is how many keys few records have more of.
const usualKeys = 8

// SoughtKeys are the keys of what somebody types who looks for records: an identifier in any
// of its forms, or a title, whole or by its first forty letters. They are sorted.
func SoughtKeys(text string) []LookupKey {
	var out []LookupKey
	for _, scheme := range []Scheme{DOI, PMID, PMCID, ArXiv, OpenAlex, EuropePMC, NCT} {
		if id, is := Normal(scheme, text); is {
			out = append(out, KeyOf(id))
		}
	}
	if title := normalTitle(text); sayingTitle(title) {
		out = append(out, keyOf(keyTitle, "title ", keyLetters(title)))
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// MergedKey is the key under which those are found that were merged into the record.
func (k Key) MergedKey() LookupKey {
	return keyOf(keyPointer, "record ", k.Source, " ", k.Type, " ", k.ID)
}

// How many letters of a title stand in a key: few, with the first author, so that a
// slip further on does no harm; more where they stand alone.
const (
	shortTitle = 20
	longTitle  = 40
)

// appendLikeness appends the keys that probable doubles have in common.
func (r *Record) appendLikeness(out []LookupKey) []LookupKey {
	if r.Dead || r.Class == Notice || r.Class == Container || r.Class == Trial || len(r.Authors) == 0 {
		return out
	}
	// Titles that these words tell apart are never alike, so they need not meet. The key of
	// a title alone is without them: people look for the beginning of a title by it.
	telling := tellingOf(r.Title)
	if sayingTitle(r.Title) {
		t := keyLetters(r.Title)
		out = append(out,
			keyOf(keyTitle, "title ", firstOf(t, shortTitle), " ", r.Authors[0], " ", telling),
			keyOf(keyTitle, "title ", t))
	}
	if r.Page != "" && r.Year > 0 && r.Title != "" {
		out = append(out, keyOf(keyAlike, "place ", r.Authors[0], " ", strconv.Itoa(r.Year), " ", r.Page, " ", telling)&^keyStem)
	}
	return out
}

// keyLetters are the first letters of a title without its blanks, and without small words:
// these come and go between a preprint and its article.
func keyLetters(title string) string {
	var out strings.Builder
	out.Grow(min(len(title), 2*longTitle))
	letters := 0
	for w := range strings.SplitSeq(title, " ") {
		if smallWords.has(w) {
			continue
		}
		out.WriteString(w)
		letters += utf8.RuneCountInString(w)
		if letters >= longTitle {
			break
		}
	}
	return firstOf(out.String(), longTitle)
}

// firstOf are the first n letters of a text.
func firstOf(s string, n int) string {
	for i := range s {
		if n == 0 {
			return s[:i]
		}
		n--
	}
	return s
}
