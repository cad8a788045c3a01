package decode

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/source"
)

// record is what the reference readers and the decoder are compared by.
type record struct {
	ID    string
	Title string   `json:"title"`
	L     []string `json:"l"`
	O     []struct {
		A string   `json:"a"`
		B []string `json:"b"`
	} `json:"o"`
}

func records(t *testing.T, p *harvest.Page) []*record {
	var out []*record
	for _, it := range p.Items {
		if it.Problem != nil && it.Problem.Code == harvest.ProblemBadText {
			out = append(out, nil)
			continue
		}
		r := &record{ID: it.ID}
		if err := json.Unmarshal(it.Fields, r); err != nil {
			t.Fatalf("fields %q: %v", it.Fields, err)
		}
		out = append(out, r)
	}
	return out
}

func compareRecords(t *testing.T, got, want []*record) {
	if len(got) != len(want) {
		t.Fatalf("got %d items, want %d", len(got), len(want))
	}
	for i := range got {
		want[i].L = once(want[i].L)
		for k := range want[i].O {
			want[i].O[k].B = once(want[i].O[k].B)
		}
		if got[i] != nil && !reflect.DeepEqual(got[i], want[i]) {
			t.Errorf("item %d: got %+v, want %+v", i, got[i], want[i])
		}
	}
}

// once leaves each text of a list where it came first.
func once(list []string) (out []string) {
	for _, s := range list {
		if !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}

// wellPlaced checks what must hold for every page.
func wellPlaced(t *testing.T, body []byte, p *harvest.Page) {
	at := 0
	for _, it := range p.Items {
		n := bytes.Index(body[at:], it.Raw)
		if n < 0 || len(it.Raw) == 0 {
			t.Fatalf("item %q is not in the reply", it.Raw)
		}
		at += n + len(it.Raw)
		if it.Fields != nil && !json.Valid(it.Fields) {
			t.Fatalf("fields are not JSON: %q", it.Fields)
		}
		if (it.ID == "") != (it.Problem != nil && it.Problem.Code != harvest.ProblemBadText) && it.Problem == nil {
			t.Fatalf("item without id and problem: %q", it.Raw)
		}
	}
}

func fuzzMapping() *source.Mapping {
	return &source.Mapping{Fields: []source.Field{
		text("title", at("t")...), list("l", at("l")...),
		{Name: "o", Kind: source.FieldObjects, Each: []string{"o"}, Fields: []source.Field{text("a", at("a")...), list("b", at("b")...)}},
	}}
}

func FuzzJSONPage(f *testing.F) {
	ep := &source.Endpoint{Format: source.FormatJSON, Response: source.Response{Items: []string{"r.i"}, ID: at("id"), Total: "r.n", Signals: map[string]string{"e": "r.e"}}}
	d := compile(f, ep, source.Identity{}, fuzzMapping())
	full, id, m := crossref()
	wide := compile(f, full, id, m)
	d.parallelFrom = 1
	for _, s := range []string{
		`{"r":{"n":"3","i":[{"id":1,"t":"x","l":["a",1,null],"o":[{"a":"b","b":["c"]},{}]},{"id":"2","o":{"a":true}}]}}`,
		`{"r":{"i":[{"id":"\u0061","\u0074":"\ud83d\ude00","t":"\n"}],"i":[{"id":"b","l":"s"}]},"r":{"i":[1]}}`,
		"\uFEFF{ \"r\" : { \"i\" : [ { \"id\" : -1.5e3 , \"t\" : \"\xff\" } ] } }",
		`{"r":{"i":[]},"message":{"items":[` + work + `]}}`,
		`{"r":{"i":[{"id":"\\","t":"\\\"","l":["\\\\",[[]],{"a":[{}]}]}]}}`,
		`[[[{"r":1}]]]`, `{"r":{"i":null}}`, `{"r":{"i":{"id":1}}}`, `"r"`, `12`, `{`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		if p, err := wide.Page(body); err == nil {
			wellPlaced(t, body, p)
		}
		sameMappedAgain(t, wide, body)
		sameMappedAgain(t, d, body)
		p, err := d.Page(body)
		if _, ok := errors.AsType[*LimitError](err); ok {
			return
		}
		plain := bytes.TrimPrefix(body, []byte("\uFEFF"))
		shape, _ := errors.AsType[*ShapeError](err)
		if err == nil && slices.ContainsFunc(p.Items, func(it harvest.Item) bool { return it.Problem != nil && !json.Valid(it.Raw) }) {
			return // read loosely, for the sake of the other items
		}
		if valid := json.Valid(plain); valid != (shape == nil || shape.Kind == ShapeSchema) {
			t.Fatalf("valid %v, got %v", valid, err)
		} else if !valid {
			return
		}
		dec := json.NewDecoder(bytes.NewReader(plain))
		dec.UseNumber()
		var root any
		if err := dec.Decode(&root); err != nil {
			t.Skip(err)
		}
		r, _ := root.(map[string]any)
		in, _ := r["r"].(map[string]any)
		items, ok := in["i"].([]any)
		if ok != (err == nil) && !(ok && shape.Path == "r.n") {
			t.Fatalf("items %v, got %v", ok, err)
		}
		if err != nil {
			return
		}
		wellPlaced(t, body, p)
		var want []*record
		for _, it := range items {
			o, _ := it.(map[string]any)
			x := &record{Title: scalarText(o["t"]), L: listText(o["l"])}
			x.ID = strings.TrimSpace(scalarText(o["id"]))
			if len(x.ID) > maxID {
				x.ID = ""
			}
			objects, ok := o["o"].([]any)
			if !ok {
				objects = []any{o["o"]}
			}
			for _, e := range objects {
				eo, _ := e.(map[string]any)
				a, b := scalarText(eo["a"]), listText(eo["b"])
				if a != "" || b != nil {
					x.O = append(x.O, struct {
						A string   `json:"a"`
						B []string `json:"b"`
					}{a, b})
				}
			}
			want = append(want, x)
		}
		compareRecords(t, records(t, p), want)
	})
}

