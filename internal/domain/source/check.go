package source

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/papertrace/patra/internal/domain/harvest"
)

// Operations in the order in which people read them.
var Operations = []harvest.Operation{harvest.Harvest, harvest.Backfill, harvest.Update}

// Check compiles a definition for every operation it allows, as its rows would
// be picked, and returns everything found, each finding once. A source without
// a date of change allows no HARVEST (R57), one by ids that grow no BACKFILL (R75);
// that alone is no mistake. A finding
// in a part that one operation has of its own carries the path of that part.
// deep, if given, looks at what compiled.
func Check(def Definition, vars map[string]string, deep func(*Spec) Violations) (Violations, []Warning) {
	def = def.Canonical()
	var bad Violations
	var warn []Warning
	for op, o := range def.Tasks {
		if _, ok := harvest.ParseOperation(string(op)); !ok {
			bad = append(bad, Violation{Path: "tasks." + strings.ToLower(string(op)), Text: "is not an operation: known are harvest, backfill, update"})
		}
		bad = append(bad, o.strayLines(op)...)
	}
	whole := def.contents()
	for _, op := range Operations {
		d, _ := whole.At(op, whole.ReadAt)
		if op == harvest.Harvest && d.Window != nil && d.Window.UpdatedAt == UpdatedNever {
			if d.Schedule != nil && d.Schedule.Harvest != "" {
				bad = append(bad, Violation{
					Path: def.Tasks[op].path(op, "schedule.harvest"),
					Text: "window.updatedAt is NONE, so no HARVEST can be scheduled: the source gives no date of change; schedule a backfill or an update instead",
				})
			}
			continue
		}
		if op == harvest.Backfill && d.Window != nil && d.Window.Strategy == harvest.StrategyID {
			continue
		}
		if op != harvest.Update && d.OnlyByIDs() {
			only := Warning{Path: "window", Text: "not given, and there is a DETAIL endpoint: the source is read by ids only, by patra refresh"}
			if !slices.Contains(warn, only) {
				warn = append(warn, only)
			}
			continue
		}
		spec, warnings, err := Compile(d, Trigger{Operation: op, Vars: vars})
		violations, _ := errors.AsType[Violations](err)
		for _, name := range d.besides(op, err) {
			_, more, err := Compile(d, Trigger{Operation: op, Endpoint: name, Vars: vars})
			found, _ := errors.AsType[Violations](err)
			violations = append(violations, found...)
			warnings = append(warnings, more...)
		}
		if err == nil && deep != nil {
			violations = append(violations, deep(spec)...)
		}
		if err == nil && op == harvest.Update && spec.Detail == nil && d.Schedule != nil && d.Schedule.Update != "" {
			violations = append(violations, Violation{Path: "schedule.update", Text: "the source has no endpoint with usage DETAIL, so single records cannot be read again"})
		}
		for _, v := range violations {
			v.Path = def.Tasks[op].path(op, v.Path)
			if !slices.ContainsFunc(bad, v.same) {
				bad = append(bad, v)
			}
		}
		for _, w := range warnings {
			w.Path = def.Tasks[op].path(op, w.Path)
			if !slices.Contains(warn, w) {
				warn = append(warn, w)
			}
		}
	}
	return bad, warn
}

// besides are the endpoints that an operation goes through only where they are named. Where
// the usual way is not understood they are not looked at.
func (d Definition) besides(op harvest.Operation, usual error) []string {
	names := d.EndpointsOf(op)
	if usual != nil || len(names) < 2 {
		return nil
	}
	return names
}

// OnlyByIDs reports whether a source lists nothing: it has no window, and can be
// asked for single records.
func (d Definition) OnlyByIDs() bool {
	return d.Window == nil && slices.ContainsFunc(d.Endpoints, func(e Endpoint) bool { return e.Usage == UsageDetail })
}

// strayLines finds lines in the schedule of one operation that belong to another.
func (o *Overrides) strayLines(op harvest.Operation) (bad Violations) {
	if o == nil || o.Schedule == nil {
		return nil
	}
	for _, l := range []struct {
		of         harvest.Operation
		path, line string
	}{{harvest.Harvest, "harvest", o.Schedule.Harvest}, {harvest.Update, "update", o.Schedule.Update}} {
		if l.line != "" && l.of != op {
			bad = append(bad, Violation{Path: fmt.Sprintf("tasks.%s.schedule.%s", strings.ToLower(string(op)), l.path), Text: fmt.Sprintf("is the schedule of %s alone: put the line into schedule or tasks.%s.schedule", op, l.path)})
		}
	}
	return bad
}

// contents are the rows a definition asks for, as if they were in force.
func (d Definition) contents() Contents {
	at := time.Unix(0, 0).UTC()
	c := Contents{Provenance: d.Provenance(), Rows: d.Rows(at), ReadAt: at}
	for i := range c.Rows {
		c.Rows[i].ID = int64(i + 1)
	}
	return c
}

// same reports whether two violations say the same of the same place, for
// whichever operation.
func (v Violation) same(o Violation) bool {
	general := func(s string) string {
		for _, op := range Operations {
			s = strings.ReplaceAll(s, " for "+string(op), "")
		}
		return s
	}
	return v.Path == o.Path && general(v.Text) == general(o.Text)
}

// path puts a finding where the operation's own part is.
func (o *Overrides) path(op harvest.Operation, path string) string {
	if o == nil {
		return path
	}
	own := false
	switch part := strings.FieldsFunc(path, func(r rune) bool { return r == '.' || r == '[' }); {
	case len(part) == 0:
	case part[0] == "endpoints" && len(part) > 1:
		own = slices.ContainsFunc(o.Endpoints, func(e Endpoint) bool {
			p := join("endpoints", e.Name)
			return path == p || strings.HasPrefix(path, p+".")
		})
	default:
		v := reflect.ValueOf(*o)
		for i := range v.NumField() {
			own = own || v.Type().Field(i).Tag.Get("yaml") == part[0] && !v.Field(i).IsZero()
		}
	}
	if own {
		return "tasks." + strings.ToLower(string(op)) + "." + path
	}
	return path
}
