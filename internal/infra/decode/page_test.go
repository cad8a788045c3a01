package decode

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/source"
)

// small is a JSON endpoint with a bit of everything.
func smallJSON() (*source.Endpoint, *source.Mapping) {
	ep := &source.Endpoint{Format: source.FormatJSON, Response: source.Response{
		Items: []string{"r.items"}, ID: at("id", "alt"), Total: "r.total", Token: "r.next", URL: "r.url", HasMore: "r.more",
		Held: map[string]string{"env": "r.env"}, Signals: map[string]string{"err": "r.ERROR", "list": "r.errs", "obj": "r.eo"},
	}}
	m := &source.Mapping{Fields: []source.Field{
		text("title", at("title")...), number("n", at("n")...), list("l", at("l")...),
		{Name: "o", Kind: source.FieldObjects, Each: []string{"o"}, Fields: []source.Field{
			text("a", at("a")...), {Name: "p", Kind: source.FieldObjects, Each: []string{"p[*]"}, Fields: []source.Field{text("q", at("q")...), list("r", at("r[*]")...)}},
		}},
		{Name: "m", Kind: source.FieldMap, Entries: []source.Entry{{Key: "x", From: at("mx")}, {Key: "y\"", From: at("my")}}},
		{Name: "j", Kind: source.FieldText, Join: "; ", From: at("j1[*]", "j2")},
		text("d", source.Pick{Path: "d", Format: "RFC3339"}),
	}}
	return ep, m
}

func smallXML() (*source.Endpoint, *source.Mapping) {
	ep := &source.Endpoint{Format: source.FormatXML, Response: source.Response{
		Items: []string{"r/i"}, ID: at("@id", "id"), Total: "r/total", Signals: map[string]string{"err": "r/err"},
	}}
	m := &source.Mapping{Fields: []source.Field{
		text("title", at("t")...), list("l", at("l/@v", "l")...),
		{Name: "o", Kind: source.FieldObjects, Each: []string{"o"}, Fields: []source.Field{text("a", at("a")...), list("b", at("b/c")...)}},
	}}
	return ep, m
}

func TestPage_Facts(t *testing.T) {
	ep, m := smallJSON()
	d := compile(t, ep, source.Identity{}, m)
	p := page(t, d, `{"r":{"total":"12","next":"tok\n","url":null,"more":true,"env":7,"ERROR":"","errs":[],"eo":{},"items":[]}}`)
	if *p.Total != 12 || p.Token != "tok\n" || p.URL != "" || !*p.HasMore || p.Held["env"] != "7" || len(p.Signals) != 0 {
		t.Errorf("got %+v", p)
	}
	p = page(t, d, `{"r":{"more":"false","ERROR":"x","errs":["a","b"],"eo":{"k":[1]},"items":[]}}`)
	if p.Total != nil || *p.HasMore {
		t.Errorf("got %+v", p)
	}
	if diff := cmp.Diff(map[string]string{"err": "x", "list": "a", "obj": `{"k":[1]}`}, p.Signals); diff != "" {
		t.Error(diff)
	}
}

func TestPage_Schema(t *testing.T) {
	ep, m := smallJSON()
	d := compile(t, ep, source.Identity{}, m)
	for _, body := range []string{
		`{}`, `[]`, `7`, `null`, `{"r":null}`, `{"r":{}}`, `{"r":{"items":null}}`, `{"r":{"items":{}}}`, `{"r":{"items":"x"}}`, `{"r":[{"items":[]}]}`,
		`{"r":{"items":[],"total":"many"}}`, `{"r":{"items":[],"total":-1}}`, `{"r":{"items":[],"more":"maybe"}}`,
		`{"r":{"items":[],"items":{}}}`,
	} {
		if _, err := d.Page([]byte(body)); shapeOf(t, err).Kind != ShapeSchema {
			t.Errorf("%s: %v", body, err)
		}
	}
	if p, err := d.Page([]byte(`{"r":{"ERROR":"bad"}}`)); err == nil || p == nil || p.Signals["err"] != "bad" {
		t.Errorf("got %v, %v", p, err)
	}
}

func TestPage_RootProvesTheShape(t *testing.T) {
	ep, m := smallJSON()
	ep.Response.Root = "r.ok"
	d := compile(t, ep, source.Identity{}, m)
	for body, want := range map[string]int{`{"r":{"ok":0}}`: 0, `{"r":{"ok":1,"items":{"id":1}}}`: 1, `{"r":{"ok":1,"items":[1,2]}}`: 2, `{"r":{"items":[]}}`: -1, `{"r":{"ok":null}}`: -1} {
		for _, d.parallelFrom = range []int{0, 1 << 20} {
			p, err := d.Page([]byte(body))
			if want < 0 {
				shapeOf(t, err)
			} else if err != nil || len(p.Items) != want {
				t.Errorf("%s: got %v, %v", body, p, err)
			}
		}
	}
}

func TestPage_CountNeedsItsTotal(t *testing.T) {
	ep := &source.Endpoint{Format: source.FormatXML, Response: source.Response{Total: "eSearchResult/Count"}}
	d := compile(t, ep, source.Identity{}, nil)
	if p := page(t, d, `<eSearchResult><TranslationStack><Count>9</Count></TranslationStack><Count>3</Count></eSearchResult>`); *p.Total != 3 {
		t.Errorf("got %d", *p.Total)
	}
	_, err := d.Page([]byte(`<eSearchResult><ERROR>x</ERROR></eSearchResult>`))
	shapeOf(t, err)
}

