package control

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/problem"
	"github.com/papertrace/patra/internal/domain/work"
)

// errNoWork says that there is no such work.
func errNoWork(id int64) error {
	return problem.New(fmt.Sprintf("there is no work %d", id), problem.Problem{
		Code: "not_found", Kind: problem.NotFound,
		Next: "`patra work list` shows works of several records, `patra work show SOURCE ID` that of a record",
	})
}

// WorkOfRecord is the number of the work that a record is of.
func (c *Control) WorkOfRecord(ctx context.Context, code, id string) (int64, error) {
	r, _, err := c.findRecord(ctx, code, id)
	if err != nil {
		return 0, err
	}
	w, err := c.store.WorkOf(ctx, r.Number)
	return w.ID, err
}

// WorkShown shows a work: its records and how each came into it, the best of their
// fields, and what is related to it.
func (c *Control) WorkShown(ctx context.Context, id int64) (WorkView, error) {
	w, err := c.store.WorkOf(ctx, id)
	if errors.Is(err, harvest.ErrNotFound) {
		return WorkView{}, errNoWork(id)
	}
	if err != nil {
		return WorkView{}, err
	}
	out := WorkView{ID: w.ID, Links: []WorkLink{}, Family: []WorkLink{}, Suggestions: []WorkLink{}}
	if id != w.ID {
		out.RedirectedFrom = id
	}
	out.Records, err = c.workRecords(ctx, w.Records)
	if err != nil {
		return out, err
	}
	links, err := c.store.WorkLinks(ctx, w.Records)
	if err != nil {
		return out, err
	}
	for _, l := range links {
		c.explainLink(&l)
		switch l.Polarity {
		case string(work.Links):
			out.Links = append(out.Links, l)
		case string(work.Relates):
			out.Family = append(out.Family, l)
		default:
			out.Suggestions = append(out.Suggestions, l)
		}
	}
	for i := range out.Records {
		out.Records[i].Path = pathTo(w.ID, out.Records[i].Number, out.Links)
	}
	out.Fields, err = c.bestFields(ctx, out.Records)
	if err != nil {
		return out, err
	}
	out.Decisions, err = c.store.WorkDecisions(ctx, w.Records)
	if err != nil {
		return out, err
	}
	out.Moves, err = c.store.WorkMoves(ctx, w.Records, movesShown)
	return out, err
}

// movesShown is how many moves of records are shown with a work.
const movesShown = 50

// explainLink says the rule of a link in words, and cleans what others wrote.
func (c *Control) explainLink(l *WorkLink) {
	l.Means = work.Rule(l.Rule).Means()
	l.From.Title = c.clean(l.From.Title)
	l.To.Title = c.clean(l.To.Title)
	l.Evidence = c.clean(l.Evidence)
}

// bestFields chooses the fields of a work.
func (c *Control) bestFields(ctx context.Context, records []WorkRecord) (map[string]WorkField, error) {
	now, err := c.store.Now(ctx)
	if err != nil {
		return nil, err
	}
	members := make([]work.Member, len(records))
	for i, r := range records {
		members[i] = r.member()
	}
	chosen, err := work.Best(members, now)
	if err != nil {
		return nil, err
	}
	out := make(map[string]WorkField, len(chosen))
	for name, v := range chosen {
		f := WorkField{Value: v.Value}
		for _, k := range v.From {
			f.From = append(f.From, k.Source+"/"+k.ID)
		}
		out[name] = f
	}
	return out, nil
}

// pathTo are the links that lead from one record to another, the shortest way.
func pathTo(from, to int64, links []WorkLink) []WorkLink {
	if from == to {
		return nil
	}
	came := map[int64]int{from: -1}
	queue := []int64{from}
	for len(queue) > 0 {
		at := queue[0]
		queue = queue[1:]
		for i, l := range links {
			next := l.To.Number
			if next == at {
				next = l.From.Number
			} else if l.From.Number != at {
				continue
			}
			if _, seen := came[next]; !seen {
				came[next] = i
				queue = append(queue, next)
			}
		}
	}
	var out []WorkLink
	for at := to; at != from; {
		i, reached := came[at]
		if !reached {
			return nil
		}
		l := links[i]
		out = append(out, l)
		if l.From.Number == at {
			at = l.To.Number
		} else {
			at = l.From.Number
		}
	}
	slices.Reverse(out)
	return out
}
