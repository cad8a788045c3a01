package harvest

import (
	"fmt"
	"time"

	"github.com/papertrace/patra/internal/domain/problem"
)

// Instant normalises t to what patra stores: UTC, truncated to the microsecond.
func Instant(t time.Time) time.Time { return t.UTC().Truncate(time.Microsecond) }

// TimeLayout writes an instant so that text sorts as time.
const TimeLayout = "2006-01-02T15:04:05.000000Z"

// FormatInstant writes t in [TimeLayout].
func FormatInstant(t time.Time) string { return Instant(t).Format(TimeLayout) }

// shortInstant writes t for people, with a fraction only where there is one.
func shortInstant(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.999999Z") }

// ErrEmptyWindow is returned for a window that holds no instant.
var ErrEmptyWindow = problem.New("window is empty: from must be before to", problem.Problem{
	Code: "empty_window", Kind: problem.Usage,
	Next: "choose --from before --to; both are RFC 3339 or a date, the end is not part of the window",
})

// Window is a half-open interval [From, To) of instants.
type Window struct {
	From time.Time `json:"from"`
	To   time.Time `json:"to"`
}

// NewWindow returns [from, to), refusing one that is empty.
func NewWindow(from, to time.Time) (Window, error) {
	w := Window{From: Instant(from), To: Instant(to)}
	if !w.From.Before(w.To) {
		return Window{}, fmt.Errorf("[%s, %s): %w", FormatInstant(from), FormatInstant(to), ErrEmptyWindow)
	}
	return w, nil
}

// Empty reports whether the window holds no instant.
func (w Window) Empty() bool { return !w.From.Before(w.To) }

// Duration is the length of the window.
func (w Window) Duration() time.Duration { return w.To.Sub(w.From) }

// Contains reports whether t lies in [From, To).
func (w Window) Contains(t time.Time) bool { return !t.Before(w.From) && t.Before(w.To) }

func (w Window) String() string {
	return "[" + FormatInstant(w.From) + ", " + FormatInstant(w.To) + ")"
}

// Halve cuts w in two at a grain of the calendar, or reports false if a half
// would be shorter than minStep.
func Halve(w Window, c Calendar, minStep time.Duration) (a, b Window, ok bool) {
	m, ok := c.Mid(w)
	if !ok {
		return Window{}, Window{}, false
	}
	a, b = Window{w.From, m}, Window{m, w.To}
	// A calendar day may last 23 hours; it is still a whole step of one day.
	if c.Precision != PrecisionDay && (a.Duration() < minStep || b.Duration() < minStep) {
		return Window{}, Window{}, false
	}
	return a, b, true
}
