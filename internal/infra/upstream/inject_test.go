package upstream

import (
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/source"
)

// hostileValues try to get out of every place a value can be put into.
var hostileValues = []string{
	"&api_key=evil", "x&api_key=evil&y", "=&;=", "a;api_key=evil", "#fragment", "?query=1", "x#@evil.example/?y",
	"..", ".", "../admin", "../../admin", "a/../../admin", "%2e%2e", "%2e%2e%2fadmin", "%252e%252e%252fadmin", "..;/admin", "..%5cadmin", `..\admin`,
	"/admin", "//evil.example/", "http://evil.example/", "@evil.example", ":80", "a/b", "a b", "a+b", "%", "%zz", "%00", "%0d%0aX-Evil: 1",
	"a\r\nX-Evil: 1", "a\nX-Evil: 1", "a\rX-Evil: 1", "\r\n\r\nGET /admin HTTP/1.1\r\nHost: x\r\n\r\n", "a\x00b", "\x00", "a\tb", "a\x7fb", "a\x1fb", "\x85", "a\u0085b",
	"a\u2028b", "\u560a\u560dX-Evil: 1", "${vars.contact}", "${", "$${x}", "{{.}}", "'; DROP TABLE x; --", `"}],"x":[{"`, "<!DOCTYPE x>", "Bearer evil", " HTTP/1.1", "é", "\xff\xfe",
}

// variables are all that a template can see whose value comes from outside: a
// window's bounds and a page's numbers are none. Each is set in a spec and call
// and read by the expression.
var variables = []struct {
	expr string
	set  func(*source.Spec, *source.Call, string)
}{
	{"page.token", func(_ *source.Spec, c *source.Call, v string) { c.Position.Token = v }},
	{"page.held.x", func(_ *source.Spec, c *source.Call, v string) { c.Position.Held = map[string]string{"x": v} }},
	{"ids[0]", func(_ *source.Spec, c *source.Call, v string) { c.IDs = []string{v} }},
	{"join(ids, ',')", func(_ *source.Spec, c *source.Call, v string) { c.IDs = []string{v} }},
	{"join(ids, vars.x)", func(s *source.Spec, c *source.Call, v string) {
		s.Vars, c.IDs = map[string]string{"x": v}, []string{"a", "b"}
	}},
	{"vars.x", func(s *source.Spec, _ *source.Call, v string) { s.Vars = map[string]string{"x": v} }},
	{"query.x", func(s *source.Spec, _ *source.Call, v string) {
		s.Query = &source.Selection{Values: map[string]string{"x": v}}
	}},
	{"'p' + query.x + 's'", func(s *source.Spec, _ *source.Call, v string) {
		s.Query = &source.Selection{Values: map[string]string{"x": v}}
	}},
	{"coalesce(vars.none, page.token)", func(_ *source.Spec, c *source.Call, v string) { c.Position.Token = v }},
}

// bodies are the kinds of text that a pack may send, each with a ? where a value
// goes, and how a server finds that value.
var bodies = map[string]struct {
	kind, text string
	read       func(string) (string, error)
}{
	"json":           {"application/json", `{"before":1,"q":?,"after":2}`, readJSON},
	"json in quotes": {"application/vnd.x+json; charset=utf-8", `{"before":1,"q":"?","after":2}`, readJSON},
	"form text":      {formType, "before=1&q=?&after=2", readPairs},
	"xml":            {"application/xml", `<r><before a="1"/><q>?</q><after/></r>`, readXML},
	"text":           {"text/plain", "before ? after", func(s string) (string, error) { return asText(s[len("before "):len(s)-len(" after")], false), nil }},
}

// asText is a value with a sign in place of what is no text: bytes that are not
// UTF-8, and in XML those that it has no way to write.
func asText(s string, inXML bool) string {
	return strings.Map(func(r rune) rune {
		if inXML && r < ' ' && r != '\t' {
			return '\ufffd'
		}
		return r
	}, s)
}

func readJSON(s string) (string, error) {
	var v struct {
		Before, After int
		Q             string
	}
	d := json.NewDecoder(strings.NewReader(s))
	d.DisallowUnknownFields()
	if err := d.Decode(&v); err != nil {
		return "", err
	}
	if _, err := d.Token(); v.Before != 1 || v.After != 2 || err != io.EOF {
		return "", errors.New("something else was changed")
	}
	return v.Q, nil
}

func readPairs(s string) (string, error) {
	v, err := url.ParseQuery(s)
	if err == nil && (len(v) != 3 || len(v["q"]) != 1 || v.Get("before") != "1" || v.Get("after") != "2") {
		err = errors.New("something else was changed")
	}
	return asText(v.Get("q"), false), err
}

func readXML(s string) (string, error) {
	var q strings.Builder
	var names []string
	for d := xml.NewDecoder(strings.NewReader(s)); ; {
		tok, err := d.Token()
		if err == io.EOF {
			break
		}
		if err != nil {
			return "", err
		}
		switch tok := tok.(type) {
		case xml.StartElement:
			names = append(names, tok.Name.Local)
		case xml.CharData:
			q.Write(tok)
		case xml.Directive, xml.Comment, xml.ProcInst:
			return "", errors.New("something was added")
		}
	}
	if strings.Join(names, " ") != "r before q after" {
		return "", fmt.Errorf("elements %q", names)
	}
	return q.String(), nil
}

