package alert

import (
	"context"
	"time"

	"github.com/papertrace/patra/internal/domain/harvest"
)

// Look tells what is known of all sources now.
type Look func(context.Context) (Facts, error)

// Store keeps alerts and what is to be sent about them. Every method is one
// transaction.
type Store interface {
	// UpdateAlerts hands judge the alerts there are, while nobody else may change them,
	// keeps the changes it returns, and a message for each target about each of which
	// something is to be told. now is the store's clock. judge may be called again: it
	// must not keep anything of an earlier call.
	UpdateAlerts(ctx context.Context, targets []Target, judge func(now time.Time, held []Alert) []Change) error
	// NoteQueues notes how many tasks wait now, for what is usual later.
	NoteQueues(ctx context.Context, looks []QueueLook) error
	// DueDelivery finds what is to be sent to a target now: the oldest message that
	// was not sent, if its time has come. So messages to a target stay in order, and one
	// that cannot be sent holds back those behind it.
	DueDelivery(ctx context.Context, target string) (Delivery, bool, error)
	// ClaimDelivery gives a message to one caller for a while, and reports whether it
	// is this one.
	ClaimDelivery(ctx context.Context, d Delivery, during time.Duration) (bool, error)
	// EndDelivery keeps what became of a message that was claimed.
	EndDelivery(ctx context.Context, d Delivery, o Outcome) error
}

// Delivery is a message on its way to a target.
type Delivery struct {
	ID       int64
	Alert    int64
	Target   string
	Message  Message
	Attempts int
	// Waited is how long ago it was to be sent first.
	Waited time.Duration
}

// Outcome is what became of a try to send a message.
type Outcome struct {
	Sent bool
	// Error is why it was not, RetryIn when it is tried again; 0: it is given up.
	Error   string
	RetryIn time.Duration
}

// QueueLook is how many tasks of a source and operation waited when it was looked.
type QueueLook struct {
	Source    string
	Operation harvest.Operation
	Waiting   int64
}

// Target is where messages go.
type Target struct {
	Name string
	// Kind is how they are sent: webhook, slack, dingtalk, feishu or mail.
	Kind string
}

// Sender sends messages.
type Sender interface {
	// Check says what is wrong with how targets are named, if anything is; there are
	// none then.
	Check() error
	Targets() []Target
	Send(ctx context.Context, target string, m Message) error
}
