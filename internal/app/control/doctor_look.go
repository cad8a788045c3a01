package control

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/papertrace/patra/internal/app/keyring"
	"github.com/papertrace/patra/internal/app/role"
	"github.com/papertrace/patra/internal/app/sourcecheck"
	"github.com/papertrace/patra/internal/domain/credential"
)

// clockOff is how far the clocks of this machine and of the store may be apart: what
// is more is seen in every "until" that people read.
const clockOff = 5 * time.Second

// lookAtClock holds this machine's clock against the store's, by which everything is
// decided. The store's never goes back: where both are one, a difference says that
// what is stored comes from a time that this machine has yet to reach.
func (c *Control) lookAtClock(ctx context.Context, x *examination) error {
	before := time.Now()
	is, err := c.store.Now(ctx)
	if err != nil {
		return err
	}
	ours := before.Add(time.Since(before) / 2)
	off := is.Sub(ours).Round(time.Second)
	switch {
	case off.Abs() <= clockOff:
		x.ok(partClock, "this machine and the store agree on the time, %s", Time(is.Truncate(time.Second)))
	case off > 0:
		x.warn(partClock, "set the clock of this machine by NTP", "this machine is %s behind the store, by whose clock everything is decided", off)
	default:
		x.warn(partClock, "set the clock of the database server by NTP", "this machine is %s ahead of the store, by whose clock everything is decided", -off)
	}
	return nil
}

// overdueBy is how late a schedule may begin before it is said that nobody begins it.
const overdueBy = 5 * time.Minute

// mostHolders is how many processes are named.
const mostHolders = 20

// lookAtServices tells who works, by the tasks they hold, and whether something lies
// there that nobody takes. A process that has nothing to do leaves no trace.
func (c *Control) lookAtServices(ctx context.Context, x *examination, board *role.Board) error {
	now, err := c.store.Now(ctx)
	if err != nil {
		return err
	}
	holders, err := c.store.LeaseHolders(ctx, now, mostHolders)
	if err != nil {
		return err
	}
	for _, s := range board.States() {
		if s.Runs {
			x.ok(partServices, "%s runs in this process", s.Name)
		} else {
			x.fail(partServices, "the log of this process says why", "%s does not run in this process: it failed and is begun again", s.Name)
		}
	}
	for _, h := range holders {
		if h.Held > 0 {
			x.ok(partServices, "%s works on %s", h.Owner, Count(int(h.Held), "task"))
		}
	}
	if err := c.lookForUntaken(ctx, x, now); err != nil {
		return err
	}
	if _, said := x.groups[partServices]; !said {
		x.info(partServices, "nothing is due, and nobody is at work")
	}
	x.leases(holders, now)
	return nil
}

// lookForUntaken says what is ready or due and nobody begins.
func (c *Control) lookForUntaken(ctx context.Context, x *examination, now time.Time) error {
	st, err := c.Status(ctx, "")
	if err != nil {
		return err
	}
	for _, s := range st.Sources {
		if s.Waiting != nil && s.Waiting.Reason == ReasonNoExecutor {
			x.warn(partServices, "patra serve", "%s of %s ready, and nobody takes it", counting(s.ready, "task"), s.Source)
		}
	}
	list, err := c.Schedules(ctx, "")
	if err != nil {
		return err
	}
	for _, s := range list.Schedules {
		late := s.Reason == "" && s.OverdueSince != nil && now.Sub(time.Time(*s.OverdueSince)) > overdueBy
		if late {
			x.warn(partServices, "patra serve", "schedule %s was due at %s and nobody began it", s.Name, s.OverdueSince)
		}
	}
	if list.Unread != "" {
		x.fail(partSources, "patra schedule list", "some schedules cannot be read: %s", list.Unread)
	}
	return nil
}

// leases tells of tasks whose owner has not renewed them and which nobody took over.
func (x *examination) leases(holders []LeaseHolder, now time.Time) {
	stuck := false
	for _, h := range holders {
		if h.Expired == 0 {
			continue
		}
		stuck = true
		x.warn(partLeases, "patra serve takes them over",
			"%s of %s: the lease ran out %s ago and nobody took over", Count(int(h.Expired), "task"), cmp.Or(h.Owner, "nobody known"), now.Sub(h.ExpiredAt).Round(time.Second))
	}
	if !stuck {
		x.ok(partLeases, "none is stuck")
	}
}

// Bounds on what is left on the disk: below the first a page may not fit any more,
// below the second it is time to make room.
const (
	leastFree = 64 << 20
	lowFree   = 1 << 30
)

