package console

import (
	"context"
	"crypto/rand"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/problem"
)

// page is a page that can be looked at.
type page struct {
	path string // the pattern of its address below the base
	rail string // the entry of the rail that it belongs to
	show func(ctx context.Context, v *visit) (*view, error)
}

// rail is the list of rooms at the left, in order: the path of each, the key of its
// name is rail.PATH.
var rail = []string{"/", "/sources", "/plans", "/queue", "/cursors", "/coverage", "/rate", "/errors", "/quarantine", "/records", "/searches", "/works", "/blackbox", "/schedules", "/alerts", "/outbox", "/audit", "/settings"}

// pages are the pages of all rooms.
func (c *Console) pages() []page {
	return slices.Concat(
		[]page{{"/{$}", "/", c.overview}},
		c.workPages(), c.dataPages(), c.operatorPages(), c.demoPages(),
	)
}

// Paths are the patterns of the addresses of all pages, below the base.
func (c *Console) Paths() []string {
	var out []string
	for _, p := range c.pages() {
		out = append(out, p.path)
	}
	return out
}

// declare tells which page is at which address.
func (c *Console) declare() {
	for _, p := range c.pages() {
		c.mux.HandleFunc("GET "+c.base+p.path, func(w http.ResponseWriter, r *http.Request) { c.serve(w, visitOf(r), p) })
	}
	c.mux.HandleFunc("GET "+c.base+"/assets/{stamp}/{name}", c.asset)
	c.mux.HandleFunc("GET "+c.base+"/live", c.live)
	c.mux.HandleFunc("GET "+c.base+"/login", c.loginPage)
	c.mux.HandleFunc("POST "+c.base+"/login", c.login)
	c.mux.HandleFunc("POST "+c.base+"/logout", c.logout)
	c.mux.HandleFunc("POST "+c.base+"/look", c.chooseLook)
	c.mux.HandleFunc("POST "+c.base+"/demo", c.switchFault)
	c.mux.HandleFunc("GET "+c.base+"/search", c.searchBox)
	c.mux.HandleFunc("POST "+c.base+"/sources/edit", c.edit)
	c.mux.HandleFunc("GET "+c.base+"/change", c.previewChange)
	c.mux.HandleFunc("POST "+c.base+"/change", c.makeChange)
	c.mux.HandleFunc("POST "+c.base+"/blackbox/{run}/{no}/probe", c.probe)
	c.mux.HandleFunc("POST "+c.base+"/blackbox/{run}/{no}/export", c.exportBox)
	c.mux.HandleFunc("POST "+c.base+"/alerts/test", c.testAlerts)
	c.mux.HandleFunc("POST "+c.base+"/sources/{code}/check", c.checkSource)
	c.mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) { c.fail(w, visitOf(r), errNoPage) })
}

// errNoPage says that nothing is at an address.
var errNoPage = problem.New("there is nothing at this address", problem.Problem{Code: "not_found", Kind: problem.NotFound, Next: "begin at the overview, or search for what you look for"})

// serve answers with a page, with the document of it, or says why not.
func (c *Console) serve(w http.ResponseWriter, v *visit, p page) {
	if v.Status != 0 {
		c.refuse(w, v)
		return
	}
	fragment := v.Header.Get("Patra-Fragment") != ""
	if v.json {
		c.document(w, v, p)
		return
	}
	if v.query("as") == "csv" {
		c.export(w, v, p)
		return
	}
	key := strings.Join([]string{v.look.language, v.theme, string(v.Role), strconv.FormatBool(v.ReadOnly), strconv.FormatBool(fragment), v.URL.String()}, "|")
	status, html := c.cache.get(key, func() (int, []byte) { return c.make(v, p, fragment) })
	send(w, v, status, html)
}

// make renders a page, or the one that says what is wrong.
func (c *Console) make(v *visit, p page, fragment bool) (int, []byte) {
	ctx, cancel := context.WithTimeout(v.Context(), answersIn)
	defer cancel()
	status := http.StatusOK
	before := c.pulses.known(ctx) // what moves while the page is made is told afterwards
	shown, err := p.show(ctx, v)
	if err != nil {
		status, shown = c.trouble(v, err)
	}
	if before != nil {
		shown.Pulse = written(before)
	}
	c.complete(v, shown)
	shown.dropEmptyColumns()
	html, err := c.render(v, shown, c.railFor(v, p.rail), fragment)
	if err != nil {
		panic(err)
	}
	return status, html
}

// complete fills in what every page has.
func (c *Console) complete(v *visit, p *view) {
	p.Actions = v.allowed(p.Actions)
	v.sortLists(p)
	for i := range p.Panels {
		p.Panels[i].Actions = v.allowed(p.Panels[i].Actions)
	}
	if at := p.listed(); at >= 0 && p.Panels[at].Export == "" {
		p.Panels[at].Export = v.with("as", "csv")
	}
	if p.Banner == nil {
		p.Banner = v.banner()
	}
}

