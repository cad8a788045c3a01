package console

import (
	"cmp"
	"context"
	"fmt"
	"html/template"
	"strconv"
	"strings"
	"time"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/papertrace/patra/internal/domain/harvest"
)

// spans are the lengths of time that a drawing can show, by the word in its address.
var spans = []struct {
	word string
	days int
}{{"7d", 7}, {"30d", 30}, {"1y", 365}, {"10y", 3652}}

// span is the length of time that the address wants to see.
func (v *visit) span(otherwise string) (word string, days int) {
	for _, wanted := range []string{v.query("span"), otherwise} {
		for _, s := range spans {
			if s.word == wanted {
				return s.word, s.days
			}
		}
	}
	return spans[0].word, spans[0].days
}

// pinned is the time that a drawing shows: the one that the address names, else so many
// days up to an instant.
func (v *visit) pinned(until time.Time, days int) (from, to time.Time, err error) {
	from, err = v.moment("from")
	if err != nil {
		return from, to, err
	}
	to, err = v.moment("to")
	if err != nil {
		return from, to, err
	}
	if !from.Before(to) {
		return until.AddDate(0, 0, -days), until, nil
	}
	return from, to, nil
}

// pinnedLink is the address of this page that shows the same time whenever it is opened.
func (v *visit) pinnedLink(from, to time.Time) string {
	q := v.URL.Query()
	q.Del("span")
	q.Del("done")
	q.Set("from", instantText(from))
	q.Set("to", instantText(to))
	return v.URL.EscapedPath() + "?" + q.Encode()
}

// spanField lets somebody choose a length of time.
func (v *visit) spanField(word string) field {
	out := field{Name: "span", Label: v.t("lanes.span"), Value: word, Kind: "select"}
	for _, s := range spans {
		out.Options = append(out.Options, option{s.word, length(v.look.words, time.Duration(s.days)*24*time.Hour)})
	}
	return out
}

// timeAxis is a stretch of time over the whole width of a drawing, however wide that is.
type timeAxis struct{ from, to time.Time }

// x is where an instant lies, in parts of a hundred; what is outside lies at the edge.
func (a timeAxis) x(t time.Time) float64 {
	share := float64(t.Sub(a.from)) / float64(a.to.Sub(a.from))
	return min(max(share, 0), 1) * 100
}

// ticks draws the axis with a few dates.
func (a timeAxis) ticks(b *strings.Builder, y int) {
	fmt.Fprintf(b, `<line class="axis" x1="0" y1="%d" x2="100%%" y2="%d"/>`, y, y)
	const parts = 4
	layout := time.DateOnly
	if a.to.Sub(a.from) < parts*24*time.Hour { // several would stand on one day
		layout = "01-02 15:04Z"
	}
	for i := range parts {
		at := a.from.Add(a.to.Sub(a.from) / parts * time.Duration(i))
		class := "muted"
		if i%2 == 1 { // left out where there is little room
			class = "muted between"
		}
		fmt.Fprintf(b, `<text class="%s" x="%.2f%%" y="%d">%s</text>`, class, a.x(at), y+15, at.UTC().Format(layout))
	}
}

// laneName writes the name of a lane above it.
func laneName(b *strings.Builder, y int, name, rest string) {
	fmt.Fprintf(b, `<text x="0" y="%d">%s <tspan class="muted">%s</tspan></text>`, y, template.HTMLEscapeString(clipped(name, 34)), template.HTMLEscapeString(clipped(rest, 40)))
}

// atSecond is a place of a cursor without parts of a second that say nothing.
func atSecond(place string) string { return strings.ReplaceAll(place, ".000000Z", "Z") }

