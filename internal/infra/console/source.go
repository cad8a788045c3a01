package console

import (
	"cmp"
	"context"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/problem"
)

// moment is an instant that the address names; zero if it names none.
func (v *visit) moment(name string) (time.Time, error) { return v.readMoment(v.query(name)) }

// readMoment reads an instant as people write it; zero if it is empty.
func (v *visit) readMoment(text string) (time.Time, error) {
	text = strings.TrimSpace(text)
	if text == "" {
		return time.Time{}, nil
	}
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04:05", "2006-01-02T15:04", time.DateOnly} {
		if t, err := time.Parse(layout, text); err == nil {
			return t.UTC(), nil
		}
	}
	return time.Time{}, problem.New(v.t("source.no_instant", text), problem.Problem{Code: "usage", Kind: problem.Usage, Next: v.t("source.instant_hint")})
}

// instantText is an instant as the address names it; empty if it is not set.
func instantText(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339)
}

// sourceHead is what stands on every page of a source.
func (c *Console) sourceHead(ctx context.Context, v *visit, here string) (*view, control.SourceRow, error) {
	code := v.PathValue("code")
	row, err := c.control.Source(ctx, code)
	if err != nil {
		return nil, row, err
	}
	out := &view{Title: code, Topics: "work plans cursors audit time", Up: v.path("/sources"), Crumbs: []link{{v.t("rail./sources"), v.path("/sources")}}}
	out.State = &state{Family: control.SourceFamily(row.State), Word: v.stateWord(row.State)}
	at := "/sources/" + url.PathEscape(code)
	for _, t := range []struct{ name, path string }{
		{v.t("source.now"), at},
		{v.t("source.timeline"), at + "/timeline"},
		{v.t("source.diff"), at + "/diff"},
		{v.t("source.check"), at + "/check"},
	} {
		out.Tabs = append(out.Tabs, tab{link{t.name, v.base + t.path}, at+here == t.path})
	}
	if row.State == control.SourceReady {
		out.Actions = append(out.Actions, action{Label: v.t("change.pause"), Do: at + "/pause", Level: 1, Undo: at + "/resume"})
	} else {
		out.Actions = append(out.Actions, action{Label: v.t("change.resume"), Do: at + "/resume", Level: 1, Undo: at + "/pause"})
	}
	out.Actions = append(out.Actions, action{Label: v.t("editor.edit"), Href: v.base + at + "/edit", Needs: control.Admin})
	out.Actions = append(out.Actions, action{Label: v.t("source.harvest"), Do: "/plans?operation=HARVEST&source=" + url.QueryEscape(code), Level: 2})
	return out, row, nil
}

// source tells how one source fares and how it is asked.
func (c *Console) source(ctx context.Context, v *visit) (*view, error) {
	out, row, err := c.sourceHead(ctx, v, "")
	if err != nil {
		return nil, err
	}
	out.Lead = row.Name
	out.CLI = "patra source show " + row.Code
	out.API = "/sources/" + url.PathEscape(row.Code) + "/contract"
	status, err := c.control.Status(ctx, row.Code)
	if err != nil {
		return nil, err
	}
	if len(status.Needs) > 0 {
		out.Panels = append(out.Panels, c.needsPanel(v, status))
	}
	if len(status.Sources) == 1 {
		out.Panels = append(out.Panels, c.howItFares(v, row, status.Sources[0]))
	}
	if held := v.heldEndpoints(row); held != nil {
		out.Panels = append(out.Panels, *held)
	}
	gaps, err := c.part(v, "gaps", v.t("source.gaps"), func() (panel, error) { return c.sourceGaps(ctx, v, row.Code) })
	if err != nil {
		return nil, err
	}
	at, err := v.moment("at")
	if err != nil {
		return nil, err
	}
	contract, err := c.control.SourceContract(ctx, row.Code, harvest.Harvest, at)
	if err != nil {
		return nil, err
	}
	out.API = api(out.API, "at", instantText(at))
	out.CLI = cli(out.CLI, "--at", instantText(at))
	out.Panels = append(out.Panels, gaps, contractPanel(v, contract, at))
	if contract.DescribedFrom == nil {
		out.Panels = append(out.Panels, dimensionsPanel(v, contract))
	}
	return out, nil
}

