package control_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/papertrace/patra/internal/app/registry"
	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/schedule"
)

// patient is a store that a doctor looks at.
type patient struct {
	control.Store
	off        time.Duration // of its clock
	have, need int64
	holders    []control.LeaseHolder
	room       control.StoreRoom
	standing   []schedule.Standing
	triggered  harvest.Triggered
	targets    []control.OutboxTarget
}

func (p *patient) OutboxTargets(context.Context) ([]control.OutboxTarget, error) {
	return p.targets, nil
}

func (p *patient) DSN() string { return "sqlite:patra.db" }

func (p *patient) Schema(context.Context) (have, need int64, err error) { return p.have, p.need, nil }

func (p *patient) Now(context.Context) (time.Time, error) { return time.Now().Add(p.off), nil }

func (p *patient) LeaseHolders(context.Context, time.Time, int) ([]control.LeaseHolder, error) {
	return p.holders, nil
}

func (p *patient) Room(context.Context) (control.StoreRoom, error) { return p.room, nil }

func (p *patient) Standing(context.Context) ([]schedule.Standing, error) { return p.standing, nil }

func (p *patient) LastTriggers(_ context.Context, _ string, jobs []string) (map[string]harvest.Triggered, error) {
	out := map[string]harvest.Triggered{}
	for _, job := range jobs {
		out[job] = p.triggered
	}
	return out, nil
}

func (p *patient) SourceStates(context.Context) (map[string]harvest.SourceState, error) {
	return nil, nil
}

func (p *patient) LastPlanned(context.Context, string, string) (harvest.Triggered, error) {
	return harvest.Triggered{}, nil
}

// shelf are packs that can be read, or not.
type shelf struct {
	control.Packs
	err error
}

func (s shelf) Load() (map[string]registry.Described, error) {
	return map[string]registry.Described{"s": {}}, s.err
}

func (s shelf) Folder() string { return "packs" }

var told = control.Instance{
	Build:    control.Build{Version: "1", Commit: "abc", Go: "go1", OS: "linux", Arch: "amd64"},
	Settings: []control.Setting{{Name: "db", Value: "sqlite:patra.db", From: "PATRA_DB"}, {Name: "lease", Value: "1m0s", From: control.FromDefault}, {Name: "contact", From: control.FromDefault}},
}

// statusOf is the status of a part, empty if it was not looked at.
func statusOf(d control.Doctor, part string) string {
	at := slices.IndexFunc(d.Groups, func(g control.CheckGroup) bool { return g.Name == part })
	if at < 0 {
		return ""
	}
	return string(d.Groups[at].Status)
}

func well() *patient {
	return &patient{have: 17, need: 17, room: control.StoreRoom{Bytes: 1 << 20, Free: 1 << 40, FreeKnown: true}}
}

