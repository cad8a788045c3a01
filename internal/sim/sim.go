package sim

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"
)

// Sim serves the upstreams. Its methods may be called from any goroutine.
type Sim struct {
	cfg       Config
	upstreams map[string]upstream // fixed after New

	mu          sync.Mutex // guards all below
	now         time.Time
	populations map[string]*population
	injector    *injector
	counters    map[string]*counter
	ledgers     map[string]*ledger
	log         []*Request
	hook        OnRequest
}

// upstream is one simulated service. Methods marked "locked" run with Sim.mu held.
type upstream interface {
	// teller writes items and find reads an id. Both are pure.
	teller
	find(id string) (uint32, bool)

	// route names the class a request belongs to, "" if there is no such path.
	route(q *request) string
	// allowance is what the caller may do.
	allowance(q *request) allowance
	// limits sets the headers that tell the caller about it.
	limits(q *request, rep *reply, a allowance, v verdict)
	// tooMany is the answer above a limit.
	tooMany(q *request, a allowance, v verdict) *reply
	// suits says whether a fault can happen to a request (locked).
	suits(q *request, f Fault) bool
	// failure is the service's own form of error_200 and viewer_400.
	failure(q *request, f Fault) *reply
	// answer does what is asked (locked).
	answer(q *request) *reply
}

// teller says what a source serves of a record.
type teller interface {
	append(b []byte, i uint32, r *record) []byte
	appendID(b []byte, i uint32) []byte
	updatedAt(version) time.Time
}

// bodyReader is an upstream that takes parameters out of bodies that are not forms.
type bodyReader interface{ readBody(*request) }

// New builds the populations.
func New(cfg Config) (*Sim, error) {
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, fmt.Errorf("configure simulator: %w", err)
	}
	s := &Sim{
		cfg: cfg, now: cfg.Now, hook: cfg.OnRequest,
		upstreams: map[string]upstream{}, populations: map[string]*population{}, counters: map[string]*counter{},
		ledgers: map[string]*ledger{}, injector: newInjector(cfg.Seed, cfg.Faults),
	}
	for _, name := range cfg.Sources {
		p := newPopulation(name, cfg)
		s.populations[name] = p
		s.counters[name] = newCounter()
		switch name {
		case PubMed:
			s.upstreams[name] = newPubMed(s, p)
		case Crossref:
			s.upstreams[name] = newCrossref(s, p)
		case EuropePMC:
			s.upstreams[name] = newEuropePMC(s, p)
		case OpenAlex:
			s.upstreams[name] = newLibrary(s, p, openalexHabits())
		case ClinicalTrials:
			s.upstreams[name] = newLibrary(s, p, trialHabits())
		case DataCite:
			s.upstreams[name] = newLibrary(s, p, dataciteHabits())
		case DOAJ:
			s.upstreams[name] = newLibrary(s, p, doajHabits())
		case HAL:
			s.upstreams[name] = newLibrary(s, p, halHabits())
		case HALKeyset:
			s.upstreams[name] = newLibrary(s, p, halKeysetHabits())
		case ELife:
			s.upstreams[name] = newLibrary(s, p, elifeHabits())
		case IETF:
			s.upstreams[name] = newLibrary(s, p, ietfHabits())
		case PLOS:
			s.upstreams[name] = newLibrary(s, p, plosHabits())
		case SemanticScholar:
			s.upstreams[name] = undatedLibrary{newLibrary(s, p, scholarHabits())}
		case CORE:
			s.upstreams[name] = newLibrary(s, p, coreHabits())
		case SciELO:
			s.upstreams[name] = newLibrary(s, p, scieloHabits())
		case ArXivSearch:
			s.upstreams[name] = newLibrary(s, p, arxivSearchHabits())
		case Zenodo:
			s.upstreams[name] = newLibrary(s, p, zenodoHabits())
		case ArXiv:
			s.upstreams[name] = newRepository(s, p, arxivManners())
		case PMC:
			s.upstreams[name] = newRepository(s, p, pmcManners())
		case DOAJOAI:
			s.upstreams[name] = newRepository(s, p, doajManners())
		case ZenodoOAI:
			s.upstreams[name] = newRepository(s, p, zenodoManners())
		case DataCiteOAI:
			s.upstreams[name] = newRepository(s, p, dataciteManners())
		case BioRxiv, MedRxiv:
			s.upstreams[name] = newPreprints(s, p, name)
		case Unpaywall:
			s.upstreams[name] = newUnpaywall(s, p)
		case Generic:
			s.upstreams[name] = newGeneric(s, p)
		}
	}
	return s, nil
}

