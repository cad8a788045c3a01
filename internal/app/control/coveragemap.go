package control

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/problem"
)

// CoverageState is how a part of time stands with a namespace.
type CoverageState string

// The states, the gravest first. What nobody ever asked for has none.
const (
	CoverageGap    CoverageState = "GAP"    // it was tried or left out, and is not read
	CoverageLate   CoverageState = "LATE"   // it is over, and nothing is planned for it
	CoverageOpen   CoverageState = "OPEN"   // it is planned, and not read yet
	CoverageProven CoverageState = "PROVEN" // it is proven complete
	CoverageNone   CoverageState = ""
)

// CoverageFamily is the family of a state of coverage.
func CoverageFamily(s CoverageState) Family {
	switch s {
	case CoverageGap:
		return Failed
	case CoverageLate:
		return Remarked
	case CoverageOpen:
		return Waiting
	default:
		return OK
	}
}

// CoverageQuery says which time is mapped, in how many steps.
type CoverageQuery struct {
	Source   string // empty: all of which anything was planned
	From, To time.Time
	Steps    int
	Page     // of sources
}

// CoverageMap is how the time of each namespace stands, step by step.
type CoverageMap struct {
	From Time          `json:"from"`
	To   Time          `json:"to"`
	Step Seconds       `json:"step_seconds"`
	Rows []CoverageRow `json:"rows"`
	// Next is the source behind which the next page begins, empty on the last.
	Next string `json:"next,omitempty"`
}

// CoverageRow is one namespace of a source, of those that go by time.
type CoverageRow struct {
	Source    string            `json:"source"`
	Operation harvest.Operation `json:"operation"`
	Namespace string            `json:"namespace"`
	Query     string            `json:"query,omitempty"`
	Watermark harvest.Mark      `json:"watermark"`
	// Spans are the parts that stand alike, in the order of time.
	Spans []CoverageSpan `json:"spans"`
}

// CoverageSpan are steps in a row that stand alike.
type CoverageSpan struct {
	From  Time          `json:"from"`
	To    Time          `json:"to"`
	Steps int           `json:"steps"`
	State CoverageState `json:"state"`
}

// Bounds of a map: how many sources are looked at for a page of it, and how many steps
// there may be.
const (
	MapSources = 20
	MapSteps   = 400
)

// errMapTime says that a map has no time.
var errMapTime = problem.New("a map needs a time of at least a minute, from before to", problem.Problem{
	Code: "usage", Kind: problem.Usage, Next: "give from and to as RFC 3339, the earlier first",
})

// CoverageMap tells how the time of the sources stands. Only namespaces that go by time
// are on it: an UPDATE counts records.
func (c *Control) CoverageMap(ctx context.Context, q CoverageQuery) (CoverageMap, error) {
	out := CoverageMap{Rows: []CoverageRow{}}
	now, err := c.store.Now(ctx)
	if err != nil {
		return out, err
	}
	if err := q.complete(now); err != nil {
		return out, err
	}
	step := q.To.Sub(q.From) / time.Duration(q.Steps)
	out.From = Time(q.From)
	out.To = Time(q.To)
	out.Step = Seconds(step / time.Second)
	codes := []string{q.Source}
	if q.Source == "" {
		codes, err = c.store.PlannedSources(ctx)
		if err != nil {
			return out, err
		}
		slices.Sort(codes)
		codes, out.Next = sourcesBehind(codes, q.After, min(cmp.Or(q.Limit, MapSources), MapSources))
	}
	for _, code := range codes {
		list, err := c.Coverage(ctx, code)
		if err != nil {
			return out, err
		}
		for _, n := range list.Namespaces {
			if n.Watermark.IsNumber() {
				continue // it is no stretch of time
			}
			out.Rows = append(out.Rows, CoverageRow{
				Source: code, Operation: n.Operation, Namespace: n.Namespace, Query: n.Query, Watermark: n.Watermark, Spans: spansOf(n, q, step, now),
			})
		}
	}
	return out, nil
}

// complete fills in what was not asked for: the last 30 days in steps of half a day.
func (q *CoverageQuery) complete(now time.Time) error {
	const days, steps = 30, 60
	if q.To.IsZero() {
		q.To = now
	}
	if q.From.IsZero() {
		q.From = q.To.AddDate(0, 0, -days)
	}
	q.Steps = min(cmp.Or(q.Steps, steps), MapSteps)
	if q.To.Sub(q.From) < time.Minute {
		return errMapTime
	}
	return nil
}

// sourcesBehind are the first codes behind one, and where the next page begins.
func sourcesBehind(codes []string, after string, limit int) (part []string, next string) {
	at, found := slices.BinarySearch(codes, after)
	if found {
		at++
	}
	codes = codes[at:]
	if len(codes) <= limit {
		return codes, ""
	}
	return codes[:limit], codes[limit-1]
}

// spansOf puts the time of a namespace into steps, and those in a row that stand alike
// together. A step stands as the gravest part of it does.
func spansOf(n Coverage, q CoverageQuery, step time.Duration, now time.Time) []CoverageSpan {
	states := make([]CoverageState, q.Steps)
	paint := func(from, to time.Time, s CoverageState) {
		first := max(int(from.Sub(q.From)/step), 0)
		for i := first; i < q.Steps && q.From.Add(time.Duration(i)*step).Before(to); i++ {
			if q.From.Add(time.Duration(i+1) * step).After(from) {
				states[i] = s
			}
		}
	}
	if n.Operation == harvest.Harvest && n.Direction == harvest.Forward {
		paint(n.Watermark.Time(), now.Add(-step), CoverageLate)
	}
	for _, part := range []struct {
		intervals []Interval
		state     CoverageState
	}{{n.Proven, CoverageProven}, {n.Open, CoverageOpen}, {n.Missing, CoverageGap}, {n.Failed, CoverageGap}} {
		for _, i := range part.intervals {
			paint(i.From.Time(), i.To.Time(), part.state)
		}
	}
	out := []CoverageSpan{}
	for i, s := range states {
		to := q.From.Add(time.Duration(i+1) * step)
		if last := len(out) - 1; last >= 0 && out[last].State == s {
			out[last].To = Time(to)
			out[last].Steps++
			continue
		}
		out = append(out, CoverageSpan{From: Time(q.From.Add(time.Duration(i) * step)), To: Time(to), Steps: 1, State: s})
	}
	return out
}