// TestR51_NothingEscapesItsPlace puts every hostile value through every variable
// into every place of a request: either nothing leaves, or exactly that value
// arrives in exactly that place, and all else is as with a harmless one.
func TestR51_NothingEscapesItsPlace(t *testing.T) {
	const secret = "the-one-good-key"
	var got *http.Request
	var body string
	var requests, refused, sent int
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests++
		b, _ := io.ReadAll(r.Body)
		got, body = r, string(b)
		io.WriteString(w, goodReply)
	}))
	defer srv.Close()
	c := newClient(Config{Credentials: &pool{keys: []string{secret}}, Rand: steady}, new(free), jsonDecoder{})
	defer c.Close()

	for _, place := range []string{"path", "query", "form", "header", "endpoint header", "json", "json in quotes", "form text", "xml", "text"} {
		for _, v := range variables {
			for _, value := range append([]string{"plain"}, hostileValues...) {
				spec := authSpec(source.Auth{Type: source.AuthAPIKey, In: source.InQuery, Name: "api_key"})
				spec.HTTP = source.HTTP{BaseURL: srv.URL + "/v1", AllowHTTP: true, AllowPrivate: true}
				spec.Vars = nil
				spec.Search = source.Endpoint{
					Path: "/works/fixed/end", Method: "POST", Format: source.FormatJSON,
					Query: map[string]string{"q": "1"}, Form: map[string]string{"f": "2"}, Headers: source.Headers{"X-Own": new("3")},
				}
				expr := "${" + v.expr + "}"
				switch place {
				case "path":
					spec.Search.Path = "/works/" + expr + "/end"
				case "query":
					spec.Search.Query["q"] = expr
				case "form":
					spec.Search.Form["f"] = expr
				case "header":
					spec.HTTP.Headers = source.Headers{"X-Own": new(expr)}
					spec.Search.Headers = nil
				case "endpoint header":
					spec.Search.Headers["X-Own"] = new(expr)
				default:
					spec.Search.Form = nil
					spec.Search.Body, spec.Search.ContentType = strings.Replace(bodies[place].text, "?", expr, 1), bodies[place].kind
				}
				call := source.Call{Purpose: source.ForSearch}
				v.set(spec, &call, value)
				want := value // as the variable gives it
				switch v.expr {
				case "join(ids, vars.x)":
					want = "a" + value + "b"
				case "'p' + query.x + 's'":
					want = "p" + value + "s"
				}
				at := place + " " + v.expr

				before := requests
				_, err := c.Ask(t.Context(), spec, call)
				if err != nil {
					refused++
					if f := mustFault(t, err); f.Code != "bad_request" || f.Level != harvest.Rejected || requests != before || value == "plain" {
						t.Errorf("%s %q: %v, %d sent", at, value, err, requests-before)
					}
					continue
				}
				sent++
				if strings.ContainsAny(value, "\r\n\x00") && !strings.HasPrefix(place, "json") && place != "form text" { // where they are escaped
					t.Errorf("%s %q was sent", at, value)
				}
				in := func(p, other string) string {
					if place == p {
						return want
					}
					return other
				}
				u, err := url.ParseRequestURI(got.RequestURI)
				if err != nil || requests != before+1 {
					t.Fatalf("%s %q: %d sent, %v", at, value, requests-before, err)
				}
				segments := strings.Split(u.EscapedPath(), "/")
				if len(segments) != 5 || segments[1] != "v1" || segments[2] != "works" || segments[4] != "end" {
					t.Errorf("%s %q: path %s", at, value, u.EscapedPath())
				} else if s, err := url.PathUnescape(segments[3]); err != nil || place == "path" && (s != want || isDotSegment(s)) || place != "path" && s != "fixed" {
					t.Errorf("%s %q: segment %q", at, value, segments[3])
				}
				if q := u.Query(); strings.Join(slices.Sorted(maps.Keys(q)), " ") != "api_key q" || len(q["q"]) != 1 || q.Get("q") != in("query", "1") || len(q["api_key"]) != 1 || q.Get("api_key") != secret {
					t.Errorf("%s %q: query %q", at, value, q)
				}
				if b := bodies[place]; b.text != "" {
					if v, err := b.read(body); err != nil || v != asText(want, place == "xml") {
						t.Errorf("%s %q: body %q, %v", at, value, body, err)
					}
				} else if f, err := url.ParseQuery(body); err != nil || len(f) != 1 || len(f["f"]) != 1 || f.Get("f") != in("form", "2") {
					t.Errorf("%s %q: form %q", at, value, f)
				}
				// What HTTP itself takes off a header's value is its edges.
				own := strings.Trim(in("header", in("endpoint header", "3")), " \t")
				if h := got.Header; len(h["X-Own"]) != 1 || h.Get("X-Own") != own || h.Get("X-Evil") != "" || h.Get("Authorization") != "" || len(h) != 6 {
					t.Errorf("%s %q: header %q", at, value, h)
				}
				if got.Host != strings.TrimPrefix(srv.URL, "http://") || got.Method != "POST" {
					t.Errorf("%s %q: %s to %s", at, value, got.Method, got.Host)
				}
			}
		}
	}
	t.Logf("%d sent with the value in its place, %d refused", sent, refused)
	if sent < 500 || refused < 300 {
		t.Errorf("only %d sent and %d refused", sent, refused)
	}
}
