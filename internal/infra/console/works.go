package console

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/papertrace/patra/internal/app/control"
)

// worksTabs are the lists about works.
func (v *visit) worksTabs(here string) []tab {
	return []tab{
		{link{v.t("works.several"), v.path("/works")}, here == "works"},
		{link{v.t("works.suggestions"), v.path("/works/suggestions")}, here == "suggestions"},
		{link{v.t("works.identifiers"), v.path("/works/identifiers")}, here == "identifiers"},
	}
}

// works lists works that several records are of.
func (c *Console) works(ctx context.Context, v *visit) (*view, error) {
	list, err := c.control.Works(ctx, v.page())
	if err != nil {
		return nil, err
	}
	out := &view{Title: v.t("rail./works"), Lead: v.t("works.lead"), Topics: "work audit", CLI: "patra work list", API: api("/works", "after", v.query("after")), Tabs: v.worksTabs("works")}
	t := &table{Caption: v.t("rail./works"), Head: []column{
		{Text: v.t("col.work"), Num: true}, {Text: v.t("col.title")}, {Text: v.t("works.year"), Num: true}, {Text: v.t("searches.sources")}, {Text: v.t("works.records"), Num: true},
	}}
	for _, w := range list.Works {
		year := ""
		if w.Year != 0 {
			year = strconv.Itoa(w.Year)
		}
		t.Rows = append(t.Rows, row{Cells: []cell{
			linked(strconv.FormatInt(w.ID, 10), v.path("/works/%d", w.ID)), text(w.Title), text(year), text(strings.Join(w.Sources, ", ")), count(len(w.Records)),
		}})
	}
	part := panel{ID: "list", Title: v.t("rail./works"), Table: t, Next: v.nextPage(list.Next)}
	if len(t.Rows) == 0 {
		part.Table = nil
		part.Empty = v.t("works.none")
		part.EmptyNext = "patra work link"
	}
	out.Panels = []panel{part}
	return out, nil
}

// suggestions lists pairs of records that may be of one work.
func (c *Console) suggestions(ctx context.Context, v *visit) (*view, error) {
	list, err := c.control.Suggestions(ctx, v.page())
	if err != nil {
		return nil, err
	}
	out := &view{
		Title: v.t("works.suggestions"), Lead: v.t("works.suggestions_lead"), Topics: "work audit", CLI: "patra work suggestions", API: api("/works/suggestions", "after", v.query("after")),
		Tabs: v.worksTabs("suggestions"),
	}
	part := panel{ID: "list", Title: v.t("works.suggestions"), Table: v.linksTable(v.t("works.suggestions"), list.Suggestions, true), Next: v.nextPage(list.Next)}
	if len(list.Suggestions) == 0 {
		part.Table = nil
		part.Empty = v.t("works.no_suggestions")
	}
	out.Panels = []panel{part}
	return out, nil
}

// badIdentifiers lists identifiers that link nothing.
func (c *Console) badIdentifiers(ctx context.Context, v *visit) (*view, error) {
	list, err := c.control.BadIdentifiers(ctx, v.page())
	if err != nil {
		return nil, err
	}
	out := &view{
		Title: v.t("works.identifiers"), Lead: v.t("works.identifiers_lead"), Topics: "work", CLI: "patra work identifiers", API: api("/works/identifiers", "after", v.query("after")),
		Tabs: v.worksTabs("identifiers"),
	}
	t := &table{Caption: v.t("works.identifiers"), Head: []column{{Text: v.t("col.value")}, {Text: v.t("works.holders"), Num: true}, {Text: v.t("col.why")}, {Text: v.t("works.found_at")}}}
	for _, b := range list.Identifiers {
		t.Rows = append(t.Rows, row{Cells: []cell{mono(b.Value), count(b.Holders), text(b.Why), at(&b.FoundAt)}})
	}
	part := panel{ID: "list", Title: v.t("works.identifiers"), Table: t, Next: v.nextPage(list.Next)}
	if len(t.Rows) == 0 {
		part.Table = nil
		part.Empty = v.t("works.no_identifiers")
	}
	out.Panels = []panel{part}
	return out, nil
}

// linksTable lists what is known of pairs of records, with their scores and evidence.
func (v *visit) linksTable(caption string, links []control.WorkLink, decide bool) *table {
	t := &table{Caption: caption, Head: []column{{Text: v.t("works.one")}, {Text: v.t("works.other")}, {Text: v.t("works.rule")}, {Text: v.t("works.evidence")}, {Text: v.t("works.score"), Num: true}}}
	if decide {
		t.Head = append(t.Head, column{Text: v.t("data.actions")})
	}
	for _, l := range links {
		cells := []cell{v.recordName(l.From), v.recordName(l.To), {Text: l.Means, Lines: lines(l.Relation)}, {Text: l.Evidence, Lines: lines(l.Why)}, text(fmt.Sprintf("%.2f", l.Score))}
		if decide {
			both := url.Values{"works": {fmt.Sprintf("%d,%d", l.From.Work, l.To.Work)}}.Encode()
			cells = append(cells, cell{Actions: v.allowed([]action{
				{Label: v.t("change.join"), Do: "/works/join?" + both, Level: 2}, {Label: v.t("works.apart"), Do: "/works/split?" + both, Level: 2},
			})})
		}
		t.Rows = append(t.Rows, row{Cells: cells})
	}
	return t
}

