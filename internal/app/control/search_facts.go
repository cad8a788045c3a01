package control

import (
	"time"

	"github.com/papertrace/patra/internal/domain/harvest"
)

// SearchFacts are what is to be told of a source of a search, as its plans had it: they
// are frozen when a run ends, so that a report is the same whatever is archived or
// changed later.
type SearchFacts struct {
	// Host is where the source is asked, Key the date by which it is read and Zone by whose
	// calendar.
	Host string `json:"host,omitempty"`
	// RecordType is what the source calls its records.
	RecordType string `json:"record_type,omitempty"`
	Key        string `json:"date,omitempty"`
	Zone       string `json:"zone,omitempty"`
	// Query is the selection in the form of this program, Values what the source is sent
	// for it, by the key that its pack gives each.
	Query  string            `json:"query,omitempty"`
	Values map[string]string `json:"values,omitempty"`
	// Plans are those that were made or worked on since the run before, DoneTo the one up
	// to which nothing is to be added any more.
	Plans  []SearchPlan   `json:"plans"`
	DoneTo harvest.PlanID `json:"done_to"`
	SearchNotRead
}

// SearchNotRead is what was found and is no record: how many items could not be read, how
// many ids the source gave no details of, and the first of both.
type SearchNotRead struct {
	Quarantined int64          `json:"quarantined"`
	BadIDs      int64          `json:"bad_ids"`
	Unread      []SearchUnread `json:"unread,omitempty"`
}

// SearchPlan is a plan of a selection and what it had come to.
type SearchPlan struct {
	Plan      harvest.PlanID    `json:"plan"`
	Operation harvest.Operation `json:"operation"`
	Status    harvest.PlanState `json:"status"`
	From      Time              `json:"from"`
	To        Time              `json:"to"`
	CreatedAt Time              `json:"created_at"`
	// Announced is how many records the source said that the window holds, nil if it did
	// not say.
	Announced *int64 `json:"announced,omitempty"`
	// Records are those of all pages, Came those of the walks that count: pages that were
	// read again stand in the first as often as they were read. Came is nil in what was
	// kept by a patra that did not tell them apart.
	Records  harvest.Counts  `json:"records"`
	Came     *harvest.Counts `json:"came,omitempty"`
	Requests int64           `json:"requests"`
	// Request is one of those that were sent, without what is secret.
	Request string `json:"request,omitempty"`
	// Fingerprint is that of the description of the source that was frozen in the plan.
	Fingerprint string `json:"fingerprint"`
}

// came are the records of the walks that count, as far as they are told apart.
func (p SearchPlan) came() harvest.Counts {
	if p.Came == nil {
		return p.Records
	}
	return *p.Came
}

// SearchUnread is one thing that was found and is no record.
type SearchUnread struct {
	Kind   string `json:"kind"` // quarantined or bad_id
	ID     string `json:"id,omitempty"`
	Code   string `json:"code"`
	Detail string `json:"detail,omitempty"`
}

// SelectionPlan is a plan of a selection as it is stored.
type SelectionPlan struct {
	ID          harvest.PlanID
	Operation   harvest.Operation
	Status      harvest.PlanState
	From, To    time.Time
	CreatedAt   time.Time
	Fingerprint string
	// Snapshot is the description of the source that the plan froze.
	Snapshot []byte
	BaseURL  string
	// Announced is what was counted for its slices; Counted is false if any was guessed.
	Announced int64
	Counted   bool
	// Records are those of all pages, Came those of the walks that count.
	Records  harvest.Counts
	Came     harvest.Counts
	Requests int64
	Request  string
}
