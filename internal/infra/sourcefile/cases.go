package sourcefile

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"

	"github.com/papertrace/patra/internal/app/sourcecases"
	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/source"
)

// casesSuffix ends the name of a file of cases. It stands beside its pack:
// mysource.cases.yaml beside mysource.yaml.
const casesSuffix = ".cases.yaml"

// IsCases reports whether a file holds cases and not a pack.
func IsCases(name string) bool { return strings.HasSuffix(name, casesSuffix) }

// CasesOf is the name of the file of cases that belongs to a pack.
func CasesOf(pack string) string {
	return strings.TrimSuffix(strings.TrimSuffix(pack, ".yaml"), ".yml") + casesSuffix
}

// PackOf is the name of the pack that a file of cases belongs to; any other name
// stands for itself.
func PackOf(name string) string {
	if pack, ok := strings.CutSuffix(name, casesSuffix); ok {
		return pack + ".yaml"
	}
	return name
}

// casesFile is a file of cases as it is written.
type casesFile struct {
	Cases []caseEntry `yaml:"cases"`
}

type caseEntry struct {
	Name      string     `yaml:"name"`
	Operation string     `yaml:"operation"`
	Ask       string     `yaml:"ask"`
	Query     string     `yaml:"query"`
	Window    []string   `yaml:"window"`
	IDs       []string   `yaml:"ids"`
	After     afterEntry `yaml:"after"`
	Reply     replyEntry `yaml:"reply"`
	Expect    wantEntry  `yaml:"expect"`
}

// afterEntry is what came before the reply, of which the request and the end of
// the walk depend.
type afterEntry struct {
	Token  string `yaml:"token"`
	URL    string `yaml:"url"`
	Offset int64  `yaml:"offset"`
	Page   int    `yaml:"page"`
	Seen   int64  `yaml:"seen"`
	Total  *int64 `yaml:"total"`
	Last   string `yaml:"last"`
	At     string `yaml:"at"`
}

// position is where a walk stands that has read what is named, one page of it.
func (a afterEntry) position() harvest.Position {
	at := harvest.Position{Token: a.Token, URL: a.URL, Offset: a.Offset, Page: a.Page, Seen: a.Seen, Total: a.Total, LastID: a.Last}
	if a != (afterEntry{}) {
		at.Pages = 1
	}
	return at
}

type replyEntry struct {
	Status  int               `yaml:"status"`
	Headers map[string]string `yaml:"headers"`
	Body    string            `yaml:"body"`
}

type wantEntry struct {
	Request string        `yaml:"request"`
	Items   *int          `yaml:"items"`
	Total   *int64        `yaml:"total"`
	Next    *string       `yaml:"next"`
	Records []recordEntry `yaml:"records"`
	Fault   *faultEntry   `yaml:"fault"`
	End     string        `yaml:"end"`
}

type recordEntry struct {
	ID      string         `yaml:"id"`
	Status  string         `yaml:"status"`
	Updated string         `yaml:"updated"`
	Version *int64         `yaml:"version"`
	Problem string         `yaml:"problem"`
	Fields  map[string]any `yaml:"fields"`
}

type faultEntry struct {
	Level    string `yaml:"level"`
	Reaction string `yaml:"reaction"`
	Code     string `yaml:"code"`
}

// ParseCases reads a file of cases. The error, if any, is [Problems].
func ParseCases(file string, data []byte) ([]sourcecases.Case, error) {
	if len(data) > MaxSize {
		return nil, Problems{{File: file, Line: 1, Column: 1, Text: fmt.Sprintf("is larger than %d KiB", MaxSize>>10)}}
	}
	data = plainLines(data)
	var f casesFile
	if err := yaml.UnmarshalWithOptions(data, &f, yaml.Strict()); err != nil {
		return nil, Problems{problemOf(file, err)}
	}
	if len(f.Cases) == 0 {
		return nil, Problems{{File: file, Line: 1, Column: 1, Path: "cases", Text: "there are none; write at least one"}}
	}
	lines := caseLines(data)
	var out []sourcecases.Case
	var bad Problems
	names := map[string]bool{}
	for i, e := range f.Cases {
		line := 1
		if i < len(lines) {
			line = lines[i]
		}
		c, mistakes := e.read()
		if names[e.Name] {
			mistakes = append(mistakes, fmt.Sprintf("name: %q is there twice", e.Name))
		}
		names[e.Name] = true
		for _, m := range mistakes {
			bad = append(bad, Problem{File: file, Line: line, Column: 1, Path: fmt.Sprintf("cases[%d]", i), Text: m})
		}
		c.Line = line
		out = append(out, c)
	}
	if len(bad) > 0 {
		return nil, bad
	}
	return out, nil
}

// problemOf is the reader's complaint with its place.
func problemOf(file string, err error) Problem {
	p := Problem{File: file, Line: 1, Column: 1, Text: err.Error()}
	var located yaml.Error
	if errors.As(err, &located) {
		p.Text = located.GetMessage()
		if t := located.GetToken(); t != nil {
			p.Line = t.Position.Line
			p.Column = t.Position.Column
		}
	}
	return p
}

