package source

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/papertrace/patra/internal/domain/harvest"
)

// Scope of a row: the whole source, or one operation of it.
type Scope string

// The scopes.
const (
	ScopeSource Scope = "SOURCE"
	ScopeTask   Scope = "TASK"
)

// Slot is what a row fills: one dimension, for the source or for one of its
// operations, and for named dimensions one name.
type Slot struct {
	Dimension Dimension
	Scope     Scope
	Task      harvest.Operation // of TASK only
	Name      string
}

func (s Slot) String() string {
	out := string(s.Dimension)
	if s.Name != "" {
		out += " " + s.Name
	}
	if s.Scope == ScopeTask {
		out += " (" + string(s.Task) + ")"
	}
	return out
}

// Row is one piece of a source's description, in force in [From, To).
type Row struct {
	Slot
	ID   int64
	From time.Time
	To   time.Time // zero: until further notice
	// Supersedes is the row this one replaces; only with that one may its
	// interval overlap (R46).
	Supersedes int64
	// Body is a pointer to the dimension's config.
	Body any
	// BySQL: no patra wrote the row. What it leaves out is as the source's pack has it.
	BySQL bool `json:"-"`
	// OfPack: no row says it, but the source's pack.
	OfPack bool `json:"-"`
}

// InForce reports whether the row holds at an instant.
func (r Row) InForce(at time.Time) bool {
	return !r.From.After(at) && (r.To.IsZero() || r.To.After(at))
}

// Never reports whether the row was taken back before it began.
func (r Row) Never() bool { return !r.To.IsZero() && !r.To.After(r.From) }

// Overlaps reports whether two rows are ever in force together.
func (r Row) Overlaps(o Row) bool {
	return !r.Never() && !o.Never() && (r.To.IsZero() || r.To.After(o.From)) && (o.To.IsZero() || o.To.After(r.From))
}

// SameBody reports whether two rows say the same, key by key.
func (r Row) SameBody(o Row) bool {
	a, err := Values(r.Dimension, r.Body)
	if err != nil {
		return false
	}
	b, err := Values(o.Dimension, o.Body)
	return err == nil && slices.Equal(a, b)
}

// Provenance is the source itself: what does not depend on scope or time.
type Provenance struct {
	ID         int64
	Code       string
	Name       string
	Homepage   string
	BaseURL    string
	Zone       string
	RecordType string
	Identity   string
	// Origin is SHIPPED, FILE, API or SQL, OriginHash the pack it was applied from.
	Origin     string
	OriginHash string
}

// Audit is who does something, to what, and why.
type Audit struct {
	Actor   string
	Action  string
	Object  string
	Reason  string
	Preview string
}

// Actions of lines of the audit that a change of a source's rows leaves.
const (
	ActionApply    = "SOURCE_APPLY"
	ActionSchedule = "SOURCE_SCHEDULE"
	ActionRollback = "SOURCE_ROLLBACK"
)

// ChangeActions are all of them.
var ChangeActions = []string{ActionApply, ActionSchedule, ActionRollback}

// Contents is everything the registry knows of a source, read at one instant.
type Contents struct {
	Provenance Provenance
	Rows       []Row
	// ReadAt is the store's time of the reading; one per compile (R46).
	ReadAt time.Time
}