// allowed leaves out what the visitor may not do: a button that only refuses helps
// nobody.
func (v *visit) allowed(all []action) []action {
	var out []action
	for _, a := range all {
		needs := a.Needs
		if needs == "" {
			needs = control.Operator
		}
		if v.May(needs) {
			out = append(out, a)
		}
	}
	return out
}

func (c *Console) railFor(v *visit, here string) []tab {
	var out []tab
	for _, path := range rail {
		out = append(out, tab{link{v.t("rail." + path), c.base + path}, path == here})
	}
	if c.demo != nil {
		out = append(out, tab{link{v.t("rail./demo"), c.base + "/demo"}, here == "/demo"})
	}
	return out
}

// document answers with what the API says about what the page shows.
func (c *Console) document(w http.ResponseWriter, v *visit, p page) {
	ctx, cancel := context.WithTimeout(v.Context(), answersIn)
	defer cancel()
	shown, err := p.show(ctx, v)
	if err == nil && shown.API == "" {
		err = errNoPage
	}
	if err != nil {
		c.fail(w, v, err)
		return
	}
	c.api.ServeHTTP(w, v.apiRequest(http.MethodGet, shown.API, nil))
}

// answer sends a page that was made for one request and is not kept for others.
func (c *Console) answer(w http.ResponseWriter, v *visit, shown *view, room string) {
	c.complete(v, shown)
	shown.dropEmptyColumns()
	html, err := c.render(v, shown, c.railFor(v, room), false)
	if err != nil {
		panic(err)
	}
	send(w, v, http.StatusOK, html)
}

// fail answers with the page that says what is wrong.
func (c *Console) fail(w http.ResponseWriter, v *visit, err error) {
	if v.Status != 0 {
		c.refuse(w, v)
		return
	}
	status, shown := c.trouble(v, err)
	html, err := c.render(v, shown, c.railFor(v, ""), v.Header.Get("Patra-Fragment") != "")
	if err != nil {
		panic(err)
	}
	send(w, v, status, html)
}

// part is a part of a page. One that cannot be made says so and how it can be tried again,
// with the word by which the log tells more; the rest of the page is there all the same.
// What somebody asked for wrongly is the answer to the whole page.
func (c *Console) part(v *visit, id, title string, make func() (panel, error)) (panel, error) {
	out, err := make()
	if err == nil {
		return out, nil
	}
	if _, known := control.Explain(err, "SOURCE"); known || errors.Is(err, harvest.ErrStoreAway) {
		return out, err
	}
	mark := rand.Text()[:8]
	c.log.ErrorContext(v.Context(), "part of a page failed", "path", v.URL.Path, "part", id, "mark", mark, "err", err)
	return panel{
		ID: id, Title: title, Needs: []need{{State: state{Family: control.Failed, Word: v.t("trouble.part")}, Text: v.t("trouble.part_next", mark), Where: link{v.t("trouble.retry"), v.here()}}},
	}, nil
}

// trouble is the page that says what is wrong, and its status. What nobody has
// foreseen goes to the log and not to the reader.
func (c *Console) trouble(v *visit, err error) (int, *view) {
	p, known := control.Explain(err, "SOURCE")
	status := http.StatusInternalServerError
	switch _, archived := errors.AsType[*control.ArchivedError](err); {
	case archived:
		status = http.StatusGone
	case !known && errors.Is(err, harvest.ErrStoreAway):
		status = http.StatusServiceUnavailable
		p = control.Problem{Code: "unreachable", Title: v.t("trouble.store"), Next: v.t("trouble.store_next")}
	case !known:
		c.log.ErrorContext(v.Context(), "page failed", "path", v.URL.Path, "err", err)
		p = control.Problem{Code: "failed", Title: v.t("trouble.failed"), Next: v.t("trouble.failed_next")}
	case p.Kind == problem.NotFound:
		status = http.StatusNotFound
	case p.Kind == problem.Usage:
		status = http.StatusUnprocessableEntity
	case p.Kind == problem.Conflict:
		status = http.StatusConflict
	case p.Kind == problem.Upstream:
		status = http.StatusBadGateway
	}
	out := &view{Title: v.t("trouble.title"), State: &state{Family: control.Failed, Word: p.Code}, Lead: p.Title}
	part := panel{ID: "trouble", Title: v.t("trouble.what_to_do"), Empty: p.Next}
	if p.Detail != "" {
		part.Text = p.Detail
	}
	out.Panels = []panel{part}
	return status, out
}
