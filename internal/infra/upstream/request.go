package upstream

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"net/textproto"
	"net/url"
	"slices"
	"strings"

	"github.com/papertrace/patra/internal/domain/source"
	"github.com/papertrace/patra/internal/domain/template"
)

// message is a rendered request: what every attempt sends.
type message struct {
	method string
	url    *url.URL
	header http.Header
	body   string
	// open: the address may be loopback or private.
	open bool
}

// render makes the request of a call. It fails rather than leave anything out
// that a template was asked for (R42).
func (c *Client) render(p *compiledSpec, call source.Call) (*message, error) {
	e := p.endpoints[call.Purpose]
	if e == nil {
		return nil, fmt.Errorf("source %s has no %s endpoint", p.spec.Source, call.Purpose)
	}
	s := source.NewCallVars(p.spec, p.cal, call)
	base, err := baseURL(p.spec, call)
	if err != nil {
		return nil, err
	}
	m := &message{method: method(e), header: http.Header{}, open: call.BaseURL != "" || p.spec.HTTP.AllowPrivate}
	m.url, err = endpointURL(base, e, s)
	if err != nil {
		return nil, err
	}
	send := e.first
	if call.Purpose == source.ForSearch && !s.Page.First {
		send = e.next
	}
	if call.Purpose == source.ForSearch && call.Position.URL != "" {
		at := call.Position.URL
		if p.spec.Auth != nil {
			at = withoutKeys(p.spec.Auth, at)
		}
		m.url, err = nextURL(m.url, at)
		if err != nil {
			return nil, err
		}
	} else {
		query, err := renderValues("query", send.query, s)
		if err != nil {
			return nil, err
		}
		m.url.RawQuery = query.Encode()
	}
	if err := m.fill(e, send, s); err != nil {
		return nil, err
	}
	return m, c.headers(m, p, e, s, call)
}

const formType = "application/x-www-form-urlencoded"

// fill gives the request its body: a form, a text of the source's own, or the
// parameters themselves where the URL would be too long.
func (m *message) fill(e *endpoint, send *payload, s *source.CallVars) error {
	switch {
	case send.body != nil:
		var err error
		m.body, err = renderBody(send.body, s, e.ContentType)
		if err != nil {
			return fmt.Errorf("body: %w", err)
		}
		m.header.Set("Content-Type", e.ContentType)
	case len(send.form) > 0:
		form, err := renderValues("form", send.form, s)
		if err != nil {
			return err
		}
		m.body = form.Encode()
		m.header.Set("Content-Type", formType)
	case e.PostOver > 0 && m.method == http.MethodGet && len(m.url.String()) > e.PostOver:
		m.method = http.MethodPost
		m.body = m.url.RawQuery
		m.url.RawQuery = ""
		m.header.Set("Content-Type", formType)
	}
	return nil
}

func method(e *endpoint) string {
	if e.Method == "" && len(e.first.form) > 0 {
		return http.MethodPost
	}
	return strings.ToUpper(cmp.Or(e.Method, http.MethodGet))
}

// renderValues renders parameters; those that come out empty are left out,
// because "name=" means something else than no name at all.
func renderValues(place string, from map[string]*template.Template, s *source.CallVars) (url.Values, error) {
	v := url.Values{}
	for name, t := range from {
		for _, one := range s.Each(t) {
			text, err := t.Render(one)
			if err != nil {
				return nil, fmt.Errorf("%s %s: %w", place, name, err)
			}
			if text != "" {
				v.Add(name, text)
			}
		}
	}
	return v, nil
}

// notSettable are headers that no source may give itself (R44), or that are
// ours to send.
var notSettable = []string{
	"Authorization", "Proxy-Authorization", "Cookie", "Host", "Content-Length", "Transfer-Encoding", "Connection",
	"Upgrade", "Te", "Trailer", "Expect", "Accept-Encoding", "Range", "If-Range", "X-Ingest-Correlation-Id",
}

