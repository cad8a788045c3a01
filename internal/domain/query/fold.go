package query

import (
	"strings"
	"unicode"
)

// plainLetters are letters with an accent, a stroke or a tie, each behind the plain
// letters that stand for it. The standard library does not know how characters are
// composed; this list has those of the languages that are written with Latin letters.
var plainLetters = foldTable(map[string]string{
	"a": "àáâãäåāăąǎǟǡǻȁȃȧạảấầẩẫậắằẳẵặḁẚⱥ", "ae": "æǣǽ", "b": "ḃḅḇƀɓ", "c": "çćĉċčḉƈȼ", "d": "ďđḋḍḏḑḓɗð", "dz": "ǆǳ",
	"e": "èéêëēĕėęěȅȇȩḕḗḙḛḝẹẻẽếềểễệɇ", "f": "ḟƒ", "g": "ĝğġģǧǵḡǥɠ", "h": "ĥħȟḣḥḧḩḫẖⱨ",
	"i": "ìíîïĩīĭįıǐȉȋḭḯỉịɨ", "ij": "ĳ", "j": "ĵǰɉ", "k": "ķĸǩḱḳḵƙⱪ", "l": "ĺļľŀłḷḹḻḽƚɫⱡ", "lj": "ǉ",
	"m": "ḿṁṃ", "n": "ñńņňŉŋǹṅṇṉṋɲƞ", "nj": "ǌ", "o": "òóôõöøōŏőơǒǫǭǿȍȏȫȭȯȱṍṏṑṓọỏốồổỗộớờởỡợɵ", "oe": "œ",
	"p": "ṕṗƥᵽ", "q": "ɋ", "r": "ŕŗřȑȓṙṛṝṟɍɽ", "s": "śŝşšșṡṣṥṧṩſẛȿ", "ss": "ßẞ", "t": "ţťŧțṫṭṯṱẗƭʈⱦ", "th": "þ",
	"u": "ùúûüũūŭůűųưǔǖǘǚǜȕȗṳṵṷṹṻụủứừửữựʉ", "v": "ṽṿʋ", "w": "ŵẁẃẅẇẉẘⱳ", "x": "ẋẍ", "y": "ýÿŷȳẏẙỳỵỷỹɏƴ", "z": "źżžẑẓẕƶȥɀⱬ",
	"ff": "ﬀ", "fi": "ﬁ", "fl": "ﬂ", "ffi": "ﬃ", "ffl": "ﬄ", "st": "ﬅﬆ",
	"α": "άὰᾶἀἁ", "ε": "έὲἐἑ", "η": "ήὴῆἠἡ", "ι": "ίϊΐὶῖ", "ο": "όὸὀὁ", "υ": "ύϋΰὺῦ", "ω": "ώὼῶὠὡ", "σ": "ς",
	"е": "ёѐ", "и": "ѝ", "і": "ї", "г": "ѓ", "к": "ќ",
})

func foldTable(by map[string]string) map[rune]string {
	table := make(map[rune]string)
	for plain, letters := range by {
		for _, r := range letters {
			table[r] = plain
		}
	}
	return table
}

// folded is a text without case and accents, its white space made plain.
func folded(s string) string {
	var b strings.Builder
	b.Grow(len(s))
	for _, r := range plainText(s) {
		switch {
		case r < 0x80:
			b.WriteRune(unicode.ToLower(r))
			continue
		case unicode.Is(unicode.Mn, r): // an accent on its own, behind its letter
			continue
		case r >= '\uff01' && r <= '\uff5e': // the wide forms of ASCII
			r -= 0xfee0
		}
		r = unicode.ToLower(r)
		if plain, ok := plainLetters[r]; ok {
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

// cutLead takes off each of the leads that the text begins with, in their order.
func cutLead(s string, leads ...string) string {
	for _, lead := range leads {
		s = strings.TrimPrefix(s, lead)
	}
	return s
}
