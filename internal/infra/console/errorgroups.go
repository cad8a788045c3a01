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

// errorGroups lists what went wrong, alike things as one, the last seen first.
func (c *Console) errorGroups(ctx context.Context, v *visit) (*view, error) {
	since, err := v.since("since")
	if err != nil {
		return nil, err
	}
	q := control.ErrorQuery{
		Source: v.query("source"), Level: harvest.Level(v.query("level")), Code: harvest.Code(v.query("code")), State: harvest.ErrorState(v.query("state")),
		Since: since, Page: v.page(),
	}
	q.All = q.State == "ALL"
	if q.All {
		q.State = ""
	}
	list, err := c.control.Errors(ctx, q)
	if err != nil {
		return nil, err
	}
	all := ""
	if q.All {
		all = "true"
	}
	out := &view{
		Title: v.t("rail./errors"), Lead: v.t("errors.lead"), Topics: "work audit",
		CLI: cli("patra error list", "--source", q.Source, "--level", string(q.Level), "--code", string(q.Code), "--state", strings.ToLower(string(q.State)), "--since", v.query("since")),
		API: api("/errors", "source", q.Source, "level", string(q.Level), "code", string(q.Code), "state", string(q.State), "all", all, "since", sinceParam(since), "after", q.After),
	}
	if q.All {
		out.CLI += " --all"
	}
	states := v.choices("OPEN", "ACKNOWLEDGED", "MUTED", "RESOLVED", "CAME_BACK")
	states[0].Text = v.t("errors.not_settled")
	states = append(states, option{"ALL", v.t("data.any")})
	out.Filters = []field{
		{Name: "source", Label: v.t("col.source"), Value: q.Source},
		{Name: "level", Label: v.t("errors.level"), Value: string(q.Level), Kind: "select", Options: v.levels()},
		{Name: "code", Label: v.t("col.code"), Value: string(q.Code)},
		{Name: "state", Label: v.t("col.state"), Value: v.query("state"), Kind: "select", Options: states},
		{Name: "since", Label: v.t("errors.since"), Value: v.query("since"), Hint: "2026-01-31"},
	}
	t := &table{Caption: v.t("rail./errors"), Head: []column{
		{Text: v.t("col.what")},
		{Text: v.t("errors.level")},
		{Text: v.t("col.source")},
		{Text: v.t("col.count"), Num: true},
		{Text: v.t("col.state")},
		{Text: v.t("col.last")},
		{Text: v.t("col.first")},
		{Text: v.t("errors.healing")},
		{Text: v.t("data.actions")},
	}}
	for _, g := range list.Errors {
		t.Rows = append(t.Rows, row{Cells: []cell{
			{Text: string(g.Code), Href: v.path("/errors/%d", g.ID), Mono: true, Lines: lines(g.Path, g.Means)},
			{Text: string(g.Level), Title: v.t("level." + string(g.Level))},
			{Text: g.Source, Href: v.path("/sources/%s", g.Source), Small: g.Endpoint},
			count(g.Count), v.errorState(g), at(&g.Last), at(&g.First),
			{Lines: healed(g)},
			{Actions: v.allowed(v.errorActions(g, true))},
		}})
	}
	part := panel{ID: "list", Title: v.t("rail./errors"), Table: t, Next: v.nextPage(list.Next)}
	if len(t.Rows) == 0 {
		part.Table = nil
		part.Empty = v.t("errors.healthy", v.now.Format("15:04:05Z"))
		if v.URL.RawQuery != "" {
			part.Empty = v.t("data.filtered")
		}
	}
	out.Panels = []panel{part}
	return out, nil
}

// levels are the levels of errors, as a filter offers them.
func (v *visit) levels() []option {
	out := []option{{"", v.t("data.any")}}
	for _, l := range []harvest.Level{harvest.Transient, harvest.Rejected, harvest.Corrupt, harvest.Fatal} {
		out = append(out, option{string(l), string(l) + " " + v.t("level."+string(l))})
	}
	return out
}

// lines are those of the texts that are there.
func lines(texts ...string) []string {
	var out []string
	for _, t := range texts {
		if t != "" {
			out = append(out, t)
		}
	}
	return out
}

// errorState is how a group stands, and until when if that ends by itself.
func (v *visit) errorState(g control.ErrorGroup) cell {
	out := stated(control.ErrorFamily(g.State), v.stateWord(string(g.State)))
	if g.MutedUntil != nil {
		out.Small = v.t("why.until", stamp(time.Time(*g.MutedUntil)))
	}
	return out
}

// healed tells what patra did by itself.
func healed(g control.ErrorGroup) []string {
	var out []string
	for _, h := range g.Healing {
		out = append(out, h.Words())
	}
	return out
}

// errorActions are what can be decided about a group. In a list only what takes a click.
func (v *visit) errorActions(g control.ErrorGroup, short bool) []action {
	do := func(verb string) string { return fmt.Sprintf("/errors/%d/%s", g.ID, verb) }
	var out []action
	if g.State == harvest.ErrorOpen || g.State == harvest.ErrorCameBack {
		out = append(out, action{Label: v.t("change.ack"), Do: do("ack"), Level: 1})
	}
	if short {
		return out
	}
	if g.State != harvest.ErrorMuted {
		for _, during := range []struct {
			key     string
			seconds int
		}{{"errors.mute_8h", 8 * 3600}, {"errors.mute_7d", 7 * 24 * 3600}} {
			out = append(out, action{Label: v.t(during.key), Do: do("mute") + "?seconds=" + strconv.Itoa(during.seconds), Level: 2})
		}
	}
	if g.State != harvest.ErrorResolved {
		out = append(out, action{Label: v.t("change.resolve"), Do: do("resolve"), Level: 2})
	}
	return out
}

