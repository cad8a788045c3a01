package work

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/papertrace/patra/internal/domain/letters"
	"github.com/papertrace/patra/internal/domain/markup"
)

// slowRead reads fields as the standard library does.
func slowRead(doc []byte) (f fields, err error) {
	err = json.Unmarshal(doc, &f)
	return f, err
}

var odd = []string{
	`{}`, ` { } `, `{"title":"a"}`, `{"title":null,"doi":"10.1/x"}`, `{"title":"a \"b\" \\"}`, `{"title":"a\u00e9\n"}`, `{"title":"\\\\","doi":"x"}`,
	`{"Title":"other case"}`, `{"title":"a","title":"b"}`, `{"title":5}`, `{"title":"bad ` + "\xff" + `"}`, `{"authors":[{"family":"A","given":"B"},{"name":"C"}]}`,
	`{"authors":[]}`, `{"authors":null}`, `{"authors":[null,{"family":"X"}]}`, `{"authors":[{"family":""},{"family":"Y"},{"family":"Z"}]}`, `{"authors":"none"}`,
	`{"issn":["1234-5678"],"other_ids":{"arxiv":"2101.00001","x":["y"]}}`, `{"other_ids":null,"issn":null}`, `{"abstract":"long } ] , \" text","title":"t"}`,
	`{"references":[{"a":["}"]}],"title":"t"}`, `{"cited":12.5e3,"open":true,"title":"t"}`, `{"title":"t"} x`, `{"title":"t"`, `[]`, ``, `"x"`, `{"title":"t",}`,
	"{\"title\":\"a\tb\"}", `{"pages" : "1-2" , "volume":"3"}`, `{"tit\u006ce":"x"}`,
}

func TestReadFields_AsTheStandardLibrary(t *testing.T) {
	for _, doc := range odd {
		want, wantErr := slowRead([]byte(doc))
		got, err := readFields([]byte(doc))
		if (err == nil) != (wantErr == nil) || err == nil && !reflect.DeepEqual(got, want) {
			t.Errorf("%s\n got %+v %v\nwant %+v %v", doc, got, err, want, wantErr)
		}
	}
}

func FuzzReadFields(f *testing.F) {
	for _, doc := range odd {
		f.Add([]byte(doc))
	}
	f.Fuzz(func(t *testing.T, doc []byte) {
		want, wantErr := slowRead(doc)
		if wantErr != nil {
			return // the store holds JSON; what is none is only not to be taken for a crash
		}
		got, err := readFields(doc)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s\n got %+v %v\nwant %+v", doc, got, err, want)
		}
	})
}

var foldedTexts = []string{
	"", " ", "A title", "it's  the Müller-case", "x_y 12", "  lead & trail. ", "a<b", "\tTab\nline", "don't", "'", "Erratum: to x", "\"Correction: \" y", "_not",
	"Reply", "co", "Notice of retraction: x", "author Correction here", "12 retraction notes", "Retracted: a thing",
	"Sjögren's R&D", "R&amp;D <i>in vivo</i>\u2014 Ｗide", "Gue\u0301rin \u212belvin \u212a", "\u2019s-Gravenhage", "前言: x", "Łódź–Æther ½", "\xff<b>", "&lt;b&gt;x",
	". a. b", ": a - b", " - a - b: c", "a - b", "a:  b? c", ". - x. y", "x . - y", "? ? : a",
}

// slowFold folds a text by the rules that hold for every character.
func slowFold(s string) string {
	var b strings.Builder
	gap := false
	for _, r := range markup.Plain(s) {
		r = unicode.ToLower(letters.Narrow(r))
		if letters.IsMark(r) || strings.ContainsRune("'\u2019\u2018\u02bc", r) {
			continue
		}
		if (r < 0x80 && (r < 'a' || r > 'z') && (r < '0' || r > '9')) || (r >= 0x80 && !unicode.IsLetter(r) && !unicode.IsNumber(r)) {
			gap = true
			continue
		}
		if gap && b.Len() > 0 {
			b.WriteByte(' ')
		}
		gap = false
		if plain, marked := letters.Plain(r); marked {
			b.WriteString(plain)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// slowSign finds the first of some signs that stands behind the beginning of a title.
func slowSign(title string) int {
	first := len(title)
	for _, sign := range []string{": ", " - ", "? ", ". "} {
		if i := strings.Index(title, sign); i > 0 && i < first {
			first = i
		}
	}
	return first
}

func FuzzFold(f *testing.F) {
	for _, s := range foldedTexts {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if got, want := fold(s), slowFold(s); got != want {
			t.Errorf("%q: %q and not %q", s, got, want)
		}
		if got, want := firstPlainSign(s), slowSign(s); got != want {
			t.Errorf("%q: the subtitle begins at %d, not at %d", s, got, want)
		}
		wide := strings.ContainsFunc(s, func(r rune) bool { return r >= 0x1000 })
		if utf8.ValidString(s) && wide && !hasWide(s) || hasWide(s) && strings.IndexFunc(s, func(r rune) bool { return r >= 0x80 }) < 0 {
			t.Errorf("%q: wide %v", s, hasWide(s))
		}
	})
}

// TestFold_ShortcutsAreTheLongWay: what is folded or recognised quickly is what it would
// be by the rules that hold for every text.
func TestFold_ShortcutsAreTheLongWay(t *testing.T) {
	for _, s := range foldedTexts {
		if got, want := fold(s), slowFold(s); got != want {
			t.Errorf("%q: %q and not %q", s, got, want)
		}
		if got, want := firstPlainSign(s), slowSign(s); got != want {
			t.Errorf("%q: the subtitle begins at %d, not at %d", s, got, want)
		}
		if got := isNoticeTitle(s); got != noticeTitle.MatchString(s) {
			t.Errorf("%q: notice %v", s, got)
		}
	}
	for _, s := range []string{"12-15", "007", "e12", "12a", "", "12, 14", "S3-S5", "0012-9"} {
		if got, want := firstPage(s), firstPage(" "+s); got != want {
			t.Errorf("page %q: %q and not %q", s, got, want)
		}
	}
}