// headers gives the request its headers: those of the source, then our own, of which a source
// can change the name of who is asking only.
func (c *Client) headers(m *message, p *compiledSpec, e *endpoint, s *source.CallVars, call source.Call) error {
	m.header.Set("Accept", accept[e.Format])
	for _, from := range []map[string]*template.Template{p.headers, e.headers} {
		for name, t := range from {
			key := textproto.CanonicalMIMEHeaderKey(name)
			if !isHeaderName(name) || slices.Contains(notSettable, key) {
				return fmt.Errorf("header %q cannot be set by a source", name)
			}
			if t == nil {
				m.header.Del(key)
				continue
			}
			text, err := t.Render(s)
			if err != nil {
				return fmt.Errorf("header %s: %w", name, err)
			}
			if text != "" {
				m.header.Set(key, text)
			}
		}
	}
	m.header.Set("Accept-Encoding", "gzip")
	if m.header.Get("User-Agent") == "" {
		m.header.Set("User-Agent", c.agent(p.spec))
	}
	if call.Correlation != "" {
		m.header.Set("X-Ingest-Correlation-Id", call.Correlation)
	}
	for name, values := range m.header {
		for _, v := range values {
			if strings.ContainsFunc(v, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }) {
				return fmt.Errorf("header %s: %w", name, template.ErrControl)
			}
		}
	}
	return nil
}

// agent says who is asking, and how to reach them.
func (c *Client) agent(spec *source.Spec) string {
	name := "patra/" + cmp.Or(c.cfg.Version, "dev")
	if contact := spec.Vars["contact"]; contact != "" {
		name += " (mailto:" + contact + ")"
	}
	return name
}

var accept = map[string]string{
	source.FormatJSON: "application/json",
	source.FormatXML:  "application/xml, text/xml;q=0.9, */*;q=0.1",
	"":                "*/*",
}