// ServeHTTP routes /SOURCE/... and /_sim/...
func (s *Sim) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	name, rest, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	if name == "_sim" {
		s.admin(w, r, rest)
		return
	}
	up, ok := s.upstreams[name]
	if !ok {
		w.Header().Set("Date", s.date())
		http.Error(w, "no such upstream: "+name, http.StatusNotFound)
		return
	}
	if r.Body != nil {
		r.Body = http.MaxBytesReader(w, r.Body, 8<<20)
	}
	body, err := readForm(r)
	if err != nil {
		w.Header().Set("Date", s.date())
		status := http.StatusBadRequest
		if tooLarge := new(http.MaxBytesError); errors.As(err, &tooLarge) {
			status = http.StatusRequestEntityTooLarge
		}
		http.Error(w, "unreadable form", status)
		return
	}
	q := &request{http: r, source: name, path: "/" + rest, form: r.Form, body: body, caller: r.RemoteAddr}
	if host, _, err := net.SplitHostPort(r.RemoteAddr); err == nil {
		q.caller = host
	}
	q.route = up.route(q)
	if q.route == "" {
		w.Header().Set("Date", s.date())
		http.Error(w, "Resource not found.", http.StatusNotFound)
		return
	}
	if reader, ok := up.(bodyReader); ok {
		reader.readBody(q)
	}
	s.serve(w, q, up)
}

// readForm parses the form, or reads the body if it holds something else. The
// body can be read again.
func readForm(r *http.Request) ([]byte, error) {
	if err := r.ParseForm(); err != nil || r.Body == nil {
		return nil, err
	}
	body, err := io.ReadAll(r.Body)
	r.Body = io.NopCloser(bytes.NewReader(body))
	return body, err
}

// serve takes a request through the gate, the faults and the upstream.
func (s *Sim) serve(w http.ResponseWriter, q *request, up upstream) {
	s.mu.Lock()
	hook := s.hook
	s.mu.Unlock()
	if hook != nil {
		hook(q.http)
	}

	s.mu.Lock()
	c := s.counters[q.source]
	allowed := up.allowance(q).override(s.cfg.LimitRPS)
	allowed.quota = s.cfg.Quota
	key := q.source + " " + allowed.key
	l := s.ledgers[key]
	if l == nil {
		l = &ledger{}
		s.ledgers[key] = l
	}
	at := time.Now()
	v := l.arrive(allowed, at)
	c.arrived(q, v, allowed.key)
	q.number, q.at = c.Requests, s.now
	q.log = &Request{
		Number: q.number, Source: q.source, Method: q.http.Method, Path: q.path, Params: q.form, Header: q.http.Header, Body: q.body, At: at, Refused: v.refused(),
	}
	s.keep(q.log)
	var delay time.Duration
	if !v.refused() {
		q.fault, delay = s.injector.choose(q, func(f Fault) bool { return suits(up, q, f) })
		if q.fault != "" {
			c.Faults[q.fault]++
			q.log.Fault = q.fault
		}
	}
	faults := s.injector.faults
	s.mu.Unlock()

	released := v.refused()
	release := func() { // s.mu is held
		if !released {
			released = true
			l.inFlight--
		}
	}
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		release()
	}()

	if q.fault != Slow {
		delay = 0
	}
	delay += s.cfg.Latency
	if delay > 0 && !v.refused() {
		wait(q, delay)
	}

	var rep *reply
	switch {
	case v.refused():
		rep = up.tooMany(q, allowed, v)
	case q.fault.early():
		rep = s.misbehave(q, up, allowed, v, faults)
	default:
		rep = s.ask(up, q)
		up.limits(q, rep, allowed, v)
		if q.fault == RetryAfterOn200 {
			rep.set("Retry-After", "3600")
		}
	}

	s.send(w, q, rep, func(sent int, whole bool) {
		s.mu.Lock()
		defer s.mu.Unlock()
		release()
		if q.fault == HTTP503 || q.fault == HTTP503Date || q.fault == HTTP429RetryAfter {
			l.waitTill = time.Now().Add(faults.retryAfter())
		}
		if whole {
			q.log.Status, q.log.Records = rep.status, rep.records
		}
		c.finished(q, rep, sent, whole)
	})
}

// ask runs the upstream's part under the lock, and gives it up even on a panic.
func (s *Sim) ask(up upstream, q *request) *reply {
	s.mu.Lock()
	defer s.mu.Unlock()
	return up.answer(q)
}

// wait lets real time pass, or less if the client goes away.
func wait(q *request, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-q.http.Context().Done():
	}
}

// suits adds to the upstream's own judgement what holds for all of them.
func suits(up upstream, q *request, f Fault) bool {
	switch f {
	case ShortPage, EmptyMiddlePage, RepeatedPage, CursorExpired, WebEnvLost, DetailMissing, DetailExtra, DetailBadItem, TotalWrong, Errorlist, Viewer400,
		TokenDropped, TokenDroppedShort, TotalDropped:
		return up.suits(q, f)
	}
	return true
}