// cursors shows how far every namespace is proven, a lane for each.
func (c *Console) cursors(ctx context.Context, v *visit) (*view, error) {
	q := control.CursorQuery{Source: v.query("source"), Operation: harvest.Operation(strings.ToUpper(v.query("operation"))), Page: v.page()}
	list, err := c.control.Cursors(ctx, q)
	if err != nil {
		return nil, err
	}
	word, days := v.span(v.spanOf(list.Cursors))
	from, to, err := v.pinned(v.now, days)
	if err != nil {
		return nil, err
	}
	out := &view{
		Title: v.t("rail./cursors"), Lead: v.t("lanes.lead"), Topics: "cursors", CLI: cli("patra cursor list", "--source", q.Source),
		API: api("/cursors", "source", q.Source, "after", q.After),
	}
	out.Filters = []field{
		{Name: "source", Label: v.t("col.source"), Value: q.Source},
		{Name: "operation", Label: v.t("col.operation"), Value: string(q.Operation), Kind: "select", Options: v.choices("HARVEST", "BACKFILL", "UPDATE")},
		v.spanField(word),
	}
	if len(list.Cursors) == 0 {
		out.Panels = []panel{{ID: "lanes", Title: v.t("rail./cursors"), Empty: v.t("lanes.none"), EmptyNext: "patra harvest pubmed"}}
		return out, nil
	}
	out.Link = v.pinnedLink(from, to)
	axis := timeAxis{from: from, to: to}
	lanes := &figure{Title: v.t("lanes.axis"), Summary: v.lanesSummary(list.Cursors), Drawing: v.lanes(list.Cursors, axis, ""), Legend: []state{
		{Family: control.OK, Word: v.t("lanes.proven")}, {Family: control.Active, Word: v.t("lanes.watermark"), Sign: "●"},
	}}
	t := &table{Caption: v.t("rail./cursors"), Head: []column{
		{Text: v.t("col.cursor"), Num: true},
		{Text: v.t("col.source")},
		{Text: v.t("col.operation")},
		{Text: v.t("col.namespace")},
		{Text: v.t("lanes.watermark")},
		{Text: v.t("lanes.observed")},
		{Text: v.t("lanes.moves"), Num: true},
		{Text: v.t("lanes.moved")},
	}}
	for _, r := range list.Cursors {
		t.Rows = append(t.Rows, row{Cells: []cell{
			linked(strconv.FormatInt(int64(r.ID), 10), v.path("/cursors/%d", r.ID)), linked(r.Source, v.path("/sources/%s", r.Source)), text(string(r.Operation)),
			{Text: control.ShortNamespace(r.Namespace), Mono: true, Title: r.Namespace, Lines: lines(r.Query)},
			mono(atSecond(r.Value)), mono(atSecond(r.Observed)), count(r.Moves), instant(r.UpdatedAt),
		}})
	}
	out.Panels = []panel{{ID: "lanes", Title: v.t("lanes.title"), Figure: lanes}, {ID: "list", Title: v.t("rail./cursors"), Table: t, Next: v.nextPage(list.Next)}}
	return out, nil
}

// spanOf is the shortest span that holds the lanes from their beginnings.
func (v *visit) spanOf(all []control.CursorRow) string {
	earliest := v.now
	for _, r := range all {
		for _, place := range []string{r.Init, r.Value} {
			if at, is := placeOf(r.Operation, place); is && at.Before(earliest) {
				earliest = at
			}
		}
	}
	for _, s := range spans {
		if !earliest.Before(v.now.AddDate(0, 0, -s.days)) {
			return s.word
		}
	}
	return spans[len(spans)-1].word
}

// lanesSummary says in a sentence what the lanes show.
func (v *visit) lanesSummary(all []control.CursorRow) string {
	var furthest, least time.Time
	timed := 0
	for _, r := range all {
		at, is := placeOf(r.Operation, r.Value)
		if !is || r.Direction == harvest.Backward {
			continue
		}
		timed++
		if furthest.IsZero() || at.After(furthest) {
			furthest = at
		}
		if least.IsZero() || at.Before(least) {
			least = at
		}
	}
	if timed == 0 {
		return v.t("lanes.summary_none", len(all))
	}
	return v.t("lanes.summary", len(all), stamp(furthest), stamp(least))
}