// TestDoctor_NamesWhatIsIll: each part that is not well has a line that says so, with a
// fix, and the parts that are well stay well.
func TestDoctor_NamesWhatIsIll(t *testing.T) {
	hourly, err := schedule.ParseCron("@hourly")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, part, status, says string
		ill                      func(*patient, *shelf)
	}{
		{"nothing", "store", "ok", "answers", func(*patient, *shelf) {}},
		{"the clock behind", "clock", "warning", "1m0s behind", func(p *patient, _ *shelf) { p.off = time.Minute }},
		{"the clock ahead", "clock", "warning", "1m0s ahead", func(p *patient, _ *shelf) { p.off = -time.Minute }},
		{"an older schema", "schema", "failed", "version 16", func(p *patient, _ *shelf) { p.have = 16 }},
		{"a newer schema", "schema", "failed", "newer patra", func(p *patient, _ *shelf) { p.have = 18 }},
		{"a lease that ran out", "leases", "warning", "host/1", func(p *patient, _ *shelf) {
			p.holders = []control.LeaseHolder{{Owner: "host/1", Expired: 2, ExpiredAt: time.Now().Add(-time.Hour)}}
		}},
		{"a full disk", "disk", "failed", "1.0 KiB are left", func(p *patient, _ *shelf) { p.room.Free = 1 << 10 }},
		{"little room", "disk", "warning", "only 500.0 MiB", func(p *patient, _ *shelf) { p.room.Free = 500 << 20 }},
		{"a server", "disk", "info", "known to its server", func(p *patient, _ *shelf) { p.room.FreeKnown = false }},
		{"nobody to be told", "events", "info", "nobody is told", func(*patient, *shelf) {}},
		{"a target that is told", "events", "ok", "lake is told", func(p *patient, _ *shelf) {
			p.targets = []control.OutboxTarget{{Name: "lake", Kind: "file", Owner: "host/1", Backlog: 3}}
		}},
		{"a target that is out", "events", "warning", "connection refused", func(p *patient, _ *shelf) {
			p.targets = []control.OutboxTarget{{Name: "lake", Kind: "nats", Failures: 2, Error: "connection refused"}}
		}},
		{"a parked message", "events", "warning", "1 message, parked", func(p *patient, _ *shelf) {
			p.targets = []control.OutboxTarget{{Name: "lake", Kind: "nats", Parked: 1}}
		}},
		{"a target that nobody sends to", "events", "warning", "nobody sends to lake", func(p *patient, _ *shelf) {
			p.targets = []control.OutboxTarget{{Name: "lake", Kind: "nats", Backlog: 3}}
		}},
		{"a pack with mistakes", "sources", "failed", "a mistake", func(_ *patient, s *shelf) { s.err = errors.New("a mistake") }},
		{"a schedule that nobody begins", "services", "warning", "hourly was due", func(p *patient, _ *shelf) {
			since := time.Now().Add(-3 * time.Hour)
			p.standing = []schedule.Standing{{Name: "hourly", Source: "s", Operation: harvest.Update, Cron: hourly, Zone: time.UTC, Enabled: true, Since: since}}
		}},
	} {
		p := well()
		s := &shelf{}
		c.ill(p, s)
		ctl := control.New(control.Parts{Store: p, Packs: s, Quiet: quiet{}, Instance: told})
		d, err := ctl.Doctor(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		if statusOf(d, c.part) != c.status || d.Ill() != (c.status == "failed") {
			t.Errorf("%s: %s is %q, ill %v", c.name, c.part, statusOf(d, c.part), d.Ill())
		}
		lines := 0
		found := false
		for _, g := range d.Groups {
			for _, line := range g.Checks {
				lines++
				found = found || g.Name == c.part && strings.Contains(line.Text, c.says)
				if (line.Status == "warning" || line.Status == "failed") && (line.Fix == "" || g.Name != c.part) {
					t.Errorf("%s: %s says %+v", c.name, g.Name, line)
				}
			}
		}
		if n := d.Summary; !found || n.OK+n.Info+n.Warnings+n.Failed+n.Skipped != lines {
			t.Errorf("%s: %+v of %d lines: %+v", c.name, n, lines, d.Groups)
		}
		if c.part == "schema" && c.status == "failed" && statusOf(d, "clock") != "skipped" {
			t.Errorf("%s: what depends on it was looked at: %+v", c.name, d.Groups)
		}
	}
}

// TestDoctor_StopsAtTheRootCause: without a store one line has failed, and what depends
// on it is named and not judged. One that nobody asked for and is not there yet is no
// failure.
func TestDoctor_StopsAtTheRootCause(t *testing.T) {
	why := control.Problem{Code: "unreachable", Title: "nobody answers", Next: "start it"}
	d := control.DoctorWithoutStore(told, shelf{}, why, false)
	if !d.Ill() || d.Summary.Failed != 1 || d.Summary.Skipped != 7 || statusOf(d, "store") != "failed" || statusOf(d, "disk") != "skipped" {
		t.Errorf("%+v", d)
	}
	d = control.DoctorWithoutStore(told, shelf{}, why, true)
	if d.Ill() || statusOf(d, "store") != "info" || d.Status != "ok" {
		t.Errorf("%+v", d)
	}
}
