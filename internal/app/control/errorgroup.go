package control

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/source"
)

// ErrorGroup is what went wrong in one way at one endpoint of a source, counted as
// it came: an outage that fails ten thousand pages is one group.
type ErrorGroup struct {
	ID       int64         `json:"id"`
	Level    harvest.Level `json:"level"`
	Source   string        `json:"source"`
	Endpoint string        `json:"endpoint,omitempty"`
	Code     harvest.Code  `json:"code"`
	// Path is where in an item something is wrong; absent if it is not about items.
	Path  string             `json:"path,omitempty"`
	Count int64              `json:"count"`
	First Time               `json:"first_at"`
	Last  Time               `json:"last_at"`
	State harvest.ErrorState `json:"state"`
	// Since is when it came into that state, and DecidedBy and Reason who put it
	// there and why; absent while nobody has.
	Since      Time   `json:"state_since"`
	DecidedBy  string `json:"decided_by,omitempty"`
	Reason     string `json:"reason,omitempty"`
	MutedUntil *Time  `json:"muted_until,omitempty"`
	// Sample is what the newest said, without secrets and mail addresses, and Batch
	// the newest page that it was about.
	Sample string          `json:"sample,omitempty"`
	Batch  harvest.BatchID `json:"batch,omitzero"`
	// Means is what the code stands for, where it is one of patra's own.
	Means string `json:"means,omitempty"`
	// Healing is what patra did about it by itself, and how often.
	Healing []Healed `json:"healing"`
	// Next is what a person can do.
	Next string `json:"next,omitempty"`
}

// Healed is something that patra did by itself.
type Healed struct {
	Did   harvest.Remedy `json:"did"`
	Times int64          `json:"times"`
}

// remedies say in words what was done.
var remedies = map[harvest.Remedy]string{
	harvest.QueuedAgain:   "put back into the queue",
	harvest.WalkedAgain:   "begun again from the first page",
	harvest.CutSmaller:    "cut into smaller slices",
	harvest.LeftGap:       "left as a gap that is tried again later",
	harvest.PutAside:      "item put aside",
	harvest.SourceStopped: "source stopped until a person has looked",
}

// Words says what was done.
func (h Healed) Words() string {
	times := ""
	if h.Times > 1 {
		times = fmt.Sprintf(" %d times", h.Times)
	}
	return remedies[h.Did] + times
}

// ErrorFamily is the family of an error group's state.
func ErrorFamily(s harvest.ErrorState) Family {
	switch s {
	case harvest.ErrorAcknowledged:
		return Partial
	case harvest.ErrorMuted:
		return Off
	case harvest.ErrorResolved:
		return OK
	default: // OPEN and CAME_BACK
		return Remarked
	}
}

// ErrorQuery says which groups are wanted.
type ErrorQuery struct {
	Source string
	Level  harvest.Level
	Code   harvest.Code
	// State is the one that is wanted. Empty: those that somebody may have to do
	// something about, or with All every one.
	State harvest.ErrorState
	All   bool
	// Since leaves those out that were last seen before.
	Since time.Time
	Page
}

// ErrorList are groups, the one last seen first.
type ErrorList struct {
	Errors []ErrorGroup `json:"errors"`
	// Next is where the next page begins, empty on the last.
	Next string `json:"next,omitempty"`
}

// ErrorView is a group and how often it was seen of late.
type ErrorView struct {
	ErrorGroup
	// LastDay are the hours of the last day in which it was seen.
	LastDay []ErrorHour `json:"last_day"`
}

// ErrorHour is how often a group was seen in an hour.
type ErrorHour struct {
	Hour  Time  `json:"hour"`
	Count int64 `json:"count"`
}

// ErrorPage is a query as the store answers it: those last seen before a time, or at
// that time with a smaller number.
type ErrorPage struct {
	ErrorQuery
	States       []harvest.ErrorState // empty: all
	Now          time.Time
	BeforeTime   time.Time // zero: from the newest on
	BeforeNumber int64
	Limit        int
}

