package decode

import (
	"strings"
	"testing"

	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/source"
)

// values decodes one item and lists what a path finds in it.
func values(t testing.TB, format, path, item string) string {
	t.Helper()
	ep := &source.Endpoint{Format: format, Response: source.Response{Items: []string{"$"}, ID: at("$")}}
	body := "[" + item + "]"
	if format == source.FormatXML {
		ep.Response = source.Response{Items: []string{"r/*"}, ID: at(".")}
		body = "<r>" + item + "</r>"
	}
	m := &source.Mapping{Fields: []source.Field{list("v", at(path)...)}}
	d, err := Compile(ep, source.Identity{}, m, harvest.Calendar{})
	if err != nil {
		return "error"
	}
	p := page(t, d, body)
	if len(p.Items) != 1 {
		t.Fatalf("%d items", len(p.Items))
	}
	v := strings.TrimSuffix(strings.TrimPrefix(string(p.Items[0].Fields), `{"v":`), "}")
	return strings.TrimPrefix(v, "{")
}

func TestPath_JSON(t *testing.T) {
	const doc = `{"a":{"b-c":"1","x.y":"2","e":null,"n":7,"t":true},"l":["p","q",null,3,["r"],{"z":"s"}],
		"o":[{"type":"print","value":"A","k":{"m":"1"}},{"value":"B","type":"electronic"},{"value":"C"}],
		"\u0064up":"old","dup":"new","esc\"q":"E","":"empty","m":[[1,2],[3]], "*":"star",
		"num":{"0":{"v":"key"}},"link":[{"@ref":"self","@href":"S"},{"@ref":"next","@href":"N"}]}`
	for path, want := range map[string]string{
		"a.b-c":                         `["1"]`,
		"$.a.b-c":                       `["1"]`,
		"$['a']['x.y']":                 `["2"]`,
		`a["x.y"]`:                      `["2"]`,
		"a.e":                           ``,
		"a.n":                           `["7"]`,
		"a.t":                           `["true"]`,
		"a":                             ``,
		"a.*":                           `["1","2","7","true"]`,
		"l":                             `["p","q","3"]`,
		"l[*]":                          `["p","q","3","r"]`,
		"l[1]":                          `["q"]`,
		"l[99]":                         ``,
		"l[*].z":                        `["s"]`,
		"l.z":                           ``,
		"o.value":                       ``,
		"o[*].value":                    `["A","B","C"]`,
		"o[type=print].value":           `["A"]`,
		"o[?(@.type=='print')].value":   `["A"]`,
		"o[?(@.type!='print')].value":   `["B","C"]`,
		"o[type!=print].value":          `["B","C"]`,
		"o[?(@.type)].value":            `["A","B"]`,
		"o[k.m=1].value":                `["A"]`,
		`o[type="electronic"].value`:    `["B"]`,
		"o[0].type":                     `["print"]`,
		"dup":                           `["new"]`,
		`esc"q`:                         `["E"]`,
		"m[*][*]":                       `["1","2","3"]`,
		"m[1][0]":                       `["3"]`,
		"m[0]":                          `["1","2"]`,
		"['*']":                         `["star"]`,
		"":                              `error`,
		"a..b":                          `error`,
		"a.":                            `error`,
		"a[":                            `error`,
		"a[]":                           `error`,
		"a[-1]":                         `error`,
		"a[1:2]":                        `error`,
		"a]":                            `error`,
		"a[b]c":                         `error`,
		"a[?(b=='c')]":                  `error`,
		"a[?(@.b='c')]":                 `error`,
		"a[b=]":                         `error`,
		"a['']":                         `error`,
		"l.1":                           `["q"]`,
		"l.01":                          ``,
		"m.1.0":                         `["3"]`,
		"o.0.type":                      `["print"]`,
		"o.1.k":                         ``,
		"num.0.v":                       `["key"]`,
		"num['0'].v":                    `["key"]`,
		"num[0].v":                      ``,
		"l['1']":                        ``,
		"link[@ref=next].@href":         `["N"]`,
		"link[?(@.@ref=='self')].@href": `["S"]`,
	} {
		if got := values(t, source.FormatJSON, path, doc); got != want {
			t.Errorf("%s: got %s, want %s", path, got, want)
		}
	}
}

