package decode

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/source"
)

// A tombstone needs its id and its date, and nothing else (P13, R31).
func TestPage_Deleted(t *testing.T) {
	m := &source.Mapping{
		Fields: []source.Field{text("title", at("t")...)}, Required: []string{"title"},
		Retracted: []source.Presence{{Path: "r"}},
	}
	js := compile(t, &source.Endpoint{Format: source.FormatJSON, Response: source.Response{
		Items: []string{"i"}, ID: at("id"), UpdatedAt: dated(at("d")...),
		Deleted: []source.Presence{{Path: "deleted"}, {Path: "event", In: []string{"delete"}}, {Path: "merged[*]", Self: true}},
	}}, source.Identity{}, m)
	xm := compile(t, &source.Endpoint{Format: source.FormatXML, Response: source.Response{
		Items: []string{"l/i"}, ID: at("id"), UpdatedAt: dated(at("d")...),
		Deleted: []source.Presence{{Path: "@status", In: []string{"deleted"}}, {Path: "gone"}},
	}}, source.Identity{}, m)
	type want struct{ id, status, problem string }
	check := func(d *Decoder, body string, wants ...want) {
		t.Helper()
		var got []want
		for _, it := range page(t, d, body).Items {
			w := want{id: it.ID, status: string(it.Status)}
			if it.Problem != nil {
				w.problem = string(it.Problem.Code)
			}
			got = append(got, w)
		}
		if diff := cmp.Diff(wants, got, cmp.AllowUnexported(want{})); diff != "" {
			t.Error(diff)
		}
	}
	check(js, `{"i":[
		{"id":1,"d":"2026-01-01","deleted":true},
		{"id":2,"d":"2026-01-01","deleted":false,"t":"x"},
		{"id":3,"d":"2026-01-01","event":"delete"},
		{"id":4,"d":"2026-01-01","event":"update"},
		{"id":5,"d":"2026-01-01","deleted":null,"event":"add","t":"x","r":1},
		{"id":6,"d":"2026-01-01","deleted":1,"t":"x","r":1},
		{"id":7,"d":"2026-01-01","deleted":0,"t":"x"},
		{"id":8,"d":"2026-01-01","merged":["9","8"]},
		{"deleted":true,"d":"2026-01-01"},
		{"id":10,"deleted":true}]}`,
		want{"1", "GONE", ""}, want{"2", "ACTIVE", ""}, want{"3", "GONE", ""}, want{"4", "ACTIVE", "missing_field"},
		want{"5", "RETRACTED", ""}, want{"6", "GONE", ""}, want{"7", "ACTIVE", ""}, want{"8", "GONE", ""},
		want{"", "GONE", "no_id"}, want{"10", "GONE", "bad_date"})
	check(xm, `<l><i status="deleted"><id>1</id><d>2026-01-01</d></i><i status=""><id>2</id><d>2026-01-01</d><t>x</t></i>
		<i><id>3</id><d>2026-01-01</d><gone/></i><i status="active"><id>4</id><d>2026-01-01</d></i></l>`,
		want{"1", "GONE", ""}, want{"2", "ACTIVE", ""}, want{"3", "GONE", ""}, want{"4", "ACTIVE", "missing_field"})

	// In the first of two phases too, where there is no mapping.
	ids := compile(t, &source.Endpoint{Format: source.FormatJSON, Response: source.Response{
		Items: []string{"i"}, ID: at("id"), Deleted: []source.Presence{{Path: "event", In: []string{"delete"}}},
	}}, source.Identity{}, nil)
	check(ids, `{"i":[{"id":1,"event":"delete"},{"id":2,"event":"add"}]}`, want{"1", "GONE", ""}, want{"2", "ACTIVE", ""})
}

