package console

import (
	"context"
	"errors"
	"html/template"
	"strconv"
	"strings"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/papertrace/patra/internal/app/prisma"
)

// searches lists saved searches and what came of their last runs.
func (c *Console) searches(ctx context.Context, v *visit) (*view, error) {
	list, err := c.control.Searches(ctx, v.page())
	if err != nil {
		return nil, err
	}
	out := &view{Title: v.t("rail./searches"), Lead: v.t("searches.lead"), Topics: "work audit", CLI: "patra search list", API: api("/searches", "after", v.query("after"))}
	t := &table{Caption: v.t("rail./searches"), Head: []column{
		{Text: v.t("col.name")},
		{Text: v.t("col.query")},
		{Text: v.t("searches.sources")},
		{Text: v.t("searches.version"), Num: true},
		{Text: v.t("searches.last")},
		{Text: v.t("searches.found"), Num: true},
		{Text: v.t("searches.new"), Num: true},
		{Text: v.t("searches.ended")},
	}}
	for _, s := range list.Searches {
		cells := []cell{linked(s.Name, v.path("/searches/%s", s.Name)), mono(s.Query), text(strings.Join(s.Sources, ", ")), count(s.Version), text(v.t("searches.never")), {}, {}, {}}
		if s.Last != nil {
			cells[4] = v.searchState(s.Last.Status)
			cells[5] = count(s.Last.Records)
			cells[6] = count(s.Last.New)
			cells[7] = at(s.Last.EndedAt)
		}
		t.Rows = append(t.Rows, row{Cells: cells})
	}
	part := panel{ID: "list", Title: v.t("rail./searches"), Table: t, Next: v.nextPage(list.Next)}
	if len(t.Rows) == 0 {
		part.Table = nil
		part.Empty = v.t("searches.none")
		part.EmptyNext = `patra search new NAME --query 'tiab:insulin' --sources pubmed,crossref`
	}
	out.Panels = []panel{part}
	return out, nil
}

// searchState is how a run of a search, or of one of its sources, ended.
func (v *visit) searchState(s control.SearchStatus) cell {
	family := control.Active
	switch s {
	case control.SearchCompleted:
		family = control.OK
	case control.SearchPartial:
		family = control.Partial
	case control.SearchFailed:
		family = control.Failed
	}
	return stated(family, v.stateWord(string(s)))
}

// search shows a saved search: its sources, runs, versions, and its numbers.
func (c *Console) search(ctx context.Context, v *visit) (*view, error) {
	s, err := c.control.Search(ctx, v.PathValue("name"))
	if err != nil {
		return nil, err
	}
	out := &view{
		Title: s.Name, Lead: s.Query, Topics: "work audit", Crumbs: []link{{v.t("rail./searches"), v.path("/searches")}}, Up: v.path("/searches"),
		CLI: "patra search show " + quoted(s.Name), API: apiPath("/searches/%s", s.Name),
		Actions: []action{{Label: v.t("change.remove"), Do: apiPath("/searches/%s/remove", s.Name), Level: 2}},
	}
	out.Panels = []panel{v.selectionsPanel(s)}
	report, err := c.control.SearchReport(ctx, s.Name)
	switch bad, is := errors.AsType[*control.BadSearchError](err); {
	case is:
		out.Panels = append(out.Panels, panel{ID: "flow", Title: v.t("searches.flow"), Empty: bad.What, EmptyNext: "patra search run " + quoted(s.Name)})
	case err != nil:
		return nil, err
	default:
		out.Panels = append(out.Panels, v.flowPanel(s.Name, report))
	}
	out.Panels = append(out.Panels, v.searchRunsPanel(s), v.searchVersionsPanel(s))
	return out, nil
}

// selectionsPanel shows how each source of a search stands.
func (v *visit) selectionsPanel(s control.SearchView) panel {
	t := &table{Caption: v.t("searches.sources"), Head: []column{
		{Text: v.t("col.source")},
		{Text: v.t("searches.found"), Num: true},
		{Text: v.t("searches.proven_to")},
		{Text: v.t("searches.announced"), Num: true},
		{Text: v.t("searches.received"), Num: true},
		{Text: v.t("searches.filtered"), Num: true},
		{Text: v.t("rail./quarantine"), Num: true},
		{Text: v.t("col.state")},
		{Text: v.t("col.why")},
	}}
	last := map[string]control.SearchSourceRun{}
	if s.Last != nil {
		for _, one := range s.Last.Sources {
			last[one.Source] = one
		}
	}
	for _, src := range s.Selections {
		cells := []cell{linked(src.Source, v.path("/sources/%s", src.Source)), counted(src.Records), mono(src.ProvenTo), {}, {}, {}, {}, {}, {Lines: lines(src.Note)}}
		if one, has := last[src.Source]; has {
			if one.Announced != nil {
				cells[3] = count(*one.Announced)
			}
			cells[4] = count(one.Received)
			cells[5] = count(one.Filtered)
			cells[6] = count(one.Quarantined)
			cells[7] = v.searchState(one.Status)
			cells[8].Lines = append(cells[8].Lines, lines(one.Reason)...)
		}
		t.Rows = append(t.Rows, row{Cells: cells})
	}
	return panel{ID: "sources", Title: v.t("searches.sources"), Note: v.t("searches.sources_note"), Table: t}
}

