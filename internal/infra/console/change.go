package console

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/papertrace/patra/internal/domain/problem"
)

// Changes are made by the API: the console shows its preview, asks for a reason, and
// sends what it takes. A change is named by the path of its route below /api/v1, with
// what the route wants to know as parameters.

// wish is a change that somebody wants.
type wish struct {
	path   string
	params url.Values
}

func parseWish(do string) (wish, error) {
	u, err := url.Parse(do)
	if err != nil || !strings.HasPrefix(u.Path, "/") || u.Host != "" || u.Scheme != "" || strings.Contains(u.Path, "..") {
		return wish{}, errNoPage
	}
	return wish{path: u.EscapedPath(), params: u.Query()}, nil
}

// planned is where plans are made.
const planned = "/plans"

// previewed are the changes whose preview is sent as they are, one step below.
var previewed = []string{planned, "/refreshes", "/schedules", "/searches", "/credentials", "/quarantine/reparse", "/quarantine/refetch", "/works/join", "/works/split"}

// numeric are the parameters that the API takes as numbers, listed those of which it
// takes several, and switched those that are yes or no.
var (
	numeric  = []string{"seconds", "rate", "priority", "work", "other", "id", "limit", "records", "step", "per_second"}
	listed   = []string{"sources", "records", "ids"}
	numbered = []string{"works", "items"} // several of them, each a number
	switched = []string{"force", "cancelled", "all", "enabled", "remap", "lift"}
)

// verb is what is done, as the last word of the path says.
func (w wish) verb() string { return w.path[strings.LastIndex(w.path, "/")+1:] }

// word is the key of the words for what is done. What is tried again of the outbox are messages,
// elsewhere slices.
func (w wish) word() string {
	if strings.HasPrefix(w.path, "/outbox/") && w.verb() == "retry" {
		return "outbox.retry"
	}
	return "change." + w.verb()
}

// object is what it is done to: the step before the verb.
func (w wish) object() string {
	steps := strings.Split(strings.Trim(w.path, "/"), "/")
	if len(steps) < 2 {
		return steps[0]
	}
	name, err := url.PathUnescape(steps[len(steps)-2])
	if err != nil {
		return steps[len(steps)-2]
	}
	return name
}

// level is how a change is guarded: see [action].
func (w wish) level() int {
	switch {
	case slices.Contains([]string{"pause", "resume", "ack"}, w.verb()):
		return 1
	case slices.Contains([]string{"discard", "rollback", "revoke", "disable"}, w.verb()), strings.HasPrefix(w.path, "/plans/") && w.verb() == "cancel":
		return 3
	default:
		return 2
	}
}

// namesItem reports whether the API itself wants the name that is typed: an item in
// quarantine is known by another name than its number.
func (w wish) namesItem() bool {
	return strings.HasPrefix(w.path, "/quarantine/") && w.verb() == "discard"
}

// body is what the API takes of the parameters.
func (w wish) body() map[string]any {
	out := map[string]any{}
	for name, values := range w.params {
		value := strings.TrimSpace(values[0])
		switch number, err := strconv.ParseFloat(value, 64); {
		case value == "":
		case slices.Contains(numbered, name):
			out[name] = numbersOf(values)
		case slices.Contains(listed, name):
			out[name] = listOf(values)
		case (slices.Contains(numeric, name) || name == "to" && w.verb() == "lower") && err == nil:
			out[name] = number
		case slices.Contains(switched, name):
			out[name] = value == "on" || value == "true"
		default:
			out[name] = value
		}
	}
	return out
}

func listOf(values []string) []string {
	var out []string
	for _, v := range values {
		for part := range strings.FieldsFuncSeq(v, func(r rune) bool { return r == ',' || r == ' ' || r == '\n' || r == '\r' }) {
			out = append(out, part)
		}
	}
	return out
}

// numbersOf are the numbers in a list; what is none is left out.
func numbersOf(values []string) []int64 {
	var out []int64
	for _, text := range listOf(values) {
		if n, err := strconv.ParseInt(text, 10, 64); err == nil {
			out = append(out, n)
		}
	}
	return out
}

// reply is an answer of the API.
type reply struct {
	header http.Header
	status int
	body   bytes.Buffer
}

// Header implements http.ResponseWriter.
func (a *reply) Header() http.Header { return a.header }

// WriteHeader implements http.ResponseWriter.
func (a *reply) WriteHeader(status int) { a.status = status }

