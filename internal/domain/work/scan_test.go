package work

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"unicode"

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
	"Sjögren's R&D", "R&amp;D <i>in vivo</i>\u2014 Ｗide", "Gue\u0301rin \u212belvin \u212a", "l\u2019or de\u02bcs O\u2018Brien", "前言: x", "Łódź–Æther ½", "\xff<b>", "&lt;b&gt;x",
}

// slowFold folds a text by the rules that hold for every character: what separates words becomes a
// blank, and of blanks one is left between two words.
func slowFold(s string) string {
	var forms strings.Builder
	for _, r := range markup.Plain(s) {
		r = unicode.ToLower(letters.Narrow(r))
		isWord := unicode.IsLetter(r) || unicode.IsNumber(r)
		text, marked := letters.Plain(r)
		switch {
		case letters.IsMark(r) || strings.ContainsRune("'\u2019\u2018\u02bc", r):
		case !isWord:
			forms.WriteByte(' ')
		case marked:
			forms.WriteString(text)
		default:
			forms.WriteRune(r)
		}
	}
	return strings.Join(strings.Fields(forms.String()), " ")
}

func FuzzFold(f *testing.F) {
	for _, s := range foldedTexts {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if got, want := fold(s), slowFold(s); got != want {
			t.Errorf("%q: %q and not %q", s, got, want)
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
