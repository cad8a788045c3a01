package console

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/papertrace/patra/internal/app/control"
)

// rates shows how fast every rate key may be asked, and was.
func (c *Console) rates(ctx context.Context, v *visit) (*view, error) {
	code := v.query("source")
	list, err := c.control.Rates(ctx, code)
	if err != nil {
		return nil, err
	}
	out := &view{
		Title: v.t("rail./rate"), Lead: v.t("rate.lead"), Topics: "work audit time", CLI: strings.TrimSpace("patra rate show " + code), API: api("/rates", "source", code),
		Filters: []field{{Name: "source", Label: v.t("col.source"), Value: code}},
	}
	t := &table{Caption: v.t("rail./rate"), Head: []column{
		{Text: v.t("rate.key")},
		{Text: v.t("col.source")},
		{Text: v.t("rate.used"), Num: true},
		{Text: v.t("rate.allowed"), Num: true},
		{Text: v.t("rate.ceiling"), Num: true},
		{Text: "429", Num: true},
		{Text: v.t("rate.in_flight"), Num: true},
		{Text: v.t("col.quota")},
		{Text: v.t("col.why")},
	}}
	for _, r := range list.Rates {
		t.Rows = append(t.Rows, row{Cells: []cell{
			{Text: r.Key, Href: v.path("/rate/%s", r.Key), Mono: true},
			{Lines: r.Sources},
			text(fmt.Sprintf("%.2f", r.Used)), v.allowedRate(r), text(perSecond(r.Limit)),
			count(r.HTTP429), seats(r),
			{Lines: quotaLines(r)},
			v.rateWhy(r),
		}})
	}
	part := panel{ID: "list", Title: v.t("rail./rate"), Note: v.t("rate.unit"), Table: t}
	if len(t.Rows) == 0 {
		part.Table = nil
		part.Empty = v.t("rate.none")
	}
	out.Panels = []panel{part}
	return out, nil
}

// perSecond is a rate, a dash if none is declared.
func perSecond(n float64) string {
	if n <= 0 {
		return "–"
	}
	return fmt.Sprintf("%.4g", n)
}

// allowedRate is what may be sent now, marked where that is less than declared.
func (v *visit) allowedRate(r control.RateRow) cell {
	out := text(perSecond(r.Allowed))
	if r.Limit > 0 && r.Allowed < r.Limit {
		out.State = &state{Family: control.Partial, Word: v.t("rate.less")}
	}
	return out
}

func seats(r control.RateRow) cell {
	out := count(r.InFlight)
	if r.Seats > 0 {
		out.Small = "/ " + strconv.Itoa(r.Seats)
	}
	return out
}

func quotaLines(r control.RateRow) []string {
	var out []string
	for _, q := range r.Quotas {
		out = append(out, fmt.Sprintf("%s / %s · %s", grouped(q.Left), grouped(q.Limit), q.Window))
	}
	return out
}

// rateWhy is what keeps a key below its ceiling, or silent.
func (v *visit) rateWhy(r control.RateRow) cell {
	out := cell{Lines: lines(r.Why)}
	if r.Cause != nil {
		out.Lines = append(out.Lines, r.Cause.Text)
	}
	return out
}

