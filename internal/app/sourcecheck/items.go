package sourcecheck

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/source"
)

// window: is what came back what was asked for?
func (j *job) window(l *lines) {
	if j.unread(l, Window) {
		return
	}
	r, w := j.read, j.Spec.Window
	switch {
	case j.Spec.ByID():
		l.ok("read %s, the last ids there are", r.ids)
	case !j.From.IsZero() || !j.To.IsZero():
		l.ok("read %s, as asked for", span(r.span))
		if r.span.To.After(r.horizon) {
			l.warn("choose --to at or before "+stamp(r.cal.Floor(r.horizon)), "the window is not closed: records may still come until now less %s", lasting(w.SafetyLag.D().Seconds()))
		}
	default:
		l.ok("read %s, the last closed day before now less %s", span(r.span), lasting(w.SafetyLag.D().Seconds()))
	}
	if len(r.items) == 0 {
		l.warn("choose a window that holds some: --from T --to T", "it holds no records: neither dates nor fields could be looked at")
		return
	}
	if w.UpdatedAt != source.UpdatedInItem {
		l.ok("updatedAt: taken from the window, items carry none")
		return
	}
	j.inside(l)
}

// inside holds the items' update times against the window.
func (j *job) inside(l *lines) {
	r := j.read
	w := j.Spec.Window
	fig := &j.rep.Figures
	var times []time.Time
	outside := ""
	for _, it := range r.items {
		switch {
		case it.UpdatedAt.IsZero():
			continue
		case r.span.Contains(it.UpdatedAt):
			fig.InWindow++
		default:
			fig.OutsideWindow++
			if outside == "" {
				outside = fmt.Sprintf("%s of %s", it.UpdatedAt.UTC().Format(time.RFC3339Nano), it.ID)
			}
		}
		times = append(times, it.UpdatedAt)
	}
	path := fmt.Sprintf("endpoints.%s.response.updatedAt (%s)", j.Spec.Items().Name, paths(j.Spec.Items().Response.Updated()))
	n := len(times)
	switch {
	case n == 0:
		l.fail("correct "+path, "updatedAt: found in none of %d items", len(r.items))
		return
	case j.Spec.ByID():
		l.ok("updatedAt: found in %d of %d items", n, len(r.items))
		return
	case j.Spec.Paging.NewestFirst:
		l.ok("updatedAt: %d of %d inside the window; the list cannot be asked for one, and what lies outside is left out", fig.InWindow, n)
	case fig.InWindow == 0:
		l.fail("let the filter and "+path+" name the same date ("+w.Key+"), and check window.zone and window.bound",
			"updatedAt: none of %d lies in the window, such as %s", n, outside)
		return
	case fig.OutsideWindow > 0:
		l.warn("do the filter and "+path+" name the same date? such items are stored, but may be missed when they change",
			"updatedAt: %d of %d lie outside the window, such as %s", fig.OutsideWindow, n, outside)
	default:
		l.ok("updatedAt: all of %d inside the window, %s to %s", n, stamp(slices.MinFunc(times, time.Time.Compare)), stamp(slices.MaxFunc(times, time.Time.Compare)))
	}
	j.precision(l, times)
	j.order(l, times)
}

// precision compares the grain of the dates with the declared one.
func (j *job) precision(l *lines, times []time.Time) {
	declared := j.Spec.Window.Precision
	whole := harvest.Calendar{Precision: harvest.PrecisionDay, Zone: j.read.cal.Zone}
	days := !slices.ContainsFunc(times, func(t time.Time) bool { return !whole.Floor(t).Equal(t) })
	switch {
	case days && declared != harvest.PrecisionDay && len(times) > 1:
		l.warn("if the source tells days only: window.precision: DAY", "precision: %s is declared, but all dates are whole days", declared)
	case !days && declared == harvest.PrecisionDay:
		l.ok("precision: windows are cut by DAY, dates are finer")
	default:
		l.ok("precision: %s, as declared", declared)
	}
}

// order tells in which order the dates came.
func (j *job) order(l *lines, times []time.Time) {
	if len(times) < 2 || j.Spec.TwoPhase() {
		return
	}
	seen := "no"
	switch {
	case slices.IsSortedFunc(times, time.Time.Compare):
		seen = "ascending"
	case slices.IsSortedFunc(times, func(a, b time.Time) int { return b.Compare(a) }):
		seen = "descending"
	}
	declared := j.Spec.Paging.Order
	if declared == "" {
		l.ok("order: %s order of dates seen, none is relied on", seen)
		return
	}
	l.ok("order: %s declared, %s order of dates seen", declared, seen)
}

func paths(picks []source.Pick) string {
	var out []string
	for _, p := range picks {
		switch {
		case p.Path != "":
			out = append(out, p.Path)
		case len(p.All) > 0:
			out = append(out, strings.Join(p.All, " + "))
		case p.Parts != nil:
			parts := slices.DeleteFunc([]string{p.Parts.List, p.Parts.Year, p.Parts.Month, p.Parts.Day}, func(s string) bool { return s == "" })
			out = append(out, strings.Join(parts, " + "))
		}
	}
	return strings.Join(out, ", ")
}