// placeOf is the instant that a place of a cursor is; false of one that counts records.
func placeOf(op harvest.Operation, place string) (time.Time, bool) {
	if op == harvest.Update {
		return time.Time{}, false
	}
	for _, layout := range []string{time.RFC3339Nano, time.DateOnly, "2006-01-02T15:04Z07:00"} {
		if t, err := time.Parse(layout, place); err == nil {
			return t, true
		}
	}
	return time.Time{}, false
}

// lanes draws a lane for each cursor on one axis of time; marks are drawn over them.
func (v *visit) lanes(all []control.CursorRow, axis timeAxis, marks string) template.HTML {
	const high = 38
	var b strings.Builder
	end := len(all)*high + 6
	fmt.Fprintf(&b, `<svg class="lanes wide" height="%d" role="img" aria-label="%s">`, end+24, template.HTMLEscapeString(v.t("lanes.title")))
	for i, r := range all {
		y := i*high + laneTop
		value, is := placeOf(r.Operation, r.Value)
		begin, begun := placeOf(r.Operation, r.Init)
		rest := control.ShortNamespace(r.Namespace)
		if is {
			rest += " · " + ago(v.look.words, value, v.now)
		}
		laneName(&b, y-6, r.Source+" "+strings.ToLower(string(r.Operation)), rest)
		fmt.Fprintf(&b, `<rect class="lane" x="0" y="%d" width="100%%" height="12"/>`, y)
		if !is || !begun {
			fmt.Fprintf(&b, `<text class="muted" x="4" y="%d">%s</text>`, y+10, template.HTMLEscapeString(v.t("lanes.counts", r.Value)))
			continue
		}
		from, to := axis.x(begin), axis.x(value)
		if r.Direction == harvest.Backward {
			from, to = to, from
		}
		fmt.Fprintf(&b, `<rect class="f-ok" x="%.2f%%" y="%d" width="%.2f%%" height="12"><title>%s</title></rect>`, from, y, max(to-from, 0.2), template.HTMLEscapeString("["+r.Init+", "+r.Value+")"))
		fmt.Fprintf(&b, `<circle class="f-active" cx="%.2f%%" cy="%d" r="5"/>`, axis.x(value), y+6)
	}
	b.WriteString(marks)
	fmt.Fprintf(&b, `<line class="now" x1="%.2f%%" y1="0" x2="%.2f%%" y2="%d"/>`, axis.x(v.now), axis.x(v.now), end)
	axis.ticks(&b, end)
	b.WriteString(`</svg>`)
	return template.HTML(b.String()) //nolint:gosec // what others wrote is escaped
}

// laneTop is where the first lane begins, below its name.
const laneTop = 20

// laneMarks are what happened on the lane of one cursor: where each of its moves ended, and
// the gaps that it cannot pass.
func (v *visit) laneMarks(cur control.CursorView, axis timeAxis) string {
	var b strings.Builder
	b.WriteString(`<defs><pattern id="hatch" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)"><line class="hatching" x1="0" y1="0" x2="0" y2="6"/></pattern></defs>`)
	for _, g := range cur.HeldBy {
		from, isFrom := placeOf(cur.Cursor.Operation, g.From.String())
		to, isTo := placeOf(cur.Cursor.Operation, g.To.String())
		if isFrom && isTo {
			fmt.Fprintf(&b, `<rect class="f-gap" x="%.2f%%" y="%d" width="%.2f%%" height="12"><title>%s</title></rect>`,
				axis.x(from), laneTop, max(axis.x(to)-axis.x(from), 0.4), template.HTMLEscapeString(harvest.Span{From: g.From, To: g.To}.Short()+": "+g.Reason))
		}
	}
	if cur.SafetyLag != nil {
		edge := v.now.Add(-time.Duration(*cur.SafetyLag) * time.Second)
		fmt.Fprintf(&b, `<line class="lag" x1="%.2f%%" x2="%.2f%%" y1="%d" y2="%d"><title>%s</title></line>`,
			axis.x(edge), axis.x(edge), laneTop-8, laneTop+20, template.HTMLEscapeString(v.t("lanes.safety_lag")+": "+stamp(edge)))
	}
	for _, e := range cur.Events {
		if at, is := placeOf(cur.Cursor.Operation, e.New); is {
			fmt.Fprintf(&b, `<line class="moved" x1="%.2f%%" x2="%.2f%%" y1="%d" y2="%d"><title>%s</title></line>`,
				axis.x(at), axis.x(at), laneTop-3, laneTop+15, template.HTMLEscapeString(stamp(e.At)+" "+e.Kind+" "+atSecond(e.New)+" "+e.Remarks))
		}
	}
	return b.String()
}

