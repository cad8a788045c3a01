// Package letters knows which plain letters stand for those with an accent, a stroke or
// a tie, so that all who compare texts find the same ones equal.
package letters

import "unicode"

// Plain is what stands for a small letter that has an accent, a stroke or a tie; false if
// it has none.
func Plain(r rune) (string, bool) {
	if r < 0x80 {
		return "", false // most letters are not looked up
	}
	plain, marked := plain[r]
	return plain, marked
}

// IsMark reports whether a character is an accent on its own, behind its letter.
func IsMark(r rune) bool { return unicode.Is(unicode.Mn, r) }

// Narrow is the ASCII form of a character that is written wide, else the character.
func Narrow(r rune) rune {
	const wide = '\uff01' - '!'
	if r >= '\uff01' && r <= '\uff5e' {
		return r - wide
	}
	return r
}

// plain is the plain form of each. The standard library does not know how characters are
// composed; this list has those of the languages that are written with Latin letters, and
// the most common of Greek and Cyrillic.
var plain = turned(map[string]string{
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

// turned has the letters of each list behind what stands for them.
func turned(by map[string]string) map[rune]string {
	table := make(map[rune]string)
	for plain, marked := range by {
		for _, r := range marked {
			table[r] = plain
		}
	}
	return table
}