// Write implements http.ResponseWriter.
func (a *reply) Write(p []byte) (int, error) { return a.body.Write(p) }

// apiRequest is a request to the API by the same visitor.
func (v *visit) apiRequest(method, path string, body any) *http.Request {
	var b []byte
	if body != nil {
		var err error
		b, err = json.Marshal(body)
		if err != nil { // maps of texts and numbers
			panic(err)
		}
	}
	r, err := http.NewRequestWithContext(v.Context(), method, "/api/v1"+path, bytes.NewReader(b))
	if err != nil {
		r, _ = http.NewRequestWithContext(v.Context(), method, "/api/v1/", http.NoBody) // nothing is there
	}
	r.Host = v.Host
	r.RemoteAddr = v.RemoteAddr
	if token := v.Header.Get("Authorization"); token != "" {
		r.Header.Set("Authorization", token)
	}
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	return r
}

// refused is what the API said against it, as an error with its own words.
func (a *reply) refused() error {
	if a.status < 300 {
		return nil
	}
	var p struct {
		Code, Title, Detail, Next string
		Errors                    []struct{ Location, Message string }
	}
	if err := json.Unmarshal(a.body.Bytes(), &p); err != nil || p.Title == "" {
		return errNoPage
	}
	for _, e := range p.Errors {
		p.Detail += strings.TrimPrefix(e.Location, "body.") + ": " + e.Message + "\n"
	}
	kinds := map[int]problem.Kind{404: problem.NotFound, 409: problem.Conflict, 422: problem.Usage, 403: problem.Usage, 502: problem.Upstream}
	return problem.New(p.Title, problem.Problem{Code: p.Code, Kind: kinds[a.status], Title: p.Title, Detail: strings.TrimSpace(p.Detail), Next: p.Next})
}

func (c *Console) ask(r *http.Request) *reply {
	out := &reply{header: http.Header{}, status: http.StatusOK}
	c.api.ServeHTTP(out, r)
	return out
}

// lookAhead asks the API what a change would do.
func (c *Console) lookAhead(v *visit, w wish) (*reply, error) {
	var a *reply
	if slices.Contains(previewed, w.path) {
		a = c.ask(v.apiRequest(http.MethodPost, w.path+"/preview", w.body()))
	} else {
		address := w.path
		if len(w.params) > 0 {
			address += "?" + w.params.Encode()
		}
		a = c.ask(v.apiRequest(http.MethodGet, address, nil))
	}
	return a, a.refused()
}

// previewChange shows what a change would do, and asks why it is to be made.
func (c *Console) previewChange(w http.ResponseWriter, r *http.Request) {
	v := visitOf(r)
	if v.Status != 0 {
		c.refuse(w, v)
		return
	}
	wanted, err := parseWish(v.wanted())
	if err != nil {
		c.fail(w, v, err)
		return
	}
	a, err := c.lookAhead(v, wanted)
	if err != nil {
		c.fail(w, v, err)
		return
	}
	shown, err := c.changePage(v, wanted, a)
	if err != nil {
		c.fail(w, v, err)
		return
	}
	c.answer(w, v, shown, "")
}

// wanted is the change that the address names, with what a form before it asked for:
// each parameter that begins with "with." belongs to the change.
func (v *visit) wanted() string {
	do, query, _ := strings.Cut(v.query("do"), "?")
	params, err := url.ParseQuery(query)
	if err != nil {
		return v.query("do")
	}
	for name, values := range v.URL.Query() {
		if own, is := strings.CutPrefix(name, "with."); is && values[0] != "" {
			params.Set(own, values[0])
		}
	}
	if len(params) == 0 {
		return do
	}
	return do + "?" + params.Encode()
}

// changePage is the page on which a change is confirmed.
func (c *Console) changePage(v *visit, w wish, a *reply) (*view, error) {
	doc, err := readDocument(a.body.Bytes())
	if err != nil {
		return nil, err
	}
	token := doc.text("token")
	doc.drop("token")
	doc.drop("applied") // a preview never is
	title := v.look.words.sayOr(w.word(), w.verb())
	f := &form{
		Action: v.path("/change"), Submit: title, Cancel: v.back(), Danger: w.level() == 3,
		Hidden: map[string]string{"do": v.wanted(), "from": v.back(), "token": token, "key": rand.Text()},
		Fields: []field{{Name: "reason", Label: v.t("change.reason"), Kind: "text", Required: true, Hint: v.t("change.reason_hint")}},
	}
	if w.level() == 3 {
		name := w.object()
		if item, has := doc.inner("item"); w.namesItem() && has {
			name = item.text("name")
		}
		f.Fields = append(f.Fields, field{Name: "name", Label: v.t("change.type_name", name), Kind: "text", Required: true})
	}
	out := &view{Title: title, Lead: v.t("change.lead"), Crumbs: []link{{v.t("change.back"), v.back()}}}
	out.Panels = append(doc.panels(v), panel{ID: "confirm", Title: v.t("change.confirm"), Note: v.t("change.holds"), Form: f})
	return out, nil
}