func TestPage_IDsOnly(t *testing.T) {
	ep := &source.Endpoint{Format: source.FormatJSON, Response: source.Response{Items: []string{"esearchresult.idlist"}, ID: at("$"), Total: "esearchresult.count"}}
	d := compile(t, ep, source.Identity{Form: "NUMBER"}, nil)
	p := page(t, d, `{"esearchresult":{"count":"3","idlist":["32150788","0029373119",17427195, "x", null, 9007199254740993, 1.5e3]}}`)
	var ids []string
	for _, it := range p.Items {
		ids = append(ids, it.ID)
		if (it.ID == "") != (it.Problem != nil) || it.Fields != nil {
			t.Errorf("%s: %v", it.Raw, it.Problem)
		}
	}
	if diff := cmp.Diff([]string{"32150788", "29373119", "17427195", "", "", "9007199254740993", ""}, ids); diff != "" {
		t.Error(diff)
	}
}

func TestPage_Fields(t *testing.T) {
	ep, m := smallJSON()
	d := compile(t, ep, source.Identity{}, m)
	for item, want := range map[string]string{
		`{}`:                          `{}`,
		`{"title":"","l":[],"o":[]}`:  `{}`,
		`{"title":" ","n":"x"}`:       `{}`,
		`{"title":["x"],"l":"one"}`:   `{"l":["one"]}`,
		`{"title":"<&>\u2028\u0001"}`: `{"title":"<&>` + "\u2028" + `\u0001"}`,
		`{"n":12}`:                    `{"n":12}`,
		`{"n":"0012"}`:                `{"n":12}`,
		`{"n":1.50}`:                  `{"n":1.5}`,
		`{"n":2e3}`:                   `{"n":2000}`,
		`{"n":9007199254740993}`:      `{"n":"9007199254740993"}`,
		`{"n":123456789012345678901}`: `{"n":"123456789012345678901"}`,
		`{"n":1e999}`:                 `{}`,
		`{"n":true}`:                  `{}`,
		`{"o":{"a":"1"}}`:             `{"o":[{"a":"1"}]}`,
		`{"o":[{"a":"1"},{},{"b":2},{"a":"3","p":[{"q":"4","r":["5"]},{"r":[]},{"r":["6","7"]}]}]}`: `{"o":[{"a":"1"},{"a":"3","p":[{"q":"4","r":["5"]},{"r":["6","7"]}]}]}`,
		`{"mx":"1","my":"2"}`:             `{"m":{"x":"1","y\"":"2"}}`,
		`{"j1":["a","","b"],"j2":["c"]}`:  `{"j":"a; b"}`,
		`{"j1":[],"j2":["c","d"]}`:        `{"j":"c; d"}`,
		`{"title":"a","title":"b"}`:       `{"title":"b"}`,
		`{"title":"a","\u0074itle":null}`: `{}`,
		`{"o":{"a":"1"},"o":[{"a":"2"}]}`: `{"o":[{"a":"2"}]}`,
		`{"d":"2024-01-02T03:04:05Z"}`:    `{"d":"2024-01-02"}`,
	} {
		p := page(t, d, `{"r":{"items":[`+item+`]}}`)
		if got := string(p.Items[0].Fields); got != want {
			t.Errorf("%s: got %s, want %s", item, got, want)
		}
	}
}

func TestPage_LabelledObjectsKeepTheirOwn(t *testing.T) {
	ep, m := smallXML()
	d := compile(t, ep, source.Identity{}, m)
	p := page(t, d, `<r><i id="1"><o><a>1</a></o><o><b><c>2</c><c>3</c></b></o><o/><o><a>4</a><b><c>5</c></b></o><l v="x">y</l><l>z</l></i></r>`)
	want := `{"l":["x","y","z"],"o":[{"a":"1"},{"b":["2","3"]},{"a":"4","b":["5"]}]}`
	if got := string(p.Items[0].Fields); got != want {
		t.Errorf("got %s", got)
	}
}

func TestPage_DuplicateKeysLastWins(t *testing.T) {
	ep, m := smallJSON()
	d := compile(t, ep, source.Identity{}, m)
	p := page(t, d, `{"r":{"total":1,"items":[{"id":"a"},{"id":"b"}]},"r":{"total":2,"items":[{"id":"x","id":"c"}],"items":[{"id":"d","o":[{"a":"1"}],"o":[{"a":"2"}]}]}}`)
	if len(p.Items) != 1 || p.Items[0].ID != "d" || *p.Total != 2 || string(p.Items[0].Fields) != `{"o":[{"a":"2"}]}` {
		t.Errorf("got %+v", p)
	}
}

// Many keys of one object are looked up, not held against each other: the work
// that grows with their square is counted.
func TestPage_ManyKeysUnderAWildcard(t *testing.T) {
	ep, _ := smallJSON()
	m := &source.Mapping{Fields: []source.Field{list("v", at("w.*")...)}}
	d := compile(t, ep, source.Identity{}, m)
	const keys = 15_000
	var b strings.Builder
	for i := range 2 * keys {
		fmt.Fprintf(&b, `"k%d":%d,`, i%keys, i)
	}
	body := `{"r":{"items":[{"id":1,"w":{` + b.String() + `"k0":"last"}}]}}`
	p := page(t, d, body)
	if n := strings.Count(string(p.Items[0].Fields), ","); n != keys-1 || strings.Contains(string(p.Items[0].Fields), `["0"`) {
		t.Errorf("got %d", n)
	}
	w := d.walk(t.Context(), []byte(body))
	w.reply.reset(d.replySlots)
	w.json()
	if w.err != nil || w.compared > 100*64 {
		t.Errorf("%d keys were held against others, %v", w.compared, w.err)
	}
}