// ErrorStore keeps error groups. They are counted by the transactions that meet a
// fault; nobody looks for them among the pages.
type ErrorStore interface {
	// ErrorGroups reads groups, the one last seen first.
	ErrorGroups(ctx context.Context, p ErrorPage) ([]ErrorGroup, error)
	// ErrorGroup is [harvest.ErrNotFound] if there is none of that number.
	ErrorGroup(ctx context.Context, id int64) (ErrorGroup, error)
	// ErrorHours reads how often a group was seen, by the hour.
	ErrorHours(ctx context.Context, id int64, from time.Time) ([]ErrorHour, error)
	// TopErrors sums up hours, the most frequent first.
	TopErrors(ctx context.Context, q TopQuery) ([]TopError, error)
	// DecideError puts a group into a state and leaves the line of the audit.
	DecideError(ctx context.Context, d ErrorDecision, a source.Audit) error
}

// Errors lists error groups.
func (c *Control) Errors(ctx context.Context, q ErrorQuery) (ErrorList, error) {
	if err := c.known(ctx, q.Source); err != nil {
		return ErrorList{}, err
	}
	now, err := c.store.Now(ctx)
	if err != nil {
		return ErrorList{}, err
	}
	p := ErrorPage{ErrorQuery: q, Now: now, Limit: q.Limit + 1}
	switch {
	case q.State != "":
		p.States = []harvest.ErrorState{q.State}
	case !q.All:
		p.States = []harvest.ErrorState{harvest.ErrorOpen, harvest.ErrorCameBack, harvest.ErrorAcknowledged}
	}
	p.BeforeTime, p.BeforeNumber, err = parsePlace(q.After)
	if err != nil {
		return ErrorList{}, err
	}
	rows, err := c.store.ErrorGroups(ctx, p)
	if err != nil {
		return ErrorList{}, err
	}
	out := ErrorList{Errors: rows}
	if len(rows) > q.Limit {
		out.Errors = rows[:q.Limit]
		last := rows[q.Limit-1]
		out.Next = fmt.Sprintf("%d.%d", time.Time(last.Last).UnixMicro(), last.ID)
	}
	for i := range out.Errors {
		c.explainGroup(&out.Errors[i], now)
	}
	return out, nil
}

// parsePlace reads a place in a list that is ordered by time and number.
func parsePlace(after string) (at time.Time, number int64, err error) {
	if after == "" {
		return at, 0, nil
	}
	micros, rest, _ := strings.Cut(after, ".")
	us, err := strconv.ParseInt(micros, 10, 64)
	if err != nil {
		return at, 0, ErrPage
	}
	at = time.UnixMicro(us).UTC()
	number, err = strconv.ParseInt(rest, 10, 64)
	if err != nil || at.Year() < 1 || at.Year() > 9999 {
		return at, 0, ErrPage
	}
	return at, number, nil
}

// Error shows an error group.
func (c *Control) Error(ctx context.Context, id int64) (ErrorView, error) {
	now, err := c.store.Now(ctx)
	if err != nil {
		return ErrorView{}, err
	}
	g, err := c.store.ErrorGroup(ctx, id)
	if err != nil {
		return ErrorView{}, err
	}
	c.explainGroup(&g, now)
	out := ErrorView{ErrorGroup: g}
	out.LastDay, err = c.store.ErrorHours(ctx, id, now.Add(-24*time.Hour))
	return out, err
}

// explainGroup says of a group what its code means and what to do, and how it stands
// at this moment.
func (c *Control) explainGroup(g *ErrorGroup, now time.Time) {
	if g.MutedUntil != nil {
		g.State = g.State.At(now, time.Time(*g.MutedUntil))
	}
	if g.State != harvest.ErrorMuted {
		g.MutedUntil = nil
	}
	g.Sample = c.clean(g.Sample)
	g.Reason = c.clean(g.Reason)
	m, known := g.Code.Meaning()
	if known {
		g.Means = m.Means
	}
	switch {
	case g.Level == harvest.Corrupt && g.Code != harvest.ProblemNoDetails:
		g.Next = fmt.Sprintf("`patra quarantine list --source %s --code %s` names the items; when the cause is mended, `patra quarantine refetch --source %s --dry-run`",
			g.Source, g.Code, g.Source)
	case g.Level == harvest.Fatal || !known:
		g.Next = harvest.Fault{Level: g.Level, Code: g.Code}.Next(g.Source)
	default:
		g.Next = strings.ReplaceAll(m.Do, "NAME", g.Source)
	}
}
