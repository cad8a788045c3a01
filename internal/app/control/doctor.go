package control

import (
	"context"
	"fmt"
	"time"

	"github.com/papertrace/patra/internal/app/role"
	"github.com/papertrace/patra/internal/app/sourcecheck"
)

// Instance is which program this is, and how it was told what to do.
type Instance struct {
	Build    Build
	Settings []Setting
	// Proxy is a variable of the environment that names a proxy for other programs, empty if none does.
	Proxy string
}

// Setting is a value that the program was given, and by whom. It holds no secret.
type Setting struct {
	Name  string `json:"name"`
	Value string `json:"value,omitempty"`
	// From is the flag or the variable that said so, or "default".
	From string `json:"from"`
}

// FromDefault is where a setting comes from that nobody has given.
const FromDefault = "default"

// DoctorStore reads what tells whether those who work, and the place where all is
// kept, are well.
type DoctorStore interface {
	// LeaseHolders lists who holds tasks, those first whose leases ran out longest ago.
	LeaseHolders(ctx context.Context, now time.Time, most int) ([]LeaseHolder, error)
	// Room is how much the store takes and how much is left beside it.
	Room(ctx context.Context) (StoreRoom, error)
}

// LeaseHolder is a process that holds tasks.
type LeaseHolder struct {
	Owner string
	// Held tasks are those whose lease has not run out; Expired ones did, the first of
	// them at ExpiredAt, and nobody has taken them over.
	Held, Expired int64
	ExpiredAt     time.Time
}

// StoreRoom is how many bytes the store takes, and how many are left where it is
// kept; FreeKnown only where that is this machine's own disk.
type StoreRoom struct {
	Bytes, Free int64
	FreeKnown   bool
}

// DoctorInfo is the status of a line that tells something and judges nothing.
const DoctorInfo sourcecheck.Status = "info"

// The parts that a doctor looks at, in their order.
const (
	partBuild    = "build"
	partConfig   = "config"
	partSources  = "sources"
	partStore    = "store"
	partSchema   = "schema"
	partClock    = "clock"
	partServices = "services"
	partLeases   = "leases"
	partDisk     = "disk"
	partKeys     = "credentials"
	partEvents   = "events"
	partContact  = "contact"
)

// needStore are the parts that cannot be looked at without a store, in their order.
var needStore = []string{partClock, partServices, partLeases, partDisk, partKeys, partEvents}

// Doctor is what was found to be well and what not, part by part. A part whose root
// is ill was not looked at, and says so.
type Doctor struct {
	Status sourcecheck.Status  `json:"status"`
	Groups []sourcecheck.Group `json:"groups"`
	// Settings are those of the process that looked.
	Settings []Setting     `json:"settings"`
	Summary  DoctorSummary `json:"summary"`
}

// DoctorSummary counts the lines by what they say.
type DoctorSummary struct {
	OK       int `json:"ok"`
	Info     int `json:"info"`
	Warnings int `json:"warnings"`
	Failed   int `json:"failed"`
	Skipped  int `json:"skipped"`
}

// Doctor looks whether this patra and its surroundings are well. It asks no source
// anything and changes nothing. board, if given, shows what runs in this process.
func (c *Control) Doctor(ctx context.Context, board *role.Board) (Doctor, error) {
	x := examine(c.instance)
	x.sources(c.packs)
	x.ok(partStore, "%s answers", c.store.DSN())
	have, need, err := c.store.Schema(ctx)
	if err != nil {
		return Doctor{}, err
	}
	if have != need {
		x.otherSchema(Schema{Store: c.store.DSN(), Have: have, Need: need})
		return x.over(), nil
	}
	x.ok(partSchema, "version %d, the one this patra works with", have)
	for _, look := range []func(context.Context, *examination) error{
		c.lookAtClock,
		func(ctx context.Context, x *examination) error { return c.lookAtServices(ctx, x, board) },
		c.lookAtDisk,
		c.lookAtCredentials,
		c.lookAtEvents,
	} {
		if err := look(ctx, x); err != nil {
			return Doctor{}, err
		}
	}
	return x.over(), nil
}

// DoctorWithoutStore is what can be told where the store cannot be opened: why, which
// is what has to be mended first. missing: there is none yet, and nobody said that
// there was.
func DoctorWithoutStore(i Instance, p Packs, why Problem, missing bool) Doctor {
	x := examine(i)
	x.sources(p)
	if missing {
		x.add(partStore, sourcecheck.Check{Status: DoctorInfo, Text: "there is no database yet: " + why.Title, Fix: "patra harvest SOURCE makes it"})
	} else {
		x.fail(partStore, why.Next, "%s [%s]", why.Title, why.Code)
	}
	x.skip(partStore, append([]string{partSchema}, needStore...)...)
	return x.over()
}

// DoctorOfSchema is what can be told of a store whose schema is another.
func DoctorOfSchema(i Instance, p Packs, s Schema) Doctor {
	x := examine(i)
	x.sources(p)
	x.ok(partStore, "%s answers", s.Store)
	x.otherSchema(s)
	return x.over()
}

