package console

import (
	"context"
	"fmt"
	"html/template"
	"strconv"
	"strings"
	"time"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/papertrace/patra/internal/domain/harvest"
)

// mapSteps is how many steps of time the map draws.
const mapSteps = 90

// coverageStates are those that the map tells apart, the gravest first.
var coverageStates = []control.CoverageState{control.CoverageGap, control.CoverageLate, control.CoverageOpen, control.CoverageProven}

// coverage maps sources against time: what is proven, open, late, or a gap.
func (c *Console) coverage(ctx context.Context, v *visit) (*view, error) {
	word, days := v.span("30d")
	from, to, err := v.pinned(v.now.Truncate(time.Hour).Add(time.Hour), days)
	if err != nil {
		return nil, err
	}
	q := control.CoverageQuery{Source: v.query("source"), From: from, To: to, Steps: mapSteps, Page: control.Page{After: v.query("after")}}
	m, err := c.control.CoverageMap(ctx, q)
	if err != nil {
		return nil, err
	}
	out := &view{
		Title: v.t("rail./coverage"), Lead: v.t("coverage.lead"), Topics: "work cursors",
		API: api("/coverage", "source", q.Source, "from", q.From.Format(time.RFC3339), "to", q.To.Format(time.RFC3339), "steps", strconv.Itoa(mapSteps), "after", q.After),
	}
	out.Link = v.pinnedLink(from, to)
	if q.Source != "" {
		out.CLI = "patra coverage " + quoted(q.Source)
	}
	out.Filters = []field{{Name: "source", Label: v.t("col.source"), Value: q.Source}, v.spanField(word)}
	part := panel{ID: "map", Title: v.t("coverage.title"), Next: v.nextPage(m.Next)}
	if len(m.Rows) == 0 {
		part.Empty = v.t("coverage.none")
		part.EmptyNext = "patra harvest pubmed"
		out.Panels = []panel{part}
		return out, nil
	}
	var legend []state
	for _, s := range coverageStates {
		legend = append(legend, state{Family: control.CoverageFamily(s), Word: v.t("coverage." + string(s))})
	}
	part.Figure = &figure{Title: v.t("lanes.axis"), Summary: v.coverageSummary(m), Drawing: v.coverageMap(m), Legend: legend, Data: v.coverageTable(m)}
	out.Panels = []panel{part}
	if q.Source != "" {
		gaps, err := c.part(v, "gaps", v.t("coverage.gaps"), func() (panel, error) { return c.gapsPanel(ctx, v, q.Source) })
		if err != nil {
			return nil, err
		}
		out.Panels = append(out.Panels, gaps)
	}
	return out, nil
}

// shares are how much of a row stands in each state, in parts of all its steps.
func shares(r control.CoverageRow) map[control.CoverageState]float64 {
	out := map[control.CoverageState]float64{}
	all := 0
	for _, s := range r.Spans {
		all += s.Steps
	}
	for _, s := range r.Spans {
		out[s.State] += float64(s.Steps) / float64(max(all, 1))
	}
	return out
}

// coverageSummary says in a sentence what the map shows.
func (v *visit) coverageSummary(m control.CoverageMap) string {
	var gaps, late, whole int
	for _, r := range m.Rows {
		s := shares(r)
		switch {
		case s[control.CoverageGap] > 0:
			gaps++
		case s[control.CoverageLate] > 0:
			late++
		default:
			whole++
		}
	}
	return v.t("coverage.summary", len(m.Rows), gaps, late, whole)
}

// coverageTable are the numbers of the map.
func (v *visit) coverageTable(m control.CoverageMap) *table {
	t := &table{Caption: v.t("coverage.title"), Head: []column{{Text: v.t("col.source")}, {Text: v.t("col.operation")}, {Text: v.t("col.namespace")}, {Text: v.t("lanes.watermark")}}}
	for _, s := range coverageStates {
		t.Head = append(t.Head, column{Text: v.t("coverage."+string(s)) + " %", Num: true})
	}
	for _, r := range m.Rows {
		part := shares(r)
		cells := []cell{
			linked(r.Source, v.path("/coverage")+"?source="+r.Source), text(string(r.Operation)), {Text: control.ShortNamespace(r.Namespace), Mono: true, Lines: lines(r.Query)}, mono(atSecond(r.Watermark.String())),
		}
		for _, s := range coverageStates {
			cells = append(cells, text(fmt.Sprintf("%.1f", part[s]*100)))
		}
		t.Rows = append(t.Rows, row{Cells: cells})
	}
	return t
}

