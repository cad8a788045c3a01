package console

import (
	"context"
	"fmt"
	"html/template"
	"strings"
	"time"

	"github.com/papertrace/patra/internal/app/control"
)

// seriesHigh is how high the drawing of requests is, seriesMinutes how many minutes it
// has.
const (
	seriesHigh    = 110
	seriesMinutes = 60
)

// seriesPanel draws what was sent for a key in the last hour, against what may be sent.
func (c *Console) seriesPanel(ctx context.Context, v *visit, r control.RateRow) (panel, error) {
	s, err := c.control.RateSeries(ctx, r.Sources)
	if err != nil {
		return panel{}, err
	}
	out := panel{ID: "series", Title: v.t("rate.series"), Note: v.t("rate.series_note")}
	if len(s.Minutes) == 0 {
		out.Note = ""
		out.Empty = v.t("rate.series_none", stamp(time.Time(s.At)))
		return out, nil
	}
	if s.More {
		out.Note += " " + v.t("rate.series_more")
	}
	t := &table{Caption: out.Title, Head: []column{
		{Text: v.t("rate.minute")}, {Text: v.t("rate.sent"), Num: true}, {Text: v.t("rate.each_second"), Num: true}, {Text: "429", Num: true}, {Text: v.t("rate.waited"), Num: true},
	}}
	var sent, throttled, waited int64
	for _, m := range s.Minutes {
		sent += m.Requests
		throttled += m.HTTP429
		waited += m.Wait
		t.Rows = append(t.Rows, row{Cells: []cell{
			instant(time.Time(m.At)), count(m.Requests), text(fmt.Sprintf("%.2f", float64(m.Requests)/60)), count(m.HTTP429), count(m.Wait / max(m.Pages, 1)),
		}})
	}
	zero := time.Time{}.Add(time.Hour)
	summary := v.t("rate.series_summary", grouped(sent), grouped(throttled), v.took(zero, zero.Add(time.Duration(waited)*time.Millisecond)))
	out.Figure = &figure{Title: out.Title, Summary: summary, Drawing: v.drawSeries(s, r), Data: t, Legend: []state{
		{Family: control.Active, Word: v.t("rate.each_second"), Sign: "▮"},
		{Family: control.Failed, Word: "429", Sign: "▮"},
		{Family: control.OK, Word: v.t("rate.allowed"), Sign: "─"},
		{Family: control.Off, Word: v.t("rate.ceiling"), Sign: "┄"},
	}}
	return out, nil
}

// drawSeries draws a bar for each minute, the part that was answered 429 on top of it, and
// lines at what may be sent now and what is declared.
func (v *visit) drawSeries(s control.RateSeries, r control.RateRow) template.HTML {
	top := max(r.Limit, r.Allowed)
	for _, m := range s.Minutes {
		top = max(top, float64(m.Requests)/60)
	}
	if top <= 0 {
		top = 1
	}
	y := func(perSecond float64) float64 { return seriesHigh - perSecond/top*(seriesHigh-14) }
	var b strings.Builder
	fmt.Fprintf(&b, `<svg class="wide series" role="img" aria-label="%s" height="%d">`, template.HTMLEscapeString(v.t("rate.series")), seriesHigh+22)
	const wide = 100.0 / (seriesMinutes + 1)
	for _, m := range s.Minutes {
		x := time.Time(m.At).Sub(time.Time(s.Since)).Minutes() * wide
		rate := float64(m.Requests) / 60
		throttled := float64(m.HTTP429) / 60
		title := template.HTMLEscapeString(fmt.Sprintf("%s: %d, 429: %d", stamp(time.Time(m.At)), m.Requests, m.HTTP429))
		fmt.Fprintf(&b, `<rect class="f-active" x="%.2f%%" y="%.1f" width="%.2f%%" height="%.1f"><title>%s</title></rect>`, x, y(rate), wide*0.8, max(seriesHigh-y(rate), 1), title)
		if m.HTTP429 > 0 {
			fmt.Fprintf(&b, `<rect class="f-failed" x="%.2f%%" y="%.1f" width="%.2f%%" height="%.1f"><title>%s</title></rect>`, x, y(rate), wide*0.8, max(seriesHigh-y(throttled), 3), title)
		}
	}
	line := func(class string, at float64) {
		if at > 0 {
			fmt.Fprintf(&b, `<line class="%s" x1="0" x2="100%%" y1="%.1f" y2="%.1f"/>`, class, y(at), y(at))
		}
	}
	line("ceiling", r.Limit)
	line("allowed", r.Allowed)
	fmt.Fprintf(&b, `<text class="muted" x="2" y="10">%s</text>`, template.HTMLEscapeString(v.t("rate.top", fmt.Sprintf("%.3g", top))))
	fmt.Fprintf(&b, `<line class="axis" x1="0" x2="100%%" y1="%d" y2="%d"/>`, seriesHigh, seriesHigh)
	for i := range 4 {
		at := time.Time(s.Since).Add(time.Duration(i) * 15 * time.Minute)
		fmt.Fprintf(&b, `<text class="muted" x="%.2f%%" y="%d">%s</text>`, float64(i)*15*wide, seriesHigh+16, at.Format("15:04Z"))
	}
	b.WriteString(`</svg>`)
	return template.HTML(b.String()) //nolint:gosec // numbers and texts of the catalogue
}