// howItFares is what the overview says of a source, in full.
func (c *Console) howItFares(v *visit, row control.SourceRow, s control.SourceStatus) panel {
	out := panel{ID: "status", Title: v.t("source.status")}
	add := func(name string, value cell) { out.Facts = append(out.Facts, fact{name, value}) }
	add(v.t("col.freshness"), v.freshness(s.Freshness))
	add(v.t("col.lag"), v.lag(s.Lag, s.Limit))
	add(v.t("source.proven_to"), at(s.Watermark))
	add(v.t("source.last_success"), at(s.LastSuccess))
	add(v.t("source.next_run"), at(s.NextRun))
	add(v.t("col.queued"), counted(s.Queued))
	add(v.t("col.running"), counted(s.Running))
	add(v.t("col.rate"), rateCell(s.Rate))
	add(v.t("source.quarantined"), cell{Text: counted(s.Quarantined).Text, Href: v.path("/quarantine") + "?source=" + url.QueryEscape(row.Code)})
	add(v.t("source.plans"), linked(v.t("overview.open"), v.path("/plans")+"?source="+url.QueryEscape(row.Code)))
	add(v.t("source.rates"), linked(v.t("overview.open"), v.path("/rate")+"?source="+url.QueryEscape(row.Code)))
	add(v.t("source.errors"), linked(v.t("overview.open"), v.path("/errors")+"?source="+url.QueryEscape(row.Code)))
	if s.Cause != nil {
		add(v.t("source.cause"), cell{Text: string(s.Cause.Code), Mono: true, Lines: []string{s.Cause.Text}})
	}
	if s.Waiting != nil {
		add(v.t("source.waits"), cell{Lines: []string{s.Waiting.Text, s.Waiting.Unblocks}})
	}
	if row.Reason != "" {
		add(v.t("col.why"), text(row.Reason))
	}
	return out
}

// heldEndpoints lists the endpoints of a source that are paused or stopped by themselves,
// nil if there is none.
func (v *visit) heldEndpoints(of control.SourceRow) *panel {
	if len(of.PausedEndpoints)+len(of.StoppedEndpoints) == 0 {
		return nil
	}
	out := &panel{ID: "held", Title: v.t("source.held"), Note: v.t("source.held_note")}
	out.Table = &table{Caption: out.Title, Head: []column{{Text: v.t("source.endpoint")}, {Text: v.t("col.state")}, {Text: v.t("alerts.do")}}}
	list := func(endpoints []string, word string) {
		for _, name := range endpoints {
			do := "/sources/" + url.PathEscape(of.Code) + "/resume?endpoint=" + url.QueryEscape(name)
			undo := "/sources/" + url.PathEscape(of.Code) + "/pause?endpoint=" + url.QueryEscape(name)
			out.Table.Rows = append(out.Table.Rows, row{Cells: []cell{
				mono(name), stated(control.SourceFamily(word), v.stateWord(word)),
				{Actions: v.allowed([]action{{Label: v.t("change.resume"), Do: do, Level: 1, Undo: undo}})},
			}})
		}
	}
	list(of.StoppedEndpoints, control.SourceStopped)
	list(of.PausedEndpoints, control.SourcePaused)
	return out
}

// sourceGaps lists the windows that hold the watermark.
func (c *Console) sourceGaps(ctx context.Context, v *visit, code string) (panel, error) {
	list, err := c.control.Gaps(ctx, code, control.Page{Limit: 20})
	if err != nil {
		return panel{}, err
	}
	out := panel{ID: "gaps", Title: v.t("source.gaps")}
	if len(list.Gaps) == 0 {
		out.Empty = v.t("source.no_gaps")
		return out, nil
	}
	out.Actions = []action{v.retryAction(code)}
	t := &table{Caption: out.Title, Head: []column{{Text: v.t("col.window")}, {Text: v.t("col.state")}, {Text: v.t("col.why")}, {Text: v.t("source.slice"), Num: true}}}
	for _, g := range list.Gaps {
		t.Rows = append(t.Rows, row{Cells: []cell{
			mono(harvest.Span{From: g.From, To: g.To}.Short()), stated(control.SliceFamily(harvest.SliceState(g.Status)), v.stateWord(g.Status)), text(g.Reason),
			{Text: grouped(int64(g.Slice)), Href: v.path("/slices/%d", g.Slice)},
		}})
	}
	out.Table = t
	if list.Next != "" {
		out.Note = v.t("source.more_gaps")
	}
	return out, nil
}