func TestPage_HostileStringSpoilsOneItem(t *testing.T) {
	ep, m := smallJSON()
	js := compile(t, ep, source.Identity{}, m)
	for _, bad := range []string{"\xff", `\u0000`, `\ud800`, `\udc00\ud800`, `\ud83dx`, `\\\u0000`} {
		p := page(t, js, `{"r":{"items":[{"id":1},{"id":2,"x":{"y":"`+bad+`"}},{"id":3,"title":"\\u0000\ud83d\ude00"}]}}`)
		if len(p.Items) != 3 || p.Items[0].Problem != nil || p.Items[2].Problem != nil || p.Items[1].ID != "2" {
			t.Fatalf("%q: %+v", bad, p.Items)
		}
		if pr := p.Items[1].Problem; pr == nil || pr.Code != "bad_text" {
			t.Errorf("%q: %+v", bad, pr)
		}
	}
	ex, mx := smallXML()
	xm := compile(t, ex, source.Identity{}, mx)
	for _, bad := range []string{"\xff", "\x00", "&#0;", "&#xD800;", "&#x110000;", "<x y='&#0;'/>"} {
		p := page(t, xm, `<r><i id="1"/><i id="2"><x>`+bad+`</x></i><i id="3"/></r>`)
		if len(p.Items) != 3 || p.Items[0].Problem != nil || p.Items[2].Problem != nil || p.Items[1].ID != "2" {
			t.Fatalf("%q: %+v", bad, p.Items)
		}
		if pr := p.Items[1].Problem; pr == nil || pr.Code != "bad_text" {
			t.Errorf("%q: %+v", bad, pr)
		}
	}
}

func TestPage_Problems(t *testing.T) {
	ep, m := smallJSON()
	ep.Response.UpdatedAt = dated(source.Pick{Path: "u", Format: "RFC3339"}, source.Pick{Path: "v", Format: "EPOCH_MS"})
	m.Required = []string{"title"}
	for _, c := range []struct{ form, item, code, path string }{
		{"", `{"id":"a","u":"2024-01-02T03:04:05Z","title":"t"}`, "", ""},
		{"", `{"id":"a","v":1,"title":"t"}`, "", ""},
		{"", `{"id":"a","u":"soon","v":1,"title":"t"}`, "", ""},
		{"", `{"u":"2024-01-02T03:04:05Z","title":"t"}`, "no_id", "id"},
		{"", `{"id":"  ","alt":"b","u":"2024-01-02T03:04:05Z","title":"t"}`, "", ""},
		{"", `{"id":{},"u":"2024-01-02T03:04:05Z","title":"t"}`, "no_id", "id"},
		{"", `{"id":"` + strings.Repeat("x", 501) + `","u":"2024-01-02T03:04:05Z","title":"t"}`, "too_long", "id"},
		{"", `{"id":"a","u":"soon","title":"t"}`, "bad_date", "u"},
		{"", `{"id":"a","title":"t"}`, "bad_date", "u"},
		{"", `{"id":"a","v":1}`, "missing_field", "title"},
		{"DOI", `{"id":"https://doi.org/10.1/A","v":1,"title":"t"}`, "", ""},
		{"DOI", `{"id":"x","v":1,"title":"t"}`, "no_id", "id"},
		{"NUMBER", `{"id":"12x","v":1,"title":"t"}`, "no_id", "id"},
	} {
		d := compile(t, ep, source.Identity{Form: c.form}, m)
		it := page(t, d, `{"r":{"items":[`+c.item+`]}}`).Items[0]
		var got harvest.Problem
		if it.Problem != nil {
			got = *it.Problem
		}
		if string(got.Code) != c.code || got.Path != c.path {
			t.Errorf("%s %s: got %+v", c.form, c.item, got)
		}
	}
}

func TestPage_UpdateTimeNeverMixesTwoDates(t *testing.T) {
	ep, m := smallXML()
	ep.Response.UpdatedAt = dated(source.Pick{Parts: &source.DateParts{Year: "h/d/Y", Month: "h/d/M", Day: "h/d/D"}})
	d := compile(t, ep, source.Identity{}, m)
	p := page(t, d, `<r><i id="1"><h><d><M>1</M></d><d><Y>2024</Y><M>3</M><D>2</D></d></h></i><i id="2"><h><d><Y>2024</Y><M>Smarch</M></d></h></i><i id="3"/></r>`)
	if got := p.Items[0].UpdatedAt; got != time.Date(2024, 3, 2, 5, 0, 0, 0, time.UTC) {
		t.Errorf("got %v", got)
	}
	if pr := p.Items[1].Problem; pr == nil || pr.Code != "bad_date" {
		t.Errorf("got %v", pr)
	}
	if pr := p.Items[2].Problem; pr == nil || pr.Detail != "no update time" {
		t.Errorf("got %v", pr)
	}
}

func TestPage_DateLists(t *testing.T) {
	ep, _ := smallJSON()
	m := &source.Mapping{Fields: []source.Field{text("p", source.Pick{Parts: &source.DateParts{List: "a.date-parts[0]"}}, source.Pick{Parts: &source.DateParts{List: "b.date-parts"}})}}
	d := compile(t, ep, source.Identity{}, m)
	for item, want := range map[string]string{
		`"a":{"date-parts":[[2023,2,6]]}`:                               `{"p":"2023-02-06"}`,
		`"a":{"date-parts":[[ 2023 , 2 ]]}`:                             `{"p":"2023-02"}`,
		`"a":{"date-parts":[["2023"]]}`:                                 `{"p":"2023"}`,
		`"a":{"date-parts":[[null]]}`:                                   `{}`,
		`"a":{"date-parts":[[null]]},"b":{"date-parts":[ [2020,5,1] ]}`: `{"p":"2020-05-01"}`,
		`"b":{"date-parts":[2020]}`:                                     `{"p":"2020"}`,
		`"a":{"date-parts":[]}`:                                         `{}`,
		`"a":{"date-parts":[[]]}`:                                       `{}`,
		`"a":{"date-parts":null}`:                                       `{}`,
		`"a":{"date-parts":[[2023,14,6]]}`:                              `{"p":"2023"}`,
		`"a":{"date-parts":[[2023,2,31]]}`:                              `{"p":"2023-02"}`,
		`"a":{"date-parts":[[2023,null,31]]}`:                           `{"p":"2023"}`,
		`"a":{"date-parts":[[{"x":[1]},[2],3]]}`:                        `{}`,
		`"b":{"date-parts":2020}`:                                       `{}`,
	} {
		if got := string(page(t, d, `{"r":{"items":[{"id":1,`+item+`}]}}`).Items[0].Fields); got != want {
			t.Errorf("%s: got %s, want %s", item, got, want)
		}
	}
}

