// Package registry knows the sources: what their packs say, as rows in force in
// intervals, and the contract that follows at an instant.
//
// It promises that a contract is compiled from one snapshot with one reading of
// the clock, that a change is previewed, checked whole and written at once with
// an audit line, and that nothing under way ever feels it.
package registry

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/nearest"
	"github.com/papertrace/patra/internal/domain/problem"
	"github.com/papertrace/patra/internal/domain/source"
)

// Store keeps the rows of the registry. LoadSource reads all of a source from
// one snapshot with one reading of the clock, and returns
// [harvest.ErrNotFound] if it is not there. ChangeSource gives decide the
// contents under a lock and makes the changes it returns, with an audit line,
// in the same transaction; an error of decide changes nothing.
type Store interface {
	LoadSource(ctx context.Context, code string) (source.Contents, error)
	// SourceChange is the number of the last change of a source, and the store's time. What
	// was loaded after it was asked for is the same for as long as the number is.
	SourceChange(ctx context.Context, code string) (change int64, now time.Time, err error)
	Sources(ctx context.Context) ([]source.Provenance, error)
	// LoadSchedules reads the sources with rows of the schedule, in force or not, and of
	// each only those rows. What it could read is there beside an error.
	LoadSchedules(ctx context.Context) ([]source.Contents, error)
	ChangeSource(ctx context.Context, p source.Provenance, a source.Audit, decide func(source.Contents) ([]source.Change, error)) ([]source.Change, error)
	Audit(ctx context.Context, a source.Audit, after any) error
}

// Described is a source as written in a file.
type Described struct {
	Definition source.Definition
	Hash       string
	// Origin is SHIPPED or FILE. Where packs are applied by themselves, a file that
	// changed is so when its source is next asked for; a shipped pack only if the source
	// is not there.
	Origin string
}

// isNewerThan reports whether the file says another thing than was applied of it.
func (d Described) isNewerThan(c source.Contents) bool {
	return d.Origin == File && c.Provenance.OriginHash != d.Hash
}

// Packs are the files that may be applied by themselves. Most commands need one of
// them or none, and to read them all takes longer than the rest of a command.
type Packs interface {
	// Codes lists the sources that they describe.
	Codes() []string
	// Pack reads the file of a source; false: there is none.
	Pack(code string) (Described, bool, error)
	// Scheduled lists those with a schedule in them.
	Scheduled() ([]string, error)
}

// Read are packs that were read already, by their source.
type Read map[string]Described

// Codes implements Packs.
func (r Read) Codes() []string { return slices.Sorted(maps.Keys(r)) }

// Pack implements Packs.
func (r Read) Pack(code string) (Described, bool, error) {
	d, known := r[code]
	return d, known, nil
}

// Scheduled implements Packs.
func (r Read) Scheduled() (out []string, err error) {
	for _, code := range r.Codes() {
		if r[code].Definition.Scheduled() {
			out = append(out, code)
		}
	}
	return out, nil
}

// Fill puts into what was read of a source what statements of SQL left to its pack.
func (l *Registry) Fill(c source.Contents) (source.Contents, error) {
	file, _, err := l.packs.Pack(c.Provenance.Code)
	return c.Filled(file.Definition), err
}

// Origins of a source.
const (
	Shipped = "SHIPPED"
	File    = "FILE"
	API     = "API"
	SQL     = source.OriginSQL
)

// UnknownSourceError names the sources there are.
type UnknownSourceError struct {
	Code  string
	Known []string
}

// Is says that what was named is not there.
func (e *UnknownSourceError) Is(target error) bool { return target == harvest.ErrNotFound }

func (e *UnknownSourceError) Error() string {
	return fmt.Sprintf("there is no source %q; known: %s", e.Code, strings.Join(e.Known, ", "))
}

// Problem implements problem.Error.
func (e *UnknownSourceError) Problem() problem.Problem {
	return problem.Problem{
		Code: "unknown_source", Kind: problem.NotFound, Title: e.Error(),
		Next: "patra harvest " + cmp.Or(nearest.Word(e.Code, e.Known), "SOURCE"),
	}
}

// UnappliedError says that a source is described by a pack, and that the pack was never
// applied. It is no [harvest.ErrNotFound]: the name is taken.
type UnappliedError struct{ Code string }

func (e *UnappliedError) Error() string {
	return fmt.Sprintf("source %s is described by a pack that was never applied, and this process applies none by itself", e.Code)
}

// Problem implements problem.Error.
func (e *UnappliedError) Problem() problem.Problem {
	return problem.Problem{
		Code: "source_not_applied", Kind: problem.Conflict, Title: e.Error(), Next: applyNext(e.Code),
	}
}

// applyNext is what somebody does who wants a pack to be in force.
func applyNext(code string) string { return "patra source apply " + code }