func scalarText(v any) string {
	s := ""
	switch v := v.(type) {
	case string:
		s = v
	case json.Number:
		s = v.String()
	case bool:
		s = map[bool]string{true: "true", false: "false"}[v]
	}
	if blank([]byte(s)) {
		return ""
	}
	return s
}

func listText(v any) (out []string) {
	l, ok := v.([]any)
	if !ok {
		l = []any{v}
	}
	for _, e := range l {
		if s := scalarText(e); s != "" {
			out = append(out, s)
		}
	}
	return out
}

// element is a node of the reference tree.
type element struct {
	name  string
	attrs []xml.Attr
	text  string // with that of all inside
	kids  []*element
}

func (e *element) named(name string) (out []*element) {
	for _, k := range e.kids {
		if k.name == name {
			out = append(out, k)
		}
	}
	return out
}

// tree reads XML with encoding/xml.
func tree(body []byte) (*element, error) {
	if err := xml.Unmarshal(body, new(struct{})); err != nil && err != io.EOF {
		return nil, err
	}
	d := xml.NewDecoder(bytes.NewReader(body))
	var root *element
	var stack []*element
	for {
		tok, err := d.RawToken()
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, err
		}
		switch tok := tok.(type) {
		case xml.StartElement:
			e := &element{name: tok.Name.Local, attrs: tok.Copy().Attr}
			if len(stack) > 0 {
				up := stack[len(stack)-1]
				up.kids = append(up.kids, e)
			} else if root != nil {
				return nil, errors.New("two roots")
			} else {
				root = e
			}
			stack = append(stack, e)
		case xml.EndElement:
			if len(stack) == 0 {
				return nil, errors.New("stray end")
			}
			stack = stack[:len(stack)-1]
		case xml.CharData:
			for _, e := range stack {
				e.text += string(tok)
			}
		}
	}
	if len(stack) > 0 || root == nil {
		return nil, io.ErrUnexpectedEOF
	}
	return root, nil
}