func TestPage_Hashes(t *testing.T) {
	ep, m := smallJSON()
	plain := compile(t, ep, source.Identity{}, m)
	m.Volatile = []string{"indexed", "score", "indexed.at", "cites[*].n"}
	vol := compile(t, ep, source.Identity{}, m)
	one := func(d *Decoder, item string) (raw, content [32]byte) {
		it := page(t, d, `{"r":{"items":[`+item+`]}}`).Items[0]
		if string(it.Raw) != item {
			t.Errorf("%s: raw is %s", item, it.Raw)
		}
		return it.Hashes()
	}
	content := func(item string) [32]byte {
		_, c := one(vol, item)
		return c
	}
	const a, b, c = `{"indexed":{"at":1},"id":"x","score":1.5,"cites":[{"n":1,"k":2}]}`, `{"indexed":{"at":2},"id":"x","score":77,"cites":[{"n":10,"k":2}]}`, `{"indexed":{"at":1},"id":"x","score":1.5,"cites":[{"n":1,"k":3}]}`
	for _, item := range []string{a, b, c} {
		if raw, content := one(plain, item); raw != sha256.Sum256([]byte(item)) || content != raw {
			t.Errorf("%s: wrong hash", item)
		}
	}
	if content(a) != sha256.Sum256([]byte(`{"indexed":,"id":"x","score":,"cites":[{"n":,"k":2}]}`)) {
		t.Error("the volatile values are not what was left out")
	}
	if content(a) != content(b) || content(a) == content(c) {
		t.Error("content hash does not tell content from noise")
	}
	if raw, content := one(vol, `{"id":"x"}`); content != raw {
		t.Error("no volatile value, another hash")
	}
	ex, mx := smallXML()
	mx.Volatile = []string{"s"}
	p := page(t, compile(t, ex, source.Identity{}, mx), `<r><i id="1"><s>3</s><t>x</t><s/></i></r>`)
	if _, content := p.Items[0].Hashes(); content != sha256.Sum256([]byte(`<i id="1"><t>x</t></i>`)) {
		t.Error("the element is not what was left out")
	}
}

func TestPage_Retracted(t *testing.T) {
	ep, m := smallJSON()
	m.Retracted = []source.Presence{{Path: "gone"}, {Path: "types", In: []string{"Retracted Publication"}}}
	d := compile(t, ep, source.Identity{}, m)
	for item, want := range map[string]bool{
		`"gone":true`: true, `"gone":false`: false, `"gone":null`: false, `"gone":[]`: false, `"gone":"no"`: true,
		`"types":["A","Retracted Publication"]`: true, `"types":["A"]`: false,
	} {
		if got := page(t, d, `{"r":{"items":[{"id":1,`+item+`}]}}`).Items[0].Status == harvest.RecordRetracted; got != want {
			t.Errorf("%s: got %v", item, got)
		}
	}
}

func TestPage_ItemsInDocumentOrder(t *testing.T) {
	ep, id, m := pubmed()
	m.Required = nil
	p := page(t, compile(t, ep, id, m), `<PubmedArticleSet><PubmedBookArticle><BookDocument><PMID>2</PMID></BookDocument></PubmedBookArticle><PubmedArticle><MedlineCitation><PMID>1</PMID></MedlineCitation></PubmedArticle></PubmedArticleSet>`)
	if len(p.Items) != 2 || p.Items[0].ID != "2" || p.Items[1].ID != "1" {
		t.Errorf("got %+v", p.Items)
	}
}

func TestPage_MalformedJSON(t *testing.T) {
	ep, m := smallJSON()
	d := compile(t, ep, source.Identity{}, m)
	for body, kind := range map[string]ShapeKind{
		"": ShapeCut, "  ": ShapeCut, "<html></html>": ShapeSyntax, "{": ShapeCut, `{"r":{"items":[{"id":1},`: ShapeCut, `{"r":"x`: ShapeCut,
		`{"r":{"items":[]}} x`: ShapeForeign, `{"r":{"items":[]}}{}`: ShapeForeign, "{\x00\"\x00r\x00": ShapeForeign, "\xfe\xff\x00{": ShapeForeign, "\x1f\x8b\x08": ShapeForeign, "{\"r\":\"a\nb\"}": ShapeSyntax, `{"r":01}`: ShapeSyntax,
		`{'r':1}`: ShapeSyntax, `{"r":{"items":[}]}`: ShapeSyntax, `{"r":nul`: ShapeCut, "Resource not found.": ShapeSyntax,
	} {
		p, err := d.Page([]byte(body))
		if e := shapeOf(t, err); e.Kind != kind || p != nil {
			t.Errorf("%q: got %v", body, err)
		}
	}
	page(t, d, "\uFEFF \r\n{\"r\":\r\n{\"items\"\t:\r\n[ ] } }\r\n")
}

