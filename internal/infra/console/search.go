package console

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/papertrace/patra/internal/domain/harvest"
)

// hit is something that a word of the search leads to.
type hit struct {
	kind string
	link
}

// searchBox leads to what somebody looks for: to the one thing there is, or to a list.
func (c *Console) searchBox(w http.ResponseWriter, r *http.Request) {
	v := visitOf(r)
	if v.Status != 0 {
		c.refuse(w, v)
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), answersIn)
	defer cancel()
	sought := v.query("q")
	hits, err := c.find(ctx, v, sought)
	if err != nil {
		c.fail(w, v, err)
		return
	}
	if len(hits) == 1 {
		http.Redirect(w, r, hits[0].Href, http.StatusSeeOther)
		return
	}
	shown := &view{Title: v.t("search.title"), Lead: v.t("search.lead")}
	part := panel{ID: "hits", Title: v.t("search.hits", len(hits))}
	if len(hits) == 0 {
		part.Empty = v.t("search.none")
	} else {
		part.Table = &table{Caption: part.Title, Head: []column{{Text: v.t("search.kind")}, {Text: v.t("search.what")}}}
		for _, h := range hits {
			part.Table.Rows = append(part.Table.Rows, row{Cells: []cell{text(h.kind), linked(h.Text, h.Href)}})
		}
	}
	shown.Panels = []panel{part}
	c.answer(w, v, shown, "")
}

var (
	wholeNumber = regexp.MustCompile(`^[0-9]{1,18}$`)
	pageOfRun   = regexp.MustCompile(`^([0-9]{1,18})/([0-9]{1,18})$`)
	correlated  = regexp.MustCompile(`^ing-([0-9]{1,18})-([0-9]{1,18})$`)
)

// find looks for everything that goes by a word.
func (c *Console) find(ctx context.Context, v *visit, q string) ([]hit, error) {
	if q == "" || len(q) > 500 {
		return nil, nil
	}
	var out []hit
	if m := pageOfRun.FindStringSubmatch(q); m != nil {
		out = append(out, hit{v.t("search.batch"), link{q, v.path("/runs/%s/batches/%s", m[1], m[2])}})
	}
	if m := correlated.FindStringSubmatch(q); m != nil {
		return []hit{{v.t("search.batch"), link{q, v.path("/blackbox/%s/%s", m[1], m[2])}}}, nil
	}
	if wholeNumber.MatchString(q) {
		found, err := c.findNumber(ctx, v, q)
		if err != nil {
			return nil, err
		}
		out = append(out, found...)
	}
	plan, err := c.control.PlanOfKey(ctx, q)
	switch {
	case err == nil:
		out = append(out, hit{v.t("col.plan"), link{q, v.path("/plans/%d", plan)}})
	case !errors.Is(err, harvest.ErrNotFound):
		return nil, err
	}
	named, err := c.findNamed(ctx, v, q)
	if err != nil {
		return nil, err
	}
	out = append(out, named...)
	sought, err := c.control.Records(ctx, control.RecordQuery{Find: q})
	if err != nil {
		return nil, err
	}
	for _, r := range sought.Records {
		h := hit{v.t("search.record"), link{strings.TrimSpace(r.Source + " " + r.ID + " " + clipped(r.Title, 90)), v.path("/records/%s/%s", r.Source, r.ID)}}
		if !slices.ContainsFunc(out, func(o hit) bool { return o.Href == h.Href }) {
			out = append(out, h)
		}
	}
	return out, nil
}

// findNumber looks for what has a number.
func (c *Console) findNumber(ctx context.Context, v *visit, q string) ([]hit, error) {
	n, err := strconv.ParseInt(q, 10, 64)
	if err != nil {
		return nil, nil
	}
	var out []hit
	for _, one := range []struct {
		kind, path string
		look       func() error
	}{
		{v.t("col.plan"), "/plans/%d", func() error { _, err := c.control.Plan(ctx, harvest.PlanID(n), 0, 1); return err }},
		{v.t("source.slice"), "/slices/%d", func() error { _, err := c.control.Slice(ctx, harvest.SliceID(n)); return err }},
		{v.t("search.task"), "/tasks/%d", func() error { _, err := c.control.Task(ctx, harvest.TaskID(n)); return err }},
		{v.t("search.run"), "/runs/%d", func() error { _, err := c.control.Run(ctx, harvest.RunID(n), control.Page{Limit: 1}); return err }},
	} {
		err := one.look()
		switch {
		case err == nil:
			out = append(out, hit{one.kind, link{fmt.Sprintf("%s %d", one.kind, n), v.path(one.path, n)}})
		case !errors.Is(err, harvest.ErrNotFound):
			return nil, err
		}
	}
	return out, nil
}

// identifier is an id of a work as people write it, without what stands before it.
func identifier(q string) string {
	lower := strings.ToLower(q)
	for _, before := range []string{"https://doi.org/", "http://doi.org/", "https://dx.doi.org/", "doi:", "pmid:"} {
		if strings.HasPrefix(lower, before) {
			return strings.TrimSpace(q[len(before):])
		}
	}
	return q
}

// findNamed looks for sources of that name and records of that id, in every source.
func (c *Console) findNamed(ctx context.Context, v *visit, q string) ([]hit, error) {
	list, err := c.control.Sources(ctx, control.Page{Limit: 1000})
	if err != nil {
		return nil, err
	}
	var out []hit
	for _, s := range list.Sources {
		if strings.EqualFold(s.Code, q) { // nobody who types a code looks for something else
			return []hit{{v.t("col.source"), link{s.Code, v.path("/sources/%s", s.Code)}}}, nil
		}
		if len(q) > 2 && strings.Contains(strings.ToLower(s.Name), strings.ToLower(q)) {
			out = append(out, hit{v.t("col.source"), link{s.Code + " · " + s.Name, v.path("/sources/%s", s.Code)}})
		}
	}
	id := identifier(q)
	for _, s := range list.Sources {
		r, err := c.control.Record(ctx, s.Code, id)
		if err != nil && strings.ToLower(id) != id {
			r, err = c.control.Record(ctx, s.Code, strings.ToLower(id))
		}
		if err == nil {
			out = append(out, hit{v.t("search.record"), link{s.Code + " " + r.ID, v.path("/records/%s/%s", s.Code, r.ID)}})
		}
	}
	return out, nil
}
