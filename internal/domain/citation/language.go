package citation

import "strings"

// languages are codes of three letters, of books and of terms, and the two letters
// that reference managers know.
var languages = map[string]string{
	"afr": "af", "ara": "ar", "aze": "az", "bel": "be", "bos": "bs", "bul": "bg", "cat": "ca", "ces": "cs", "chi": "zh", "cze": "cs", "dan": "da",
	"deu": "de", "dut": "nl", "ell": "el", "eng": "en", "est": "et", "eus": "eu", "fas": "fa", "fin": "fi", "fra": "fr", "fre": "fr", "geo": "ka",
	"ger": "de", "glg": "gl", "gre": "el", "heb": "he", "hin": "hi", "hrv": "hr", "hun": "hu", "hye": "hy", "ice": "is", "ind": "id", "isl": "is",
	"ita": "it", "jpn": "ja", "kat": "ka", "kaz": "kk", "kor": "ko", "lat": "la", "lav": "lv", "lit": "lt", "mac": "mk", "may": "ms", "mkd": "mk",
	"msa": "ms", "nld": "nl", "nno": "nn", "nob": "nb", "nor": "no", "per": "fa", "pol": "pl", "por": "pt", "ron": "ro", "rum": "ro", "rus": "ru",
	"scc": "sr", "scr": "hr", "slk": "sk", "slo": "sk", "slv": "sl", "spa": "es", "sqi": "sq", "srp": "sr", "swe": "sv", "tha": "th", "tur": "tr",
	"ukr": "uk", "urd": "ur", "uzb": "uz", "vie": "vi", "wel": "cy", "zho": "zh",
}

// bookCodes are the codes of three letters that libraries use, by the two letters.
var bookCodes = map[string]string{
	"af": "afr", "ar": "ara", "az": "aze", "be": "bel", "bg": "bul", "bs": "bos", "ca": "cat", "cs": "cze", "cy": "wel", "da": "dan", "de": "ger",
	"el": "gre", "en": "eng", "es": "spa", "et": "est", "eu": "baq", "fa": "per", "fi": "fin", "fr": "fre", "gl": "glg", "he": "heb", "hi": "hin",
	"hr": "hrv", "hu": "hun", "hy": "arm", "id": "ind", "is": "ice", "it": "ita", "ja": "jpn", "ka": "geo", "kk": "kaz", "ko": "kor", "la": "lat",
	"lt": "lit", "lv": "lav", "mk": "mac", "ms": "may", "nb": "nor", "nl": "dut", "nn": "nor", "no": "nor", "pl": "pol", "pt": "por", "ro": "rum",
	"ru": "rus", "sk": "slo", "sl": "slv", "sq": "alb", "sr": "srp", "sv": "swe", "th": "tha", "tr": "tur", "uk": "ukr", "ur": "urd", "uz": "uzb",
	"vi": "vie", "zh": "chi",
}

// languageOf is the code of a language in two letters where it is known, else as it
// was written.
func languageOf(s string) string {
	s = Line(s)
	code, _, _ := strings.Cut(strings.ToLower(s), "-")
	code, _, _ = strings.Cut(code, "_")
	if _, ok := bookCodes[code]; ok {
		return code
	}
	if two, ok := languages[code]; ok {
		return two
	}
	return s
}

// BookLanguage is the code of three letters that PubMed uses, or empty.
func (c *Citation) BookLanguage() string {
	if three, ok := bookCodes[c.Language]; ok {
		return three
	}
	if len(c.Language) == 3 {
		return strings.ToLower(c.Language)
	}
	return ""
}