// What is in a header is no path of the body.
func TestPage_HeaderPathsAreLeftToOthers(t *testing.T) {
	r := source.Response{Items: []string{"i"}, ID: at("id"), Total: "header:X-Total-Count", Token: "header:X-Next", URL: "header:Link"}
	d := compile(t, &source.Endpoint{Format: source.FormatJSON, Response: r}, source.Identity{}, nil)
	p := page(t, d, `{"header:X-Total-Count":3,"i":[{"id":1}]}`)
	if p.Total != nil || p.Token != "" || p.URL != "" || len(p.Items) != 1 {
		t.Errorf("%+v", p)
	}
	for format, body := range map[string]string{source.FormatJSON: `[]`, source.FormatXML: `<r/>`} {
		count := &source.Endpoint{Format: format, Response: source.Response{Total: "header:X-Total-Count"}}
		if p := page(t, compile(t, count, source.Identity{}, nil), body); p.Total != nil {
			t.Errorf("%+v", p)
		}
	}
}

func TestPage_NumbersAndTruthsInText(t *testing.T) {
	d := compile(t, &source.Endpoint{Format: source.FormatJSON, Response: source.Response{
		Items: []string{"i"}, ID: at("id"), Total: "messages.0.total", HasMore: "more", Version: at("v"),
	}}, source.Identity{}, &source.Mapping{Fields: []source.Field{
		number("n", at("n")...), {Name: "b", Kind: source.FieldBool, From: at("b")},
	}})
	for total, want := range map[string]int64{`"360"`: 360, `"3,180,030"`: 3180030, `" 1,000 "`: 1000, `7`: 7, `"12.0"`: 12, `"3,18"`: -1, `"1,0000"`: -1, `"1.000,5"`: -1, `"-3"`: -1} {
		p, err := d.Page([]byte(`{"messages":[{"total":` + total + `}],"i":[]}`))
		if want < 0 {
			if shapeOf(t, err).Path != "messages.0.total" {
				t.Errorf("%s: %v", total, err)
			}
		} else if err != nil || *p.Total != want {
			t.Errorf("%s: %+v %v", total, p, err)
		}
	}
	for more, want := range map[string]bool{`true`: true, `"Y"`: true, `"yes"`: true, `1`: true, `"N"`: false, `"no"`: false, `0`: false, `"false"`: false} {
		if p := page(t, d, `{"more":`+more+`,"i":[]}`); p.HasMore == nil || *p.HasMore != want {
			t.Errorf("%s: %v", more, p.HasMore)
		}
	}
	for in, want := range map[string]string{
		`"n":"3,180,030","b":"Y"`: `{"n":3180030,"b":true}`,
		`"n":"1,234.5","b":"n"`:   `{"n":1234.5,"b":false}`,
		`"n":"-1,234","b":1`:      `{"n":-1234,"b":true}`,
		`"n":"1,23","b":"maybe"`:  `{}`,
		`"n":",123","b":0`:        `{"b":false}`,
		`"n":"1.234,567","b":""`:  `{}`,
	} {
		p := page(t, d, `{"i":[{"id":1,"v":"1,024",`+in+`}]}`)
		if got := string(p.Items[0].Fields); got != want || p.Items[0].Version != 1024 {
			t.Errorf("%s: %s %d, want %s", in, got, p.Items[0].Version, want)
		}
	}
}