// caseLines are the lines at which the cases of a file begin.
func caseLines(data []byte) (out []int) {
	f, err := parser.ParseBytes(data, 0)
	if err != nil || len(f.Docs) == 0 {
		return nil
	}
	path, err := yaml.PathString("$.cases")
	if err != nil {
		return nil
	}
	node, err := path.FilterNode(f.Docs[0].Body)
	if err != nil {
		return nil
	}
	list, ok := node.(*ast.SequenceNode)
	if !ok {
		return nil
	}
	for _, v := range list.Values {
		out = append(out, v.GetToken().Position.Line)
	}
	return out
}

// read turns what is written into a case, and lists what is wrong with it.
func (e *caseEntry) read() (c sourcecases.Case, mistakes []string) {
	fail := func(format string, args ...any) { mistakes = append(mistakes, fmt.Sprintf(format, args...)) }
	c = sourcecases.Case{
		Name:      e.Name,
		Operation: harvest.Harvest,
		Purpose:   source.ForSearch,
		Query:     e.Query,
		IDs:       e.IDs,
		After:     e.After.position(),
		Reply:     sourcecases.Reply{Status: e.Reply.Status, Headers: e.Reply.Headers, Body: []byte(e.Reply.Body)},
		Want:      sourcecases.Want{Request: e.Expect.Request, Items: e.Expect.Items, Total: e.Expect.Total, Next: e.Expect.Next, End: source.DictEndProof.Canonical(e.Expect.End)},
	}
	if e.Name == "" {
		fail("name: is missing; say in a few words what the reply is")
	}
	if e.Operation != "" {
		c.Operation = harvest.Operation(strings.ToUpper(e.Operation))
	}
	if !slices.Contains(source.Operations, c.Operation) {
		fail("operation: %q is none of HARVEST, BACKFILL, UPDATE", e.Operation)
	}
	if e.Ask != "" {
		c.Purpose = source.Purpose(e.Ask)
	}
	if !slices.Contains(source.Purposes(), c.Purpose) {
		fail("ask: %q is none of search, count, detail, lookup", e.Ask)
	}
	if c.Reply.Status == 0 {
		c.Reply.Status = 200
	}
	if c.Reply.Status < 200 || c.Reply.Status > 599 {
		fail("reply.status: %d is no status of a reply", c.Reply.Status)
	}
	if e.After.At != "" {
		at, err := instant(e.After.At)
		if err != nil {
			fail("after.at: %s", err)
		}
		c.After.At = at
	}
	if len(e.Window) > 0 {
		w, err := windowOf(e.Window)
		if err != nil {
			fail("window: %s", err)
		}
		c.Window = w
	}
	for i, r := range e.Expect.Records {
		want := sourcecases.Record{ID: r.ID, Status: r.Status, Version: r.Version, Problem: r.Problem, Fields: r.Fields}
		if r.Updated != "" {
			at, err := instant(r.Updated)
			if err != nil {
				fail("expect.records[%d].updated: %s", i, err)
			}
			want.Updated = at
		}
		c.Want.Records = append(c.Want.Records, want)
	}
	if f := e.Expect.Fault; f != nil {
		c.Want.Fault = &sourcecases.Fault{Level: f.Level, Reaction: f.Reaction, Code: f.Code}
	}
	if e.Expect.empty() {
		fail("expect: is missing; say what the reply means: request, items, total, next, records, end or fault")
	}
	if c.Want.End != "" && c.Purpose != source.ForSearch {
		fail("expect.end: only pages of a search end a walk")
	}
	if e.Expect.Fault != nil && (e.Expect.Items != nil || len(e.Expect.Records) > 0) {
		fail("expect: a reply is a fault or has records, not both")
	}
	return c, mistakes
}

func (w *wantEntry) empty() bool {
	return w.Request == "" && w.Items == nil && w.Total == nil && w.Next == nil && len(w.Records) == 0 && w.Fault == nil && w.End == ""
}

func windowOf(texts []string) (w harvest.Window, err error) {
	if len(texts) != 2 {
		return w, errors.New("is written [from, to]")
	}
	w.From, err = instant(texts[0])
	if err != nil {
		return w, err
	}
	w.To, err = instant(texts[1])
	if err != nil {
		return w, err
	}
	if !w.From.Before(w.To) {
		return w, fmt.Errorf("%s is not before %s", texts[0], texts[1])
	}
	return w, nil
}

// instant reads a day or a time, in UTC where it names no zone.
func instant(s string) (time.Time, error) {
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05", time.DateOnly} {
		if t, err := time.Parse(layout, s); err == nil {
			return t.UTC(), nil
		}
	}
	return time.Time{}, fmt.Errorf("%q is neither a day such as 2026-08-01 nor a time such as 2026-08-01T12:00:00Z", s)
}
