package httpapi_test

import (
	"bytes"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// document is the OpenAPI document as a program reads it.
type document struct {
	t        *testing.T
	raw      map[string]any
	compiler *jsonschema.Compiler
	schemas  map[string]*jsonschema.Schema
}

const documentURL = "http://127.0.0.1/api/v1/openapi.json"

func (r *rig) document() *document {
	r.Helper()
	rec := r.send(ask("GET", "/api/v1/openapi.json", ""))
	raw, err := jsonschema.UnmarshalJSON(bytes.NewReader(rec.Body.Bytes()))
	if rec.Code != 200 || err != nil {
		r.Fatalf("%d %v", rec.Code, err)
	}
	d := &document{t: r.T, raw: raw.(map[string]any), compiler: jsonschema.NewCompiler(), schemas: map[string]*jsonschema.Schema{}}
	d.compiler.AssertFormat()
	if err := d.compiler.AddResource(documentURL, raw); err != nil {
		r.Fatal(err)
	}
	if v := d.raw["openapi"]; v != "3.1.0" {
		r.Errorf("openapi %v", v)
	}
	return d
}

// operation is a path and method of the document.
type operation struct {
	method, path string
	raw          map[string]any
}

func (d *document) operations() []operation {
	var out []operation
	paths := d.raw["paths"].(map[string]any)
	for _, path := range slices.Sorted(maps.Keys(paths)) {
		methods := paths[path].(map[string]any)
		for _, method := range slices.Sorted(maps.Keys(methods)) {
			out = append(out, operation{strings.ToUpper(method), path, methods[method].(map[string]any)})
		}
	}
	return out
}

// holds fails unless an answer is one that the document declares.
func (d *document) holds(op operation, what string, rec *httptest.ResponseRecorder) {
	d.t.Helper()
	where := fmt.Sprintf("%s %s, %s: %d", op.method, op.path, what, rec.Code)
	if rec.Code >= 500 {
		d.t.Errorf("%s %s", where, rec.Body) // nothing may break
		return
	}
	status := fmt.Sprint(rec.Code)
	declared, is := op.raw["responses"].(map[string]any)[status].(map[string]any)
	if !is {
		d.t.Errorf("%s is not declared: %s", where, rec.Body)
		return
	}
	content, _ := declared["content"].(map[string]any)
	kind := rec.Header().Get("Content-Type")
	if _, is := content[kind]; !is && len(content) > 0 {
		d.t.Errorf("%s: %s is not declared", where, kind)
		return
	}
	if len(content) == 0 {
		if rec.Body.Len() > 0 {
			d.t.Errorf("%s: a body is not declared", where)
		}
		return
	}
	if strings.HasPrefix(kind, "text/plain") { // of which a schema can say no more
		return
	}
	escape := strings.NewReplacer("~", "~0", "/", "~1")
	at := documentURL + "#/paths/" + escape.Replace(op.path) + "/" + strings.ToLower(op.method) + "/responses/" + status + "/content/" + escape.Replace(kind) + "/schema"
	schema := d.schemas[at]
	if schema == nil {
		var err error
		schema, err = d.compiler.Compile(strings.ReplaceAll(strings.ReplaceAll(at, "{", "%7B"), "}", "%7D"))
		if err != nil {
			d.t.Fatalf("%s: %v", where, err)
		}
		d.schemas[at] = schema
	}
	body, err := jsonschema.UnmarshalJSON(bytes.NewReader(rec.Body.Bytes()))
	if err != nil {
		d.t.Errorf("%s: %q: %v", where, rec.Body, err)
		return
	}
	if err := schema.Validate(body); err != nil {
		d.t.Errorf("%s: %s\n%v", where, rec.Body, err)
	}
}

// oddTexts are what careless and hostile people send in place of a word or a number.
var oddTexts = []string{
	"0", "-1", "1e9", "99999999999999999999", "null", "true", "' OR 1=1 --", `"><script>alert(1)</script>`, "\x00", "\xff\xfe", "..%2f..", "%",
	strings.Repeat("x", 5000), "2024-13-45T99:99:99Z", "0000-00-00", "9999-12-31T23:59:59Z", "🙂", " ",
}

// oddBodies likewise in place of an object.
var oddBodies = []string{
	"", "null", "[]", "{", `"text"`, "{}", `{"reason":1}`, `{"reason":"x","token":"x","unknown":true}`, `{"reason":"x","token":"x"}`,
	`{"reason":"\u0000","token":"1.00000000000000000000000000000000"}`, strings.Repeat("[", 5000), `{"reason":"x","reason":"y"}`, "\xff",
	`{"source":"generic","operation":"HARVEST","from":"x"}`, `{"source":"nowhere","reason":"x","token":"1.x","signals":true,"scheduler":"a","job":"b","log_id":"c"}`,
	`{"source":"generic","ids":["a\nb"]}`, `{"source":"generic","older_than":"x"}`, `{"source":"generic","older_than":"-9999999999h"}`, `{"source":"generic","max":-1}`,
	`{"source":"generic","query":"title:("}`, `{"source":"generic","from":"9999-12-31T23:59:59Z","to":"0001-01-01T00:00:00Z"}`,
	`{"source":"generic","operation":"BACKFILL","scheduler":"a","job":"b","log_id":"d"}`,
	`{"name":"a","source":"generic","cron":"* * *","reason":"x","token":"1.x"}`, `{"name":"a/b","source":"nowhere","cron":"@daily"}`,
	`{"name":"a","source":"generic","cron":"@daily","zone":"Nowhere/At All"}`, `{"name":"a","source":"generic","cron":"@daily","operation":"BACKFILL","from":"-x","to":"now"}`,
	`{"name":"a","source":"generic","cron":"@daily","operation":"UPDATE","older_than":"-5d"}`, `{"name":"\u0000","source":"generic","cron":"@daily"}`,
	`{"pack":":"}`, `{"pack":"source: x\n"}`, `{"pack":"source: [","reason":"x","token":"y"}`, `{"pack":"\u0000"}`, `{"pack":"source: x","observe":"-1d","at":"0001-01-01T00:00:00Z"}`,
	`{"source":"crossref","name":"k","env":"NOWHERE_SET"}`, `{"source":"crossref","name":"k","file":"/etc/shadow"}`, `{"source":"crossref","name":"k","file":"/nowhere/at/all","reason":"x","token":"1.x"}`,
	`{"source":"generic","name":"k","env":"HOME"}`, `{"source":"crossref","name":"k","env":"PATRA_KEY"}`, `{"source":"nowhere","name":"k","env":"HOME","later":true}`,
	`{"to":"2026-01-01","reason":"x","token":"1.x"}`, `{"to":"x","reason":"x","token":"1.x"}`,
	`{"source":"generic","operation":"BACKFILL"}`, `{"source":"generic","reason":"x","token":"bnVsbA.74234e98"}`,
}

// inPath fills the variables of a path.
func inPath(path, code, id, name string) string {
	return strings.NewReplacer("{code}", url.PathEscape(code), "{id}", url.PathEscape(id), "{no}", url.PathEscape(id), "{run}", url.PathEscape(id), "{batch}", url.PathEscape(id), "{name}", url.PathEscape(name)).Replace(path)
}

// TestDocumentIsTrue calls every route of the document as it says, and as it does not:
// nothing breaks, and every answer is one that is declared, down to its fields.
func TestDocumentIsTrue(t *testing.T) {
	r := newRig(t, nil)
	gap := r.harvest()
	doc := r.document()
	r.token(control.Viewer)
	admin := r.token(control.Admin)
	send := func(op operation, what, path, body string, headers ...string) *httptest.ResponseRecorder {
		req := with(ask(op.method, "/", body), admin)
		req.URL, _ = url.Parse("http://127.0.0.1:8080/")
		req.URL.Path, req.URL.RawQuery, _ = strings.Cut(path, "?")
		req.URL.Path, _ = url.PathUnescape(req.URL.Path)
		req.RequestURI = path
		if op.method == http.MethodPost {
			req.Header.Set("Content-Type", "application/json")
		}
		for i := 0; i < len(headers); i += 2 {
			req.Header.Set(headers[i], headers[i+1])
		}
		rec := r.send(req)
		doc.holds(op, what, rec)
		return rec
	}
	good := 0
	for _, op := range doc.operations() {
		path := inPath(op.path, "generic", fmt.Sprint(1), "of-viewer")
		required := ""
		for _, p := range parameters(op) {
			if p.in == "query" && p.required {
				required = "?" + p.name + "=" + url.QueryEscape("2026-01-01T00:00:00Z")
			}
		}
		if rec := send(op, "as declared", path+required, map[string]string{"POST": `{"reason":"x"}`}[op.method]); rec.Code == 200 {
			good++
			if tag := rec.Header().Get("ETag"); tag != "" {
				if again := send(op, "known already", path+required, "", "If-None-Match", tag); again.Code != 304 {
					t.Errorf("%s: %d for what is known", op.path, again.Code)
				}
			}
		}
		for _, odd := range oddTexts {
			if strings.Contains(op.path, "{") {
				send(op, "odd path", inPath(op.path, odd, odd, odd)+required, map[string]string{"POST": `{"reason":"x","token":"1.x"}`}[op.method])
			}
			for _, p := range parameters(op) {
				switch p.in {
				case "query":
					send(op, "odd "+p.name, path+"?"+p.name+"="+url.QueryEscape(odd), map[string]string{"POST": `{"reason":"x","token":"1.x"}`}[op.method])
				case "header":
					if utf8.ValidString(odd) && !strings.Contains(odd, "\x00") {
						send(op, "odd "+p.name, path, `{"reason":"x","token":"1.x"}`, p.name, odd)
					}
				}
			}
		}
		if op.method == http.MethodPost {
			for _, body := range oddBodies {
				send(op, "odd body", path, body)
			}
			if rec := send(op, "not JSON", path, "reason=x", "Content-Type", "application/x-www-form-urlencoded"); rec.Code != 415 {
				t.Errorf("%s takes a form: %d", op.path, rec.Code)
			}
			if rec := send(op, "too much", path, `{"reason":"`+strings.Repeat("x", 2<<20)+`"}`); rec.Code != 413 {
				t.Errorf("%s takes two megabytes: %d", op.path, rec.Code)
			}
		}
	}
	if good < 15 {
		t.Errorf("only %d routes answered with what was asked for", good)
	}
	// A gap that can be accepted is shown as declared too.
	send(findOperation(doc, "GET", "/api/v1/slices/{id}/accept"), "a gap", fmt.Sprintf("/api/v1/slices/%d/accept", gap), "")
	for _, method := range []string{"PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"} {
		rec := r.send(with(ask(method, "/api/v1/sources", ""), admin))
		r.refused(rec, 405, "usage")
		if rec.Header().Get("Allow") != "GET" {
			t.Errorf("%s: allowed are %q", method, rec.Header().Get("Allow"))
		}
	}
}

type parameter struct {
	in, name string
	required bool
}

func parameters(op operation) []parameter {
	var out []parameter
	list, _ := op.raw["parameters"].([]any)
	for _, p := range list {
		m := p.(map[string]any)
		required, _ := m["required"].(bool)
		out = append(out, parameter{m["in"].(string), m["name"].(string), required})
	}
	return out
}

func findOperation(d *document, method, path string) operation {
	d.t.Helper()
	all := d.operations()
	at := slices.IndexFunc(all, func(o operation) bool { return o.method == method && o.path == path })
	if at < 0 {
		d.t.Fatalf("there is no %s %s", method, path)
	}
	return all[at]
}