func TestPage_MalformedXML(t *testing.T) {
	ep, m := smallXML()
	d := compile(t, ep, source.Identity{}, m)
	for body, kind := range map[string]ShapeKind{
		"": ShapeCut, "<?xml version='1.0'?>\n": ShapeCut, "plain": ShapeSyntax, "{}": ShapeSyntax, "<r>": ShapeCut, "<r><i>": ShapeCut, "<r": ShapeCut, "<r a='": ShapeCut, "<": ShapeCut,
		"<r></x>": ShapeSyntax, "<r><i></r></i>": ShapeSyntax, "</r>": ShapeSyntax, "<r/><r/>": ShapeForeign, "<r/>x": ShapeForeign, "<r></r": ShapeCut,
		"<r a=b/>": ShapeSyntax, "<r a/>": ShapeSyntax, "<r a='<'/>": ShapeSyntax, "<r a='1'b='2'/>": ShapeSyntax, "<1/>": ShapeSyntax, "< r/>": ShapeSyntax,
		"<r>&nbsp;</r>": ShapeSyntax, "<r>a & b</r>": ShapeSyntax, "<r>&lt</r>": ShapeSyntax, "<r>&#;</r>": ShapeSyntax, "<r>&#x;</r>": ShapeSyntax, "<r>&#0;</r>": ShapeSyntax, "<r a='&x;'/>": ShapeSyntax,
		"<r><!-- </r>": ShapeCut, "<r><![CDATA[ </r>": ShapeCut, "<r><?x </r>": ShapeCut, "<!DOCTYPE r": ShapeCut, "<r><!ENTITY x 'y'></r>": ShapeSyntax, "<r/><!DOCTYPE r>": ShapeSyntax, "<![CDATA[x]]><r/>": ShapeSyntax,
		"<?xml version='1.0' encoding='ISO-8859-1'?><r>\xe9</r>": ShapeForeign, "\xff\xfe<\x00r\x00": ShapeForeign,
	} {
		p, err := d.Page([]byte(body))
		if e := shapeOf(t, err); e.Kind != kind || p != nil {
			t.Errorf("%q: got %v", body, err)
		}
	}
	page(t, d, "\uFEFF<?xml version='1.0' encoding=\"utf-8\"?>\r\n<!-- a -->\r\n<!DOCTYPE r SYSTEM 'x>y'>\r\n<r\r\n a = '1>2'\t>\r\n</r\r\n>\r\n<!-- b --><?c?>")
	page(t, d, "<?xml version='1.0' encoding='ISO-8859-1'?><r>ascii</r>")
}

func TestPage_Limits(t *testing.T) {
	ej, mj := smallJSON()
	js := compile(t, ej, source.Identity{}, mj)
	ex, mx := smallXML()
	xm := compile(t, ex, source.Identity{}, mx)
	const deep = 10_000_000
	for _, c := range []struct {
		d    *Decoder
		body string
		want string
	}{
		{js, strings.Repeat("[", deep), "depth"},
		{js, strings.Repeat(`{"r":`, 1000), "depth"},
		{js, strings.Repeat("[", deep) + strings.Repeat("]", deep), "depth"},
		{js, strings.Repeat(`{"r":`, 129) + "1" + strings.Repeat("}", 129), "depth"},
		{js, `{"r":{"o":` + strings.Repeat("[", 127) + strings.Repeat("]", 127) + `,"items":[]}}`, "depth"},
		{js, `{"r":{"items":[` + strings.Repeat("1,", maxItems) + `1]}}`, "items"},
		{xm, "<r>" + strings.Repeat("<i/>", maxItems+1) + "</r>", "items"},
		{js, `{"r":{"items":[],"x":"` + strings.Repeat("x", maxString) + `"}}`, "string"},
		{xm, strings.Repeat("<r>", deep), "depth"},
		{xm, strings.Repeat("<r>", 129) + strings.Repeat("</r>", 129), "depth"},
		{xm, "<r><x>" + strings.Repeat("x", maxString+1) + "</x></r>", "string"},
		{xm, "<r><x><![CDATA[" + strings.Repeat("x", maxString+1) + "]]></x></r>", "string"},
		{xm, "<r a='" + strings.Repeat("x", maxString+1) + "'/>", "string"},
		{xm, `<!DOCTYPE lolz [<!ENTITY lol "lol"><!ENTITY lol2 "&lol;&lol;">]><r><i>&lol2;</i></r>`, "dtd"},
		{xm, `<!DOCTYPE r PUBLIC "a" "b" [ ]><r/>`, "dtd"},
	} {
		for _, c.d.parallelFrom = range []int{0, maxBody} {
			_, err := c.d.Page([]byte(c.body))
			if got := limitOf(t, err); got != c.want {
				t.Errorf("%.40s...: got %s", c.body, got)
			}
		}
	}
	page(t, js, `{"r":{"items":[],"x":`+strings.Repeat("[", 126)+strings.Repeat("]", 126)+`}}`)
	page(t, xm, strings.Repeat("<r>", 128)+strings.Repeat("</r>", 128))
}