func FuzzXMLPage(f *testing.F) {
	ep := &source.Endpoint{Format: source.FormatXML, Response: source.Response{Items: []string{"r/i"}, ID: at("@id"), Total: "r/n", Signals: map[string]string{"e": "r/e"}}}
	d := compile(f, ep, source.Identity{}, fuzzMapping())
	full, id, m := pubmed()
	wide := compile(f, full, id, m)
	for _, s := range []string{
		`<r><n>3</n><i id="1"><t>x<b>y</b></t><l>a</l><l/><o><a>b</a><b>c</b></o><o/></i><i id='2'/></r>`,
		"<?xml version=\"1.0\"?>\n<!DOCTYPE r PUBLIC \"a\" \"b\">\r\n<r>\r\n<i id=\"&lt;&#65;\"><t><![CDATA[<x>]]>&amp;\r\n</t></i><!-- c --></r>",
		`<p:r xmlns:p="u"><p:i p:id="1" id="2"><t> </t><t>z</t></p:i></p:r>`,
		"<PubmedArticleSet>" + article + "</PubmedArticleSet>",
		`<r><i id="1"><o><o><a>x</a></o></o></i><i><i id="3"/></i></r>`,
		`<r><i id="1"`, `<e>no</e>`, `<r>&#0;</r>`, "<r>\x00</r>",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		if p, err := wide.Page(body); err == nil {
			wellPlaced(t, body, p)
		}
		sameMappedAgain(t, wide, body)
		sameMappedAgain(t, d, body)
		p, err := d.Page(body)
		if err == nil {
			wellPlaced(t, body, p)
		}
		root, refErr := tree(body)
		if refErr != nil {
			return // more is accepted here: the reference knows what characters may be in a name
		}
		if _, ok := errors.AsType[*LimitError](err); ok {
			return
		}
		if shape, ok := errors.AsType[*ShapeError](err); ok && shape.Kind != ShapeSchema {
			if shape.Detail == "text outside the root element" || shape.Detail == "text behind the root element" || shape.Detail == "unexpected declaration" || shape.Detail == "no blank before an attribute" ||
				shape.Detail == "reference to a character that does not exist" || shape.Detail == "declared encoding is not UTF-8" || shape.Detail == "< in an attribute" {
				return // the reference is not strict about these
			}
			t.Fatalf("the reference accepts it: %v", err)
		}
		if (root.name == "r") != (err == nil) && !strings.Contains(err.Error(), "r/n") {
			t.Fatalf("root is %q, got %v", root.name, err)
		}
		if err != nil {
			return
		}
		var want []*record
		for _, i := range root.named("i") {
			x := &record{}
			for _, a := range i.attrs {
				if a.Name.Local == "id" && a.Name.Space != "xmlns" {
					x.ID = strings.TrimSpace(strings.NewReplacer("\n", " ", "\t", " ").Replace(a.Value))
					if len(x.ID) > maxID {
						x.ID = ""
					}
					break
				}
			}
			for _, e := range i.named("t") {
				x.Title = e.text
				if !blank([]byte(e.text)) {
					break
				}
				x.Title = ""
			}
			texts := func(list []*element) (out []string) {
				for _, e := range list {
					if !blank([]byte(e.text)) {
						out = append(out, e.text)
					}
				}
				return out
			}
			x.L = texts(i.named("l"))
			for _, o := range i.named("o") {
				a, b := "", texts(o.named("b"))
				if all := texts(o.named("a")); len(all) > 0 {
					a = all[0]
				}
				if a != "" || b != nil {
					x.O = append(x.O, struct {
						A string   `json:"a"`
						B []string `json:"b"`
					}{a, b})
				}
			}
			want = append(want, x)
		}
		compareRecords(t, records(t, p), want)
	})
}

