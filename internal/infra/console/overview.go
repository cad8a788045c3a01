package console

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/source"
)

// overview tells what needs somebody, and how every source fares.
func (c *Console) overview(ctx context.Context, v *visit) (*view, error) {
	over := cmp.Or(v.query("range"), ranges[defaultRange])
	s, err := c.control.StatusOver(ctx, "", over)
	if err != nil {
		return nil, err
	}
	out := &view{Title: v.t("overview.title"), CLI: cli("patra status", "--range", over), API: api("/status", "range", over), Topics: "work plans cursors alerts audit time"}
	out.Lead = v.tally(s.Sources)
	back, err := source.ParseDuration(over)
	if err != nil { // it was read before
		return nil, err
	}
	since := time.Time(s.At).Add(-back)
	out.Panels = append(out.Panels, c.needsPanel(v, s))
	sources := panel{ID: "sources", Title: v.t("overview.sources"), Note: v.t("overview.of_runs", over, runsMarked), Choices: []choice{v.rangeChoice(over)}, Sorts: true, Table: &table{Caption: v.t("overview.sources"), Head: []column{
		{Text: v.t("col.source")},
		{Text: v.t("col.freshness")},
		{Text: v.t("col.why")},
		{Text: v.t("col.lag"), Num: true},
		{Text: v.t("col.queued"), Num: true},
		{Text: v.t("col.running"), Num: true},
		{Text: v.t("col.rate"), Num: true},
		{Text: v.t("col.quota"), Num: true},
		{Text: v.t("overview.stored"), Num: true},
		{Text: v.t("overview.per_hour"), Num: true},
		{Text: "429 %", Num: true},
		{Text: v.t("col.last_runs")},
	}}}
	for _, one := range s.Sources {
		if one.Never && one.Cause == nil {
			continue
		}
		runs, err := c.lastRuns(ctx, v, one.Source, since)
		if err != nil {
			return nil, err
		}
		sources.Table.Rows = append(sources.Table.Rows, row{Cells: []cell{
			linked(one.Source, v.path("/sources/%s", one.Source)), v.freshness(one.Freshness), v.why(one), v.lag(one.Lag, one.Limit), counted(one.Queued), counted(one.Running),
			rateCell(one.Rate), quotaCell(one.Rate), v.storedCell(one.Throughput, over), perHourCell(one.Throughput), throttledCell(one.Throughput),
			{Marks: runs},
		}})
	}
	if len(sources.Table.Rows) == 0 {
		sources.Table = nil
		sources.Note = ""
		sources.Empty = v.t("overview.nothing_yet")
		sources.EmptyNext = "patra harvest pubmed --contact you@example.org"
	}
	out.Panels = append(out.Panels, sources)
	return out, nil
}

// tally says in a line how many sources fare how.
func (v *visit) tally(all []control.SourceStatus) string {
	counts := map[control.Freshness]int{}
	never := 0
	for _, s := range all {
		if s.Never {
			never++
			continue
		}
		counts[s.Freshness]++
	}
	var parts []string
	for _, f := range []control.Freshness{control.FreshStopped, control.FreshLate, control.FreshCatchingUp, control.FreshWaiting, control.FreshOnTime} {
		if counts[f] > 0 {
			parts = append(parts, fmt.Sprintf("%s %d %s", f.Glyph(), counts[f], v.look.words.sayOr("freshness."+string(f), string(f))))
		}
	}
	if never > 0 {
		parts = append(parts, v.t("overview.never", never))
	}
	return strings.Join(parts, "   ")
}

// needsPanel lists what a person should look at, the worst first.
func (c *Console) needsPanel(v *visit, s control.Status) panel {
	out := panel{ID: "needs", Title: v.t("overview.needs", len(s.Needs)+s.MoreNeeds)}
	for _, n := range s.Needs {
		out.Needs = append(out.Needs, need{
			State: state{Family: n.Level.Family(), Word: cmp.Or(n.Subject(), v.t("rail./outbox"))}, Text: n.Text, Next: n.Next,
			Where: link{v.t("overview.open"), v.pageOf(n)},
		})
	}
	if s.MoreNeeds > 0 {
		out.Note = v.t("overview.more_needs", s.MoreNeeds)
	}
	if len(s.Needs) == 0 {
		out.Empty = v.t("overview.healthy", time.Time(s.At).UTC().Format("15:04:05Z"))
	}
	return out
}

// pageOf is the page that tells most about what needs somebody.
func (v *visit) pageOf(n control.Need) string {
	switch n.Level {
	case control.NeedEvents:
		return v.path("/outbox")
	case control.NeedGap:
		return v.path("/sources/%s", n.Source) + "#gaps"
	case control.NeedQuarantine:
		return v.path("/quarantine") + "?source=" + n.Source
	default:
		return v.path("/sources/%s", n.Source)
	}
}

