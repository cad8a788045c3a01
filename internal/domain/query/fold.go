package query

import (
	"strings"
	"unicode"

	"github.com/papertrace/patra/internal/domain/letters"
)

// folded is a text without case and accents, its white space made plain.
func folded(s string) string {
	var b strings.Builder
	b.Grow(len(s))
	for _, r := range plainText(s) {
		if letters.IsMark(r) {
			continue
		}
		r = unicode.ToLower(letters.Narrow(r))
		if plain, marked := letters.Plain(r); marked {
			b.WriteString(plain)
			continue
		}
		b.WriteRune(r)
	}
	return plainText(b.String()) // an accent that stood alone leaves a space behind
}

// wordsOf a text: its runs of letters and digits. Accents that stand on their own
// belong to their letter.
func wordsOf(s string) []string {
	return strings.FieldsFunc(s, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.Is(unicode.Mn, r) && !unicode.Is(unicode.Mc, r)
	})
}

// wholeValued are the fields whose values are compared as wholes.
var wholeValued = func() map[string]bool {
	fields := make(map[string]bool)
	for _, f := range Default().Fields() {
		fields[f.Key] = f.DataType == DataKeyword || f.DataType == DataBool
	}
	return fields
}()

// keyForm is the form in which two spellings of one whole value are equal.
func keyForm(field, value string, form func(string) string) string {
	s := form(value)
	switch field {
	case "doi":
		return cutLead(s, "https://", "http://", "dx.doi.org/", "doi.org/", "doi:", " ")
	case "orcid":
		return cutLead(s, "https://", "http://", "www.", "orcid.org/")
	case "issn":
		return strings.ReplaceAll(s, "-", "")
	case "pmcid":
		return cutLead(s, "pmc", "PMC")
	case "lang":
		return languageCode(s)
	case "type":
		// journal-article, Journal Article and journal_article are one.
		return strings.Join(wordsOf(s), " ")
	}
	return s
}

// sentForm is a value as sources write it, of an identifier that has other spellings. Sources know
// one spelling each, and find nothing for the others.
func sentForm(field, value string) string {
	switch field {
	case "doi":
		lower := strings.ToLower(value)
		if bare := keyForm(field, lower, strings.TrimSpace); len(bare) < len(lower) && len(lower) == len(value) {
			return bare
		}
	case "orcid":
		if bare := keyForm(field, value, strings.ToLower); len(bare) < len(value) {
			return strings.ToUpper(bare)
		}
	case "issn":
		const digits = 8
		if bare := strings.ToUpper(strings.ReplaceAll(value, "-", "")); len(bare) == digits {
			return bare[:digits/2] + "-" + bare[digits/2:]
		}
	case "pmcid":
		bare := keyForm(field, value, strings.ToLower)
		if bare != "" && strings.Trim(bare, "0123456789") == "" {
			return "PMC" + bare
		}
	}
	return value
}

// sendable is e with its identifiers as sources write them.
func sendable(e Expr) Expr {
	switch e := e.(type) {
	case And:
		return And{Of: each(e.Of, sendable), At: e.At}
	case Or:
		return Or{Of: each(e.Of, sendable), At: e.At}
	case Not:
		return Not{Of: sendable(e.Of), At: e.At}
	case Term:
		e.Text = sentForm(e.Field, e.Text)
		return e
	case In:
		values := make([]Value, len(e.Values))
		for i, v := range e.Values {
			values[i] = Value{sentForm(e.Field, v.Text), v.At}
		}
		e.Values = values
		return e
	}
	return e
}

// cutLead takes off each of the leads that the text begins with, in their order.
func cutLead(s string, leads ...string) string {
	for _, lead := range leads {
		s = strings.TrimPrefix(s, lead)
	}
	return s
}
