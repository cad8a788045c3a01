package console

import (
	"cmp"
	"context"
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/problem"
)

// dataPages are those about what was harvested, and how far.
func (c *Console) dataPages() []page {
	return []page{
		{"/records", "/records", c.records},
		{"/records/{code}/{id}", "/records", c.record},
		{"/records/{code}/{id}/history", "/records", c.recordHistory},
		{"/errors", "/errors", c.errorGroups},
		{"/errors/{id}", "/errors", c.errorGroup},
		{"/quarantine", "/quarantine", c.quarantine},
		{"/quarantine/{id}", "/quarantine", c.quarantineItem},
		{"/cursors", "/cursors", c.cursors},
		{"/cursors/{id}", "/cursors", c.cursor},
		{"/coverage", "/coverage", c.coverage},
		{"/searches", "/searches", c.searches},
		{"/searches/{name}", "/searches", c.search},
		{"/searches/{name}/report", "/searches", c.searchReport},
		{"/works", "/works", c.works},
		{"/works/suggestions", "/works", c.suggestions},
		{"/works/identifiers", "/works", c.badIdentifiers},
		{"/works/{id}", "/works", c.work},
		{"/rate", "/rate", c.rates},
		{"/rate/{key}", "/rate", c.rate},
		{"/blackbox", "/blackbox", c.blackBoxes},
		{"/blackbox/{batch}", "/blackbox", c.blackBoxByID},
		{"/blackbox/{run}/{no}", "/blackbox", c.blackBox},
	}
}

// errSince says that a text of a filter is no instant.
var errSince = problem.New("that is neither a date nor an instant", problem.Problem{
	Code: "usage", Kind: problem.Usage, Next: "write it as 2026-01-31 or 2026-01-31T12:00:00Z",
})

// since is the instant of a filter, zero if it is not set.
func (v *visit) since(name string) (time.Time, error) {
	text := v.query(name)
	if text == "" {
		return time.Time{}, nil
	}
	for _, layout := range []string{time.DateOnly, time.RFC3339Nano} {
		if t, err := time.Parse(layout, text); err == nil {
			return t.UTC(), nil
		}
	}
	return time.Time{}, errSince
}

// sinceParam is the instant as the API takes it.
func sinceParam(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.Format(time.RFC3339Nano)
}

// choices are the values of a filter, the first of which is all.
func (v *visit) choices(states ...string) []option {
	out := []option{{"", v.t("data.any")}}
	for _, s := range states {
		out = append(out, option{s, v.stateWord(s)})
	}
	return out
}

// records lists records by source and id.
func (c *Console) records(ctx context.Context, v *visit) (*view, error) {
	since, err := v.since("since")
	if err != nil {
		return nil, err
	}
	q := control.RecordQuery{
		Source: v.query("source"), Status: harvest.RecordStatus(strings.ToUpper(v.query("status"))), Since: since, Prefix: v.query("prefix"), Find: v.query("find"), Page: v.page(),
	}
	list, err := c.control.Records(ctx, q)
	if err != nil {
		return nil, err
	}
	out := &view{
		Title: v.t("rail./records"), Lead: v.t("records.lead"), Topics: "work",
		CLI: cli("patra record list", "--source", q.Source, "--state", strings.ToLower(string(q.Status)), "--since", v.query("since"), "--prefix", q.Prefix, "--find", q.Find),
		API: api("/records", "source", q.Source, "status", string(q.Status), "since", sinceParam(since), "prefix", q.Prefix, "find", q.Find, "after", q.After),
	}
	out.Filters = []field{
		{Name: "find", Label: v.t("records.find"), Value: q.Find, Hint: v.t("records.find_hint")},
		{Name: "source", Label: v.t("col.source"), Value: q.Source},
		{Name: "status", Label: v.t("col.state"), Value: string(q.Status), Kind: "select", Options: v.choices("ACTIVE", "RETRACTED", "MERGED", "GONE")},
		{Name: "prefix", Label: v.t("records.prefix"), Value: q.Prefix},
		{Name: "since", Label: v.t("records.since"), Value: v.query("since"), Hint: "2026-01-31"},
	}
	t := &table{Caption: v.t("rail./records"), Head: []column{
		{Text: v.t("col.record")},
		{Text: v.t("col.title")},
		{Text: v.t("col.source")},
		{Text: v.t("col.state")},
		{Text: v.t("col.revision"), Num: true},
		{Text: v.t("col.updated")},
		{Text: v.t("col.seen")},
	}}
	for _, r := range list.Records {
		t.Rows = append(t.Rows, row{Cells: []cell{
			v.recordLink(r.Source, r.ID), text(r.Title), text(r.Source), v.recordState(r.Status), count(r.Revision), at(r.UpdatedAt), at(&r.SeenAt),
		}})
	}
	part := panel{ID: "list", Title: v.t("rail./records"), Table: t, Next: v.nextPage(list.Next)}
	if len(t.Rows) == 0 {
		part.Table = nil
		part.Empty = v.t("records.none")
		part.EmptyNext = "patra harvest pubmed"
		if list.Next != "" {
			part.Empty = v.t("records.none_yet", control.RecordsLookedAt)
			part.EmptyNext = ""
		} else if v.URL.RawQuery != "" {
			part.Empty = v.t("data.filtered")
			part.EmptyNext = ""
		}
	}
	out.Panels = []panel{part}
	return out, nil
}

