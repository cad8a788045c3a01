package query

import "strings"

// languages are those that sources name in more than one way: the code of two letters,
// then the other names of it.
var languages = languageTable(
	"ar ara arabic", "bg bul bulgarian", "ca cat catalan", "cs cze ces czech", "da dan danish", "de ger deu german", "el gre ell greek",
	"en eng english", "es spa spanish", "et est estonian", "fa per fas persian", "fi fin finnish", "fr fre fra french", "he heb hebrew",
	"hi hin hindi", "hr hrv scr croatian", "hu hun hungarian", "id ind indonesian", "is ice isl icelandic", "it ita italian",
	"ja jpn japanese", "ko kor korean", "lt lit lithuanian", "lv lav latvian", "ms may msa malay", "nl dut nld dutch", "no nor norwegian",
	"pl pol polish", "pt por portuguese", "ro rum ron romanian", "ru rus russian", "sk slo slk slovak", "sl slv slovenian",
	"sr srp scc serbian", "sv swe swedish", "th tha thai", "tr tur turkish", "uk ukr ukrainian", "vi vie vietnamese", "zh chi zho chinese",
)

func languageTable(lines ...string) map[string]string {
	table := make(map[string]string)
	for _, line := range lines {
		names := strings.Fields(line)
		for _, name := range names {
			table[name] = names[0]
		}
	}
	return table
}

// languageCode is the one name of a language: its code of two letters where that is
// known. A region behind it, as in en-GB, does not matter.
func languageCode(name string) string {
	name = strings.ToLower(name)
	if code, ok := languages[name]; ok {
		return code
	}
	lead, _, _ := strings.Cut(strings.ReplaceAll(name, "_", "-"), "-")
	if code, ok := languages[lead]; ok {
		return code
	}
	return name
}