// Registry is the registry over its tables.
type Registry struct {
	store Store
	packs Packs
	vars  map[string]string
	deep  func(*source.Spec) source.Violations
	log   *slog.Logger
	// cacheFor is how long a reading is good for.
	cacheFor time.Duration
	// leavesPacks: packs are not applied by themselves, so that reading writes nothing.
	leavesPacks bool

	mu    sync.Mutex
	cache map[string]cached // guarded by mu
	noted map[string]bool   // guarded by mu; picks and packs told of already
}

type cached struct {
	contents source.Contents
	change   int64     // the last one before it was read
	until    time.Time // when it is asked whether there was another
	readAt   time.Time // by this process's clock
	compiled *compilations
}

const (
	// DefaultCache is how long a reading is good for unless told: long enough for a
	// burst of compiles, short enough that a switch is felt at once. Then it is asked
	// whether anything was changed, which is one statement in place of one for each dimension.
	DefaultCache = 2 * time.Second
	// readAgain is when everything is read again all the same: somebody may have
	// changed rows without saying so.
	readAgain = time.Minute
)

// New returns a registry over store. packs are the files it may apply by
// itself; vars are the instance's own values that packs may refer to; deep, if
// given, checks a spec for what only those who use it can see.
func New(store Store, packs Packs, vars map[string]string, deep func(*source.Spec) source.Violations, log *slog.Logger) *Registry {
	return &Registry{
		store: store, packs: packs, vars: vars, deep: deep, log: log.With("component", "registry"),
		cacheFor: DefaultCache, cache: map[string]cached{}, noted: map[string]bool{},
	}
}

// CacheFor sets how long a reading is good for, before the registry is used; 0 leaves it
// as it is.
func (l *Registry) CacheFor(d time.Duration) *Registry {
	l.cacheFor = cmp.Or(d, l.cacheFor)
	return l
}

// ApplyPacks sets, before the registry is used, whether it applies packs by itself where a
// source is asked for that has none in force, or whose file has changed. It does unless it is
// told otherwise. One that does not goes by what is in force, and tells once of a pack that
// somebody should apply.
func (l *Registry) ApplyPacks(is bool) *Registry {
	l.leavesPacks = !is
	return l
}

// Codes lists the sources: those of the store and those that could be applied.
func (l *Registry) Codes(ctx context.Context) ([]string, error) {
	have, err := l.store.Sources(ctx)
	if err != nil {
		return nil, err
	}
	all := map[string]bool{}
	for _, p := range have {
		all[p.Code] = true
	}
	for _, c := range l.packs.Codes() {
		all[c] = true
	}
	return slices.Sorted(maps.Keys(all)), nil
}

// Contents reads a source, applying its file first where that is due and not left to people,
// and puts in what statements of SQL left to its pack.
func (l *Registry) Contents(ctx context.Context, code string) (source.Contents, error) {
	c, err := l.read(ctx, code)
	return c.contents, err
}

func (l *Registry) read(ctx context.Context, code string) (cached, error) {
	l.mu.Lock()
	hit, ok := l.cache[code]
	l.mu.Unlock()
	if ok && time.Now().Before(hit.until) {
		return hit, nil
	}
	change, now, err := l.store.SourceChange(ctx, code)
	if err != nil {
		return cached{}, err
	}
	file, known, err := l.packs.Pack(code)
	if err != nil {
		return cached{}, err
	}
	same := ok && change == hit.change && time.Since(hit.readAt) < readAgain
	if same && (l.leavesPacks || !known || !file.isNewerThan(hit.contents)) {
		hit.contents.ReadAt = now
		return l.keep(code, hit), nil
	}
	c, err := l.store.LoadSource(ctx, code)
	switch {
	case errors.Is(err, harvest.ErrNotFound) && !known:
		codes, cerr := l.Codes(ctx)
		return cached{}, errors.Join(&UnknownSourceError{Code: code, Known: codes}, cerr)
	case errors.Is(err, harvest.ErrNotFound) && l.leavesPacks:
		return cached{}, &UnappliedError{Code: code}
	case err == nil && known && file.isNewerThan(c) && l.leavesPacks:
		l.tellOnce("the pack of a source has changed and is not applied: what is in force holds", code, file)
	case errors.Is(err, harvest.ErrNotFound), err == nil && known && file.isNewerThan(c):
		_, err = l.Apply(ctx, file, Order{Audit: source.Audit{Actor: "patra", Reason: "pack " + file.Origin}})
		if err != nil {
			return cached{}, err
		}
		c, err = l.store.LoadSource(ctx, code)
	}
	if err != nil {
		return cached{}, err
	}
	c = c.Filled(file.Definition)
	is := cached{contents: c, change: change, readAt: time.Now(), compiled: new(compilations)}
	if ok && hit.contents.SaysTheSame(c) {
		is.compiled = hit.compiled
	}
	return l.keep(code, is), nil
}

