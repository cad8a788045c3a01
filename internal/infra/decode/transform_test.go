package decode

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/source"
)

func TestTransform(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{`regex:^(.*)v[0-9]+$`, "2008.01234v12", "2008.01234"},
		{`regex:^(.*)v[0-9]+$`, "2008.01234", ""},
		{`regex:[0-9]+`, "W123x45", "123"},
		{`regex:a(x)|b(y)`, "by", "y"}, // the first group that took part
		{`regex:a(x)?`, "a", ""},       // one that took no part holds nothing
		{`regex:SCOPUS_ID:(\d+)`, "SCOPUS_ID:85", "85"},
		{`regex:.`, strings.Repeat("x", maxMatched+1), ""},
		{"prefix:doi:", "doi:10.1/x", "10.1/x"},
		{"prefix:doi:", "DOI:10.1/x", "DOI:10.1/x"},
		{"prefix:x", "x", ""},
		{"lead:https://x.org/", "1", "https://x.org/1"},
		{"map:ja=Japanese;en=English", "en", "English"},
		{"map:ja=Japanese;en=English", " en ", "English"},
		{"map:ja=Japanese;en=English", "fr", "fr"},
		{"map:ja=Japanese;*=other", "fr", "other"},
		{"map:none=;a=b", "none", ""},
		{"map:a=b=c", "a", "b=c"},
	} {
		f, err := newTransform(c.name)
		if err != nil {
			t.Fatal(err)
		}
		in := []byte(c.in)
		if got := string(f(new(arena), in)); got != c.want {
			t.Errorf("%s of %.40q: %q, want %q", c.name, c.in, got, c.want)
		}
		if string(in) != c.in {
			t.Errorf("%s of %.40q changed what it was given", c.name, c.in)
		}
	}
}

func TestTransform_BadArgumentsAreRefused(t *testing.T) {
	for name, want := range map[string]string{
		"regex:(":                "missing closing",
		"regex:":                 "nothing stands behind the colon",
		"regex":                  "nothing stands behind the colon",
		"prefix:":                "nothing stands behind the colon",
		"map:a":                  "is not value=replacement",
		"map:a=b;;":              "is not value=replacement",
		"map:=b":                 "is not value=replacement",
		"map:a=b;a=c":            "twice",
		"map:*=b;*=c":            "twice",
		"split:":                 "a text to cut at",
		"split:;|split:,":        "goes once",
		"rot13":                  "no transform",
		"text:x":                 "no transform",
		"text|inverted_index":    "comes first",
		"inverted_index:1":       "no transform",
		"regex:" + long("a"):     "an argument of more than",
		"map:" + long("a=b;"):    "an argument of more than",
		"regex:(a{1000}){1000}{": "regex",
	} {
		ep := &source.Endpoint{Format: source.FormatJSON, Response: source.Response{
			Items: []string{"i"}, ID: []source.Pick{{Path: "id", Clean: strings.Split(name, "|")}},
		}}
		if strings.HasPrefix(name, "regex:(a{") {
			ep.Response.ID[0].Clean = []string{name}
		}
		_, err := Compile(ep, source.Identity{}, nil, harvest.Calendar{})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40s: %v, want %s", name, err, want)
		}
	}
	for _, p := range []source.Pick{
		{All: []string{"a", "b"}, Clean: []string{"inverted_index"}},
		{All: []string{"a", "b"}, Path: "c"},
		{All: []string{"a", "b["}},
		{All: strings.Split(strings.Repeat("a ", maxComposed)+"a", " ")},
	} {
		ep := &source.Endpoint{Format: source.FormatJSON, Response: source.Response{Items: []string{"i"}, ID: []source.Pick{p}}}
		if _, err := Compile(ep, source.Identity{}, nil, harvest.Calendar{}); err == nil {
			t.Errorf("%+v compiles", p)
		}
	}
	ep := &source.Endpoint{Format: source.FormatXML, Response: source.Response{Items: []string{"r/i"}, ID: cleaned("id", "inverted_index")}}
	if _, err := Compile(ep, source.Identity{}, nil, harvest.Calendar{}); err == nil {
		t.Error("an inverted index in XML compiles")
	}
}

func long(s string) string { return strings.Repeat(s, maxArgument+1) }

// composite is an item of either format with two parts of an id and a list in
// one text.
func composite(format string) *Decoder {
	all := func(sep string, paths ...string) source.Pick { return source.Pick{All: paths, Sep: sep} }
	ep := &source.Endpoint{Format: format, Response: source.Response{
		Items: []string{"r.i"}, ID: []source.Pick{all(":", "s", "n"), {Path: "alt"}},
		UpdatedAt: dated(all("T", "day", "clock")), Version: []source.Pick{all("", "v", "w")},
	}}
	if format == source.FormatXML {
		ep.Response.Items = []string{"r/i"}
	}
	doi := all("/", "p", "q")
	doi.Clean = []string{"prefix:doi:", "upper"}
	m := &source.Mapping{Fields: []source.Field{
		text("pages", all("-", "from", "to"), source.Pick{Path: "from"}),
		text("doi", doi),
		list("kw", cleaned("kw", "trim", "split:;", "map:A=alpha;x=", "lower")...),
		text("first", cleaned("kw", "split:;", "lower")...),
		{Name: "joined", Kind: source.FieldText, Join: " / ", From: cleaned("kw", "split:;")},
		list("years", source.Pick{Path: "years", Clean: []string{"split: "}, Format: "YEAR"}),
		{Name: "o", Kind: source.FieldObjects, Each: []string{"o"}, Fields: []source.Field{text("n", all(" ", "a", "b"))}},
		{Name: "m", Kind: source.FieldMap, Entries: []source.Entry{{Key: "k", From: []source.Pick{all("|", "s", "n")}}}},
	}}
	d, err := Compile(ep, source.Identity{}, m, harvest.Calendar{})
	if err != nil {
		panic(err)
	}
	return d
}

