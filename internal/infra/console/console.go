package console

import (
	"context"
	"log/slog"
	"net/http"
	"os"
	"runtime/debug"
	"strings"
	"time"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/papertrace/patra/internal/app/role"
)

// Config says what a console shows, and how.
type Config struct {
	Control *control.Control
	Build   control.Build
	// Base is the path below which it stands, such as /patra; empty: at the root.
	Base string
	// Board shows which roles run in this process.
	Board *role.Board
	// Redact takes secrets out of a text.
	Redact func(string) string
	// Demo, if set, is the simulator behind a demonstration: everything is invented.
	Demo   Demo
	Logger *slog.Logger
}

// Console is the pages as one handler.
type Console struct {
	control *control.Control
	build   control.Build
	base    string
	board   *role.Board
	redact  func(string) string
	demo    Demo
	log     *slog.Logger
	// instance is the machine that this console runs on.
	instance string

	api    http.Handler // the API of the same process; changes go through it
	mux    *http.ServeMux
	looks  map[string]*look // by language
	cache  *cache
	pulses *pulses
}

// New makes a console. It can be shown once it knows its API.
func New(c Config) (*Console, error) {
	looks, err := loadLooks()
	if err != nil {
		return nil, err
	}
	out := &Console{
		control: c.Control, build: c.Build, base: strings.TrimSuffix(c.Base, "/"), board: c.Board, redact: c.Redact, demo: c.Demo,
		log: c.Logger.With("component", "console"), mux: http.NewServeMux(), looks: looks, cache: newCache(), pulses: newPulses(c.Control.Pulse),
	}
	out.instance, _ = os.Hostname() // one without a name is not named
	out.declare()
	return out, nil
}

// SetAPI says which API makes the changes.
func (c *Console) SetAPI(api http.Handler) { c.api = api }

// policy is what a browser may do with a page: nothing but what this process serves.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; worker-src 'self'; font-src 'self'; " +
	"form-action 'self'; base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types patra"

// answersIn is how long a page may take.
const answersIn = 30 * time.Second

// Show answers a request for a page. The door has looked at host, origin and token.
func (c *Console) Show(w http.ResponseWriter, r *http.Request, v control.Visit) {
	h := w.Header()
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
	defer func() {
		if p := recover(); p != nil {
			if p == http.ErrAbortHandler {
				panic(p)
			}
			c.log.ErrorContext(r.Context(), "page panicked", "panic", p, "stack", string(debug.Stack()))
			http.Error(w, "Something went wrong here; the log of this process says what.", http.StatusInternalServerError)
		}
	}()
	vis := c.newVisit(w, r, v)
	*r = *r.WithContext(context.WithValue(r.Context(), visitKey{}, vis))
	vis.Request = r
	if path, is := strings.CutSuffix(r.URL.Path, ".json"); is && !strings.HasPrefix(path, c.base+"/assets/") {
		vis.json = true
		r.URL.Path = strings.TrimSuffix(path, "/index")
		if r.URL.Path == c.base {
			r.URL.Path += "/"
		}
		r.URL.RawPath = strings.TrimSuffix(strings.TrimSuffix(r.URL.RawPath, ".json"), "/index")
	}
	c.mux.ServeHTTP(w, r)
}

type visitKey struct{}

func visitOf(r *http.Request) *visit { return r.Context().Value(visitKey{}).(*visit) }
