package harvest

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/papertrace/patra/internal/domain/problem"
)

// A trigger is written down before anything is done for it (R73). Whoever writes it
// down holds a claim on the row, and renews it while the plan is made. A planner that
// dies leaves the row RECEIVED, and when its claim has run out another takes it over.
const (
	// ClaimTTL is how long a claim on a trigger holds unless it is renewed.
	ClaimTTL = time.Minute
	// MaxClaims is how many planners in a row may leave a trigger unanswered. More are
	// not sent after it: it is the trigger that ends them.
	MaxClaims = 5
)

// Receipt names the row of a trigger and the claim on it. It is zero for a trigger that
// was not written down.
type Receipt struct {
	Instance InstanceID
	Fence    int64 // grows with every planner that takes the row
}

// IsZero reports whether the trigger was not written down.
func (r Receipt) IsZero() bool { return r.Instance == 0 }

// ClaimedError says that another planner is at a trigger.
type ClaimedError struct {
	Until time.Time // its claim holds, if it is not renewed
}

func (e *ClaimedError) Error() string {
	return "another planner is at this trigger, until " + FormatInstant(e.Until) + " at least"
}

// ErrNobodyToAsk: a person was to be asked before so much is read, and the one who wanted
// it is gone.
var ErrNobodyToAsk = problem.New("a person was to be asked before so much is read, and is gone", problem.Problem{
	Code: "declined", Kind: problem.Usage, Next: "run the same command again and answer, or give --yes",
})

// LeftTrigger is a trigger that was received and not answered, and that nobody is at.
type LeftTrigger struct {
	Trigger Trigger // its Receipt is that of the planner that left it
	Claims  int     // how many planners in a row have left it
}

// wish is a trigger as it is kept until it is answered: all that it takes to plan it,
// besides the columns of its row.
type wish struct {
	Endpoint string    `json:"endpoint,omitempty"`
	Activity string    `json:"activity,omitempty"`
	From     time.Time `json:"from,omitzero"`
	To       time.Time `json:"to,omitzero"`
	Query    string    `json:"query,omitempty"`
	BaseURL  string    `json:"baseUrl,omitempty"`
	Pick     *wishPick `json:"pick,omitempty"`
	Priority int       `json:"priority,omitzero"`
	Pacing   Pacing    `json:"pacing,omitzero"`
	Watches  CursorID  `json:"watches,omitzero"`
	Trace    string    `json:"traceparent,omitempty"`
	Shown    string    `json:"shown,omitempty"`
	Asks     bool      `json:"asks,omitzero"` // a person was to be asked first
}

type wishPick struct {
	IDs            []string  `json:"ids,omitempty"`
	SeenBefore     time.Time `json:"seenBefore,omitzero"`
	MappingChanged bool      `json:"mappingChanged,omitzero"`
	Signals        bool      `json:"signals,omitzero"`
	Max            int       `json:"max,omitzero"`
}

// Wish is what a trigger asks for, as it is kept until it is answered.
func (t Trigger) Wish() (string, error) {
	w := wish{
		Endpoint: t.Endpoint, Activity: t.Activity, From: t.From, To: t.To, Query: t.Query, BaseURL: t.BaseURL, Priority: t.Priority, Pacing: t.Pacing,
		Watches: t.Watches, Trace: t.Trace, Shown: t.Shown, Asks: t.Approve != nil,
	}
	if t.Operation == Update {
		w.Pick = new(wishPick(t.Pick))
	}
	b, err := json.Marshal(w)
	if err != nil {
		return "", fmt.Errorf("marshal trigger: %w", err)
	}
	return string(b), nil
}

// TakeWish fills in what [Trigger.Wish] kept.
func (t *Trigger) TakeWish(text string) error {
	var w wish
	err := json.Unmarshal([]byte(text), &w)
	if err != nil {
		return fmt.Errorf("read the wish of a trigger: %w", err)
	}
	t.Endpoint = w.Endpoint
	t.Activity = w.Activity
	t.From = w.From
	t.To = w.To
	t.Query = w.Query
	t.BaseURL = w.BaseURL
	t.Priority = w.Priority
	t.Pacing = w.Pacing
	t.Watches = w.Watches
	t.Trace = w.Trace
	t.Shown = w.Shown
	if w.Pick != nil {
		t.Pick = CandidatePick(*w.Pick)
	}
	if w.Asks {
		t.Approve = func(Forecast) error { return ErrNobodyToAsk }
	}
	return nil
}

// WishHash is equal for triggers that a person gives who runs a command again: of one
// source, endpoint and operation, for the same selection, activity and address. The times may
// differ, since they are often told from now.
func (t Trigger) WishHash() string {
	return HashKey(t.Provenance, t.Endpoint, string(t.Operation), t.Query, t.Activity, t.BaseURL)
}
