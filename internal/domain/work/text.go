package work

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/papertrace/patra/internal/domain/doi"
	"github.com/papertrace/patra/internal/domain/letters"
	"github.com/papertrace/patra/internal/domain/markup"
)

// fold is a text in small plain letters and digits with one blank between words: marks,
// punctuation, markup and the forms of characters are gone. Digits and numerals stay,
// for they tell parts of a series apart.
func fold(s string) string {
	if isPlainASCII(s) {
		return foldASCII(s)
	}
	s = markup.Plain(s)
	var b strings.Builder
	b.Grow(len(s))
	gap := false
	for _, r := range s {
		if r >= 0x80 {
			r = unicode.ToLower(letters.Narrow(r))
		}
		var plain byte // the form of a character of ASCII
		switch {
		case r < 0x80:
			plain = asciiForms[r]
			if plain == 0 {
				gap = gap || b.Len() > 0 && r != '\''
				continue
			}
		case letters.IsMark(r) || r == '\u2019' || r == '\u2018' || r == '\u02bc':
			continue
		case !unicode.IsLetter(r) && !unicode.IsNumber(r):
			gap = b.Len() > 0
			continue
		}
		if gap {
			b.WriteByte(' ')
			gap = false
		}
		if plain != 0 {
			b.WriteByte(plain)
		} else if text, marked := letters.Plain(r); marked {
			b.WriteString(text)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// isPlainASCII reports whether a text has neither markup nor letters beyond ASCII.
func isPlainASCII(s string) bool {
	for i := range len(s) {
		if c := s[i]; c >= 0x80 || c == '<' || c == '>' || c == '&' {
			return false
		}
	}
	return true
}

// foldASCII does what [fold] does, faster: most texts are so.
func foldASCII(s string) string {
	if isFolded(s) {
		return s
	}
	var room [256]byte
	out := room[:]
	if len(s) > len(room) {
		out = make([]byte, len(s))
	}
	n := 0
	gap := false
	for i := range len(s) {
		c := asciiForms[s[i]]
		if c == 0 {
			gap = gap || n > 0 && s[i] != '\''
			continue
		}
		if gap {
			out[n] = ' '
			n++
			gap = false
		}
		out[n] = c
		n++
	}
	return string(out[:n])
}

// asciiForms has for letters and digits their folded form, and 0 for all else.
var asciiForms = func() (form [256]byte) {
	for c := byte('a'); c <= 'z'; c++ {
		form[c] = c
		form[c&^0x20] = c
	}
	for c := byte('0'); c <= '9'; c++ {
		form[c] = c
	}
	return form
}()

// isFolded reports whether a text is one word in small letters and digits.
func isFolded(s string) bool {
	for i := range len(s) {
		if c := s[i]; (c < 'a' || c > 'z') && (c < '0' || c > '9') {
			return false
		}
	}
	return true
}

// withdrawnPrefixes stand before the title of what was taken back, which is the same
// text still.
var withdrawnPrefixes = []string{
	"retracted article ", "retracted chapter ", "retracted ", "withdrawn ", "temporary removal ", "removed ", "article withdrawn ",
}

// normalTitle is the title as it is compared.
func normalTitle(s string) string {
	t := fold(s)
	if t == "" || !strings.ContainsRune("rwta", rune(t[0])) { // none of the prefixes begins so
		return t
	}
	for _, p := range withdrawnPrefixes {
		word := strings.TrimSpace(p)
		// Only before a colon: a retracted tongue is an anatomical finding.
		if rest, found := strings.CutPrefix(t, p); found && strings.Contains(doi.Lower(s), lastWord(word)+":") {
			return rest
		}
	}
	return t
}

// subtitleSigns stand between a title and its subtitle, and so do wideSigns, which are not of ASCII
// alone.
var (
	subtitleSigns = []string{": ", " - ", "? ", ". "}
	wideSigns     = []string{" – ", " — ", "：", "——"}
)

// mainTitle is a title up to its subtitle, empty if it has none, and the whole of it,
// with the subtitle that a source gives by itself.
func mainTitle(title, subtitle string) (main, whole string) {
	if subtitle != "" && !strings.Contains(title, subtitle) {
		return title, title + ": " + subtitle
	}
	first := firstSign(title, subtitleSigns)
	if hasWide(title) {
		first = min(first, firstSign(title, wideSigns))
	}
	if first == len(title) {
		return "", title
	}
	return title[:first], title
}

// firstSign is where the first of some signs stands in a title, its end if there is none.
func firstSign(title string, signs []string) int {
	first := len(title)
	for _, sign := range signs {
		if i := strings.Index(title, sign); i > 0 && i < first {
			first = i
		}
	}
	return first
}

// hasWide reports whether a text may have a character that stands for a syllable or a word, or a
// sign such as a dash. Most texts have none, and this is seen at a glance.
func hasWide(s string) bool {
	for i := range len(s) {
		if s[i] >= firstOfWide {
			return true
		}
	}
	return false
}

// firstOfWide is the least byte with which characters from U+1000 on begin.
const firstOfWide = 0xE1

func lastWord(s string) string { return s[strings.LastIndexByte(s, ' ')+1:] }

// similarity of two normal titles, from 0 to 1: the better of how many words they share
// and of how few letters tell them apart.
func similarity(a, b string) float64 {
	if a == "" || b == "" {
		return 0
	}
	if a == b {
		return 1
	}
	return max(sharedWords(a, b), editRatio(a, b))
}

// isDenseRune reports whether a character stands for a syllable or a word.
func isDenseRune(r rune) bool {
	return r >= 0x1100 && unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul)
}

// isDense reports whether a text is in a script whose characters are syllables or words.
func isDense(s string) bool {
	if !hasWide(s) {
		return false
	}
	dense, others := 0, 0
	for _, r := range s {
		switch {
		case r < 0x80 && r != ' ':
			others++
		case isDenseRune(r):
			dense++
		}
	}
	return dense > 0 && 2*dense >= others
}

// sharedWords is the share of words that both have (Dice).
func sharedWords(a, b string) float64 {
	left := appendWords(make([]string, 0, usualWords), a)
	right := appendWords(make([]string, 0, usualWords), b)
	if len(left) == 0 || len(right) == 0 {
		return 0
	}
	words := len(left) + len(right)
	return 2 * float64(wordsInBoth(left, right)) / float64(words)
}

// wordsInBoth is how many words of two lists are in both, each as often as it is. It may change the
// order of the first.
func wordsInBoth(left, right []string) int {
	both := 0
	if len(left) > usualWords {
		have := make(map[string]int, len(left))
		for _, w := range left {
			have[w]++
		}
		for _, w := range right {
			if have[w] > 0 {
				have[w]--
				both++
			}
		}
		return both
	}
	for _, w := range right { // going through a few costs less than a table
		if at := slices.Index(left, w); at >= 0 {
			both++
			left[at] = left[len(left)-1]
			left = left[:len(left)-1]
		}
	}
	return both
}

// usualWords is how many words few titles have more of.
const usualWords = 32

// appendWords appends the words of a normal title.
func appendWords(words []string, title string) []string {
	for w := range strings.FieldsSeq(title) {
		words = append(words, w)
	}
	return words
}

// comparedMost is how many letters of titles are compared one by one.
const comparedMost = 400

// editRatio is 1 less the share of letters that have to be changed.
func editRatio(a, b string) float64 {
	// Titles of very different lengths are never close: nothing has to be counted.
	n := min(utf8.RuneCountInString(a), comparedMost)
	m := min(utf8.RuneCountInString(b), comparedMost)
	longest := max(n, m)
	if longest == 0 || float64(max(n-m, m-n)) > 0.2*float64(longest) {
		return 0
	}
	// What both begin and end with need not be changed.
	x, y := difference(firstRunes(a, n), firstRunes(b, m))
	return 1 - float64(editDistance(x, y))/float64(longest)
}

// firstRunes are the first n letters of a text, which has so many.
func firstRunes(s string, n int) []rune {
	out := make([]rune, 0, n)
	for _, r := range s {
		if len(out) == n {
			break
		}
		out = append(out, r)
	}
	return out
}

// otherWords reports whether one title has words in place of others of the other title.
// What is only spelt otherwise, divided otherwise, or is missing, is no other word.
func otherWords(a, b string) bool {
	if isDense(a) {
		left, right := difference([]rune(a), []rune(b))
		return len(left) > 1 && len(right) > 1 && editRatio(string(left), string(right)) < sameWord
	}
	left := wordsBeside(a, b)
	right := wordsBeside(b, a)
	return left != "" && right != "" && editRatio(left, right) < sameWord
}

// sameWord is how alike two spellings of a word are.
const sameWord = 0.6

// wordsBeside are the words of a title that another does not have, in one piece, but
// for small ones.
func wordsBeside(title, other string) string {
	var b strings.Builder
	have := strings.Fields(other)
	for w := range strings.FieldsSeq(title) {
		if len(w) > 3 && !smallWords.has(w) && !slices.Contains(have, w) {
			b.WriteString(w)
		}
	}
	return b.String()
}

// difference is what is left of two texts without their common beginning and end.
func difference(a, b []rune) (left, right []rune) {
	for len(a) > 0 && len(b) > 0 && a[0] == b[0] {
		a = a[1:]
		b = b[1:]
	}
	for len(a) > 0 && len(b) > 0 && a[len(a)-1] == b[len(b)-1] {
		a = a[:len(a)-1]
		b = b[:len(b)-1]
	}
	return a, b
}

// isRoman reports whether a word is a numeral that tells parts of a series apart. A lone i
// is a word too, and counts as a numeral all the same: it only ever keeps two titles apart.
func isRoman(w string) bool {
	switch w {
	case "i", "ii", "iii", "iv", "v", "vi", "vii", "viii", "ix", "x", "xi", "xii":
		return true
	}
	return false
}

// changing are words that change what a title is about: with one of them in only one of two titles
// these are two texts.
var changing = newVocabulary("protocol", "erratum", "errata", "corrigendum", "correction", "reply", "response", "comment", "comments", "commentary", "retraction",
	"editorial", "supplement", "supplementary", "part", "appendix", "stage", "update", "updated", "abstract", "poster", "rebuttal",
	"addendum", "first", "second", "third", "fourth", "reanalysis", "replication", "dataset", "data", "not", "no", "without", "review",
	"summary", "translation", "reprint", "followup", "male", "female", "men", "women", "boys", "girls", "children", "adults", "follow",
	"acute", "chronic", "north", "south", "east", "west")

// vocabulary is a set of words in small letters. It is mostly asked for words that are not in it.
type vocabulary struct {
	all map[string]bool
	// begins has for every length of a word a bit for each letter that one begins with.
	begins [longestKnown + 1]uint32
}

// longestKnown is how long the words of a set may be.
const longestKnown = 16

func newVocabulary(list ...string) *vocabulary {
	set := &vocabulary{all: make(map[string]bool, len(list))}
	for _, w := range list {
		set.all[w] = true
		set.begins[len(w)] |= 1 << (w[0] - 'a')
	}
	return set
}

func (set *vocabulary) has(w string) bool {
	if w == "" || len(w) > longestKnown || set.begins[len(w)]>>(w[0]-'a')&1 == 0 {
		return false
	}
	return set.all[w]
}

// tellApart reports whether two titles differ in a number, a numeral or a word that
// makes them titles of two texts, however alike they are.
func tellApart(a, b string) bool {
	return tellingOf(a) != tellingOf(b)
}

// tellingOf are the words of a title that tell it from others, in their order.
func tellingOf(title string) string {
	var b strings.Builder
	if isDense(title) {
		for _, w := range denseTelling.FindAllString(title, -1) {
			b.WriteString(w)
			b.WriteByte(' ')
		}
		return b.String()
	}
	for title != "" {
		var w string
		w, title, _ = strings.Cut(title, " ")
		if tells(w) {
			b.WriteString(w)
			b.WriteByte(' ')
		}
	}
	return b.String()
}

// denseTelling are such words in Chinese, Japanese and Korean titles, where they stand
// within others: numbers, parts, protocols, notices, replies, and who or what was studied.
var denseTelling = regexp.MustCompile(`[0-9]+|\b[ivx]+\b|第[一二三四五六七八九十]+|(?:^| )[一二三四五六七八九十上中下前后後续續](?: |$)|[一二三四五六七八九十]$|` +
	`勘误|勘誤|更正|訂正|正誤|撤稿|撤回|方案|计划书|計画書|プロトコル|프로토콜|答复|回复|回應|返答|评论|述评|综述|総説|补充|補遺|` +
	`男|女|儿童|小児|成人|老年|高齢|急性|慢性|정정|철회|답변|남성|여성|소아|성인|급성|만성`)

// tells reports whether a word of a title tells it from others.
func tells(w string) bool {
	for i := range len(w) {
		if w[i] >= '0' && w[i] <= '9' {
			return true
		}
	}
	return isRoman(w) || changing.has(w)
}

// commonTitles head many texts: they say nothing about which.
var commonTitles = map[string]bool{}

func init() {
	for _, t := range []string{
		"editorial", "editorials", "reply", "authors reply", "author reply", "response", "preface", "foreword", "introduction", "short notices", "front matter", "back matter",
		"index", "author index", "subject index", "book review", "book reviews", "instructions for authors", "guidelines for authors",
		"information for authors", "table of contents", "contents", "editorial board", "letter to the editor", "letters to the editor",
		"announcements", "news", "in memoriam", "obituary", "masthead", "cover", "issue information", "acknowledgement of reviewers",
		"acknowledgment of reviewers", "thanks to reviewers", "list of reviewers", "conference report", "meeting report", "abstracts",
		"poster presentations", "oral presentations", "case report", "erratum", "corrigendum", "correction", "retraction", "untitled",
		"the editors choice", "from the editor", "message from the editor", "letter from the editor", "note from the editor", "presidents message",
		"editorial introduction to the special issue", "introduction to the special issue", "guest editorial", "calendar of events", "upcoming events",
		"oup accepted manuscript", "unknown title", "notes and news", "reviewer acknowledgement", "correspondence", "comment", "commentary",
		"acknowledgement to referees", "acknowledgments to referees", "advertising index", "instructions for authors and reviewers", "recent publications", "books received",
	} {
		commonTitles[t] = true
	}
}

// shortestTitle is how many letters a title must have to say anything.
const shortestTitle = 20

// sayingTitle reports whether a normal title says which text it is of. Ideographs and
// syllables count as two letters.
func sayingTitle(t string) bool {
	letters := utf8.RuneCountInString(t)
	if hasWide(t) {
		for _, r := range t {
			if isDenseRune(r) {
				letters++
			}
		}
	}
	return letters >= shortestTitle && !commonTitles[t]
}
