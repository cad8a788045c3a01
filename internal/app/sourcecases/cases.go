// Package sourcecases tries a pack on replies whose meaning its author wrote
// down: what is asked, which records are in the reply, or which fault it is.
//
// It promises that a case goes the way of a harvest: the request is made by the
// same client, the reply read by the same decoder and judged by the same rules.
// Nothing leaves the machine, no database is needed, and equal files give equal
// results.
package sourcecases

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/source"
)

// Case is one reply and what a pack is expected to make of it.
type Case struct {
	Name string
	Line int // in its file

	Operation harvest.Operation
	Purpose   source.Purpose
	Query     string
	Window    harvest.Window // zero: a day of which nothing is said
	IDs       []string
	// After is where the walk stood before the reply; zero: at its beginning.
	After harvest.Position

	Reply Reply
	Want  Want
}

// Reply is what the upstream answers.
type Reply struct {
	Status  int
	Headers map[string]string
	Body    []byte
}

// Want is what is expected. What is not set is not looked at.
type Want struct {
	Request string // path and parameters, decoded, in order of their names
	Items   *int
	Total   *int64
	Next    *string
	Records []Record
	Fault   *Fault
	// End is the proof by which the page ends its walk, or [EndNone], [EndAgain], or
	// LEFT and the code of the fault for which the walk is left, in capitals.
	End string
}

// What a page may be to its walk besides its end.
const (
	EndNone  = "NONE"  // the walk goes on
	endLeft  = "LEFT " // and for which fault: an empty page may be either
	EndAgain = "AGAIN" // the page is asked for once more, since nothing else says that it is the last
)

// Record is what is expected of one record of the reply, by its id.
type Record struct {
	ID      string
	Status  string
	Updated time.Time
	Version *int64
	Problem string         // why it goes to quarantine
	Fields  map[string]any // those named must be there so; nil: there must be none
}

// Fault is what is expected of a reply that is no page.
type Fault struct{ Level, Reaction, Code string }

// Result is what came of one case.
type Result struct {
	Name string `json:"name"`
	Line int    `json:"line"`
	// Differences are empty for a case that holds.
	Differences []string `json:"differences,omitempty"`
}

// Upstream asks a source a question.
type Upstream interface {
	Ask(ctx context.Context, s *source.Spec, c source.Call) (source.Answer, error)
}

// Bench is what cases are tried on.
type Bench struct {
	// Compile makes the pack ready for an operation and a query.
	Compile func(harvest.Operation, string) (*source.Spec, error)
	// Answering is an upstream that gives one reply to whatever is asked.
	Answering func(Reply) Upstream
}

// Run tries cases one after the other. It fails only if it was interrupted.
func (b Bench) Run(ctx context.Context, cases []Case) ([]Result, error) {
	out := make([]Result, 0, len(cases))
	for i := range cases {
		c := &cases[i]
		differences := b.try(ctx, c)
		if err := ctx.Err(); err != nil {
			return out, context.Cause(ctx)
		}
		out = append(out, Result{Name: c.Name, Line: c.Line, Differences: differences})
	}
	return out, nil
}

// try asks as a case says and lists what is not as expected.
func (b Bench) try(ctx context.Context, c *Case) []string {
	spec, err := b.Compile(c.Operation, c.Query)
	if err != nil {
		return []string{"the pack cannot be used for it: " + err.Error()}
	}
	if spec.Endpoint(c.Purpose) == nil {
		return []string{fmt.Sprintf("the pack has no %s endpoint", c.Purpose)}
	}
	once := *spec
	once.Auth = nil
	once.Rate = source.Rate{Key: spec.Source}
	once.Retry.Attempts = 1
	answer, err := b.Answering(c.Reply).Ask(ctx, &once, source.Call{Purpose: c.Purpose, Window: c.window(), IDs: c.IDs, Position: c.After})
	var d differences
	if c.Want.Request != "" {
		d.compare("request", readable(answer.Request), c.Want.Request)
	}
	d.judge(c, answer.Page, err)
	if c.Want.End != "" && answer.Page != nil && err == nil {
		d.compare("the end of the walk", endOf(spec.Paging, c.After, answer.Page), c.Want.End)
	}
	return d
}

// endOf is what a page is to its walk.
func endOf(p harvest.Paging, at harvest.Position, page *harvest.Page) string {
	next, end, err := p.Step(at, page.Facts(), func(uint64) bool { return false })
	fault, isFault := harvest.FaultOf(err)
	switch {
	case isFault:
		return endLeft + strings.ToUpper(string(fault.Code))
	case end != "":
		return string(end)
	case next.Tail != nil:
		return EndAgain
	}
	return EndNone
}

// window is what is asked for where a case names no window.
func (c *Case) window() harvest.Window {
	if !c.Window.From.IsZero() {
		return c.Window
	}
	day := time.Date(2026, 8, 1, 0, 0, 0, 0, time.UTC)
	return harvest.Window{From: day, To: day.AddDate(0, 0, 1)}
}

// readable is a request as people write it: the path, and the parameters in
// order of their names with nothing encoded.
func readable(request string) string {
	_, address, found := strings.Cut(request, " ")
	if !found {
		address = request
	}
	u, err := url.Parse(address)
	if err != nil {
		return address
	}
	var pairs []string
	for name, values := range u.Query() {
		for _, v := range values {
			pairs = append(pairs, name+"="+v)
		}
	}
	slices.Sort(pairs)
	if len(pairs) == 0 {
		return u.Path
	}
	return u.Path + "?" + strings.Join(pairs, "&")
}

