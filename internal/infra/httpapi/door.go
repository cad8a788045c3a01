package httpapi

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"
	"github.com/papertrace/patra/internal/app/control"
	"github.com/papertrace/patra/internal/app/role"
)

// Config says what a door opens to, and to whom.
type Config struct {
	Control *control.Control
	// Board shows which roles run in this process.
	Board *role.Board
	Build control.Build
	// Local: it can be reached only from this machine, whose users could as well
	// open the database. While no token is in use they need none.
	Local bool
	// Hosts are the names by which it may be called, beside localhost and the plain
	// address.
	Hosts []string
	// ReadOnly refuses every change.
	ReadOnly bool
	// Redact takes secrets out of a text.
	Redact func(string) string
	// Metrics, if set, is what the process counts, in the text format of Prometheus.
	Metrics func(ctx context.Context) ([]byte, error)
	// Pages, if set, are shown to people at every path that is not the API's.
	Pages Pages
	// Base is the path below which everything is found as well, such as /patra; the
	// pages are found only there.
	Base   string
	Logger *slog.Logger
}

// Door is the API as an HTTP handler.
type Door struct {
	control  *control.Control
	board    *role.Board
	build    control.Build
	local    bool
	hosts    map[string]bool
	readOnly bool
	redact   func(string) string
	metrics  func(context.Context) ([]byte, error)
	pages    Pages
	base     string
	log      *slog.Logger

	mux     *http.ServeMux
	api     huma.API
	routes  map[string]route // by the mux's pattern
	origins *http.CrossOriginProtection
	logins  *Logins
	openapi []byte
}

// Limits of one request.
const (
	maxBody   = 1 << 20
	answersIn = time.Minute
)

// New makes a door.
func New(c Config) (*Door, error) {
	adoptProblems()
	d := &Door{
		control: c.Control, board: c.Board, build: c.Build, local: c.Local, hosts: map[string]bool{}, readOnly: c.ReadOnly,
		redact: c.Redact, metrics: c.Metrics, pages: c.Pages, base: strings.TrimSuffix(c.Base, "/"), log: c.Logger.With("component", "api"),
		mux: http.NewServeMux(), routes: map[string]route{}, origins: http.NewCrossOriginProtection(), logins: NewLogins(),
	}
	for _, h := range c.Hosts {
		d.hosts[hostName(h)] = true
	}
	d.api = humago.New(d.mux, d.document())
	d.declare()
	var err error
	d.openapi, err = json.Marshal(d.api.OpenAPI())
	if d.pages != nil {
		d.pages.SetAPI(d)
	}
	return d, err
}

// document is how the API describes itself, before the routes.
func (d *Door) document() huma.Config {
	c := huma.DefaultConfig("patra", d.build.Version)
	c.Info.Description = "What an operator may see of a patra and do with it. Lists come in pages: `next` of an answer is `after` of the next request. " +
		"A change is first looked at (GET of the same path, or .../preview), then made with the token of what was shown; " +
		"409 says that something has moved meanwhile. The same Idempotency-Key with the same body is done once, for a day."
	c.OpenAPIPath = "" // it is served as the other routes are
	c.DocsPath = ""
	c.SchemasPath = ""
	c.CreateHooks = nil
	c.Formats = map[string]huma.Format{"application/json": d.format(), "json": d.format()}
	c.Components.SecuritySchemes = map[string]*huma.SecurityScheme{
		"token": {Type: "http", Scheme: "bearer", Description: "A token of `patra token new NAME --role ROLE`"},
	}
	describeTypes(c.Components.Schemas)
	return c
}

// ServeHTTP lets a request through the gates, or tells at which one it was refused.
func (d *Door) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	inside := d.withoutBase(r)
	if d.isForPeople(inside) {
		d.showPages(w, r)
		return
	}
	r = inside
	ctx, cancel := context.WithTimeout(r.Context(), answersIn)
	defer cancel()
	r = r.WithContext(ctx)
	h := w.Header()
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cache-Control", "no-store")
	out := newAnswer()
	defer func() {
		if p := recover(); p != nil {
			d.log.ErrorContext(ctx, "request panicked", "panic", p, "stack", string(debug.Stack()))
			out = newAnswer()
			refusal(http.StatusInternalServerError, "failed", "something went wrong here; the log of this process says what", "").write(out)
		}
		out.send(w, r)
	}()
	rt, no := d.admit(r)
	if no != nil {
		no.write(out)
		return
	}
	body, no := readBody(r)
	if no != nil {
		no.write(out)
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	switch {
	case rt.change:
		d.serveChange(out, r, body)
	default:
		d.serveRead(out, r, rt)
	}
}

// readBody reads what was sent, up to the limit.
func readBody(r *http.Request) ([]byte, *Problem) {
	body, err := io.ReadAll(io.LimitReader(r.Body, maxBody+1))
	switch {
	case err != nil:
		return nil, refusal(http.StatusBadRequest, "usage", "the request broke off", "send it again")
	case len(body) > maxBody:
		return nil, refusal(http.StatusRequestEntityTooLarge, "usage", "the request has more than "+strconv.Itoa(maxBody)+" bytes", "send less at once")
	}
	return body, nil
}

// serveRead answers a look at something. One thing is answered with its ETag, and
// with nothing if whoever asks has it already.
func (d *Door) serveRead(out *answer, r *http.Request, rt route) {
	d.mux.ServeHTTP(out, r)
	if !rt.single || out.status != http.StatusOK {
		return
	}
	tag := out.etag()
	out.Header().Set("ETag", tag)
	if matches(r.Header.Get("If-None-Match"), tag) {
		out.status = http.StatusNotModified
		out.body.Reset()
	}
}

// answer is what is to be sent, collected: no answer is larger than a page.
type answer struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func newAnswer() *answer { return &answer{header: http.Header{}, status: http.StatusOK} }

// Header implements http.ResponseWriter.
func (a *answer) Header() http.Header { return a.header }

// WriteHeader implements http.ResponseWriter.
func (a *answer) WriteHeader(status int) { a.status = status }

// Write implements http.ResponseWriter.
func (a *answer) Write(p []byte) (int, error) { return a.body.Write(p) }

func (a *answer) send(w http.ResponseWriter, r *http.Request) {
	maps.Copy(w.Header(), a.header)
	if a.status == http.StatusNotModified {
		w.Header().Del("Content-Type")
		w.WriteHeader(a.status)
		return
	}
	w.Header().Set("Content-Length", strconv.Itoa(a.body.Len()))
	w.WriteHeader(a.status)
	if r.Method != http.MethodHead {
		w.Write(a.body.Bytes()) //nolint:errcheck // whoever asked is gone
	}
}