// TestR84_OneItemSpoilsItself: whatever is wrong inside of one item, the others are
// read as if nothing were, the item is put aside as it came, and its id is known
// where it can be read. The same fault around the items refuses the reply.
func TestR84_OneItemSpoilsItself(t *testing.T) {
	ej, mj := smallJSON()
	js := compile(t, ej, source.Identity{}, mj)
	ex, mx := smallXML()
	xm := compile(t, ex, source.Identity{}, mx)
	long := strings.Repeat("x", maxString+1)
	for name, c := range map[string]struct {
		d    *Decoder
		bad  string // of the item, between two good ones
		id   string
		code string
	}{
		"NUL":                        {js, "{\"id\":2,\"t\":\"a\x00b\"}", "2", "bad_text"},
		"line break":                 {js, "{\"id\":2,\"t\":\"a\nb\"}", "2", "bad_text"},
		"control character in a key": {js, "{\"id\":2,\"t\x01\":1}", "2", "bad_text"},
		"NUL in the id":              {js, "{\"id\":\"2\x00\"}", "", "bad_text"},
		"unknown escape":             {js, `{"id":2,"t":"\x41 \' \u12"}`, "2", "bad_text"},
		"unknown escape in the id":   {js, `{"id":"2\x41"}`, "", "bad_text"},
		"long string":                {js, `{"id":2,"t":"` + long + `"}`, "2", "too_long"},
		"long key":                   {js, `{"id":2,"` + long + `":1}`, "2", "too_long"},
		"long id":                    {js, `{"id":"` + long + `"}`, "", "too_long"},
		"long string is the item":    {js, `"` + long + `"`, "", "too_long"},
		"deep lists":                 {js, `{"id":2,"t":` + strings.Repeat("[", 1000) + strings.Repeat("]", 1000) + `}`, "2", "too_long"},
		"deep objects":               {js, `{"id":2,"t":` + strings.Repeat(`{"a":`, 1000) + `"}]"` + strings.Repeat("}", 1000) + `}`, "2", "too_long"},
		"million lists":              {js, `{"id":2,"t":` + strings.Repeat("[", 1_000_000) + strings.Repeat("]", 1_000_000) + `}`, "2", "too_long"},
		"null":                       {js, `null`, "", "no_id"},
		"number":                     {js, `2`, "", "no_id"},
		"list":                       {js, `[{"id":2}]`, "", "no_id"},
		"object for an id":           {js, `{"id":{"id":2}}`, "", "no_id"},

		"XML: NUL":            {xm, "<i id='2'><t>a\x00</t></i>", "2", "bad_text"},
		"XML: long text":      {xm, "<i id='2'><t>" + long + "</t></i>", "2", "too_long"},
		"XML: long CDATA":     {xm, "<i id='2'><t><![CDATA[" + long + "]]></t></i>", "2", "too_long"},
		"XML: long attribute": {xm, "<i id='2'><t a='" + long + "'/></i>", "2", "too_long"},
		"XML: deep":           {xm, "<i id='2'>" + strings.Repeat("<a>", 1000) + "<b/>" + strings.Repeat("</a>", 1000) + "</i>", "2", "too_long"},
	} {
		t.Run(name, func(t *testing.T) {
			around := func(items string) string {
				if c.d == xm {
					return "<r>" + items + "</r>"
				}
				return `{"r":{"n":3,"items":[` + items + `]}}`
			}
			good := []string{`{"id":1,"title":"a\u00e9 \"x\""}`, `{"id":3,"title":"b"}`}
			sep := ","
			if c.d == xm {
				good, sep = []string{"<i id='1'><t>a</t></i>", "<i id='3'><t>b</t></i>"}, ""
			}
			clean := page(t, c.d, around(good[0]+sep+good[1]))
			for _, c.d.parallelFrom = range []int{0, maxBody} {
				body := []byte(around(good[0] + sep + c.bad + sep + good[1]))
				before := string(body)
				p := page(t, c.d, string(body))
				if len(p.Items) != 3 {
					t.Fatalf("got %d items", len(p.Items))
				}
				for i, k := range []int{0, 2} {
					if got, want := p.Items[k], clean.Items[i]; got.Problem != nil || got.ID != want.ID || string(got.Raw) != string(want.Raw) || string(got.Mapped()) != string(want.Mapped()) {
						t.Errorf("item %d is %+v, alone %+v", k, got, want)
					}
				}
				bad := p.Items[1]
				if bad.Problem == nil || string(bad.Problem.Code) != c.code || bad.ID != c.id || string(bad.Raw) != c.bad || bad.Fields != nil && c.code != "no_id" {
					t.Errorf("id %q, problem %+v, %d bytes of fields, raw %.60q", bad.ID, bad.Problem, len(bad.Fields), bad.Raw)
				}
				if string(body) != before {
					t.Error("the reply was changed")
				}
			}
			if c.d == js && c.code != "no_id" {
				if _, err := js.Page([]byte(`{"x":` + c.bad + `,"r":{"items":[` + good[0] + `]}}`)); err == nil {
					t.Error("the same around the items was taken for a page")
				}
			}
		})
	}
}

func TestPage_TooManyValuesSpoilOneItem(t *testing.T) {
	ep, _ := smallJSON()
	d := compile(t, ep, source.Identity{}, &source.Mapping{Fields: []source.Field{list("l", at("l[*]")...)}})
	p := page(t, d, `{"r":{"items":[{"id":1},{"id":2,"l":[`+strings.Repeat("1,", maxValues)+`1]},{"id":3}]}}`)
	if len(p.Items) != 3 || p.Items[0].Problem != nil || p.Items[2].Problem != nil || p.Items[1].Problem == nil || p.Items[1].Problem.Code != "too_long" {
		t.Errorf("got %v", p.Items[1].Problem)
	}
}

func TestPage_LeavesTheBodyAlone(t *testing.T) {
	ep, id, m := pubmed()
	d := compile(t, ep, id, m)
	body := []byte("<PubmedArticleSet a='x\ny'>" + strings.Replace(article, `Version="2"`, "Version=\"2\"\n\tX='a\n\tb'", 1) + "</PubmedArticleSet>zz")
	body = body[:len(body)-2]
	before := string(body[:cap(body)])
	if _, err := d.Page(body); err != nil {
		t.Fatal(err)
	}
	if string(body[:cap(body)]) != before {
		t.Error("the reply was changed")
	}
}