func (c *Control) lookAtDisk(ctx context.Context, x *examination) error {
	room, err := c.store.Room(ctx)
	if err != nil {
		return err
	}
	const fix = "make room on the disk of the database"
	taken := inBytes(room.Bytes)
	switch {
	case !room.FreeKnown:
		x.info(partDisk, "the database takes %s; how much is left is known to its server", taken)
	case room.Free < leastFree:
		x.fail(partDisk, fix, "%s are left beside the database, which takes %s: nothing more may fit", inBytes(room.Free), taken)
	case room.Free < max(lowFree, room.Bytes/10):
		x.warn(partDisk, fix, "only %s are left beside the database, which takes %s", inBytes(room.Free), taken)
	default:
		x.ok(partDisk, "the database takes %s, %s are left", taken, inBytes(room.Free))
	}
	return nil
}

// inBytes writes a size by its greatest unit.
func inBytes(n int64) string {
	const unit = 1024
	value := float64(n)
	units := []string{"B", "KiB", "MiB", "GiB", "TiB"}
	at := 0
	for value >= unit && at < len(units)-1 {
		value /= unit
		at++
	}
	if at == 0 {
		return fmt.Sprintf("%d B", n)
	}
	return fmt.Sprintf("%.1f %s", value, units[at])
}

// soonEnds is how long before its end a credential is told of.
const soonEnds = 14 * 24 * time.Hour

// lookAtCredentials looks whether secrets are where they should be, as far as this
// process may look, and which credentials end soon. It shows no secret.
func (c *Control) lookAtCredentials(ctx context.Context, x *examination) error {
	if c.keys == nil {
		return nil
	}
	all, now, err := c.keys.List(ctx, "")
	if err != nil {
		return err
	}
	well := 0
	for _, cred := range all {
		line, is := c.credentialTrouble(cred, now)
		switch {
		case is:
			x.add(partKeys, line)
		case cred.InForce(now):
			well++
		}
	}
	if well > 0 {
		x.ok(partKeys, "%s can be read and used", Count(well, "credential"))
	}
	if _, said := x.groups[partKeys]; !said {
		x.info(partKeys, "there are none; sources that need one say so: patra source check SOURCE")
	}
	return nil
}

// credentialTrouble says what is wrong with a credential, if anything is.
func (c *Control) credentialTrouble(cred credential.Credential, now time.Time) (sourcecheck.Check, bool) {
	name := cred.Pool + " " + cred.Name
	warning := func(fix, format string, args ...any) (sourcecheck.Check, bool) {
		return sourcecheck.Check{Status: sourcecheck.Warning, Text: name + ": " + fmt.Sprintf(format, args...), Fix: fix}, true
	}
	rotate := fmt.Sprintf("patra credential rotate %s %s --reason TEXT", cred.Pool, cred.Name)
	switch word := credentialWord(cred, now); word {
	case CredentialEnded, CredentialDisabled, CredentialFuture:
		return sourcecheck.Check{}, false
	case CredentialResting:
		return warning(rotate, "the source refused it %s in a row; it rests until %s", times(cred.Refused), Time(cred.RefusedUntil.Truncate(time.Second)))
	}
	_, err := c.vault.Resolve(cred)
	switch {
	case errors.Is(err, keyring.ErrAbsent):
		return warning("put it there, or ask the process that serves: GET /api/v1/doctor", "there is no secret at its place for this process")
	case err != nil:
		return sourcecheck.Check{Status: sourcecheck.Failed, Text: name + ": " + err.Error(), Fix: rotate}, true
	case !cred.To.IsZero() && cred.To.Sub(now) < soonEnds:
		return warning(rotate, "ends at %s", Time(cred.To))
	}
	return sourcecheck.Check{}, false
}

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

// lookAtEvents tells who is told of revisions, and whether they are.
func (c *Control) lookAtEvents(ctx context.Context, x *examination) error {
	if err := c.events.Check(); err != nil {
		x.fail(partEvents, "patra outbox --help has the kinds of targets", "%s", err)
	}
	list, err := c.OutboxTargets(ctx)
	if err != nil {
		return err
	}
	for _, t := range list.Targets {
		behind := Count(int(t.Backlog), "revision")
		switch {
		case t.Kind == feedKind:
			x.ok(partEvents, "the feed is read, last at %s", t.AskedAt)
		case t.Failures > 0:
			x.warn(partEvents, "patra outbox list", "%s takes nothing, %s behind it: %s", t.Name, behind, t.Error)
		case t.Parked > 0:
			x.warn(partEvents, "patra outbox list --parked", "%s refused %s, parked", t.Name, Count(int(t.Parked), "message"))
		case t.State == TargetUnserved:
			x.warn(partEvents, "patra serve relay", "nobody sends to %s, %s behind it", t.Name, behind)
		case t.State == TargetNew:
			x.info(partEvents, "%s is configured and was not added yet: patra serve does, or patra outbox target add %s --reason TEXT", t.Name, t.Name)
		default:
			x.ok(partEvents, "%s is told, %s behind", t.Name, behind)
		}
	}
	if len(list.Targets) == 0 {
		x.info(partEvents, "nobody is told of revisions, so that none are written down")
	}
	return nil
}