// clipped is the beginning of a text.
func clipped(text string, most int) string {
	runes := []rune(text)
	if len(runes) <= most {
		return text
	}
	return string(runes[:most-1]) + "…"
}

// cursorMoves is how many moves of a cursor its page lists.
const cursorMoves = 100

// cursor shows a cursor, its last moves, and what holds it.
func (c *Console) cursor(ctx context.Context, v *visit) (*view, error) {
	id, err := v.number("id")
	if err != nil {
		return nil, err
	}
	cur, err := c.control.Cursor(ctx, harvest.CursorID(id), control.Moves{Limit: cursorMoves})
	if err != nil {
		return nil, err
	}
	r := cur.Cursor
	out := &view{
		Title: v.t("lanes.cursor", id), Lead: r.Source + " " + strings.ToLower(string(r.Operation)) + " " + r.Namespace, Topics: "cursors work", Up: v.path("/cursors"),
		Crumbs: []link{{v.t("rail./cursors"), v.path("/cursors")}, {r.Source, v.path("/cursors") + "?source=" + r.Source}},
		CLI:    fmt.Sprintf("patra cursor show %d", id), API: fmt.Sprintf("/cursors/%d", id),
	}
	facts := panel{ID: "facts", Title: v.t("lanes.where"), Note: v.t("lanes.only_forward"), Facts: []fact{
		{v.t("lanes.watermark"), mono(atSecond(r.Value))},
		{v.t("lanes.begin"), mono(atSecond(r.Init))},
		{v.t("lanes.observed"), mono(atSecond(r.Observed))},
		{v.t("lanes.moves"), count(r.Moves)},
		{v.t("lanes.moved"), instant(r.UpdatedAt)},
		{v.t("lanes.direction"), text(strings.ToLower(string(r.Direction)))},
		{v.t("col.query"), text(r.Query)},
	}}
	if cur.SafetyLag != nil {
		facts.Facts = append(facts.Facts, fact{v.t("lanes.safety_lag"), cell{Text: length(v.look.words, time.Duration(*cur.SafetyLag)*time.Second), Small: v.t("lanes.safety_note")}})
	}
	if value, is := placeOf(r.Operation, r.Value); is {
		begin, _ := placeOf(r.Operation, r.Init)
		if begin.After(value) {
			begin, value = value, begin
		}
		axis := timeAxis{from: begin, to: v.now}
		if v.now.After(begin) {
			out.Panels = append(out.Panels, panel{ID: "lane", Title: v.t("lanes.title"), Figure: &figure{
				Title: v.t("lanes.title"), Summary: v.t("lanes.marks", len(cur.Events), len(cur.HeldBy)), Drawing: v.lanes([]control.CursorRow{r}, axis, v.laneMarks(cur, axis)),
			}})
		}
	}
	out.Panels = append(out.Panels, facts, v.heldPanel(cur))
	if v.May(control.Operator) && r.Operation == harvest.Harvest {
		out.Panels = append(out.Panels, v.refetchPanel(r))
	}
	out.Panels = append(out.Panels, v.movesPanel(cur))
	return out, nil
}