// No transform panics, changes what it was given, or makes more than it may.
func FuzzTransform(f *testing.F) {
	for _, s := range []string{
		`regex:^(.*)v[0-9]+$`, `regex:(a*)*b|(c)?`, "regex:(", "prefix:doi:", "map:a=b;c=d", "map:*=x;a=", "map:;", "split:;", "text", "number", "orcid", "doi",
	} {
		f.Add(s, []byte("doi:10.1/X; 2008.01234v12, 1,234 &amp; <i>a</i>"), byte(';'))
	}
	f.Fuzz(func(t *testing.T, name string, v []byte, sep byte) {
		c, err := newTransform(name)
		if err != nil {
			return
		}
		was := bytes.Clone(v)
		one := c(new(arena), v)
		if len(one) > 4*len(v)+maxArgument {
			t.Fatalf("%q made %d bytes of %d", name, len(one), len(v))
		}
		if two := c(new(arena), v); !bytes.Equal(one, two) || !bytes.Equal(v, was) {
			t.Fatalf("%q of %q: %q, then %q", name, was, one, two)
		}
		// As part of a pick, before and after a split.
		w := &walk{d: &Decoder{zone: time.UTC}}
		p := pick{clean: []cleaner{c}, split: []byte{sep}, after: []cleaner{c}}
		w.yield(&p, v, -1, func(part []byte, _ int32) bool {
			if blank(part) {
				t.Fatalf("%q of %q gave nothing as a value", name, was)
			}
			return true
		})
		if !bytes.Equal(v, was) {
			t.Fatalf("%q changed %q into %q", name, was, v)
		}
	})
}

// An inverted index is what putting every word into its places by hand gives.
func FuzzInvertedIndex(f *testing.F) {
	ep := &source.Endpoint{Format: source.FormatJSON, Response: source.Response{Items: []string{"i"}, ID: at("id")}}
	d := compile(f, ep, source.Identity{}, &source.Mapping{Fields: []source.Field{text("t", cleaned("x", "inverted_index")...)}})
	for _, s := range []string{
		`{"a":[0,3],"cat":[1],"saw":[2]}`, `{"a":[99999],"b":[100000]}`, `{"\u00e9\"":[ 1 , 2 ],"":[0]}`, `{"a":[1e1,"2",null,1.5,[3],{}],"b":[4,04]}`, `{"a":{"b":[1]}}`, `[]`, `null`, `{"a":[0],"a":[1]}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, index []byte) {
		body := slices.Concat([]byte(`{"i":[{"id":1,"x":`), index, []byte(`}]}`))
		p, err := d.Page(body)
		if err != nil || len(p.Items) != 1 || p.Items[0].Problem != nil {
			return
		}
		wellPlaced(t, body, p)
		var got struct{ T string }
		if err := json.Unmarshal(p.Items[0].Fields, &got); err != nil {
			t.Fatal(err)
		}
		// The reference keeps the order of the words by reading tokens.
		dec := json.NewDecoder(bytes.NewReader(p.Items[0].Raw))
		var item struct{ X json.RawMessage }
		if err := dec.Decode(&item); err != nil {
			t.Skip(err)
		}
		words := map[int]string{}
		dec = json.NewDecoder(bytes.NewReader(item.X))
		if tok, err := dec.Token(); err != nil || tok != json.Delim('{') {
			if got.T != "" {
				t.Fatalf("%s: %q", item.X, got.T)
			}
			return
		}
		for dec.More() {
			word, err := dec.Token()
			if err != nil {
				t.Skip(err)
			}
			var places json.RawMessage
			if err := dec.Decode(&places); err != nil {
				t.Skip(err)
			}
			var list []json.RawMessage
			if places[0] != '[' || json.Unmarshal(places, &list) != nil {
				continue
			}
			for _, n := range list {
				if i, err := strconv.Atoi(string(n)); err == nil && i >= 0 && n[0] != '-' && i < maxPlaces {
					words[i] = word.(string)
				}
			}
		}
		var all []string
		for _, i := range slices.Sorted(maps.Keys(words)) {
			all = append(all, words[i])
		}
		want := strings.TrimLeft(strings.Join(all, " "), " ")
		if strings.TrimSpace(want) == "" {
			want = ""
		}
		if strings.TrimLeft(got.T, " ") != want {
			t.Fatalf("%s: %q, want %q", item.X, got.T, want)
		}
	})
}
