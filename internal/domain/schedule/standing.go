package schedule

import (
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/papertrace/patra/internal/domain/harvest"
)

// Standing is a selection of a source that is asked for by itself, again and again.
// A source may have several, each with a name, a line and the cursor of what it
// selects. Packs suggest some; those have the names that [SuggestedName] gives them.
type Standing struct {
	Name      string
	Source    string
	Operation harvest.Operation
	// Query is the selection in the text form, empty for everything.
	Query string
	Cron  Cron
	Zone  *time.Location
	// Priority is in place of the operation's own, if not 0.
	Priority int
	Wants    Wants
	Enabled  bool
	// Suggested: a pack says so, and no row of its own.
	Suggested bool
	// Since is when it was set or resumed: times before do not count.
	Since time.Time
}

// Wants is what an operation needs to be told beside the selection.
type Wants struct {
	// From and To bound the window of a BACKFILL.
	From Bound `json:"from,omitzero"`
	To   Bound `json:"to,omitzero"`
	// An UPDATE reads again what any of these takes: records not seen for so long,
	// made by another mapping, or signalled; at most Max of them, if that is not 0.
	OlderThan      time.Duration `json:"older_than_ns,omitzero"`
	MappingChanged bool          `json:"mapping_changed,omitzero"`
	Signals        bool          `json:"signals,omitzero"`
	Max            int           `json:"max,omitzero"`
	// Endpoint is the one it goes through, empty for the source's own choice.
	Endpoint string `json:"endpoint,omitempty"`
	// Pacing is how slowly it is done, if not as the source allows.
	Pacing harvest.Pacing `json:"pacing,omitzero"`
}

// Bound is an end of a window: an instant, or how long before the time at which the
// line came.
type Bound struct {
	At  time.Time
	Ago time.Duration
}

// Fixed reports whether the bound is an instant.
func (b Bound) Fixed() bool { return !b.At.IsZero() }

// For is the instant that the bound means for a line that came at due.
func (b Bound) For(due time.Time) time.Time {
	if b.Fixed() {
		return b.At
	}
	return due.Add(-b.Ago)
}

// MarshalText implements encoding.TextMarshaler.
func (b Bound) MarshalText() ([]byte, error) {
	if b.Fixed() {
		return []byte(harvest.FormatInstant(b.At)), nil
	}
	return []byte("-" + b.Ago.String()), nil
}

// UnmarshalText implements encoding.TextUnmarshaler.
func (b *Bound) UnmarshalText(text []byte) (err error) {
	ago, is := strings.CutPrefix(string(text), "-")
	if is {
		b.Ago, err = time.ParseDuration(ago)
		return err
	}
	b.At, err = time.Parse(harvest.TimeLayout, string(text))
	return err
}

// SuggestedName is the name of the line that a pack suggests for an operation of
// its source.
func SuggestedName(code string, op harvest.Operation) string { return code + "/" + string(op) }

// SplitName tells which source and operation a name belongs to if it is one that
// packs suggest.
func SplitName(name string) (code string, op harvest.Operation, suggested bool) {
	code, word, has := strings.Cut(name, "/")
	if !has {
		return "", "", false
	}
	op, known := harvest.ParseOperation(word)
	return code, op, known && code != ""
}

// CanonicalName writes a name as it is kept: the operation of a suggested one in
// capitals.
func CanonicalName(name string) string {
	name = strings.TrimSpace(name)
	code, op, suggested := SplitName(name)
	if suggested {
		return SuggestedName(code, op)
	}
	return name
}

var ownName = regexp.MustCompile(`^[a-z0-9][a-z0-9._-]{0,62}$`)

// CheckName refuses what cannot be the name of a standing selection.
func CheckName(name string) error {
	_, _, suggested := SplitName(name)
	if suggested || ownName.MatchString(name) {
		return nil
	}
	return fmt.Errorf("%q cannot be the name of a schedule: use up to 63 small letters, digits, dots, dashes and underscores, such as insulin-new", name)
}

// Due is the latest time in (since, now] at which the line came. Earlier ones that
// were missed are made up by it.
func (s Standing) Due(since, now time.Time) (time.Time, bool) { return s.Cron.Last(since, now, s.Zone) }

// Next is when the line comes next.
func (s Standing) Next(now time.Time) (time.Time, bool) { return s.Cron.Next(now, s.Zone) }

// Rolls reports whether the window moves on with every time, so that each time is an
// activity of its own.
func (s Standing) Rolls() bool {
	return s.Operation == harvest.Backfill && !(s.Wants.From.Fixed() && s.Wants.To.Fixed())
}

// OneAtATime reports whether a second plan has to wait until the first is done. What
// a HARVEST has left out of a plan is in the next; an activity has plans of its own.
func (s Standing) OneAtATime() bool { return s.Operation == harvest.Update || s.Rolls() }

// activityTime is how activities are told apart by the time at which they were due.
const activityTime = "2006-01-02T15:04Z"

// Activity names what begins at a time: the same time is the same activity. A
// BACKFILL of a fixed window is one activity however often it is begun, until its
// upper end or its selection is another; with an earlier beginning it goes further
// back.
func (s Standing) Activity(due time.Time) string {
	_, _, suggested := SplitName(s.Name)
	switch {
	case s.Operation == harvest.Harvest:
		return ""
	case suggested:
		return strings.ToLower(string(s.Operation)) + "-" + due.UTC().Format(activityTime)
	case s.Rolls() || s.Operation == harvest.Update:
		return s.Name + "-" + due.UTC().Format(activityTime)
	}
	return s.Name + "-" + harvest.HashKey(harvest.FormatInstant(s.Wants.To.At), s.Query)[:8]
}

// Window is what a BACKFILL that was due at an instant reads. One that rolls also
// reads what lies between it and the one before, which was due at last, if there
// was one: times at which it could not begin leave no hole.
func (s Standing) Window(due, last time.Time) (from, to time.Time) {
	from = s.Wants.From.For(due)
	to = s.Wants.To.For(due)
	if s.Rolls() && !last.IsZero() {
		reached := s.Wants.To.For(last)
		if reached.Before(from) {
			from = reached
		}
	}
	return from, to
}