// errorGroup shows what went wrong in one way.
func (c *Console) errorGroup(ctx context.Context, v *visit) (*view, error) {
	id, err := v.number("id")
	if err != nil {
		return nil, err
	}
	g, err := c.control.Error(ctx, id)
	if err != nil {
		return nil, err
	}
	out := &view{
		Title: string(g.Code), State: v.errorState(g.ErrorGroup).State, Lead: g.Means, Topics: "work audit", Up: v.path("/errors"),
		Crumbs: []link{{v.t("rail./errors"), v.path("/errors")}, {g.Source, v.path("/errors") + "?source=" + g.Source}},
		CLI:    fmt.Sprintf("patra error show %d", id), API: fmt.Sprintf("/errors/%d", id), Actions: v.errorActions(g.ErrorGroup, false),
	}
	facts := panel{ID: "facts", Title: v.t("errors.what"), Facts: []fact{
		{v.t("errors.level"), cell{Text: string(g.Level), Small: v.t("level." + string(g.Level))}},
		{v.t("col.source"), linked(g.Source, v.path("/sources/%s", g.Source))},
		{v.t("col.endpoint"), text(g.Endpoint)},
		{v.t("col.path"), mono(g.Path)},
		{v.t("col.count"), count(g.Count)},
		{v.t("col.first"), at(&g.First)},
		{v.t("col.last"), at(&g.Last)},
		{v.t("col.state"), v.errorState(g.ErrorGroup)},
		{v.t("errors.state_since"), at(&g.Since)},
		{v.t("errors.decided_by"), cell{Text: g.DecidedBy, Small: g.Reason}},
		{v.t("errors.healing"), cell{Lines: healed(g.ErrorGroup)}},
	}}
	if g.Batch != 0 {
		facts.Facts = append(facts.Facts, fact{v.t("errors.newest_page"), linked(strconv.FormatInt(int64(g.Batch), 10), v.path("/blackbox/%d", g.Batch))})
	}
	if g.Level == harvest.Corrupt {
		facts.Facts = append(facts.Facts, fact{v.t("rail./quarantine"), linked(v.t("errors.items"), v.path("/quarantine")+"?source="+g.Source+"&code="+string(g.Code))})
	}
	out.Panels = []panel{facts, {ID: "next", Title: v.t("trouble.what_to_do"), Empty: g.Next}}
	if g.Sample != "" {
		out.Panels = append(out.Panels, panel{ID: "sample", Title: v.t("errors.sample"), Text: g.Sample})
	}
	out.Panels = append(out.Panels, v.trendPanel(g))
	return out, nil
}

// trendPanel draws how often a group was seen in the hours of the last day.
func (v *visit) trendPanel(g control.ErrorView) panel {
	const hours, high = 24, 80
	const wide = 100.0 / hours // per cent of the drawing
	counts := make([]int64, hours)
	newest := v.now.Truncate(time.Hour)
	var most, sum int64
	for _, h := range g.LastDay {
		at := hours - 1 - int(newest.Sub(time.Time(h.Hour).Truncate(time.Hour))/time.Hour)
		if at < 0 || at >= hours {
			continue
		}
		counts[at] = h.Count
		most = max(most, h.Count)
		sum += h.Count
	}
	out := panel{ID: "trend", Title: v.t("errors.trend")}
	if sum == 0 {
		out.Empty = v.t("errors.no_trend")
		return out
	}
	t := &table{Caption: v.t("errors.trend"), Head: []column{{Text: v.t("errors.hour")}, {Text: v.t("col.count"), Num: true}}}
	var b strings.Builder
	fmt.Fprintf(&b, `<svg class="wide" height="%d" role="img" aria-label="%s">`, high+20, template.HTMLEscapeString(v.t("errors.trend")))
	for i, n := range counts {
		hour := newest.Add(time.Duration(i-hours+1) * time.Hour)
		if n > 0 {
			tall := max(int(n*high/most), 2)
			fmt.Fprintf(&b, `<rect class="f-failed" x="%.2f%%" y="%d" width="%.2f%%" height="%d"><title>%s: %d</title></rect>`, (float64(i)+0.1)*wide, high-tall, 0.8*wide, tall, hour.Format("15:04Z"), n)
			t.Rows = append(t.Rows, row{Cells: []cell{instant(hour), count(n)}})
		}
		if i%6 == 0 {
			fmt.Fprintf(&b, `<text class="muted" x="%.2f%%" y="%d">%s</text>`, float64(i)*wide, high+15, hour.Format("15:04Z"))
		}
	}
	fmt.Fprintf(&b, `<line class="axis" x1="0" y1="%d" x2="100%%" y2="%d"/></svg>`, high, high)
	out.Figure = &figure{Title: v.t("errors.trend"), Summary: v.t("errors.trend_summary", sum, most), Drawing: template.HTML(b.String()), Data: t} //nolint:gosec // numbers and texts of the catalogue
	return out
}