// examination collects lines.
type examination struct {
	out    Doctor
	groups map[string]int
}

func examine(i Instance) *examination {
	x := &examination{out: Doctor{Settings: i.Settings}, groups: map[string]int{}}
	if x.out.Settings == nil {
		x.out.Settings = []Setting{}
	}
	b := i.Build
	x.ok(partBuild, "patra %s, commit %s, %s, %s/%s", b.Version, b.Commit, b.Go, b.OS, b.Arch)
	for _, s := range i.Settings {
		x.setting(s)
	}
	if i.Proxy != "" {
		x.add(partConfig, sourcecheck.Check{
			Status: DoctorInfo, Text: i.Proxy + " is set, and not followed: each source has its own proxy or none",
			Fix: "where a source is reached by it, name it as http.proxy in a copy of its pack: patra source apply FILE",
		})
	}
	return x
}

// settingContact is the name of the setting that holds an address of a person, which
// is not shown.
const settingContact = "contact"

func (x *examination) setting(s Setting) {
	value := s.Value
	switch {
	case s.Name == settingContact && s.From == FromDefault:
		x.add(partContact, sourcecheck.Check{
			Status: DoctorInfo, Text: "no e-mail address is told to sources; some allow less to those they cannot reach",
			Fix: "set PATRA_CONTACT, or use --contact",
		})
		return
	case s.Name == settingContact:
		x.ok(partContact, "an e-mail address is told to sources (%s)", s.From)
		return
	case value == "":
		value = "none"
	}
	if s.From == FromDefault {
		x.info(partConfig, "%s: %s (default)", s.Name, value)
		return
	}
	x.ok(partConfig, "%s: %s (%s)", s.Name, value, s.From)
}

func (x *examination) sources(p Packs) {
	if p == nil {
		return
	}
	packs, err := p.Load()
	if err != nil {
		x.fail(partSources, "patra source lint FILE shows each mistake with its line", "the source packs in %s cannot be used: %s", p.Folder(), err)
		return
	}
	x.ok(partSources, "%s can be read", Count(len(packs), "source pack"))
}

func (x *examination) otherSchema(s Schema) {
	if s.Have > s.Need {
		x.fail(partSchema, "use the patra that made it, or a newer one", "version %d, made by a newer patra: this one works with %d", s.Have, s.Need)
	} else {
		x.fail(partSchema, "patra db migrate", "version %d, and this patra works with %d", s.Have, s.Need)
	}
	x.skip(partSchema, needStore...)
}

func (x *examination) ok(part, format string, args ...any) {
	x.add(part, sourcecheck.Check{Status: sourcecheck.OK, Text: fmt.Sprintf(format, args...)})
}

func (x *examination) info(part, format string, args ...any) {
	x.add(part, sourcecheck.Check{Status: DoctorInfo, Text: fmt.Sprintf(format, args...)})
}

func (x *examination) warn(part, fix, format string, args ...any) {
	x.add(part, sourcecheck.Check{Status: sourcecheck.Warning, Text: fmt.Sprintf(format, args...), Fix: fix})
}

func (x *examination) fail(part, fix, format string, args ...any) {
	x.add(part, sourcecheck.Check{Status: sourcecheck.Failed, Text: fmt.Sprintf(format, args...), Fix: fix})
}

// skip says of parts that they were not looked at, because of the one that is ill.
func (x *examination) skip(root string, parts ...string) {
	for _, part := range parts {
		x.add(part, sourcecheck.Check{Status: sourcecheck.Skipped, Text: "not looked at: see " + root})
	}
}

func (x *examination) add(part string, line sourcecheck.Check) {
	at, known := x.groups[part]
	if !known {
		at = len(x.out.Groups)
		x.groups[part] = at
		x.out.Groups = append(x.out.Groups, sourcecheck.Group{Name: part, Status: DoctorInfo})
	}
	g := &x.out.Groups[at]
	g.Checks = append(g.Checks, line)
}

// over counts the lines and says how it is on the whole.
func (x *examination) over() Doctor {
	worst := map[sourcecheck.Status]int{DoctorInfo: 0, sourcecheck.OK: 1, sourcecheck.Skipped: 2, sourcecheck.Warning: 3, sourcecheck.Failed: 4}
	out := x.out
	out.Status = sourcecheck.OK
	for i := range out.Groups {
		g := &out.Groups[i]
		for _, line := range g.Checks {
			out.Summary.count(line.Status)
			if worst[line.Status] > worst[g.Status] {
				g.Status = line.Status
			}
		}
		if g.Status != sourcecheck.Skipped && worst[g.Status] > worst[out.Status] {
			out.Status = g.Status
		}
	}
	return out
}

func (s *DoctorSummary) count(status sourcecheck.Status) {
	switch status {
	case sourcecheck.OK:
		s.OK++
	case sourcecheck.Warning:
		s.Warnings++
	case sourcecheck.Failed:
		s.Failed++
	case sourcecheck.Skipped:
		s.Skipped++
	default:
		s.Info++
	}
}

// Ill reports whether something has to be mended.
func (d Doctor) Ill() bool { return d.Summary.Failed > 0 }