// coverageMap draws a row for each namespace, with the steps that stand alike as one.
func (v *visit) coverageMap(m control.CoverageMap) template.HTML {
	const high = 42
	axis := timeAxis{from: time.Time(m.From), to: time.Time(m.To)}
	var b strings.Builder
	end := len(m.Rows)*high + 4
	fmt.Fprintf(&b, `<svg class="coverage wide" height="%d">`, end+24)
	b.WriteString(`<defs><pattern id="hatch" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)"><line class="hatching" x1="0" y1="0" x2="0" y2="6"/></pattern></defs>`)
	for i, r := range m.Rows {
		y := i*high + 18
		laneName(&b, y-4, r.Source+" "+strings.ToLower(string(r.Operation)), control.ShortNamespace(r.Namespace))
		fmt.Fprintf(&b, `<rect class="lane" x="0" y="%d" width="100%%" height="20"/>`, y)
		for _, s := range r.Spans {
			if s.State != control.CoverageNone {
				v.coverageSpan(&b, axis, r, s, y)
			}
		}
	}
	axis.ticks(&b, end)
	b.WriteString(`</svg>`)
	return template.HTML(b.String()) //nolint:gosec // what others wrote is escaped
}

// coverageSpan draws steps that stand alike. What somebody may want to look into leads
// there.
func (v *visit) coverageSpan(b *strings.Builder, axis timeAxis, r control.CoverageRow, s control.CoverageSpan, y int) {
	from := axis.x(time.Time(s.From))
	wide := max(axis.x(time.Time(s.To))-from, 0.3)
	family := control.CoverageFamily(s.State)
	class := "f-" + string(family)
	if s.State == control.CoverageGap {
		class = "f-gap"
	}
	name := template.HTMLEscapeString(r.Source + " " + v.t("coverage."+string(s.State)) + " [" + stamp(time.Time(s.From)) + ", " + stamp(time.Time(s.To)) + ")")
	leads := s.State != control.CoverageProven
	if leads {
		fmt.Fprintf(b, `<a href="%s" aria-label="%s">`, template.HTMLEscapeString(v.path("/coverage")+"?source="+r.Source+"#gaps"), name)
	}
	fmt.Fprintf(b, `<rect class="%s" x="%.2f%%" y="%d" width="%.2f%%" height="20"><title>%s</title></rect>`, class, from, y, wide, name)
	if wide >= 4 && s.State != control.CoverageGap {
		fmt.Fprintf(b, `<text class="sign" x="%.2f%%" y="%d" aria-hidden="true">%s</text>`, from+wide/2, y+14, family.Glyph())
	}
	if leads {
		b.WriteString(`</a>`)
	}
}

// gapsPanel lists the slices that hold the watermarks of a source.
func (c *Console) gapsPanel(ctx context.Context, v *visit, code string) (panel, error) {
	list, err := c.control.Gaps(ctx, code, control.Page{Limit: pageRows})
	if err != nil {
		return panel{}, err
	}
	out := panel{ID: "gaps", Title: v.t("coverage.gaps")}
	if len(list.Gaps) == 0 {
		out.Empty = v.t("coverage.no_gaps")
		return out, nil
	}
	t := &table{Caption: v.t("coverage.gaps"), Head: []column{{Text: v.t("col.slice")}, {Text: v.t("col.cursor")}, {Text: v.t("col.window")}, {Text: v.t("col.state")}, {Text: v.t("col.why")}, {Text: v.t("lanes.retry_at")}}}
	for _, g := range list.Gaps {
		t.Rows = append(t.Rows, row{Cells: []cell{
			linked(strconv.FormatInt(int64(g.Slice), 10), v.path("/slices/%d", g.Slice)), linked(strconv.FormatInt(int64(g.Cursor), 10), v.path("/cursors/%d", g.Cursor)),
			{Text: harvest.Span{From: g.From, To: g.To}.Short(), Mono: true, Small: g.Range},
			stated(control.SliceFamily(harvest.SliceState(g.Status)), v.stateWord(g.Status)), text(g.Reason), instant(g.RetryAt),
		}})
	}
	out.Table = t
	if list.Next != "" {
		out.Note = v.t("coverage.more_gaps", pageRows, code)
	}
	out.Actions = []action{v.retryAction(code)}
	return out, nil
}