// recordLink leads to a record by its id.
func (v *visit) recordLink(source, id string) cell {
	return cell{Text: id, Href: v.path("/records/%s/%s", source, id), Mono: true}
}

func (v *visit) recordState(s harvest.RecordStatus) cell {
	return stated(control.RecordFamily(s), v.stateWord(string(s)))
}

// recordTabs are the pages about one record.
func (v *visit) recordTabs(source, id string, history bool) []tab {
	return []tab{
		{link{v.t("records.now"), v.path("/records/%s/%s", source, id)}, !history},
		{link{v.t("records.history"), v.path("/records/%s/%s/history", source, id)}, history},
	}
}

// recordHead is what the pages about one record have in common.
func (v *visit) recordHead(r control.RecordRow, history bool) *view {
	return &view{
		Title: cmp.Or(r.Title, r.ID), State: v.recordState(r.Status).State, Lead: r.Source + " " + r.ID, Topics: "work",
		Crumbs: []link{{v.t("rail./records"), v.path("/records")}, {r.Source, v.path("/records") + "?source=" + r.Source}},
		Up:     v.path("/records") + "?source=" + r.Source, Tabs: v.recordTabs(r.Source, r.ID, history),
	}
}

// record shows a record: its fields, where it came from, and of which work it is.
func (c *Console) record(ctx context.Context, v *visit) (*view, error) {
	r, err := c.control.Record(ctx, v.PathValue("code"), v.PathValue("id"))
	if err != nil {
		return nil, err
	}
	out := v.recordHead(r.RecordRow, false)
	out.CLI = "patra record show " + quoted(r.Source) + " " + quoted(r.ID)
	out.API = apiPath("/records/%s/%s", r.Source, r.ID)
	facts := panel{ID: "facts", Title: v.t("records.what"), Facts: []fact{
		{v.t("col.record"), mono(r.ID)},
		{v.t("col.source"), linked(r.Source, v.path("/sources/%s", r.Source))},
		{v.t("records.type"), text(r.Type)},
		{v.t("col.revision"), linked(grouped(r.Revision), v.path("/records/%s/%s/history", r.Source, r.ID))},
		{v.t("col.updated"), at(r.UpdatedAt)},
		{v.t("records.first_stored"), at(&r.CreatedAt)},
		{v.t("records.last_stored"), at(&r.ChangedAt)},
		{v.t("col.seen"), at(&r.SeenAt)},
	}}
	if r.MergedInto != "" {
		facts.Facts = append(facts.Facts, fact{v.t("records.merged_into"), v.recordLink(r.Source, r.MergedInto)})
	}
	if r.MissingSince != nil {
		facts.Facts = append(facts.Facts, fact{v.t("records.missing_since"), at(r.MissingSince)})
	}
	if work, err := c.control.WorkOfRecord(ctx, r.Source, r.ID); err == nil && work != 0 { // one that was not linked yet has none
		facts.Facts = append(facts.Facts, fact{v.t("col.work"), linked(strconv.FormatInt(work, 10), v.path("/works/%d", work))})
	}
	for _, name := range control.IdentifierFields {
		if value, there := r.Identifiers[name]; there {
			facts.Facts = append(facts.Facts, fact{name, mono(readable(value))})
		}
	}
	out.Panels = []panel{facts, v.fieldsPanel(r.Fields), v.originPanel(r.Origin, fact{"sha256", mono(r.RawSHA256)}, fact{v.t("records.mapping"), mono(r.MappingVersion)})}
	if r.Raw != "" {
		raw := panel{ID: "raw", Title: v.t("quarantine.raw", grouped(int64(r.Bytes))), Text: laidOut(r.Raw)}
		if len(r.Raw) < r.Bytes {
			raw.Note = v.t("records.raw_cut", grouped(int64(len(r.Raw))))
		}
		out.Panels = append(out.Panels, raw)
	}
	if len(r.Quarantine) > 0 {
		out.Panels = append(out.Panels, panel{ID: "aside", Title: v.t("records.aside"), Note: v.t("records.aside_note"), Table: v.quarantineTable(r.Quarantine)})
	}
	return out, nil
}