func TestPage_SeveralGoroutinesMakeTheSamePage(t *testing.T) {
	ep, id, m := crossref()
	one, many := compile(t, ep, id, m), compile(t, ep, id, m)
	one.parallelFrom, many.parallelFrom = 1<<30, 0
	body := string(crossrefPage(300, 3))
	for _, body := range []string{
		body, "\uFEFF" + body, strings.Replace(body, `"family":"Family"`, "\"family\":\"\xff\"", 3),
		`{"message":{"items":[` + work + `,7,null]},"message":{"items":[` + work + `],"items":[[],` + work + `]}}`,
		`{"message":{"items":[]}}`,
		strings.Replace(body, `"language":"en"`, `"language":`+strings.Repeat("[", 200)+strings.Repeat("]", 200), 1),
	} {
		if !same(page(t, one, body), page(t, many, body)) {
			t.Errorf("%.60s...: differs", body)
		}
	}
	for _, body := range []string{
		body[:len(body)/2], body + "x", strings.Replace(body, `"volume":"9"`, `"volume":09`, 1), `{"message":{"items":{}}}`, `{"message":[{"type":"x"}]}`, "", "[", `{"message":{"items":[1,]}}`, `{"message":{"items":[1}}`,
		strings.Replace(body, `"language":"en"`, `"language":`+strings.Repeat("[", 20000), 1),
	} {
		p, err := one.Page([]byte(body))
		q, err2 := many.Page([]byte(body))
		if err == nil || err2 == nil || err.Error() != err2.Error() || !cmp.Equal(p, q) {
			t.Errorf("%.60s...: got %v, want %v", body, err2, err)
		}
	}
}