// differences are what is not as expected, a line each.
type differences []string

func (d *differences) note(format string, args ...any) { *d = append(*d, fmt.Sprintf(format, args...)) }

func (d *differences) compare(what, got, want string) {
	if got != want {
		d.note("%s is %q, expected %q", what, got, want)
	}
}

// judge holds the page or the error that came against what was expected.
func (d *differences) judge(c *Case, page *harvest.Page, err error) {
	fault, isFault := harvest.FaultOf(err)
	switch {
	case c.Want.Fault != nil && isFault:
		d.fault(fault, *c.Want.Fault)
		return
	case c.Want.Fault != nil:
		d.note("the reply is read as a page, expected the fault %s", c.Want.Fault.Code)
		return
	case err != nil:
		d.note("%s", err)
		return
	case page == nil:
		d.note("the reply holds no page")
		return
	}
	d.page(page, c.Want)
}

func (d *differences) fault(got harvest.Fault, want Fault) {
	d.compare("fault", string(got.Code), want.Code)
	if want.Level != "" {
		d.compare("level", string(got.Level), want.Level)
	}
	if want.Reaction != "" {
		d.compare("reaction", string(got.Reaction), want.Reaction)
	}
}

func (d *differences) page(page *harvest.Page, want Want) {
	if want.Items != nil && *want.Items != len(page.Items) {
		d.note("the page has %d items, expected %d", len(page.Items), *want.Items)
	}
	if want.Total != nil && (page.Total == nil || *page.Total != *want.Total) {
		d.note("the total is %s, expected %d", shown(page.Total), *want.Total)
	}
	if want.Next != nil {
		d.compare("what leads to the next page", page.Token+page.URL, *want.Next)
	}
	for _, w := range want.Records {
		d.record(page.Items, w)
	}
}

func shown(n *int64) string {
	if n == nil {
		return "not given"
	}
	return fmt.Sprint(*n)
}

func (d *differences) record(items []harvest.Item, want Record) {
	at := slices.IndexFunc(items, func(it harvest.Item) bool { return it.ID == want.ID })
	if at < 0 {
		d.note("there is no record %q; the page has %s", want.ID, idsOf(items))
		return
	}
	it := &items[at]
	problem := ""
	if it.Problem != nil {
		problem = string(it.Problem.Code)
	}
	d.compare("record "+want.ID+": problem", problem, want.Problem)
	if want.Status != "" {
		d.compare("record "+want.ID+": status", string(it.Status), want.Status)
	}
	if !want.Updated.IsZero() && !want.Updated.Equal(it.UpdatedAt) {
		d.note("record %s: updated is %s, expected %s", want.ID, it.UpdatedAt.UTC().Format(time.RFC3339Nano), want.Updated.UTC().Format(time.RFC3339Nano))
	}
	if want.Version != nil && *want.Version != it.Version {
		d.note("record %s: version is %d, expected %d", want.ID, it.Version, *want.Version)
	}
	if want.Fields == nil {
		return
	}
	var fields map[string]any
	if err := json.Unmarshal(it.Fields, &fields); err != nil && len(it.Fields) > 0 {
		d.note("record %s: its fields cannot be read: %s", want.ID, err)
		return
	}
	wanted, err := asJSON(want.Fields)
	if err != nil {
		d.note("record %s: what is expected of its fields cannot be written as JSON: %s", want.ID, err)
		return
	}
	d.within("record "+want.ID+": ", fields, wanted)
}

// idsOf lists the first ids of a page.
func idsOf(items []harvest.Item) string {
	const most = 5
	if len(items) == 0 {
		return "none"
	}
	var ids []string
	for i := range items[:min(most, len(items))] {
		ids = append(ids, fmt.Sprintf("%q", items[i].ID))
	}
	if len(items) > most {
		ids = append(ids, fmt.Sprintf("and %d more", len(items)-most))
	}
	return strings.Join(ids, ", ")
}

// asJSON is a value as it would be read from JSON, so that numbers compare.
func asJSON(v any) (out any, err error) {
	b, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	err = json.Unmarshal(b, &out)
	return out, err
}

// within reports where got lacks something of want. Of an object the members
// named are looked at, and null says that there must be none; a list is looked at
// whole.
func (d *differences) within(path string, got, want any) {
	switch w := want.(type) {
	case map[string]any:
		object, isObject := got.(map[string]any)
		if !isObject {
			d.note("%s is %s, expected an object", strings.TrimRight(path, ".: "), text(got))
			return
		}
		for _, name := range sortedNames(w) {
			d.within(path+name+".", object[name], w[name])
		}
	case []any:
		list, isList := got.([]any)
		if !isList || len(list) != len(w) {
			d.note("%s is %s, expected %s", strings.TrimRight(path, ".: "), text(got), text(want))
			return
		}
		for i := range w {
			d.within(fmt.Sprintf("%s%d.", path, i), list[i], w[i])
		}
	default:
		if text(got) != text(want) {
			d.note("%s is %s, expected %s", strings.TrimRight(path, ".: "), text(got), text(want))
		}
	}
}

func sortedNames(m map[string]any) []string {
	names := make([]string, 0, len(m))
	for name := range m {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// text is a value as JSON; nothing is "nothing".
func text(v any) string {
	if v == nil {
		return "nothing"
	}
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(b)
}
