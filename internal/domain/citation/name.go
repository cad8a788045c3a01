package citation

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// Name is who made it: a person by family and given names, or a group or a person
// whose name cannot be parted by Literal alone.
type Name struct {
	Family, Given, Suffix string
	Literal               string
	ORCID                 string
}

// Inverted is a name with the family name first: "King, Martin L., Jr". A comma in a
// part would shift the others, so that none has one.
func (n Name) Inverted() string {
	if n.Literal != "" {
		return noComma(n.Literal)
	}
	parts := []string{noComma(n.Family)}
	if n.Given != "" || n.Suffix != "" {
		parts = append(parts, noComma(n.Given))
	}
	if n.Suffix != "" {
		parts = append(parts, noComma(n.Suffix))
	}
	return strings.Join(parts, ", ")
}

// Initials are the first letters of the given names, without stops.
func (n Name) Initials() string {
	var b strings.Builder
	for _, part := range strings.FieldsFunc(n.Given, func(r rune) bool { return unicode.IsSpace(r) || r == '.' || r == '-' }) {
		r := []rune(part)[0]
		if unicode.IsLetter(r) {
			b.WriteRune(unicode.ToUpper(r))
		}
	}
	return b.String()
}

func noComma(s string) string { return Line(strings.ReplaceAll(s, ",", " ")) }

// namesOf are the authors that have a name.
func namesOf(authors []author) []Name {
	// Where some authors have family names, a name in one piece is that of a group.
	parted := slices.ContainsFunc(authors, func(a author) bool { return a.Family != "" })
	var out []Name
	for _, a := range authors {
		n := nameOf(a, parted)
		if n.Family != "" || n.Literal != "" {
			n.ORCID = Line(a.ORCID)
			out = append(out, n)
		}
	}
	return out
}

func nameOf(a author, parted bool) Name {
	family := Plain(a.Family)
	given := Plain(a.Given)
	whole := Plain(a.Name)
	switch {
	case family != "":
		return withSuffix(Name{Family: family, Given: given})
	case whole == "":
		return Name{Literal: given}
	case parted || isGroup(whole):
		return Name{Literal: whole}
	}
	if before, after, found := strings.Cut(whole, ","); found {
		return withSuffix(Name{Family: Line(before), Given: Line(strings.ReplaceAll(after, ",", " "))})
	}
	words := strings.Fields(whole)
	if len(words) < 2 {
		return Name{Literal: whole}
	}
	end := len(words)
	if isSuffix(words[end-1]) && end > 2 {
		end--
	}
	first := end - 1
	for first > 1 && particles[strings.ToLower(words[first-1])] {
		first--
	}
	n := Name{Family: strings.Join(words[first:end], " "), Given: strings.Join(words[:first], " ")}
	if end < len(words) {
		n.Suffix = words[end]
	}
	return n
}

// withSuffix takes a suffix off the given names it was written behind.
func withSuffix(n Name) Name {
	words := strings.Fields(n.Given)
	if len(words) > 1 && isSuffix(words[len(words)-1]) {
		n.Suffix = words[len(words)-1]
		n.Given = strings.TrimRight(strings.Join(words[:len(words)-1], " "), ", ")
	}
	return n
}

var suffix = regexp.MustCompile(`^(?i:jr|sr)\.?$|^(?:II|III|IV|2nd|3rd)$`)

func isSuffix(word string) bool { return suffix.MatchString(word) }

// particles stand before a family name and belong to it.
var particles = wordSet("af al ap auf av ben bin da dal de del della den der di do dos du el ibn la las le los mac san st. ten ter van vom von zu zum zur")

// groups are words that the name of a person does not have.
var groups = wordSet(`agency alliance and association authority board bureau center centre club coalition collaboration collaborative
	collaborators college commission committee community company consortium cooperative corporation council department division
	faculty federation for force forum foundation fund gmbh government group hospital inc. initiative inc institut institute
	institution international investigators laboratory library llc ltd ltd. ministry network of office organisation organization panel
	partnership programme program project registry school secretariat section service services society study survey task taskforce team the
	trial trialists union universität universidad universitas universite université university unit working`)

func wordSet(list string) map[string]bool {
	set := map[string]bool{}
	for word := range strings.FieldsSeq(list) {
		set[word] = true
	}
	return set
}

// isGroup reports whether a name in one piece is not that of a person, or one that
// cannot be parted at its blanks.
func isGroup(name string) bool {
	for word := range strings.FieldsSeq(strings.ToLower(name)) {
		if groups[strings.Trim(word, ",;()")] {
			return true
		}
	}
	return strings.ContainsFunc(name, func(r rune) bool {
		return unicode.IsDigit(r) || unicode.In(r, unicode.Han, unicode.Hangul, unicode.Hiragana, unicode.Katakana)
	})
}
