package sqlstore_test

import (
	"errors"
	"fmt"
	"reflect"
	"time"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/schedule"
	"github.com/papertrace/patra/internal/domain/source"
)

// standing is a standing selection with everything said.
func (l *Lab) standing(name, cron string) schedule.Standing {
	l.Helper()
	line, err := schedule.ParseCron(cron)
	if err != nil {
		l.Fatal(err)
	}
	zone, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		l.Fatal(err)
	}
	return schedule.Standing{
		Name: name, Source: prov, Operation: harvest.Backfill, Query: `tiab:"insulin" AND year:2020..`, Cron: line, Zone: zone, Priority: 200, Enabled: true,
		Wants: schedule.Wants{
			From: schedule.Bound{Ago: 30 * 24 * time.Hour}, To: schedule.Bound{At: time.Date(2020, 1, 2, 3, 4, 5, 6000, time.UTC)},
			OlderThan: time.Hour, MappingChanged: true, Signals: true, Max: 7,
		},
	}
}

// standingRows: several standing selections of one source are kept side by side,
// every part of them; setting one again replaces that one, removing it leaves the
// others and a trace, and every change is in the audit, or nothing is changed.
func standingRows(l *Lab) {
	read := func() map[string]schedule.Standing {
		l.Helper()
		all, err := l.Store.Standing(l.ctx())
		if err != nil {
			l.Fatal(err)
		}
		out := map[string]schedule.Standing{}
		for _, s := range all {
			if s.Since.IsZero() {
				l.Errorf("%s counts from no time", s.Name)
			}
			s.Since = time.Time{}
			out[s.Name] = s
		}
		return out
	}
	by := func(action, name string) source.Audit {
		return source.Audit{Actor: "lab", Reason: "because", Action: action, Object: "schedule/" + name}
	}
	set := func(s schedule.Standing) {
		l.Helper()
		if err := l.Store.SetSchedule(l.ctx(), s, by("SCHEDULE_SET", s.Name)); err != nil {
			l.Fatal(err)
		}
	}
	want := map[string]schedule.Standing{}
	for i, name := range []string{"a", "b", prov + "/HARVEST"} {
		s := l.standing(name, fmt.Sprintf("%d 4 * * mon", i))
		set(s)
		want[name] = s
	}
	if got := read(); !reflect.DeepEqual(got, want) {
		l.Errorf("kept\n%+v, want\n%+v", got, want)
	}
	other := l.standing("b", "@hourly")
	other.Operation = harvest.Harvest
	other.Query = ""
	other.Wants = schedule.Wants{}
	other.Enabled = false
	set(other)
	want["b"] = other
	if got := read(); !reflect.DeepEqual(got, want) {
		l.Errorf("replaced\n%+v, want\n%+v", got, want)
	}
	if err := l.Store.RemoveSchedule(l.ctx(), "a", by("SCHEDULE_REMOVE", "a")); err != nil {
		l.Fatal(err)
	}
	l.Unchanged("removing what is not there", func() {
		for _, name := range []string{"a", "never"} {
			if err := l.Store.RemoveSchedule(l.ctx(), name, by("SCHEDULE_REMOVE", name)); !errors.Is(err, harvest.ErrNotFound) {
				l.Errorf("%s: %v", name, err)
			}
		}
	})
	a := want["a"]
	delete(want, "a")
	if got := read(); !reflect.DeepEqual(got, want) {
		l.Errorf("after one was removed\n%+v, want\n%+v", got, want)
	}
	if n := l.Int(`SELECT COUNT(*) FROM ing_schedule WHERE schedule_name='a' AND removed_at IS NOT NULL`); n != 1 {
		l.Errorf("%d traces of the one that was removed", n)
	}
	set(a)
	want["a"] = a
	if got := read(); !reflect.DeepEqual(got, want) {
		l.Errorf("set again\n%+v, want\n%+v", got, want)
	}
	lines, err := l.Store.Audits(l.ctx(), "schedule/a", 9)
	if err != nil || len(lines) != 3 || lines[0].Action != "SCHEDULE_SET" || lines[1].Action != "SCHEDULE_REMOVE" || lines[2].Reason != "because" {
		l.Errorf("audit: %+v, %v", lines, err)
	}
}

// plansNotBegun: the newest plan of a namespace is not begun until something of it is
// stored, and unfinished until none of its tasks is left; those of other namespaces
// do not count, nor do plans that were given up.
func plansNotBegun(l *Lab) {
	told := func(want harvest.PlanID) {
		l.Helper()
		got, is, err := l.Store.NotBegun(l.ctx(), ns)
		if err != nil || is != (want != 0) || is && got != want {
			l.Errorf("not begun: plan %d (%v), %v; want %d", got, is, err, want)
		}
	}
	unfinished := func(id harvest.PlanID, want bool) {
		l.Helper()
		is, err := l.Store.Unfinished(l.ctx(), id)
		if err != nil || is != want {
			l.Errorf("plan %d unfinished: %v, %v", id, is, err)
		}
	}
	told(0)
	other := harvest.ActivityNamespace(prov, harvest.Backfill, "updated", "act")
	if _, err := l.Store.SavePlan(l.ctx(), Draft(other, 0, 2)); err != nil {
		l.Fatal(err)
	}
	told(0)
	first := l.Plan(0, 2)
	told(first.ID)
	unfinished(first.ID, true)
	jobs := l.leaseOf(harvest.Harvest, 2)
	told(first.ID) // taken, and nothing stored
	l.Walk(jobs[0])
	told(0)
	unfinished(first.ID, true)
	second := l.Plan(2, 4)
	told(second.ID)
	l.Walk(jobs[1])
	unfinished(first.ID, false)
	told(second.ID)
	refused := l.leaseOf(harvest.Harvest, 2)
	l.Refuse(refused[0])
	l.Refuse(refused[1])
	told(0) // gaps hold no newer window
	unfinished(second.ID, true)
	l.Cancel(control.CancelScope{Plan: second.ID})
	told(0)
	unfinished(second.ID, false)
}