func TestDecoder_Concurrent(t *testing.T) {
	ep, id, m := crossref()
	d := compile(t, ep, id, m)
	body := crossrefPage(50, 5)
	want := page(t, d, string(body))
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 5 {
				got, err := d.Page(body)
				if err != nil || !same(want, got) {
					t.Errorf("differs: %v", err)
				}
				if _, err := d.Page(body[:len(body)/2]); err == nil {
					t.Error("cut page accepted")
				} else if _, ok := errors.AsType[*ShapeError](err); !ok {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
}

func same(a, b *harvest.Page) bool {
	return slices.EqualFunc(a.Items, b.Items, func(x, y harvest.Item) bool {
		return bytes.Equal(x.Raw, y.Raw) && bytes.Equal(x.Fields, y.Fields) && x.ID == y.ID && x.UpdatedAt.Equal(y.UpdatedAt) &&
			slices.Equal(x.Volatile, y.Volatile) && x.Status == y.Status && cmp.Equal(x.Problem, y.Problem)
	}) && cmp.Equal(a.Facts(), b.Facts()) && cmp.Equal(a.Signals, b.Signals)
}

func TestPage_KindsOfFields(t *testing.T) {
	truth := source.Field{Name: "b", Kind: source.FieldBool, From: at("b1", "b2")}
	counted := source.Field{Name: "c", Kind: source.FieldNumber, Count: []string{"c", "d/c"}}
	objects := source.Field{Name: "o", Kind: source.FieldObjects, Each: []string{"p/o", "o", "o/q"}, Fields: []source.Field{text("n", at("n")...), list("l", at("l")...)}}
	year := text("y", source.Pick{Path: "y", Format: "YEAR"})
	ex, _ := smallXML()
	xm := compile(t, ex, source.Identity{}, &source.Mapping{Fields: []source.Field{truth, counted, objects, list("l", at("l", "m")...), year}})
	ej, _ := smallJSON()
	counted.Count, objects.Each = []string{"c", "d.c"}, []string{"p.o", "o", "o.q"}
	js := compile(t, ej, source.Identity{}, &source.Mapping{Fields: []source.Field{truth, counted, objects, list("l", at("l", "m")...), year}})
	for _, c := range []struct{ xml, json, want string }{
		{`<b1>Y</b1>`, `"b1":"Y"`, `{"b":true}`},
		{`<b1> no </b1>`, `"b1":" no "`, `{"b":false}`},
		{`<b1>maybe</b1><b1>0</b1><b2>1</b2>`, `"b1":"maybe","b2":0`, `{"b":false}`},
		{`<b1>perhaps</b1>`, `"b1":"perhaps"`, `{}`},
		{`<b2>TRUE</b2>`, `"b2":true`, `{"b":true}`},
		{`<c/><c>x</c><d><c/></d>`, `"c":["x",{}],"d":{"c":1}`, `{"c":3}`},
		{`<d/>`, `"c":[],"d":{"c":null}`, `{}`},
		{`<l>a</l><l>b</l><l>a</l><m>b</m><m>c</m>`, `"l":["a","b","a"],"m":["b","c"]`, `{"l":["a","b","c"]}`},
		{`<o><n>1</n></o><p><o><n>2</n></o></p>`, `"o":[{"n":1}],"p":{"o":{"n":2}}`, `{"o":[{"n":"2"}]}`},
		{`<o><n>1</n><q><n>2</n></q><l>x</l></o><p><o/></p>`, `"o":{"n":1,"q":{"n":2},"l":"x"},"p":{"o":[{}]}`, `{"o":[{"n":"1","l":["x"]}]}`},
		{`<o><q><n>2</n></q></o><o><q><n>3</n></q></o>`, `"o":{"q":[{"n":2},{"n":3}]}`, `{"o":[{"n":"2"},{"n":"3"}]}`},
		{`<y>1998 Dec-1999 Jan</y>`, `"y":"1998 Dec-1999 Jan"`, `{"y":"1998"}`},
		{`<y>no year</y>`, `"y":19985`, `{}`},
	} {
		if got := page(t, xm, "<r><i id='1'>"+c.xml+"</i></r>").Items[0].Fields; string(got) != c.want {
			t.Errorf("%s: got %s, want %s", c.xml, got, c.want)
		}
		if got := page(t, js, `{"r":{"items":[{"id":1,`+c.json+`}]}}`).Items[0].Fields; string(got) != c.want {
			t.Errorf("%s: got %s, want %s", c.json, got, c.want)
		}
	}
}

func TestPage_LongListHoldsEachValueOnce(t *testing.T) {
	ep, _ := smallJSON()
	d := compile(t, ep, source.Identity{}, &source.Mapping{Fields: []source.Field{list("l", at("l")...)}})
	var in, want []string
	for i := range 300 {
		in = append(in, fmt.Sprintf(`"%d"`, i*7%100))
		if i < 100 {
			want = append(want, in[i])
		}
	}
	got := page(t, d, `{"r":{"items":[{"id":1,"l":[`+strings.Join(in, ",")+`]}]}}`).Items[0].Fields
	if string(got) != `{"l":[`+strings.Join(want, ",")+`]}` {
		t.Errorf("got %s", got)
	}
}

func TestPage_RetractedByItself(t *testing.T) {
	ep, id, m := crossref()
	m.Retracted = []source.Presence{{Path: "update-to[type=retraction].DOI", Self: true}}
	d := compile(t, ep, id, m)
	for _, c := range []struct {
		item string
		want harvest.RecordStatus
	}{
		{`{"DOI":"10.1/A","update-to":[{"DOI":"https://doi.org/10.1/a","type":"retraction"}]}`, harvest.RecordRetracted},
		{`{"DOI":"10.1/A","update-to":[{"DOI":"10.1/b","type":"retraction"},{"DOI":"10.1/a","type":"retraction"}]}`, harvest.RecordRetracted},
		{`{"DOI":"10.1/A","update-to":[{"DOI":"10.1/b","type":"retraction"}]}`, harvest.RecordActive},
		{`{"DOI":"10.1/A","update-to":[{"DOI":"10.1/a","type":"correction"}]}`, harvest.RecordActive},
		{`{"DOI":"","update-to":[{"DOI":"","type":"retraction"}]}`, harvest.RecordActive},
	} {
		if got := page(t, d, `{"message":{"items":[`+c.item+`]}}`).Items[0].Status; got != c.want {
			t.Errorf("%s: %s", c.item, got)
		}
	}
}

// TestXMLPage_TokenWithoutItsLayout: pretty printing is no part of a token.
func TestXMLPage_TokenWithoutItsLayout(t *testing.T) {
	ep := &source.Endpoint{Format: source.FormatXML, Response: source.Response{Items: []string{"R/I"}, ID: at("@id"), Token: "R/next"}}
	d, err := Compile(ep, source.Identity{Form: "TEXT"}, nil, harvest.Calendar{})
	if err != nil {
		t.Fatal(err)
	}
	p, err := d.Page([]byte("<R><I id=\"1\"/><next>\n  abc|2 \n</next></R>"))
	if err != nil || p.Token != "abc|2" {
		t.Errorf("token %q, %v", p.Token, err)
	}
}

// TestR64_AnEmptyTokenIsThere: an element or a null in the place of the next token
// or link is a word of the source; nothing at all is none.
func TestR64_AnEmptyTokenIsThere(t *testing.T) {
	for body, want := range map[string]bool{
		`{"items":[],"next":null}`:  true,
		`{"items":[],"next":""}`:    true,
		`{"items":[],"next":"t"}`:   false,
		`{"items":[]}`:              false,
		`{"items":[],"next":{}}`:    false,
		`{"items":[],"other":null}`: false,
	} {
		for _, r := range []source.Response{{Token: "next"}, {URL: "next"}} {
			r.Items, r.ID = []string{"items"}, at("id")
			page, err := compile(t, &source.Endpoint{Format: source.FormatJSON, Response: r}, source.Identity{}, &source.Mapping{}).Page([]byte(body))
			if err != nil || page.NextEmpty != want {
				t.Errorf("%s: %+v, %v", body, page, err)
			}
		}
	}
	oai := compile(t, &source.Endpoint{Format: source.FormatXML, Response: source.Response{
		Items: []string{"OAI-PMH/ListRecords/record"}, ID: at("id"), Token: "OAI-PMH/ListRecords/resumptionToken",
	}}, source.Identity{}, &source.Mapping{})
	for token, want := range map[string]bool{
		`<resumptionToken/>`:                              true,
		`<resumptionToken cursor="9"> </resumptionToken>`: true,
		`<resumptionToken>t</resumptionToken>`:            false,
		``:                                                false,
	} {
		page, err := oai.Page([]byte(`<OAI-PMH><ListRecords>` + token + `</ListRecords></OAI-PMH>`))
		if err != nil || page.NextEmpty != want {
			t.Errorf("%s: %+v, %v", token, page, err)
		}
	}
}

// TestR80_ReadingEndsWithItsContext: a reply of any shape is left at its next item
// once nobody waits for it any more.
func TestR80_ReadingEndsWithItsContext(t *testing.T) {
	ended, end := context.WithCancel(t.Context())
	end()
	ep, id, m := crossref()
	works := compile(t, ep, id, m)
	ep, id, m = pubmed()
	articles := compile(t, ep, id, m)
	for name, c := range map[string]struct {
		d    *Decoder
		body []byte
	}{
		"JSON":           {works, crossrefPage(20, 2)},
		"JSON, in parts": {works, crossrefPage(2000, 10)},
		"XML":            {articles, pubmedPage(20)},
	} {
		if p, err := c.d.PageContext(t.Context(), c.body); err != nil || len(p.Items) < 20 {
			t.Errorf("%s: %v", name, err)
		}
		if p, err := c.d.PageContext(ended, c.body); !errors.Is(err, context.Canceled) || p != nil {
			t.Errorf("%s: read on, %v", name, err)
		}
	}
}