// recordName names a record of a pair and leads to it.
func (v *visit) recordName(r control.RecordName) cell {
	return cell{Text: r.Source + " " + r.ID, Href: v.path("/records/%s/%s", r.Source, r.ID), Lines: lines(r.Title)}
}

// work shows a work: its records and why each is in it, and what is related to it.
func (c *Console) work(ctx context.Context, v *visit) (*view, error) {
	id, err := v.number("id")
	if err != nil {
		return nil, err
	}
	w, err := c.control.WorkShown(ctx, id)
	if err != nil {
		return nil, err
	}
	title := ""
	if f, has := w.Fields["title"]; has {
		title = readable(f.Value)
	}
	out := &view{
		Title: cmp.Or(title, v.t("works.work", w.ID)), Lead: v.t("works.work", w.ID), Topics: "work audit", Crumbs: []link{{v.t("rail./works"), v.path("/works")}}, Up: v.path("/works"),
		CLI: fmt.Sprintf("patra work show %d", w.ID), API: fmt.Sprintf("/works/%d", w.ID),
	}
	if w.RedirectedFrom != 0 {
		out.Lead = v.t("works.redirected", w.RedirectedFrom, w.ID)
	}
	out.Panels = []panel{v.membersPanel(w), v.workFieldsPanel(w)}
	for _, part := range []struct {
		id, title string
		links     []control.WorkLink
		decide    bool
	}{
		{"links", v.t("works.links"), w.Links, false},
		{"suggestions", v.t("works.suggestions"), w.Suggestions, true},
		{"family", v.t("works.family"), w.Family, false},
	} {
		if len(part.links) > 0 {
			out.Panels = append(out.Panels, panel{ID: part.id, Title: part.title, Table: v.linksTable(part.title, part.links, part.decide)})
		}
	}
	if len(w.Decisions) > 0 {
		out.Panels = append(out.Panels, v.decisionsPanel(w))
	}
	return out, nil
}

// membersPanel lists the records of a work, each with why it is of it.
func (v *visit) membersPanel(w control.WorkView) panel {
	t := &table{Caption: v.t("works.records"), Head: []column{
		{Text: v.t("col.record")}, {Text: v.t("col.title")}, {Text: v.t("col.state")}, {Text: v.t("works.ids")}, {Text: v.t("works.because")}, {Text: v.t("data.actions")},
	}}
	for _, r := range w.Records {
		var ids, because []string
		for _, i := range r.Identifiers {
			ids = append(ids, i.Scheme+" "+i.Value)
		}
		for _, l := range r.Path {
			because = append(because, l.Means)
		}
		cells := []cell{{Text: r.Source + " " + r.ID, Href: v.path("/records/%s/%s", r.Source, r.ID)}, text(r.Title), v.recordState(r.Status), {Lines: ids}, {Lines: because}, {}}
		if len(w.Records) > 1 && !strings.ContainsAny(r.ID, ", ") {
			off := url.Values{"works": {strconv.FormatInt(w.ID, 10)}, "records": {r.Source + "/" + r.ID}}
			cells[5].Actions = v.allowed([]action{{Label: v.t("works.cut_off"), Do: "/works/split?" + off.Encode(), Level: 2}})
		}
		t.Rows = append(t.Rows, row{Cells: cells})
	}
	return panel{ID: "records", Title: v.t("works.records"), Table: t}
}

// workFieldsPanel shows the best fields of a work, and which records they came from.
func (v *visit) workFieldsPanel(w control.WorkView) panel {
	t := &table{Caption: v.t("works.fields"), Head: []column{{Text: v.t("col.field")}, {Text: v.t("col.value")}, {Text: v.t("works.taken_from")}}}
	for _, name := range slices.Sorted(maps.Keys(w.Fields)) {
		f := w.Fields[name]
		t.Rows = append(t.Rows, row{Cells: []cell{mono(name), valueCell(f.Value), {Lines: f.From}}})
	}
	return panel{ID: "fields", Title: v.t("works.fields"), Table: t}
}

// decisionsPanel lists what people decided about the records of a work.
func (v *visit) decisionsPanel(w control.WorkView) panel {
	t := &table{Caption: v.t("works.decisions"), Head: []column{{Text: v.t("col.what")}, {Text: v.t("errors.decided_by")}, {Text: v.t("col.why")}, {Text: v.t("blackbox.at")}, {Text: v.t("col.state")}, {Text: v.t("data.actions")}}}
	for _, d := range w.Decisions {
		cells := []cell{text(strings.ToLower(d.Kind)), text(d.Actor), text(d.Reason), at(&d.At), stated(control.OK, v.t("works.stands")), {}}
		if d.RevokedBy != 0 {
			cells[4] = stated(control.Off, v.t("works.revoked"))
		} else if d.Kind != "REVOKE" {
			cells[5].Actions = v.allowed([]action{{Label: v.t("works.take_back"), Do: fmt.Sprintf("/works/decisions/%d/revoke", d.ID), Level: 2}})
		}
		t.Rows = append(t.Rows, row{Cells: cells})
	}
	return panel{ID: "decisions", Title: v.t("works.decisions"), Table: t}
}