func TestPath_XML(t *testing.T) {
	const doc = `<i k="0"><a x="1" y='p&amp;q'>one</a><a x="2">two<b>!</b></a><a>three</a><p:a xmlns:p="u" p:x="9">four</p:a>
		<c><a>deep</a></c><e/><e  ></e ><d><![CDATA[<raw> & ]]>&lt;&#65;&#x42;<!-- no --><?pi no?></d><n>` + "a\r\nb\rc" + `</n><é>u</é></i>`
	for path, want := range map[string]string{
		"a":                  `["one","two!","three","four"]`,
		"p:a":                `["four"]`,
		"q:a":                ``,
		"a[1]":               `["one"]`,
		"a[2]":               `["two!"]`,
		"a[9]":               ``,
		"a[@x='1']":          `["one"]`,
		"a[@x='2']/b":        `["!"]`,
		`a[@x!="1"]`:         `["two!","three","four"]`,
		"a[@x]":              `["one","two!","four"]`,
		"a[@x][2]":           `["two!"]`,
		"a[2][@x]":           `["two!"]`,
		"a[3][@x]":           ``,
		"a[@y='p&q']":        `["one"]`,
		"a[@x='1'][@y!='z']": `["one"]`,
		"a/@x":               `["1","2","9"]`,
		"a/@p:x":             `["9"]`,
		"a[1]/@y":            `["p&q"]`,
		"@k":                 `["0"]`,
		"c/a":                `["deep"]`,
		"*/a":                `["deep"]`,
		"c/*":                `["deep"]`,
		"e":                  ``,
		"d":                  `["<raw> & <AB"]`,
		"n":                  `["a\nb\nc"]`,
		"é":                  `["u"]`,
		"/a":                 `["one","two!","three","four"]`,
		"":                   `error`,
		"//a":                `error`,
		"a//b":               `error`,
		"a/":                 `error`,
		"a[0]":               `error`,
		"a[b='c']":           `error`,
		"a[@x=1]":            `["one"]`,
		"a[@x=2]/b":          `["!"]`,
		"a[@y=p&q]/@x":       `["1"]`,
		"a[@x='1]":           `error`,
		"a[@x=]":             `error`,
		"a[@x='1'":           `error`,
		"@x/a":               `error`,
		"@x[1]":              `error`,
		"@*":                 `error`,
		"a b":                `error`,
		"a:":                 `error`,
		"..":                 `error`,
	} {
		if got := values(t, source.FormatXML, path, doc); got != want {
			t.Errorf("%s: got %s, want %s", path, got, want)
		}
	}
}

func TestCompile_ReportsAllErrorsAtOnce(t *testing.T) {
	ep := &source.Endpoint{Format: source.FormatJSON, Response: source.Response{
		Items: []string{"a["}, ID: at(""), Total: "x..y", Signals: map[string]string{"s": ""},
	}}
	m := &source.Mapping{
		Fields: []source.Field{
			text("t", source.Pick{Path: "a", Clean: []string{"shout"}}),
			{Name: "o", Kind: source.FieldObjects, Each: []string{"]"}, Fields: []source.Field{text("in", at("b[")...)}},
			{Name: "k", Kind: "THING"},
			text("f", source.Pick{Path: "a", Format: "yesterday"}),
			text("d", source.Pick{Parts: &source.DateParts{Year: "y[", List: ""}}),
			{Name: "l", Kind: source.FieldText, Label: "x", From: at("a")},
			text("t", at("a")...),
		},
		Required: []string{"nope"}, Volatile: []string{"$"}, Retracted: []source.Presence{{Path: "q["}},
	}
	_, err := Compile(ep, source.Identity{Form: "UUID"}, m, harvest.Calendar{})
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{
		"response.items[0]:", "response.id[0].path:", "response.total:", "response.signals.s:", "identity.form:",
		"mapping.fields.t.from[0].clean:", "mapping.fields.o.each:", "mapping.fields.o.fields.in.from[0].path:", "mapping.fields.k.kind:",
		"mapping.fields.f.from[0].format:", "mapping.fields.d.from[0].parts.year:", "mapping.fields.l.label:", "mapping.fields.t:",
		"mapping.required[0]:", "mapping.volatile[0]:", "mapping.retracted[0].path:",
	} {
		if !strings.Contains("\n"+err.Error(), "\n"+want) {
			t.Errorf("%s is not reported in\n%v", want, err)
		}
	}
}

// Whatever the path, compiling it ends, and so does walking with it.
func FuzzPath(f *testing.F) {
	for _, p := range []string{"$.a.b[0].c[*]", "a[?(@.b=='c')].d", "a[b!=c]", "['x']", "A/B[@c='d'][1]/@e", "*/p:x[@y!='n']", ".", "a.*"} {
		f.Add(p)
	}
	f.Fuzz(func(t *testing.T, path string) {
		const js, xm = `{"a":{"b":[{"b":"c","c":[1,2]}]},"x":[[["y"]]]}`, `<A c="d"><B c="d" e="f"><p:x>1</p:x></B></A>`
		values(t, source.FormatJSON, path, js)
		values(t, source.FormatXML, path, xm)
		if steps, err := parseJSONPath(path); err == nil && len(steps) > maxSteps {
			t.Error("too many steps")
		}
	})
}

func TestPath_TooManySteps(t *testing.T) {
	for _, p := range []string{strings.Repeat("a.", 200) + "a", strings.Repeat("a/", 200) + "a"} {
		_, jerr := parseJSONPath(p)
		_, xerr := parseXMLPath(p)
		if jerr == nil && xerr == nil {
			t.Errorf("%.10s... was accepted", p)
		}
	}
}
