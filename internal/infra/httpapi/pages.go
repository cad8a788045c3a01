package httpapi

import (
	"net/http"
	"strings"

	"github.com/papertrace/patra/internal/app/control"
)

// Pages are what people see at every path that is not the API's.
type Pages interface {
	// Show answers a request that came through the gates of host and origin. What
	// the visitor may do, or why nobody is let in, is in the visit.
	Show(w http.ResponseWriter, r *http.Request, v control.Visit)
	// SetAPI tells the pages which API makes the changes.
	SetAPI(api http.Handler)
}

// sessionCookie holds the token of somebody who came with a browser.
const sessionCookie = "patra_token"

// withoutBase is a request as it would be if nothing stood before its path.
func (d *Door) withoutBase(r *http.Request) *http.Request {
	rest, is := strings.CutPrefix(r.URL.Path, d.base+"/")
	if d.base == "" || !is {
		return r
	}
	address := *r.URL
	address.Path = "/" + rest
	address.RawPath = strings.TrimPrefix(r.URL.RawPath, d.base)
	out := *r
	out.URL = &address
	return &out
}

// isForPeople reports whether a request is for the pages.
func (d *Door) isForPeople(r *http.Request) bool {
	if d.pages == nil || r.URL.Path == base || strings.HasPrefix(r.URL.Path, base+"/") {
		return false
	}
	_, pattern := d.mux.Handler(r)
	return d.routes[pattern].path == ""
}

// showPages lets a request through to the pages. A browser sends its token as a
// cookie, which no page of another site can make it send.
func (d *Door) showPages(w http.ResponseWriter, r *http.Request) {
	no := d.checkHost(r)
	if no == nil && d.origins.Check(r) != nil {
		no = refusal(http.StatusForbidden, "cross_origin", "a page of another site may not change anything here", "open this page itself, and send the form from there")
	}
	if no != nil {
		w.Header().Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
		no.write(w)
		return
	}
	adoptSession(r)
	who, no := d.caller(r)
	v := control.Visit{Caller: who, ReadOnly: d.readOnly}
	if no != nil {
		v.Status = no.Status
		v.Refused = control.Problem{Code: no.Code, Title: no.Title, Next: no.Next}
	}
	d.pages.Show(w, r, v)
}

// adoptSession makes the token of a browser's cookie the one that the request comes
// with.
func adoptSession(r *http.Request) {
	if r.Header.Get("Authorization") != "" {
		return
	}
	c, err := r.Cookie(sessionCookie)
	if err != nil || c.Value == "" {
		return
	}
	r.Header.Set("Authorization", "Bearer "+c.Value)
}