// tellOnce says in the log that the pack of a source is to be applied, once for each that
// there is of it.
func (l *Registry) tellOnce(what, code string, pack Described) {
	key := fmt.Sprint("pack ", code, " ", pack.Hash)
	l.mu.Lock()
	told := l.noted[key]
	l.noted[key] = true
	l.mu.Unlock()
	if !told {
		l.log.Warn(what, "source", code, "next", applyNext(code))
	}
}

// keep remembers what was read for a while.
func (l *Registry) keep(code string, c cached) cached {
	c.until = time.Now().Add(l.cacheFor)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cache[code] = c
	return c
}

func (l *Registry) forget(code string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.cache, code)
}

// Contract compiles the description in force now for an operation.
func (l *Registry) Contract(ctx context.Context, code string, op harvest.Operation) (source.Contract, error) {
	return l.Select(ctx, code, op, "")
}

// Select is Contract for a part of the source: what a query in the text form
// asks for. An empty query means everything. Nobody may change what the contract
// points to: others are given the same.
func (l *Registry) Select(ctx context.Context, code string, op harvest.Operation, query string) (source.Contract, error) {
	return l.Through(ctx, code, op, "", query)
}

// Through is Select for an operation that goes through an endpoint which was named.
func (l *Registry) Through(ctx context.Context, code string, op harvest.Operation, endpoint, query string) (source.Contract, error) {
	is, err := l.read(ctx, code)
	if err != nil {
		return source.Contract{}, err
	}
	con, choices, err := is.compiled.find(is.contents, selection{op: op, endpoint: endpoint, query: query}, l.vars)
	noted := l.note(ctx, code, op, choices)
	if err != nil {
		return con, errors.Join(fmt.Errorf("source %s: %w", code, err), noted)
	}
	return con, noted
}

// previewKey marks a context of which nothing comes.
type previewKey struct{}

// Preview returns a context for a question of which nothing comes: what is picked
// under it leaves no line, and leaves one when it is picked again for something
// that does.
func (l *Registry) Preview(ctx context.Context) context.Context {
	return context.WithValue(ctx, previewKey{}, true)
}

// note leaves an audit line for every pick that was not plain (M1.6), once.
func (l *Registry) note(ctx context.Context, code string, op harvest.Operation, choices []source.Choice) error {
	if ctx.Value(previewKey{}) != nil {
		return nil
	}
	for _, ch := range choices {
		action := notable(ch)
		if action == "" {
			continue
		}
		key := fmt.Sprint(code, op, ch.Dimension, ch.Name, action, ch.Why)
		l.mu.Lock()
		told := l.noted[key]
		l.noted[key] = true
		l.mu.Unlock()
		if told {
			continue
		}
		l.log.Info("pick was not plain", "source", code, "operation", op, "dimension", ch.Dimension, "why", ch.Why)
		a := source.Audit{Actor: "patra", Action: action, Object: "source/" + code, Reason: fmt.Sprintf("%s, %s: %s", op, ch.Dimension, ch.Why)}
		if err := l.store.Audit(ctx, a, ch); err != nil {
			return err
		}
	}
	return nil
}

// notable names what is not plain about a pick, empty if nothing is.
func notable(ch source.Choice) string {
	switch {
	case len(ch.Rivals) > 0:
		return "PICK_AMBIGUOUS"
	case ch.Fallback:
		return "PICK_FALLBACK"
	case ch.Row != nil:
		return ""
	}
	switch ch.Dimension {
	case source.DimWindow, source.DimPagination:
		return "PICK_MISSING"
	case source.DimHTTP, source.DimRateLimit, source.DimRetry, source.DimMapping:
		return "PICK_DEFAULT"
	}
	return "" // most sources have none
}

// Explain is the contract of an operation at an instant, with how each row was
// picked and what the compiler says of it.
type Explain struct {
	Code      string
	Operation harvest.Operation
	At        time.Time
	Choices   []source.Choice
	Contract  source.Contract
	// Violations is set if the rows in force do not compile.
	Violations source.Violations
}

// Show explains the contract of an operation; a zero at means now.
func (l *Registry) Show(ctx context.Context, code string, op harvest.Operation, at time.Time) (Explain, error) {
	c, err := l.Contents(ctx, code)
	if err != nil {
		return Explain{}, err
	}
	if at.IsZero() {
		at = c.ReadAt
	}
	e := Explain{Code: code, Operation: op, At: at}
	e.Contract, e.Choices, err = compile(c, selection{op: op}, at, l.vars)
	if v, ok := errors.AsType[source.Violations](err); ok {
		e.Violations, err = v, nil
	}
	return e, err
}