// freshness is how a source fares.
func (v *visit) freshness(f control.Freshness) cell {
	return cell{State: &state{Family: f.Family(), Word: v.look.words.sayOr("freshness."+string(f), string(f)), Sign: f.Glyph()}}
}

// why is the cause of what is wrong with a source, and what it waits for.
func (v *visit) why(s control.SourceStatus) cell {
	out := cell{}
	if s.Cause != nil {
		out.Lines = append(out.Lines, s.Cause.Text)
	}
	if s.Waiting != nil {
		line := s.Waiting.Text
		if s.Waiting.Until != nil {
			line += " · " + v.t("why.until", stamp(time.Time(*s.Waiting.Until)))
		}
		out.Lines = append(out.Lines, line)
	}
	scheduled := slices.ContainsFunc(s.Lines, func(l control.LineStatus) bool { return l.Schedule != "" })
	if len(out.Lines) == 0 && !scheduled {
		out.Lines = []string{v.t("overview.unscheduled")}
	}
	return out
}

// lag is how far behind something is, with its limit beside it.
func (v *visit) lag(lag, limit *control.Seconds) cell {
	if lag == nil {
		return cell{}
	}
	out := text(length(v.look.words, time.Duration(*lag)*time.Second)).of(float64(*lag))
	if limit != nil {
		out.Small = v.t("lag.of", length(v.look.words, time.Duration(*limit)*time.Second))
	}
	return out
}

func rateCell(r *control.RateStatus) cell {
	if r == nil {
		return cell{}
	}
	out := cell{Text: fmt.Sprintf("%.2f", r.Used), Small: fmt.Sprintf("/ %.4g", r.Allowed)}
	if r.Limit > 0 && r.Allowed < r.Limit {
		out.Small += fmt.Sprintf(" (%.4g)", r.Limit)
	}
	return out
}

func quotaCell(r *control.RateStatus) cell {
	if r == nil || len(r.Quotas) == 0 {
		return cell{}
	}
	least := r.Quotas[0]
	for _, q := range r.Quotas {
		if q.Left*least.Limit < least.Left*q.Limit {
			least = q
		}
	}
	share := float64(least.Left) / float64(max(least.Limit, 1))
	return cell{Bar: &bar{Share: share, Text: fmt.Sprintf("%.0f %%", share*100)}}
}

// ranges are the times that the overview looks back over at a click, defaultRange the one
// without a choice.
var ranges = []string{"1h", "6h", "24h", "7d"}

const defaultRange = 2

// rangeChoice lets somebody choose how far the overview looks back. One of the address that
// is none of the usual ones stands beside them.
func (v *visit) rangeChoice(over string) choice {
	out := choice{Label: v.t("overview.range")}
	offered := ranges
	if !slices.Contains(ranges, over) {
		offered = append(slices.Clone(ranges), over)
	}
	for _, r := range offered {
		out.Options = append(out.Options, tab{link{r, v.with("range", r)}, r == over})
	}
	return out
}

// storedCell is how many records came, and since when if that is not the whole time.
func (v *visit) storedCell(t *control.Throughput, over string) cell {
	if t == nil {
		return cell{}
	}
	out := count(t.Records)
	asked, err := source.ParseDuration(over)
	covered := v.now.Sub(time.Time(t.Since))
	if err == nil && covered < asked*9/10 {
		out.Small = v.t("overview.only_of", length(v.look.words, covered))
	}
	return out
}

func perHourCell(t *control.Throughput) cell {
	if t == nil {
		return cell{}
	}
	return count(int64(t.PerHour + 0.5))
}

// throttledCell is the share of requests that were answered 429.
func throttledCell(t *control.Throughput) cell {
	if t == nil || t.Sent == 0 {
		return cell{}
	}
	return text(fmt.Sprintf("%.1f", t.Throttled()*100))
}

// runsMarked is how many runs of a source the overview tells apart.
const runsMarked = 16

// lastRuns are the newest attempts of the time that is looked back over, one mark each, the
// oldest first.
func (c *Console) lastRuns(ctx context.Context, v *visit, code string, since time.Time) ([]mark, error) {
	var out []mark
	list, err := c.control.Runs(ctx, control.RunQuery{Source: code, Since: since, Page: control.Page{Limit: runsMarked}})
	if err != nil {
		return nil, err
	}
	for _, r := range slices.Backward(list.Runs) {
		family := control.RunFamily(harvest.RunState(r.Status))
		title := fmt.Sprintf("%s %d: %s, %s", v.t("run.run"), r.ID, v.stateWord(string(r.Status)), ago(v.look.words, r.StartedAt, v.now))
		out = append(out, mark{state{Family: family, Word: string(r.Status), Title: title}, v.path("/runs/%d", r.ID)})
	}
	return out, nil
}

// stateWord is a state in the visitor's language.
func (v *visit) stateWord(s string) string {
	return v.look.words.sayOr("state."+s, strings.ToLower(strings.ReplaceAll(s, "_", " ")))
}
