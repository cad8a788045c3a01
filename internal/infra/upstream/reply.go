package upstream

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
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
		token, err := headerLink(h, name)
		if err != nil {
			return err
		}
		p.Token = token
	}
	if name, is := strings.CutPrefix(r.URL, source.HeaderPath); is {
		next, err := headerLink(h, name)
		if err != nil {
			return err
		}
		p.URL = next
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
func headerLink(h http.Header, name string) (string, error) {
	if !strings.EqualFold(name, "Link") {
		return strings.TrimSpace(h.Get(name)), nil
	}
	unread := false
	for _, v := range h.Values(name) {
		next, readable := linkNext(v)
		if next != "" {
			return next, nil
		}
		unread = unread || !readable
	}
	if unread {
		return "", errHeader{`header Link tells of a next page, but not in the form <URL>; rel="next"`}
	}
	return "", nil
}

// linkNext finds the target of rel=next in the value of a Link header
// (RFC 8288): <target>; rel="prev next"; ..., <target>; ... What cannot be read
// is passed over, up to the next comma outside of quotes and brackets. Readable is
// false if no target was found, but something passed over names this relation: that
// is another way of writing, and not the last page.
func linkNext(s string) (next string, readable bool) {
	readable = true
	for s != "" {
		s = strings.TrimLeft(s, " \t,")
		target, bracketed := "", false
		if end := strings.IndexByte(s, '>'); strings.HasPrefix(s, "<") && end >= 0 {
			target = strings.TrimSpace(s[1:end])
			bracketed = true
			s = s[end+1:]
		}
		var params string
		params, s = cutOutsideQuotes(s, ',')
		rel := relOf(params)
		isNext := namesRelation(rel, "next")
		if isNext && target != "" {
			return target, true
		}
		if isNext && !bracketed || namesRelation(strings.Trim(rel, "'"), "next") && !isNext {
			readable = false
		}
	}
	return "", readable
}

// cutOutsideQuotes cuts s at the first sep that is not within quotes.
func cutOutsideQuotes(s string, sep byte) (before, after string) {
	quoted := false
	for i := 0; i < len(s); i++ {
		switch {
		case quoted && s[i] == '\\':
			i++
		case s[i] == '"':
			quoted = !quoted
		case s[i] == sep && !quoted:
			return s[:i], s[i+1:]
		}
	}
	return s, ""
}

// relOf is what the parameters of a link say of its relation, empty if nothing. The
// first rel counts, as the standard has it.
func relOf(params string) string {
	for params != "" {
		var p string
		p, params = cutOutsideQuotes(params, ';')
		name, value, _ := strings.Cut(p, "=")
		if strings.EqualFold(strings.TrimSpace(name), "rel") {
			return strings.Trim(strings.TrimSpace(value), `"`)
		}
	}
	return ""
}

// namesRelation reports whether want is among the relations that stand in rel.
func namesRelation(rel, want string) bool {
	return slices.ContainsFunc(strings.Fields(rel), func(one string) bool { return strings.EqualFold(one, want) })
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