// enough is how many items must lack a field before its path is doubted.
const enough = 5

// common are fields that nearly every record of nearly every source has.
var common = []string{"title", "authors", "published", "type", "journal", "doi", "pmid"}

// mapping: what became of the items?
func (j *job) mapping(l *lines) {
	if j.unread(l, Mapping) {
		return
	}
	r, fig := j.read, &j.rep.Figures
	fig.Items, fig.Statuses = len(r.items), map[string]int{}
	if len(r.items) == 0 {
		*l = append(*l, Check{Status: Skipped, Text: "skipped: the window holds no records"})
		return
	}
	bad := map[harvest.Problem]int{}
	first := map[harvest.Problem]harvest.Item{}
	for _, it := range r.items {
		if it.Problem == nil {
			fig.Statuses[string(it.Status)]++
			continue
		}
		fig.Quarantined++
		p := harvest.Problem{Code: it.Problem.Code, Path: it.Problem.Path}
		bad[p]++
		if bad[p] == 1 {
			first[p] = it
		}
	}
	j.kept(l, bad, first)
	for _, status := range slices.Sorted(maps.Keys(fig.Statuses)) {
		if status != string(harvest.RecordActive) {
			l.ok("%d of them %s", fig.Statuses[status], strings.ToLower(status))
		}
	}
	j.rep.Fields = coverage(j.Spec.Mapping.Fields, r.items)
	var none []string
	for _, c := range j.rep.Fields {
		switch {
		case c.Found > 0 || c.Of == 0:
		case c.Of >= enough && slices.Contains(common, c.Field):
			l.warn(fmt.Sprintf("is the path of mapping.fields.%s right? --show http shows an item", c.Field), "%s: found in none of %d items at %s", c.Field, c.Of, c.Paths)
		default:
			none = append(none, c.Field)
		}
	}
	if len(none) > 0 {
		l.ok("in none of the items read, which may be as it should: %s", strings.Join(none, ", "))
	}
}

// kept tells how many items become records and why others do not.
func (j *job) kept(l *lines, bad map[harvest.Problem]int, first map[harvest.Problem]harvest.Item) {
	all, q := len(j.read.items), j.rep.Figures.Quarantined
	if q == 0 {
		l.ok("all of %s can be kept", count(int64(all), "item"))
		return
	}
	fix := "look at the items: such go to quarantine, the others are kept"
	say := l.warn
	if q == all || q >= 20 && q*5 > all { // what a harvest would refuse as another schema (R32)
		fix, say = "correct the paths named below in the pack, or see what the provider changed; --show http shows an item", l.fail
	}
	say(fix, "%d of %d items would go to quarantine:", q, all)
	for _, p := range slices.SortedFunc(maps.Keys(bad), func(a, b harvest.Problem) int {
		return cmp.Or(bad[b]-bad[a], cmp.Compare(a.Code, b.Code), strings.Compare(a.Path, b.Path))
	}) {
		it := first[p]
		name := it.ID
		if name == "" {
			name = shorten(string(it.Raw), 60)
		}
		l.detail(fmt.Sprintf("%d x %s at %s (%s), such as %s", bad[p], p.Code, p.Path, it.Problem.Detail, name))
	}
}

// coverage counts the values of every mapped field.
func coverage(fields []source.Field, items []harvest.Item) []Coverage {
	out := make([]Coverage, len(fields))
	at := map[string]*Coverage{}
	for i, f := range fields {
		out[i] = Coverage{Field: f.Name, Paths: fieldPaths(f)}
		at[f.Name] = &out[i]
	}
	n := 0
	for _, it := range items {
		var have map[string]json.RawMessage
		if fields := it.Mapped(); len(fields) == 0 || json.Unmarshal(fields, &have) != nil {
			continue
		}
		n++
		for name, v := range have {
			if c := at[name]; c != nil && !void(v) {
				c.Found++
				if c.Found == 1 {
					c.Example = example(v)
				}
			}
		}
	}
	for i := range out {
		out[i].Of = n
		if n > 0 {
			out[i].Percent = float64(out[i].Found*1000/n) / 10
		}
	}
	return out
}

func void(v json.RawMessage) bool {
	switch string(bytes.TrimSpace(v)) {
	case "", "null", `""`, "[]", "{}":
		return true
	}
	return false
}

func example(v json.RawMessage) string {
	var text string
	if json.Unmarshal(v, &text) != nil {
		text = string(v)
	}
	return shorten(text, 48)
}

func fieldPaths(f source.Field) string {
	all := slices.Concat(f.Count, f.Each)
	if p := paths(f.From); p != "" {
		all = append(all, p)
	}
	for _, e := range f.Entries {
		all = append(all, paths(e.From))
	}
	return strings.Join(all, ", ")
}