// rate shows one rate key, and lets it be lowered.
func (c *Console) rate(ctx context.Context, v *visit) (*view, error) {
	key := v.PathValue("key")
	list, err := c.control.Rates(ctx, "")
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(list.Rates, func(r control.RateRow) bool { return r.Key == key })
	if i < 0 {
		return nil, errNoPage
	}
	r := list.Rates[i]
	code := r.Sources[0]
	out := &view{
		Title: r.Key, Lead: r.Why, Topics: "work audit time", Crumbs: []link{{v.t("rail./rate"), v.path("/rate")}}, Up: v.path("/rate"),
		CLI: "patra rate show " + quoted(code), API: api("/rates", "source", code),
	}
	facts := panel{ID: "facts", Title: v.t("rate.now"), Note: v.t("rate.unit"), Facts: []fact{
		{v.t("rate.used"), text(fmt.Sprintf("%.2f", r.Used))},
		{v.t("rate.allowed"), v.allowedRate(r)},
		{v.t("rate.ceiling"), text(perSecond(r.Limit))},
		{v.t("rate.burst"), count(r.Burst)},
		{"429", count(r.HTTP429)},
		{v.t("rate.in_flight"), seats(r)},
		{v.t("rate.cooldown"), at(r.Cooldown)},
		{v.t("rate.empty"), at(r.Empty)},
	}}
	if r.Lowered != nil {
		facts.Facts = append(facts.Facts, fact{v.t("rate.lowered"), cell{Text: perSecond(r.Lowered.To), Small: v.t("why.until", r.Lowered.Until.String())}})
		out.Actions = []action{{Label: v.t("rate.lift"), Do: apiPath("/sources/%s/lower", code) + "?lift=true", Level: 2}}
	}
	if r.Waiting != nil {
		facts.Facts = append(facts.Facts, fact{v.t("rate.waiting"), cell{Text: r.Waiting.Text, Small: r.Waiting.Unblocks}})
	}
	if r.Cause != nil {
		facts.Facts = append(facts.Facts, fact{v.t("rate.cause"), cell{Text: r.Cause.Text, Small: string(r.Cause.Code)}})
	}
	who := panel{ID: "who", Title: v.t("rate.who"), Note: v.t("rate.who_note"), Table: &table{Caption: v.t("rate.who"), Head: []column{{Text: v.t("col.source")}, {Text: v.t("rail./queue")}}}}
	for _, s := range r.Sources {
		who.Table.Rows = append(who.Table.Rows, row{Cells: []cell{linked(s, v.path("/sources/%s", s)), linked(v.t("rate.their_queue"), v.path("/queue")+"?source="+s)}})
	}
	series, err := c.part(v, "series", v.t("rate.series"), func() (panel, error) { return c.seriesPanel(ctx, v, r) })
	if err != nil {
		return nil, err
	}
	out.Panels = []panel{facts, series, v.downshiftPanel(r), v.quotaPanel(r), who}
	if v.May(control.Operator) && r.Limit > 0 {
		out.Panels = append(out.Panels, panel{ID: "lower", Title: v.t("change.lower"), Note: v.t("rate.lower_note"), Form: &form{
			Action: v.path("/change"), Get: true, Submit: v.t("change.lower"), Hidden: map[string]string{"do": apiPath("/sources/%s/lower", code), "from": v.here()},
			Fields: []field{
				{Name: "with.to", Label: v.t("rate.to"), Required: true, Value: fmt.Sprintf("%.3g", r.Limit/2)},
				{Name: "with.for", Label: v.t("rate.for"), Required: true, Value: "2h", Hint: v.t("rate.for_hint")},
			},
		}})
	}
	return out, nil
}

// downshiftPanel lists when the rate of a key stepped down.
func (v *visit) downshiftPanel(r control.RateRow) panel {
	out := panel{ID: "downshifts", Title: v.t("rate.downshifts"), Note: v.t("rate.downshifts_note")}
	if len(r.Downshifts) == 0 {
		out.Note = ""
		out.Empty = v.t("rate.no_downshift")
		return out
	}
	out.Table = &table{Caption: out.Title, Head: []column{{Text: v.t("rate.stepped_at")}, {Text: v.t("rate.from"), Num: true}, {Text: v.t("rate.stepped_to"), Num: true}}}
	for _, d := range r.Downshifts {
		out.Table.Rows = append(out.Table.Rows, row{Cells: []cell{instant(time.Time(d.At)), text(perSecond(d.From)), text(perSecond(d.To))}})
	}
	return out
}

// quotaPanel shows what is left of the quotas of a key.
func (v *visit) quotaPanel(r control.RateRow) panel {
	out := panel{ID: "quotas", Title: v.t("rate.quotas")}
	if len(r.Quotas) == 0 {
		out.Empty = v.t("rate.no_quota")
		return out
	}
	t := &table{Caption: v.t("rate.quotas"), Head: []column{
		{Text: v.t("col.window")}, {Text: v.t("rate.quota_used"), Num: true}, {Text: v.t("rate.left"), Num: true}, {Text: v.t("rate.of"), Num: true}, {Text: v.t("col.quota")}, {Text: v.t("rate.room_at")},
	}}
	for _, q := range r.Quotas {
		share := float64(q.Left) / float64(max(q.Limit, 1))
		t.Rows = append(t.Rows, row{Cells: []cell{
			text(q.Window), count(q.Limit - q.Left), count(q.Left), count(q.Limit), {Bar: &bar{Share: share, Text: fmt.Sprintf("%.0f %%", share*100)}}, at(q.RoomAt),
		}})
	}
	out.Table = t
	return out
}