// apiPath is the path of a document with what is put into it escaped.
func apiPath(format string, args ...any) string {
	return (&visit{}).path(format, args...)
}

// fieldsPanel lists the fields of a record.
func (v *visit) fieldsPanel(fields json.RawMessage) panel {
	t := &table{Caption: v.t("records.fields"), Head: []column{{Text: v.t("col.field")}, {Text: v.t("col.value")}}}
	out := panel{ID: "fields", Title: v.t("records.fields"), Table: t}
	doc, err := readDocument(fields)
	if err != nil || len(doc.names) == 0 {
		return panel{ID: "fields", Title: v.t("records.fields"), Empty: v.t("records.no_fields")}
	}
	for _, name := range doc.names {
		t.Rows = append(t.Rows, row{Cells: []cell{mono(name), valueCell(doc.values[name])}})
	}
	return out
}

// valueCell shows a value of a field: the parts of a list one under the other.
func valueCell(value json.RawMessage) cell {
	var all []json.RawMessage
	if json.Unmarshal(value, &all) != nil || len(all) < 2 {
		return text(readable(value))
	}
	var out cell
	const most = 50
	for _, one := range all[:min(len(all), most)] {
		out.Lines = append(out.Lines, readable(one))
	}
	if len(all) > most {
		out.Small = "+ " + grouped(int64(len(all)-most))
	}
	return out
}

// readable is a value as people read it: a text without quotes, an object as its
// names and values.
func readable(value json.RawMessage) string {
	var all []json.RawMessage
	if json.Unmarshal(value, &all) == nil {
		var parts []string
		for _, one := range all {
			parts = append(parts, readable(one))
		}
		return strings.Join(parts, "; ")
	}
	if len(value) > 0 && value[0] == '{' {
		doc, err := readDocument(value)
		if err != nil {
			return string(value)
		}
		return person(doc) + named(doc)
	}
	return plain(value)
}

// person is the name in a document about somebody, empty if there is none.
func person(doc *document) string {
	name := doc.text("family")
	if given := doc.text("given"); given != "" && name != "" {
		name += ", " + given
	}
	if name == "" {
		return ""
	}
	doc.drop("family")
	doc.drop("given")
	if len(doc.names) > 0 {
		name += " · "
	}
	return name
}

// named are the values of a document, each after its name.
func named(doc *document) string {
	var parts []string
	for _, name := range doc.names {
		parts = append(parts, name+": "+readable(doc.values[name]))
	}
	return strings.Join(parts, ", ")
}

// originPanel leads from what came to the plan that it was asked for by.
func (v *visit) originPanel(o control.Origin, more ...fact) panel {
	out := panel{ID: "origin", Title: v.t("records.origin"), Note: v.t("records.origin_note")}
	step := func(name string, n int64, href string) {
		if n != 0 {
			out.Facts = append(out.Facts, fact{name, linked(strconv.FormatInt(n, 10), href)})
		}
	}
	step(v.t("col.plan"), int64(o.Plan), v.path("/plans/%d", o.Plan))
	step(v.t("col.slice"), int64(o.Slice), v.path("/slices/%d", o.Slice))
	step(v.t("col.task"), int64(o.Task), v.path("/tasks/%d", o.Task))
	step(v.t("col.run"), int64(o.Run), v.path("/runs/%d", o.Run))
	step(v.t("col.batch"), int64(o.Batch), v.path("/blackbox/%d", o.Batch))
	if o.Operation != "" {
		out.Facts = append(out.Facts, fact{v.t("col.operation"), text(string(o.Operation))})
	}
	out.Facts = append(out.Facts, fact{v.t("records.fetched"), at(o.FetchedAt)})
	if o.HTTPStatus != 0 {
		out.Facts = append(out.Facts, fact{"HTTP", text(strconv.FormatInt(o.HTTPStatus, 10))})
	}
	out.Facts = append(out.Facts, more...)
	out.Text = o.Request
	return out
}