func TestPick_AllPartsOrNothing(t *testing.T) {
	type want struct{ id, updated, fields string }
	wants := []want{
		{"MED:12", "2026-03-04T05:06:07Z", `{"pages":"1-9","doi":"10.1/X","kw":["alpha","b c","a"],"first":"a","joined":"A / b C / x / a / A","years":["1998","1999"],"o":[{"n":"p q"},{"n":"s t"}],"m":{"k":"MED|12"}}`},
		{"only", "2026-03-04T05:06:00Z", `{"pages":"1"}`},
		{"", "", `{}`},
	}
	for format, body := range map[string]string{
		source.FormatJSON: `{"r":{"i":[
			{"s":"MED","n":12,"day":"2026-03-04","clock":"05:06:07","v":1,"w":"2","from":"1","to":9,"p":"doi:10.1","q":"x","kw":" A;; b C ;x;a;A","years":"1998 1999",
			 "o":[{"a":"p","b":"q"},{"a":"r"},{"b":"t","a":"s"}]},
			{"s":"MED","n":null,"alt":"only","day":"2026-03-04","clock":"05:06","from":"1","to":"","kw":" ; "},
			{"s":"","n":1,"day":"2026-03-04"}]}}`,
		source.FormatXML: `<r>
			<i><s>MED</s><n> 12 </n><day>2026-03-04</day><clock>05:06:07</clock><v>1</v><w>2</w><from>1</from><to>9</to><p>doi:10.1</p><q>x</q><kw> A;; b C ;x;a;A</kw><years>1998 1999</years>
			 <o><a>p</a><b>q</b></o><o><a>r</a></o><o><b>t</b><a>s</a></o></i>
			<i><s>MED</s><n/><alt>only</alt><day>2026-03-04</day><clock>05:06</clock><from>1</from><to></to><kw> ; </kw></i>
			<i><s></s><n>1</n><day>2026-03-04</day></i></r>`,
	} {
		p := page(t, composite(format), body)
		var got []want
		for _, it := range p.Items {
			w := want{id: it.ID, fields: string(it.Fields)}
			if !it.UpdatedAt.IsZero() {
				w.updated = it.UpdatedAt.Format("2006-01-02T15:04:05Z07:00")
			}
			got = append(got, w)
		}
		if diff := cmp.Diff(wants, got, cmp.AllowUnexported(want{})); diff != "" {
			t.Errorf("%s:\n%s", format, diff)
		}
		if p.Items[0].Version != 12 {
			t.Errorf("version %d", p.Items[0].Version)
		}
		if pr := p.Items[2].Problem; pr == nil || pr.Code != harvest.ProblemNoID || pr.Path != "s and n" {
			t.Errorf("problem %+v", pr)
		}
	}
}

func TestTransform_InvertedIndex(t *testing.T) {
	big := strings.Repeat("w", maxString/4)
	for in, want := range map[string]string{
		`{"a":[0,3],"cat":[1],"saw":[2],"\u00e9t\"e\/":[4]}`:  "a cat saw a ét\"e/",
		`{ "b" : [ 7 ] , "a" : [ 2 ] }`:                       "a b", // places nobody has leave no gap
		`{"a":[0],"b":[0]}`:                                   "b",
		`{"a":[99999],"b":[100000],"c":[999999999],"d":[-1]}`: "a",
		`{"a":[1e1,"2",null,1.5,[3],{}],"b":[4]}`:             "b",
		`{"a":0,"b":null,"c":"x","d":{"e":[1]},"f":[5]}`:      "f",
		`{}`:                        "",
		`null`:                      "",
		`"a text"`:                  "",
		`["a"]`:                     "",
		`{"` + big + `":[0,1,2]}`:   big + " " + big + " " + big,
		`{"` + big + `":[0,1,2,3]}`: "", // a string of that length would be refused too
	} {
		ep := &source.Endpoint{Format: source.FormatJSON, Response: source.Response{Items: []string{"i"}, ID: at("id")}}
		d := compile(t, ep, source.Identity{}, &source.Mapping{Fields: []source.Field{text("t", cleaned("x", "inverted_index")...)}})
		for _, d.parallelFrom = range []int{0, 1 << 30} {
			p := page(t, d, `{"i":[{"id":1,"x":`+in+`,"y":[1]}]}`)
			var f struct{ T string }
			if err := json.Unmarshal(p.Items[0].Fields, &f); err != nil || f.T != want {
				t.Errorf("%.60s: %.60q %v, want %.60q", in, f.T, err, want)
			}
		}
	}
}

// A hostile index costs no more than the bounds say.
func TestTransform_InvertedIndexIsBounded(t *testing.T) {
	var b strings.Builder
	fmt.Fprintf(&b, `{"i":[{"id":1,"x":{"%s":[`, strings.Repeat("w", 1<<20))
	for i := range maxPlaces {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprint(&b, i)
	}
	b.WriteString(`]}}]}`)
	ep := &source.Endpoint{Format: source.FormatJSON, Response: source.Response{Items: []string{"i"}, ID: at("id")}}
	d := compile(t, ep, source.Identity{}, &source.Mapping{Fields: []source.Field{text("t", cleaned("x", "inverted_index")...)}})
	if p := page(t, d, b.String()); string(p.Items[0].Fields) != "{}" {
		t.Errorf("%.60s", p.Items[0].Fields)
	}
}