// isHeaderName reports whether s can be the name of a header.
func isHeaderName(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return !(r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z' || strings.ContainsRune("!#$%&'*+.^_`|~-", r))
	})
}

// baseURL is where the call goes: the address that stands in for the source, if there is
// one, or the source's own, which must be https unless it says otherwise.
func baseURL(spec *source.Spec, call source.Call) (*url.URL, error) {
	instead, _ := source.SplitBase(call.BaseURL)
	u, err := parseURL(cmp.Or(instead, spec.HTTP.BaseURL))
	if err != nil {
		return nil, fmt.Errorf("base URL: %w", err)
	}
	switch {
	case u.Host == "" || u.Opaque != "":
		return nil, errors.New("base URL: it names no host")
	case u.Scheme != "https" && u.Scheme != "http":
		return nil, fmt.Errorf("base URL: scheme %q is neither https nor http", u.Scheme)
	case u.Scheme == "http" && call.BaseURL == "" && !spec.HTTP.AllowHTTP:
		return nil, errors.New("base URL: plain http, and the source does not allow it")
	case u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return nil, errors.New("base URL: it must end with the path")
	}
	return u, nil
}

// endpointURL puts the endpoint's path under the base's.
func endpointURL(base *url.URL, e *endpoint, s *source.CallVars) (*url.URL, error) {
	var rel strings.Builder // escaped
	for _, p := range e.path.Parts {
		if !p.IsExpr() {
			if strings.ContainsAny(p.Text, "?#\\\r\n\x00") {
				return nil, fmt.Errorf("path %q holds more than a path", p.Text)
			}
			rel.WriteString(p.Text)
			continue
		}
		v, err := p.Eval(s)
		switch {
		case err != nil:
			return nil, fmt.Errorf("path: %w", err)
		case strings.ContainsAny(v.Text, "\r\n\x00"):
			return nil, fmt.Errorf("path: %w", template.ErrControl)
		case v.Text == "":
			return nil, errors.New("path: an expression in it came out empty")
		case v.Kind == template.KindPath:
			rel.WriteString(strings.ReplaceAll(url.PathEscape(v.Text), "%2F", "/"))
		default:
			rel.WriteString(url.PathEscape(v.Text))
		}
	}
	full := base.EscapedPath()
	if r := strings.TrimLeft(rel.String(), "/"); r != "" {
		full = strings.TrimRight(full, "/") + "/" + r
	}
	u := *base
	var err error
	u.Path, err = url.PathUnescape(full)
	if err != nil {
		return nil, fmt.Errorf("path: %w", err)
	}
	u.RawPath = full
	if !plainPath(u.Path) {
		return nil, errors.New("path: it climbs out of itself")
	}
	return &u, nil
}

// nextURL accepts an address the source gave for the next page only if it is
// the same place as the page before: same scheme, host and port, a path at or
// below the endpoint's, nothing else (R49).
func nextURL(home *url.URL, s string) (*url.URL, error) {
	if strings.ContainsAny(s, "\\\r\n\t\x00") {
		return nil, fmt.Errorf("next URL: %w", errHostile)
	}
	u, err := parseURL(s)
	if err != nil {
		return nil, fmt.Errorf("next URL: %w", errHostile)
	}
	if u.Opaque != "" || u.User != nil || u.Fragment != "" {
		return nil, fmt.Errorf("next URL: %w", errHostile)
	}
	if u.Scheme == "" && u.Host == "" {
		u = home.ResolveReference(u)
	}
	if !strings.EqualFold(u.Scheme, home.Scheme) || !sameHost(u.Hostname(), home.Hostname()) || port(u) != port(home) {
		return nil, fmt.Errorf("next URL: %w", errHostile)
	}
	at, under := strings.TrimRight(home.Path, "/"), u.Path
	if !plainPath(under) || (strings.TrimRight(under, "/") != at && !strings.HasPrefix(under, at+"/")) {
		return nil, fmt.Errorf("next URL: %w", errHostile)
	}
	if _, err := url.ParseQuery(u.RawQuery); err != nil {
		return nil, fmt.Errorf("next URL: %w", errHostile)
	}
	query := strings.ReplaceAll(u.RawQuery, " ", "%20") // or it would end the request line's middle
	return &url.URL{Scheme: home.Scheme, Host: home.Host, Path: u.Path, RawPath: u.RawPath, RawQuery: query}, nil
}

var errHostile = errors.New("it leads away from the source")

// parseURL does not repeat the text it could not parse.
func parseURL(s string) (*url.URL, error) {
	u, err := url.Parse(s)
	if err != nil {
		return nil, errors.New("not a URL")
	}
	return u, nil
}

// sameHost compares as DNS does. Of what Unicode folds to a letter of ASCII
// nothing is as short as that letter.
func sameHost(a, b string) bool { return len(a) == len(b) && strings.EqualFold(a, b) }

func port(u *url.URL) string {
	return cmp.Or(u.Port(), map[string]string{"https": "443", "http": "80"}[strings.ToLower(u.Scheme)])
}

// plainPath reports whether a decoded path means what it says: no control
// characters and no dot segments, however often they were encoded. Some servers
// take what follows a semicolon for a parameter of the segment, and "..;" for
// "..".
func plainPath(p string) bool {
	if strings.ContainsFunc(p, func(r rune) bool { return r < ' ' || r == 0x7f || r == '\\' }) {
		return false
	}
	for range 3 {
		if slices.ContainsFunc(strings.Split(p, "/"), isDotSegment) {
			return false
		}
		again, err := url.PathUnescape(p)
		if err != nil || again == p {
			break
		}
		p = again
	}
	return true
}

// isDotSegment reports whether a server may take a segment of a path for "." or "..".
func isDotSegment(segment string) bool {
	name, _, _ := strings.Cut(segment, ";")
	return name == "." || name == ".."
}

// digest names the request as it was before any secret went in.
func (m *message) digest() string {
	h := sha256.New()
	fmt.Fprintf(h, "%s\n%s\n%s", m.method, mask(m.url), m.maskedBody())
	return hex.EncodeToString(h.Sum(nil))
}

// maskedBody is the body without credentials, if it is a form.
func (m *message) maskedBody() string {
	if v, err := url.ParseQuery(m.body); err == nil && m.body != "" {
		return maskValues(v).Encode()
	}
	return m.body
}

// shownBody is the body for people. What is no form has places for secrets in it, and
// is told by its size.
func (m *message) shownBody() string {
	if m.body == "" || m.header.Get("Content-Type") == formType {
		return m.maskedBody()
	}
	return fmt.Sprintf("%d bytes of %s", len(m.body), m.header.Get("Content-Type"))
}

func (m *message) String() string { return m.method + " " + mask(m.url) }