// Days and clocks without an offset are the source's (P28).
func TestPage_StampsWithoutAZone(t *testing.T) {
	z := time.FixedZone("east", 2*3600)
	d, err := Compile(&source.Endpoint{Format: source.FormatJSON, Response: source.Response{Items: []string{"$"}, ID: at("id"), UpdatedAt: dated(at("d")...)}},
		source.Identity{}, nil, harvest.Calendar{Zone: z})
	if err != nil {
		t.Fatal(err)
	}
	for in, want := range map[string]string{
		"2014-12-03T14:27:14.417061":  "2014-12-03T12:27:14.417061Z",
		"2014-12-03T14:27:14.417061Z": "2014-12-03T14:27:14.417061Z",
		"2014-12-03T14:27:14+00:00":   "2014-12-03T14:27:14Z",
		"2014-12-03T14:27:14.5+0000":  "2014-12-03T14:27:14.5Z",
		"2014-12-03T14:27":            "2014-12-03T12:27:00Z",
		"2014-12-03T14:27Z":           "2014-12-03T14:27:00Z",
		"2014-12-03T14:27+02:00":      "2014-12-03T12:27:00Z",
		"2014-12-03 14:27":            "2014-12-03T12:27:00Z",
		"2014-12-03 14:27:14":         "2014-12-03T12:27:14Z",
		"2014-12-03 14:27:14.25":      "2014-12-03T12:27:14.25Z",
		"2014-12-03 14:27:14+01:00":   "2014-12-03T13:27:14Z",
		"2014-12-03":                  "2014-12-02T22:00:00Z",
		"2014/12/03":                  "2014-12-02T22:00:00Z",
		"2014-12":                     "2014-11-30T22:00:00Z",
		"2014":                        "2013-12-31T22:00:00Z",
		"2014-13":                     "",
		"2014-12-03T25:00":            "",
		"Dec 2014":                    "",
	} {
		it := page(t, d, `[{"id":1,"d":"`+in+`"}]`).Items[0]
		got := ""
		if it.Problem == nil {
			got = it.UpdatedAt.Format(time.RFC3339Nano)
		}
		if got != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
}

// With a root that proves the shape, no items are an empty page (P31).
func TestPage_NoItemsUnderARoot(t *testing.T) {
	js := compile(t, &source.Endpoint{Format: source.FormatJSON, Response: source.Response{Root: "total", Items: []string{"data"}, ID: at("id"), Total: "total"}}, source.Identity{}, nil)
	xm := compile(t, &source.Endpoint{Format: source.FormatXML, Response: source.Response{Root: "r/n", Items: []string{"r/l/i"}, ID: at("id"), Total: "r/n"}}, source.Identity{}, nil)
	for body, want := range map[string]int{`{"total":0}`: 0, `{"total":0,"data":null}`: 0, `{"total":1,"data":[{"id":1}]}`: 1, `{"data":[]}`: -1, `{"error":"x"}`: -1} {
		expectItems(t, js, body, want)
	}
	for body, want := range map[string]int{`<r><n>0</n></r>`: 0, `<r><n>0</n><l/></r>`: 0, `<r><n>1</n><l><i><id>1</id></i></l></r>`: 1, `<r><l/></r>`: -1, `<e>x</e>`: -1} {
		expectItems(t, xm, body, want)
	}
}

func expectItems(t *testing.T, d *Decoder, body string, want int) {
	t.Helper()
	p, err := d.Page([]byte(body))
	if want < 0 {
		if shapeOf(t, err).Kind != ShapeSchema {
			t.Errorf("%s: %v", body, err)
		}
	} else if err != nil || len(p.Items) != want {
		t.Errorf("%s: %+v %v", body, p, err)
	}
}

// The answer about one id is the item itself; the root tells it from an error.
func TestPage_ReplyIsTheItem(t *testing.T) {
	d := compile(t, &source.Endpoint{Format: source.FormatJSON, Path: "/v2/${ids}", Response: source.Response{
		Root: "doi", Items: []string{"$"}, ID: at("doi"), UpdatedAt: dated(at("updated")...), Signals: map[string]string{"error": "error"},
	}}, source.Identity{Form: "DOI"}, &source.Mapping{Fields: []source.Field{text("title", at("title")...), list("issn", cleaned("issns", "split:,")...)}})
	const body = `{"doi":"10.1/X","updated":"2026-01-02T03:04:05","title":"T","issns":"1234-5678,8765-4321","oa":[{"doi":"10.1/other"}]}`
	p := page(t, d, " "+body+"\n")
	if len(p.Items) != 1 || string(p.Items[0].Raw) != body || p.Items[0].ID != "10.1/x" || p.Items[0].Problem != nil ||
		string(p.Items[0].Fields) != `{"title":"T","issn":["1234-5678","8765-4321"]}` {
		t.Errorf("%+v", p.Items)
	}
	if p, err := d.Page([]byte(`{"HTTP_status_code":404,"error":true,"message":"x"}`)); shapeOf(t, err).Kind != ShapeSchema || p.Signals["error"] != "true" {
		t.Errorf("%+v %v", p, err)
	}

	x := compile(t, &source.Endpoint{Format: source.FormatXML, Response: source.Response{Items: []string{"article"}, ID: at("id")}},
		source.Identity{}, &source.Mapping{Fields: []source.Field{text("title", at("t")...)}})
	if p := page(t, x, `<article><id>1</id><t>T</t></article>`); len(p.Items) != 1 || p.Items[0].ID != "1" {
		t.Errorf("%+v", p.Items)
	}
	if _, err := x.Page([]byte(`<error/>`)); shapeOf(t, err).Kind != ShapeSchema {
		t.Error(err)
	}
}

// In the answer to a list of ids a null says that there is none; in the answer
// to a search it is something nobody can read.
func TestPage_NullMembers(t *testing.T) {
	m := &source.Mapping{Fields: []source.Field{text("title", at("title")...)}}
	r := source.Response{Items: []string{"$"}, ID: at("paperId")}
	const body = `[null,{"paperId":"a","title":"A"}, null ,{"paperId":"b"},null]`
	batch := compile(t, &source.Endpoint{Format: source.FormatJSON, Body: `{"ids":${json(ids)}}`, Response: r}, source.Identity{}, m)
	p := page(t, batch, body)
	if len(p.Items) != 2 || p.Items[0].ID != "a" || p.Items[1].ID != "b" || p.Items[0].Problem != nil {
		t.Errorf("%+v", p.Items)
	}
	if p := page(t, batch, `[null, null]`); len(p.Items) != 0 {
		t.Errorf("%+v", p.Items)
	}
	r.Items = []string{"data"}
	listed := compile(t, &source.Endpoint{Format: source.FormatJSON, Query: map[string]string{"id": "${join(ids, ',')}"}, Response: r}, source.Identity{}, m)
	search := compile(t, &source.Endpoint{Format: source.FormatJSON, Query: map[string]string{"fields": "ids"}, Response: r}, source.Identity{}, m)
	for _, parallel := range []int{0, 1 << 30} {
		listed.parallelFrom, search.parallelFrom = parallel, parallel
		if p := page(t, listed, `{"data":`+body+`}`); len(p.Items) != 2 || p.Items[1].ID != "b" {
			t.Errorf("%+v", p.Items)
		}
		if p := page(t, search, `{"data":`+body+`}`); len(p.Items) != 5 || p.Items[0].Problem == nil {
			t.Errorf("%+v", p.Items)
		}
	}
}

// Namespaces: names are local unless the path has a prefix, also of attributes,
// whatever the default namespace is at that place (P8).
func TestPage_Namespaces(t *testing.T) {
	d := compile(t, &source.Endpoint{Format: source.FormatXML, Response: source.Response{
		Items: []string{"OAI-PMH/ListRecords/record"}, ID: at("header/identifier"), Deleted: []source.Presence{{Path: "header/@status", In: []string{"deleted"}}},
		Total: "OAI-PMH/ListRecords/resumptionToken/@completeListSize", Token: "OAI-PMH/ListRecords/resumptionToken", URL: "OAI-PMH/link[@ref=next]/@href",
	}}, source.Identity{}, &source.Mapping{Fields: []source.Field{
		text("title", at("metadata/dc/title")...), text("prefixed", at("metadata/oai_dc:dc/dc:title")...), text("other", at("metadata/dc/x:title")...),
		text("schema", at("metadata/dc/@xsi:schemaLocation")...), text("ns", at("metadata/dc/@xmlns")...),
	}})
	p := page(t, d, `<oai:OAI-PMH xmlns:oai="http://www.openarchives.org/OAI/2.0/"><link ref="self" href="S"/><link ref="next" href="/n?a=1&amp;b=2"/><oai:ListRecords>
		<record xmlns="http://www.openarchives.org/OAI/2.0/"><header><identifier>1</identifier></header><metadata>
		<oai_dc:dc xmlns:oai_dc="http://www.openarchives.org/OAI/2.0/oai_dc/" xmlns:dc="u" xmlns:xsi="w" xsi:schemaLocation="a b"><dc:title>T</dc:title></oai_dc:dc></metadata></record>
		<record><header status="deleted"><identifier>2</identifier></header></record>
		<resumptionToken completeListSize="1,234" cursor="0">abc</resumptionToken></oai:ListRecords></oai:OAI-PMH>`)
	if *p.Total != 1234 || p.Token != "abc" || p.URL != "/n?a=1&b=2" || len(p.Items) != 2 || p.Items[1].Status != harvest.RecordGone {
		t.Errorf("%+v", p)
	}
	if got := string(p.Items[0].Fields); got != `{"title":"T","prefixed":"T","schema":"a b"}` {
		t.Error(got)
	}
}

// A prefix that the source binds to a namespace means that namespace, whatever
// prefix a reply has for it, of elements, attributes and conditions (P8).
func TestP8_PrefixesStandForNamespaces(t *testing.T) {
	d := compile(t, &source.Endpoint{Format: source.FormatXML, Response: source.Response{
		Namespaces: map[string]string{"dc": "http://purl.org/dc/elements/1.1/", "x": "http://www.w3.org/1999/xlink"},
		Items:      []string{"list/record"}, ID: at("id"),
	}}, source.Identity{}, &source.Mapping{Fields: []source.Field{
		text("title", at("dc:title")...), text("link", at("a/@x:href")...), text("kind", at("a[@x:type='simple']")...), text("loose", at("title")...),
		text("literal", at("q:title")...),
		{Name: "all", Kind: source.FieldList, From: at("dc:date")},
	}})
	const dc, xlink = `"http://purl.org/dc/elements/1.1/"`, `"http://www.w3.org/1999/xlink"`
	for body, want := range map[string]string{
		`<list xmlns:dc=` + dc + ` xmlns:x=` + xlink + `><record><id>1</id><dc:title>T</dc:title><a x:href="H" x:type="simple">K</a></record></list>`:                                                  `{"title":"T","link":"H","kind":"K","loose":"T"}`,
		`<list xmlns:n1=` + dc + ` xmlns:l=` + xlink + `><record><id>1</id><n1:title>T</n1:title><a l:href="H" l:type="simple">K</a></record></list>`:                                                  `{"title":"T","link":"H","kind":"K","loose":"T"}`,
		`<list><record><id>1</id><title xmlns=` + dc + `>T</title><a href="H">K</a></record></list>`:                                                                                                   `{"title":"T","loose":"T"}`,
		`<list xmlns=` + dc + `><record><id>1</id><title>T</title><title xmlns="">U</title></record></list>`:                                                                                           `{"title":"T","loose":"T"}`,
		`<list xmlns:dc="http://example.org/other"><record><id>1</id><dc:title>T</dc:title></record></list>`:                                                                                           `{"loose":"T"}`,
		`<list><record><id>1</id><dc:title>unbound</dc:title></record></list>`:                                                                                                                         `{"loose":"unbound"}`,
		`<list xmlns:q=` + dc + `><record><id>1</id><q:title>T</q:title></record></list>`:                                                                                                              `{"title":"T","loose":"T","literal":"T"}`,
		`<list><record><id>1</id><p:date xmlns:p=` + dc + `>1</p:date><p:date>2</p:date><p:date xmlns:p=` + dc + `/><p:date xmlns:p='http://purl.org&#47;dc/elements/1.1/'>3</p:date></record></list>`: `{"all":["1","3"]}`,
		`<list xmlns:p=` + dc + `><record><id>1</id><a xmlns:p="u"><p:date>0</p:date></a><p:date>1</p:date></record></list>`:                                                                           `{"all":["1"]}`,
	} {
		if got := string(page(t, d, body).Items[0].Fields); got != want {
			t.Errorf("%s\n%s, want %s", body, got, want)
		}
	}
	if _, err := d.Page([]byte("<list" + strings.Repeat(" xmlns:a='b'", 100_000) + "/>")); limitOf(t, err) != "namespaces" {
		t.Error(err)
	}
}