// flowPanel draws the numbers of a search as a review reports them.
func (v *visit) flowPanel(name string, r prisma.Document) panel {
	t := &table{Caption: v.t("searches.flow"), Head: []column{{Text: v.t("col.what")}, {Text: v.t("col.count"), Num: true}}}
	add := func(name string, n int64) { t.Rows = append(t.Rows, row{Cells: []cell{text(name), count(n)}}) }
	for _, all := range [][]prisma.FlowCount{r.Flow.Databases, r.Flow.Registers} {
		for _, one := range all {
			add(v.t("searches.identified")+": "+one.Name, one.N)
		}
	}
	for _, all := range [][]prisma.FlowCount{r.Flow.Duplicates, r.Flow.Other} {
		for _, one := range all {
			add(v.t("searches.removed")+": "+one.Name, one.N)
		}
	}
	add(v.t("searches.removed")+": "+v.t("searches.received_again"), r.Flow.ReadAgain)
	add(v.t("searches.removed")+": "+v.t("searches.filtered"), r.Flow.Ineligible)
	add(v.t("searches.screened"), r.Flow.Screened)
	return panel{
		ID: "flow", Title: v.t("searches.flow"), Note: v.t("searches.export_note", "patra search export "+quoted(name)+" --format ris", "patra search report "+quoted(name)),
		Figure: &figure{
			Title: v.t("searches.flow"), Summary: v.t("searches.flow_summary", r.Flow.Identified, r.Flow.Removed, r.Flow.Screened), Data: t,
			Drawing: template.HTML(r.SVG()), //nolint:gosec // every text in it is escaped
		},
		Actions: []action{{Label: v.t("searches.report_json"), Href: v.path("/searches/%s/report", name) + ".json", Needs: control.Viewer}},
	}
}

// searchReport shows the numbers of a search alone; its document is the report.
func (c *Console) searchReport(ctx context.Context, v *visit) (*view, error) {
	name := v.PathValue("name")
	r, err := c.control.SearchReport(ctx, name)
	if err != nil {
		return nil, err
	}
	return &view{
		Title: v.t("searches.flow"), Lead: r.Query, Crumbs: []link{{v.t("rail./searches"), v.path("/searches")}, {name, v.path("/searches/%s", name)}}, Up: v.path("/searches/%s", name),
		CLI: "patra search report " + quoted(name), API: apiPath("/searches/%s/report", name), Panels: []panel{v.flowPanel(name, r)},
	}, nil
}

// searchRunsPanel lists the runs of a search, the newest first.
func (v *visit) searchRunsPanel(s control.SearchView) panel {
	out := panel{ID: "runs", Title: v.t("searches.runs"), Empty: v.t("searches.never")}
	if len(s.Runs) == 0 {
		return out
	}
	t := &table{Caption: v.t("searches.runs"), Head: []column{
		{Text: v.t("col.run"), Num: true},
		{Text: v.t("searches.version"), Num: true},
		{Text: v.t("col.state")},
		{Text: v.t("searches.found"), Num: true},
		{Text: v.t("searches.new"), Num: true},
		{Text: v.t("searches.started")},
		{Text: v.t("searches.ended")},
	}}
	for _, r := range s.Runs {
		t.Rows = append(t.Rows, row{Cells: []cell{count(r.Run), count(r.Version), v.searchState(r.Status), count(r.Records), count(r.New), at(&r.StartedAt), at(r.EndedAt)}})
	}
	out.Table = t
	out.Empty = ""
	return out
}

// searchVersionsPanel lists what a search has asked for over time.
func (v *visit) searchVersionsPanel(s control.SearchView) panel {
	t := &table{Caption: v.t("searches.versions"), Head: []column{
		{Text: v.t("searches.version"), Num: true}, {Text: v.t("col.query")}, {Text: v.t("searches.sources")}, {Text: v.t("col.made")}, {Text: v.t("searches.superseded")},
	}}
	for _, one := range s.Versions {
		t.Rows = append(t.Rows, row{Cells: []cell{
			{Text: strconv.Itoa(one.Version)}, mono(one.Query), text(strings.Join(one.Sources, ", ")), at(&one.CreatedAt), at(one.SupersededAt),
		}})
	}
	return panel{ID: "versions", Title: v.t("searches.versions"), Table: t}
}