// refetchPanel asks for a window that is to be read again, in a lane of its own: a cursor
// does not go back.
func (v *visit) refetchPanel(r control.CursorRow) panel {
	return panel{ID: "refetch", Title: v.t("lanes.refetch"), Note: v.t("lanes.refetch_note"), Form: &form{
		Action: v.path("/change"), Get: true, Submit: v.t("lanes.refetch_look"),
		Hidden: map[string]string{"do": planned, "with.source": r.Source, "with.operation": string(harvest.Backfill), "with.query": r.Query, "from": v.here()},
		Fields: []field{
			{Name: "with.from", Label: v.t("lanes.refetch_from"), Required: true, Hint: "2026-01-31T00:00:00Z"},
			{Name: "with.to", Label: v.t("lanes.refetch_to"), Required: true, Value: atSecond(r.Value)},
		},
	}}
}

// heldPanel lists the gaps that a cursor cannot pass, and offers to pass them.
func (v *visit) heldPanel(cur control.CursorView) panel {
	out := panel{ID: "held", Title: v.t("lanes.held")}
	if len(cur.HeldBy) == 0 {
		out.Empty = v.t("lanes.free")
		return out
	}
	out.Note = v.t("lanes.held_note")
	if cur.MoreHeld {
		out.Note += " " + v.t("lanes.more_held", len(cur.HeldBy))
	}
	t := &table{Caption: v.t("lanes.held"), Head: []column{{Text: v.t("col.slice")}, {Text: v.t("col.window")}, {Text: v.t("col.state")}, {Text: v.t("col.why")}, {Text: v.t("lanes.retry_at")}}}
	for _, g := range cur.HeldBy {
		t.Rows = append(t.Rows, row{Cells: []cell{
			linked(strconv.FormatInt(int64(g.Slice), 10), v.path("/slices/%d", g.Slice)),
			{Text: harvest.Span{From: g.From, To: g.To}.Short(), Mono: true, Small: g.Range},
			stated(control.SliceFamily(harvest.SliceState(g.Status)), v.stateWord(g.Status)), text(g.Reason), instant(g.RetryAt),
		}})
	}
	out.Table = t
	if v.May(control.Operator) {
		out.Form = &form{
			Action: v.path("/change"), Get: true, Submit: v.t("lanes.skip"), Hidden: map[string]string{"do": fmt.Sprintf("/cursors/%d/skip", cur.Cursor.ID), "from": v.here()},
			Fields: []field{{Name: "with.to", Label: v.t("lanes.skip_to"), Required: true, Hint: v.t("lanes.skip_hint"), Value: cur.HeldBy[0].To.String()}},
		}
	}
	return out
}

// movesPanel lists the last moves of a cursor.
func (v *visit) movesPanel(cur control.CursorView) panel {
	t := &table{Caption: v.t("lanes.history"), Head: []column{
		{Text: v.t("blackbox.at")},
		{Text: v.t("col.what")},
		{Text: v.t("col.before")},
		{Text: v.t("col.after")},
		{Text: v.t("lanes.observed")},
		{Text: v.t("col.plan")},
		{Text: v.t("col.run")},
		{Text: v.t("col.batch")},
		{Text: v.t("lanes.remarks")},
	}}
	number := func(n int64, path string) cell {
		if n == 0 {
			return cell{}
		}
		return linked(strconv.FormatInt(n, 10), v.path(path, n))
	}
	why := func(e control.CursorEvent) cell {
		c := text(cmp.Or(e.Remarks, e.Reason))
		if e.Late != nil && *e.Late > 0 {
			c.Small = fmt.Sprintf("%s: %d", v.t("batch.late"), *e.Late)
		}
		return c
	}
	for _, e := range cur.Events {
		t.Rows = append(t.Rows, row{Cells: []cell{
			instant(e.At), text(e.Kind), mono(atSecond(e.Prev)), mono(atSecond(e.New)), mono(atSecond(e.Observed)), number(int64(e.Plan), "/plans/%d"), number(int64(e.Run), "/runs/%d"),
			number(int64(e.Batch), "/blackbox/%d"), why(e),
		}})
	}
	out := panel{ID: "moves", Title: v.t("lanes.history"), Table: t}
	if len(t.Rows) == 0 {
		out.Table = nil
		out.Empty = v.t("lanes.never_moved")
	}
	return out
}