// CheckRows checks rows before they are written, against those already there
// and among themselves: scope and task fit, intervals are not empty, and none
// overlaps another in its slot but the one it supersedes. All findings at once.
func CheckRows(have, add []Row) Violations {
	var bad Violations
	fail := func(r Row, format string, args ...any) {
		bad = append(bad, Violation{Path: r.Slot.String(), Text: fmt.Sprintf(format, args...)})
	}
	for i, r := range add {
		switch {
		case r.Scope == ScopeTask && r.Task == "":
			fail(r, "a TASK row needs the operation it is for")
		case r.Scope == ScopeSource && r.Task != "":
			fail(r, "a SOURCE row is for every operation, yet names %s", r.Task)
		case r.Scope != ScopeTask && r.Scope != ScopeSource:
			fail(r, "scope %q is neither SOURCE nor TASK", r.Scope)
		}
		if r.Dimension.Named() != (r.Name != "") {
			fail(r, "name %q: endpoints have one, other dimensions have none", r.Name)
		}
		if r.From.IsZero() {
			fail(r, "has no start")
		}
		if !r.To.IsZero() && !r.To.After(r.From) {
			fail(r, "ends at %s, before it begins", harvest.FormatInstant(r.To))
		}
		for _, o := range slices.Concat(have, add[:i]) {
			if o.Slot != r.Slot || !o.Overlaps(r) || (r.Supersedes != 0 && r.Supersedes == o.ID) || (o.Supersedes != 0 && o.Supersedes == r.ID) {
				continue
			}
			fail(r, "overlaps row %d, in force from %s; it may overlap only the row it supersedes", o.ID, harvest.FormatInstant(o.From))
		}
	}
	return bad
}

// Choice is the row picked for a slot, and why.
type Choice struct {
	Dimension Dimension
	Name      string
	Row       *Row // nil: none is in force, the platform's default holds
	// Fallback: the operation has no row of its own, the source's was taken.
	Fallback bool
	// Rivals are other rows in force in the same slot; the newest won.
	Rivals []int64
	Why    string
	// Passed are the other rows about the same, the newest first.
	Passed []Passed
}

// Choose takes for every dimension, and for every name of the named ones, the
// one row in force at an instant: TASK before SOURCE, then the newest start,
// then the highest id (R44, R45). Nothing is merged between rows.
func Choose(rows []Row, op harvest.Operation, at time.Time) []Choice {
	var out []Choice
	for _, d := range Dimensions() {
		for _, name := range names(rows, d) {
			out = append(out, choose(rows, d, name, op, at))
		}
	}
	return out
}

func names(rows []Row, d Dimension) []string {
	if !d.Named() {
		return []string{""}
	}
	var out []string
	for _, r := range rows {
		if r.Dimension == d {
			out = append(out, r.Name)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func choose(rows []Row, d Dimension, name string, op harvest.Operation, at time.Time) Choice {
	c := Choice{Dimension: d, Name: name}
	var found []Row
	for _, r := range rows {
		if r.Dimension == d && r.Name == name && r.InForce(at) && (r.Scope == ScopeSource || r.Task == op) {
			found = append(found, r)
		}
	}
	if len(found) == 0 {
		c.Why = "no row in force: the platform's default"
		c.Passed = passedOver(rows, c, op, at)
		return c
	}
	slices.SortFunc(found, func(a, b Row) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), b.From.Compare(a.From), cmp.Compare(b.ID, a.ID))
	})
	c.Row = &found[0]
	for _, r := range found[1:] {
		if r.Scope == c.Row.Scope {
			c.Rivals = append(c.Rivals, r.ID)
		}
	}
	switch {
	case c.Row.OfPack:
		c.Why = "no row in force: as the source's pack has it"
	case c.Row.Scope == ScopeTask:
		c.Why = fmt.Sprintf("row %d is for %s", c.Row.ID, op)
	default:
		c.Fallback = hasTask(rows, d, name, op)
		c.Why = fmt.Sprintf("row %d is the source's", c.Row.ID)
		if c.Fallback {
			c.Why += fmt.Sprintf("; %s has rows of its own, but none in force", op)
		}
	}
	if len(c.Rivals) > 0 {
		c.Why += fmt.Sprintf("; it is newer than %v, which are in force as well", c.Rivals)
	}
	c.Passed = passedOver(rows, c, op, at)
	return c
}

func rank(r Row) int {
	if r.Scope == ScopeTask {
		return 0
	}
	return 1
}

func hasTask(rows []Row, d Dimension, name string, op harvest.Operation) bool {
	return slices.ContainsFunc(rows, func(r Row) bool {
		return r.Dimension == d && r.Name == name && r.Scope == ScopeTask && r.Task == op
	})
}
