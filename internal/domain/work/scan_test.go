package work

import (
	"encoding/json"
	"reflect"
	"testing"
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

// TestFold_ShortcutsAreTheLongWay: what is folded or recognised quickly is what it would
// be by the rules that hold for every text.
func TestFold_ShortcutsAreTheLongWay(t *testing.T) {
	texts := []string{
		"", " ", "A title", "it's  the Müller-case", "x_y 12", "  lead & trail. ", "a<b", "\tTab\nline", "don't", "'", "Erratum: to x", "\"Correction: \" y", "_not",
		"Reply", "co", "Notice of retraction: x", "author Correction here", "12 retraction notes", "Retracted: a thing",
	}
	for _, s := range texts {
		if isPlainASCII(s) {
			slow := fold(s + "<") // a sign that is no markup takes the long way and leaves nothing
			if got := foldASCII(s); got != slow {
				t.Errorf("%q: %q and not %q", s, got, slow)
			}
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