// back is the page that somebody came from. Only pages of this console are led to.
func (v *visit) back() string {
	from := v.FormValue("from")
	if strings.HasPrefix(from, v.base+"/") && !strings.HasPrefix(from, "//") && !strings.HasPrefix(from, "/\\") {
		return from
	}
	return v.base + "/"
}

// mostForm is how long a form may be, in bytes.
const mostForm = 1 << 20

// errForm says that a form was not made by this console for this browser.
var errForm = problem.New("this form was not made for this browser, or it is old", problem.Problem{
	Code: "form", Kind: problem.Usage, Next: "open the page again and send the form from there",
})

// makeChange makes a change that was confirmed, and goes back to where it was asked
// for.
func (c *Console) makeChange(w http.ResponseWriter, r *http.Request) {
	v := visitOf(r)
	if !c.receive(w, v, mostForm, "") { // the API looks at who may do what
		return
	}
	wanted, err := parseWish(v.PostFormValue("do"))
	if err != nil {
		c.fail(w, v, err)
		return
	}
	token := v.PostFormValue("token")
	reason := strings.TrimSpace(v.PostFormValue("reason"))
	if wanted.level() == 3 && !wanted.namesItem() && v.PostFormValue("name") != wanted.object() {
		c.fail(w, v, wrongName(v, wanted))
		return
	}
	if wanted.level() == 1 && token == "" { // done at a click: what is seen now is what is meant
		a, err := c.lookAhead(v, wanted)
		if err != nil {
			c.fail(w, v, err)
			return
		}
		token = tokenOf(a)
		if reason == "" {
			reason = "one click in the console"
		}
	}
	a := c.apply(v, wanted, token, reason)
	if err := a.refused(); err != nil {
		c.fail(w, v, err)
		return
	}
	c.cache.forget()
	http.Redirect(w, r, withDone(v.back(), wanted, v.PostFormValue("undo")), http.StatusSeeOther)
}

func wrongName(v *visit, w wish) error {
	return problem.New(v.t("change.wrong_name", w.object()), problem.Problem{Code: "usage", Kind: problem.Usage, Next: v.t("change.wrong_name_next")})
}

// apply makes a change, once however often the form is sent.
func (c *Console) apply(v *visit, w wish, token, reason string) *reply {
	body := map[string]any{"reason": reason}
	if w.path != planned { // the token of a plan says all of it
		maps.Copy(body, w.body())
	}
	if w.namesItem() {
		body["name"] = v.PostFormValue("name")
	}
	if token != "" {
		body["token"] = token
	}
	r := v.apiRequest(http.MethodPost, w.path, body)
	if key := v.PostFormValue("key"); key != "" {
		r.Header.Set("Idempotency-Key", key)
	}
	return c.ask(r)
}

func tokenOf(a *reply) string {
	var p struct{ Token string }
	if json.Unmarshal(a.body.Bytes(), &p) != nil {
		return ""
	}
	return p.Token
}

// withDone is an address that tells what was done on the way to it.
func withDone(address string, w wish, undo string) string {
	u, err := url.Parse(address)
	if err != nil {
		return address
	}
	q := u.Query()
	q.Set("done", w.verb()+" "+w.object())
	q.Del("undo")
	if undo != "" {
		q.Set("undo", undo)
	}
	u.RawQuery = q.Encode()
	return u.String()
}

// banner tells what was done on the way here, as the address says.
func (v *visit) banner() *banner {
	verb, object, is := strings.Cut(v.query("done"), " ")
	if !is {
		return nil
	}
	done := v.look.words.sayOr("done."+verb, v.t("done.other"))
	out := &banner{State: state{Family: control.OK, Word: done}, Text: object, Link: &link{v.t("done.audit"), v.path("/audit")}}
	if w, err := parseWish(v.query("undo")); err == nil && w.level() == 1 {
		out.Undo = &action{Label: v.t("done.undo"), Do: v.query("undo"), Level: 1}
	}
	return out
}
