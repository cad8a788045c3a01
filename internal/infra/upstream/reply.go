package upstream

import (
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/source"
)

// errHeader is a reply whose headers are not what the source says of them.
type errHeader struct{ text string }

func (e errHeader) Error() string { return e.text }

// Schema: the reply has another shape.
func (e errHeader) Schema() bool { return true }

// completePage adds to a page what its source keeps in headers (P32), and lifts the
// token out of a link (P4).
func completePage(p *harvest.Page, r *source.Response, h http.Header) error {
	if name, is := strings.CutPrefix(r.Total, source.HeaderPath); is {
		if v := strings.ReplaceAll(strings.TrimSpace(h.Get(name)), ",", ""); v != "" {
			n, err := strconv.ParseInt(v, 10, 64)
			if err != nil || n < 0 {
				return errHeader{fmt.Sprintf("header %s is not a total", name)}
			}
			p.Total = &n
		}
	}
	if name, is := strings.CutPrefix(r.Token, source.HeaderPath); is {
		p.Token = headerLink(h, name)
	}
	if name, is := strings.CutPrefix(r.URL, source.HeaderPath); is {
		p.URL = headerLink(h, name)
	}
	if r.TokenParam != "" && p.Token != "" {
		u, err := parseURL(p.Token)
		if err != nil {
			return errHeader{"the next link is no URL"}
		}
		values, err := url.ParseQuery(u.RawQuery)
		p.Token = values.Get(r.TokenParam)
		if err != nil || p.Token == "" {
			// Not the end: there is a link, only not of the form known.
			return errHeader{fmt.Sprintf("the next link has no parameter %s", r.TokenParam)}
		}
	}
	return nil
}

// headerLink is the text of a header, or the next link if it is a Link header.
func headerLink(h http.Header, name string) string {
	if !strings.EqualFold(name, "Link") {
		return strings.TrimSpace(h.Get(name))
	}
	for _, v := range h.Values(name) {
		if next := linkNext(v); next != "" {
			return next
		}
	}
	return ""
}

// linkNext finds the target of rel=next in the value of a Link header
// (RFC 8288): <target>; rel="prev next"; ..., <target>; ... What cannot be read
// is passed over, up to the next comma outside of quotes and brackets.
func linkNext(s string) string {
	for s != "" {
		s = strings.TrimLeft(s, " \t,")
		target := ""
		if strings.HasPrefix(s, "<") {
			end := strings.IndexByte(s, '>')
			if end < 0 {
				return ""
			}
			target, s = strings.TrimSpace(s[1:end]), s[end+1:]
		}
		var params string
		params, s = untilComma(s)
		if target != "" && hasRel(params, "next") {
			return target
		}
	}
	return ""
}

// untilComma cuts s at the first comma that is not within quotes.
func untilComma(s string) (before, after string) {
	quoted := false
	for i := 0; i < len(s); i++ {
		switch {
		case quoted && s[i] == '\\':
			i++
		case s[i] == '"':
			quoted = !quoted
		case s[i] == ',' && !quoted:
			return s[:i], s[i+1:]
		}
	}
	return s, ""
}

// hasRel reports whether the parameters of a link name a relation. The first
// rel counts, as the standard has it.
func hasRel(params, want string) bool {
	for p := range strings.SplitSeq(params, ";") {
		name, value, ok := strings.Cut(p, "=")
		if !ok || !strings.EqualFold(strings.TrimSpace(name), "rel") {
			continue
		}
		value = strings.Trim(strings.TrimSpace(value), `"`)
		for rel := range strings.FieldsSeq(value) {
			if strings.EqualFold(rel, want) {
				return true
			}
		}
		return false
	}
	return false
}

// emptyPage is the page of a reply that says there are no records (R61). At the
// beginning of a walk that is the whole of it; later it only ends what a page
// without items, token or link ends.
func emptyPage(call source.Call) *harvest.Page {
	p := new(harvest.Page)
	if first := call.Position; call.Purpose == source.ForCount || first.Pages == 0 {
		p.Total, p.HasMore = new(int64(0)), new(false)
	}
	return p
}
