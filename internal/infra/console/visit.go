package console

import (
	"cmp"
	"crypto/rand"
	"crypto/subtle"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/papertrace/patra/internal/app/control"
)

// visit is one request for a page, by somebody.
type visit struct {
	*http.Request
	control.Visit
	look  *look
	theme string // light, dark, or empty: as the system has it
	base  string
	csrf  string
	now   time.Time
	json  bool // the document is wanted and not the page
}

// Names of cookies. None of them leaves the site.
const (
	tokenCookie = "patra_token"
	csrfCookie  = "patra_form"
	themeCookie = "patra_theme"
	langCookie  = "patra_lang"
)

// newVisit finds out in which words and colours somebody wants to read.
func (c *Console) newVisit(w http.ResponseWriter, r *http.Request, v control.Visit) *visit {
	out := &visit{Request: r, Visit: v, base: c.base, now: time.Now().UTC()}
	out.look = c.looks[languageOf(r)]
	if theme := cookie(r, themeCookie); theme == "light" || theme == "dark" {
		out.theme = theme
	}
	out.csrf = cookie(r, csrfCookie)
	if out.csrf == "" && r.Method == http.MethodGet {
		out.csrf = rand.Text()
		c.setCookie(w, r, csrfCookie, out.csrf, 0)
	}
	return out
}

func cookie(r *http.Request, name string) string {
	c, err := r.Cookie(name)
	if err != nil {
		return ""
	}
	return c.Value
}

// setCookie sets a cookie that no script can read and no other site can make the
// browser send.
func (c *Console) setCookie(w http.ResponseWriter, r *http.Request, name, value string, seconds int) {
	http.SetCookie(w, &http.Cookie{
		Name: name, Value: value, Path: cmp.Or(c.base, "/"), MaxAge: seconds, HttpOnly: true, SameSite: http.SameSiteStrictMode, Secure: r.TLS != nil,
	})
}

// languageOf is the language that was chosen, or that the browser asks for first.
func languageOf(r *http.Request) string {
	if chosen := cookie(r, langCookie); languages[chosen] != "" {
		return chosen
	}
	best, weight := "en", 0.0
	for part := range strings.SplitSeq(r.Header.Get("Accept-Language"), ",") {
		name, rest, _ := strings.Cut(strings.TrimSpace(part), ";")
		primary, _, _ := strings.Cut(strings.ToLower(name), "-")
		q := 1.0
		if text, is := strings.CutPrefix(strings.TrimSpace(rest), "q="); is {
			q, _ = strconv.ParseFloat(text, 64) // what is no number is not wanted
		}
		if languages[primary] != "" && q > weight {
			best = primary
			weight = q
		}
	}
	return best
}

// formIsOurs reports whether a form was made by a page of this console for this
// browser.
func (v *visit) formIsOurs() bool {
	sent := v.PostFormValue("form_token")
	return v.csrf != "" && subtle.ConstantTimeCompare([]byte(sent), []byte(v.csrf)) == 1
}

// t is a text of the interface in the visitor's language.
func (v *visit) t(key string, args ...any) string { return v.look.words.say(key, args...) }

// path is a path of the console, with what is put into it escaped.
func (v *visit) path(format string, args ...any) string {
	for i, arg := range args {
		args[i] = url.PathEscape(fmt.Sprint(arg))
	}
	return v.base + fmt.Sprintf(strings.ReplaceAll(format, "%d", "%s"), args...)
}

// with is the address of this page with a parameter set, or taken out if it is empty.
// Where a list begins is forgotten unless that is what is set.
func (v *visit) with(name, value string) string {
	q := v.URL.Query()
	q.Del("after")
	q.Del("done")
	if value == "" {
		q.Del(name)
	} else {
		q.Set(name, value)
	}
	address := v.URL.EscapedPath()
	if len(q) > 0 {
		address += "?" + q.Encode()
	}
	return address
}

// here is the address of this page as it would be shared.
func (v *visit) here() string {
	q := v.URL.Query()
	q.Del("done")
	q.Del("undo")
	address := v.URL.EscapedPath()
	if len(q) > 0 {
		address += "?" + q.Encode()
	}
	return address
}

// query is a parameter of the address.
func (v *visit) query(name string) string { return strings.TrimSpace(v.URL.Query().Get(name)) }

// number is a parameter of the path that is a number; what is none is not found.
func (v *visit) number(name string) (int64, error) {
	n, err := strconv.ParseInt(v.PathValue(name), 10, 64)
	if err != nil || n < 1 {
		return 0, errNoPage
	}
	return n, nil
}

// page is which part of a list is wanted.
func (v *visit) page() control.Page { return control.Page{After: v.query("after"), Limit: pageRows} }

// pageRows is how many rows a list shows.
const pageRows = 50

// withAll is a command and the path of its document, both for everything if the address
// asks for all.
func (v *visit) withAll(command, path string, params ...string) (cmd, doc string) {
	if v.query("all") == "" {
		return command, api(path, params...)
	}
	return command + " --all", api(path, append(params, "all", "true")...)
}

// api is the path of a document with those of its parameters that have a value.
func api(path string, params ...string) string {
	q := url.Values{}
	for i := 0; i+1 < len(params); i += 2 {
		if params[i+1] != "" {
			q.Set(params[i], params[i+1])
		}
	}
	if len(q) > 0 {
		path += "?" + q.Encode()
	}
	return path
}