// contractPanel tells in some lines how the source is asked at an instant.
func contractPanel(v *visit, k control.SourceContract, at time.Time) panel {
	out := panel{ID: "contract", Title: v.t("source.contract", stamp(time.Time(k.At)))}
	for _, line := range k.Summary {
		out.Facts = append(out.Facts, fact{line.What, text(line.Text)})
	}
	if k.DescribedFrom != nil {
		out.Note = v.t("source.not_yet", stamp(time.Time(*k.DescribedFrom)))
	}
	if k.Fingerprint != "" {
		out.Facts = append(out.Facts, fact{v.t("source.fingerprint"), cell{Text: k.Fingerprint[:min(12, len(k.Fingerprint))], Mono: true, Title: k.Fingerprint}})
	}
	for _, text0 := range k.Violations {
		out.Needs = append(out.Needs, need{State: state{Family: control.Failed, Word: v.t("source.wrong")}, Text: text0})
	}
	for _, text0 := range k.Warnings {
		out.Needs = append(out.Needs, need{State: state{Family: control.Remarked, Word: v.t("source.note")}, Text: text0})
	}
	out.Form = &form{Get: true, Action: v.URL.EscapedPath(), Submit: v.t("source.show_at"), Fields: []field{
		{Name: "at", Label: v.t("source.at"), Kind: "text", Value: instantText(at), Hint: v.t("source.instant_hint")},
	}}
	return out
}

// dimensionsPanel lists which row was picked for each dimension, and why. Where a
// dimension has many names whose rows hold alike, they are one line.
func dimensionsPanel(v *visit, k control.SourceContract) panel {
	t := &table{Caption: v.t("source.dimensions"), Head: []column{
		{Text: v.t("source.dimension")}, {Text: v.t("col.origin")}, {Text: v.t("source.row"), Num: true}, {Text: v.t("source.begins")}, {Text: v.t("source.ends")}, {Text: v.t("col.why")},
	}}
	for _, group := range alikeChoices(k.Choices) {
		d := group[0]
		name := mono(strings.TrimSpace(string(d.Dimension) + " " + d.Name))
		number := cell{}
		if d.Row != 0 {
			number = count(d.Row)
		}
		why := d.Why
		if len(group) > 1 {
			name = cell{Text: string(d.Dimension), Mono: true, Small: "× " + strconv.Itoa(len(group)), Lines: []string{namesOf(group)}}
			number = text(rowsOf(group))
			why = v.t("source.each_row")
		}
		from := stated(control.OK, d.From)
		if d.Fallback || d.From == "default" {
			from = stated(control.Remarked, d.From)
		}
		t.Rows = append(t.Rows, row{Cells: []cell{name, from, number, at(d.Begins), at(d.Ends), text(why)}})
	}
	return panel{ID: "dimensions", Title: v.t("source.dimensions"), Table: t}
}

// alikeChoices puts neighbours of one dimension together that have names, come from the
// same place and hold from and to the same instants, without a rival.
func alikeChoices(all []control.Choice) [][]control.Choice {
	same := func(a, b *control.Time) bool {
		if a == nil || b == nil {
			return a == b
		}
		return time.Time(*a).Equal(time.Time(*b))
	}
	var out [][]control.Choice
	for _, c := range all {
		if len(out) > 0 {
			last := out[len(out)-1][0]
			if c.Name != "" && c.Row != 0 && last.Row != 0 && last.Name != "" && c.Dimension == last.Dimension && c.From == last.From && c.Fallback == last.Fallback &&
				len(c.Rivals)+len(last.Rivals) == 0 && same(c.Begins, last.Begins) && same(c.Ends, last.Ends) {
				out[len(out)-1] = append(out[len(out)-1], c)
				continue
			}
		}
		out = append(out, []control.Choice{c})
	}
	return out
}

// rowsOf are the numbers of the rows in a group, from the least to the greatest.
func rowsOf(group []control.Choice) string {
	byRow := func(a, b control.Choice) int { return cmp.Compare(a.Row, b.Row) }
	return grouped(slices.MinFunc(group, byRow).Row) + "–" + grouped(slices.MaxFunc(group, byRow).Row)
}

// namesOf are the names in a group, after each other.
func namesOf(group []control.Choice) string {
	var names []string
	for _, c := range group {
		names = append(names, c.Name)
	}
	return strings.Join(names, ", ")
}

