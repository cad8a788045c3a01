package console

import (
	"net/http"
	"strings"

	"github.com/papertrace/patra/internal/app/control"
)

// refuse answers somebody who is not let in: with the page on which a token is given.
func (c *Console) refuse(w http.ResponseWriter, v *visit) {
	if v.json {
		c.api.ServeHTTP(w, v.apiRequest(http.MethodGet, "/status", nil)) // refuses in its own form
		return
	}
	c.showLogin(w, v, v.Status)
}

// loginPage is where a token is given.
func (c *Console) loginPage(w http.ResponseWriter, r *http.Request) {
	c.showLogin(w, visitOf(r), http.StatusOK)
}

func (c *Console) showLogin(w http.ResponseWriter, v *visit, status int) {
	shown := &view{Title: v.t("login.title"), Lead: v.t("login.lead")}
	hidden := map[string]string{"from": v.here()}
	if strings.HasSuffix(v.URL.Path, "/login") {
		hidden["from"] = v.back()
	}
	shown.Panels = []panel{{ID: "login", Title: v.t("login.token"), Note: v.t("login.how"), Form: &form{
		Action: v.path("/login"), Submit: v.t("login.enter"), Hidden: hidden,
		Fields: []field{{Name: "secret", Label: v.t("login.token"), Kind: "password", Required: true}},
	}}}
	if v.Refused.Title != "" && cookie(v.Request, tokenCookie) != "" {
		shown.Banner = &banner{State: state{Family: control.Failed, Word: v.t("login.refused")}, Text: v.Refused.Title}
	}
	html, err := c.render(v, shown, nil, false)
	if err != nil {
		panic(err)
	}
	send(w, v, status, html)
}

// receive reads a form that was sent, of at most so many bytes. It is taken only if a page
// of this console made it for this browser, and from somebody who may do what it asks for;
// else that is answered and the form is not taken.
func (c *Console) receive(w http.ResponseWriter, v *visit, most int64, needs control.Access) (taken bool) {
	v.Body = http.MaxBytesReader(w, v.Body, most)
	switch {
	case v.Status != 0:
		c.refuse(w, v)
	case v.ParseForm() != nil || !v.formIsOurs():
		c.fail(w, v, errForm)
	case needs != "" && !v.May(needs):
		c.fail(w, v, errReadOnly)
	default:
		return true
	}
	return false
}

// week is how long a browser stays known.
const week = 7 * 24 * 60 * 60

// login remembers the token of somebody. Whether it is one is looked at by the door,
// which limits how often it may be tried, when they come again.
func (c *Console) login(w http.ResponseWriter, r *http.Request) {
	v := visitOf(r)
	if r.ParseForm() != nil || !v.formIsOurs() {
		http.Redirect(w, r, v.path("/login"), http.StatusSeeOther)
		return
	}
	c.setCookie(w, r, tokenCookie, strings.TrimSpace(v.PostFormValue("secret")), week)
	http.Redirect(w, r, v.back(), http.StatusSeeOther)
}

// logout forgets the token.
func (c *Console) logout(w http.ResponseWriter, r *http.Request) {
	v := visitOf(r)
	if r.ParseForm() == nil && v.formIsOurs() {
		c.setCookie(w, r, tokenCookie, "", -1)
	}
	http.Redirect(w, r, v.path("/login"), http.StatusSeeOther)
}

// year is how long a choice of colours or language is kept.
const year = 365 * 24 * 60 * 60

// chooseLook remembers the colours or the language that somebody chose.
func (c *Console) chooseLook(w http.ResponseWriter, r *http.Request) {
	v := visitOf(r)
	if r.ParseForm() == nil && v.formIsOurs() {
		switch theme := v.PostFormValue("theme"); theme {
		case "light", "dark":
			c.setCookie(w, r, themeCookie, theme, year)
		case "system":
			c.setCookie(w, r, themeCookie, "", -1)
		}
		if chosen := v.PostFormValue("lang"); languages[chosen] != "" {
			c.setCookie(w, r, langCookie, chosen, year)
		}
	}
	http.Redirect(w, r, v.back(), http.StatusSeeOther)
}