// sourceDiff compares a source at two instants.
func (c *Console) sourceDiff(ctx context.Context, v *visit) (*view, error) {
	out, row0, err := c.sourceHead(ctx, v, "/diff")
	if err != nil {
		return nil, err
	}
	from, err := v.moment("from")
	if err != nil {
		return nil, err
	}
	to, err := v.moment("to")
	if err != nil {
		return nil, err
	}
	out.Panels = []panel{{ID: "instants", Title: v.t("source.two"), Form: &form{Get: true, Action: v.URL.EscapedPath(), Submit: v.t("source.compare"), Fields: []field{
		{Name: "from", Label: v.t("source.older"), Kind: "text", Value: instantText(from), Required: true, Hint: v.t("source.instant_hint")},
		{Name: "to", Label: v.t("source.newer"), Kind: "text", Value: instantText(to), Hint: v.t("source.newer_hint")},
	}}}}
	if from.IsZero() {
		return out, nil
	}
	diff, err := c.control.DiffSource(ctx, row0.Code, from, to)
	if err != nil {
		return nil, err
	}
	out.CLI = cli("patra source diff "+row0.Code, "--from", instantText(from), "--to", instantText(to))
	out.API = api("/sources/"+url.PathEscape(row0.Code)+"/diff", "from", instantText(from), "to", instantText(to))
	part, err := v.diffPanel(diff.Fields)
	if err != nil {
		return nil, err
	}
	out.Panels = append(out.Panels, part)
	if len(diff.Fields) == 0 {
		return out, nil
	}
	brought, err := c.rowsBetween(ctx, v, row0.Code, from, to)
	out.Panels = append(out.Panels, brought)
	return out, err
}

// diffPanel lists values that differ, from the one on that the address names.
func (v *visit) diffPanel(fields []control.ValueChange) (panel, error) {
	out := panel{ID: "list", Title: v.t("source.changed", len(fields))}
	if len(fields) == 0 {
		out.Empty = v.t("source.same")
		return out, nil
	}
	first := 0
	if after := v.query("after"); after != "" {
		n, err := strconv.Atoi(after)
		if err != nil || n < 0 || n >= len(fields) {
			return out, control.ErrPage
		}
		first = n
	}
	end := min(first+pageRows, len(fields))
	out.Table = changesTable(v, out.Title, fields[first:end])
	if end < len(fields) {
		out.Note = v.t("source.changed_part", first+1, end)
		out.Next = v.nextPage(strconv.Itoa(end))
	}
	return out, nil
}

// rowsBetween lists the rows that began or ended between two instants: what differs comes
// from them. A zero to is now.
func (c *Console) rowsBetween(ctx context.Context, v *visit, code string, from, to time.Time) (panel, error) {
	h, err := c.control.SourceHistory(ctx, code, 1)
	if err != nil {
		return panel{}, err
	}
	if to.IsZero() {
		to = time.Time(h.At)
	}
	within := func(at time.Time) bool { return at.After(from) && !at.After(to) }
	t := &table{Caption: v.t("source.brought"), Head: []column{
		{Text: v.t("source.dimension")}, {Text: v.t("col.origin")}, {Text: v.t("source.row"), Num: true}, {Text: v.t("source.begins")}, {Text: v.t("source.ends")}, {Text: v.t("col.state")},
	}}
	for _, l := range lanesOf(h.Rows) {
		for _, r := range l.rows {
			if within(time.Time(r.From)) || r.To != nil && within(time.Time(*r.To)) {
				t.Rows = append(t.Rows, row{Cells: []cell{
					mono(l.name), text(string(r.Scope)), count(r.ID), instant(time.Time(r.From)), at(r.To), stated(control.RowFamily(r.State), v.stateWord(r.State)),
				}})
			}
		}
	}
	out := panel{ID: "brought", Title: v.t("source.brought"), Note: v.t("source.brought_note"), Table: t}
	if len(t.Rows) == 0 {
		out.Table = nil
		out.Note = ""
		out.Empty = v.t("source.brought_none")
	}
	return out, nil
}

// changesTable lists values before and after.
func changesTable(v *visit, caption string, fields []control.ValueChange) *table {
	t := &table{Caption: caption, Head: []column{{Text: v.t("source.path")}, {Text: v.t("source.before"), Keep: true}, {Text: v.t("source.after"), Keep: true}}}
	for _, f := range fields {
		t.Rows = append(t.Rows, row{Cells: []cell{mono(f.Path), mono(f.Old), mono(f.New)}})
	}
	return t
}
