package relay

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/url"
	"strconv"
	"time"

	"github.com/papertrace/patra/internal/domain/cloudevent"
	"github.com/papertrace/patra/internal/domain/harvest"
)

// Revision is one of a record, as it was then.
type Revision struct {
	// Record is the number of its row, No the place of the revision in the stream; 0 if
	// it has none.
	Record int64
	No     int64
	// Attempts is how often it was refused.
	Attempts int
	// Waits: an earlier revision of the record has not been taken yet. Passes: one was
	// parked, and need not be sent any more once this one was taken.
	Waits  bool
	Passes bool
	// Unreadable is why nothing can be said of the revision: what is stored of it cannot be
	// read. It is [ErrDamaged] if it never can.
	Unreadable error

	Source, Type, ID string
	Number           int64
	Effect           string
	Status           harvest.RecordStatus
	MergedInto       string
	UpdatedAt        time.Time
	RawSHA256        string
	Fields           []byte
	Plan             harvest.PlanID
	Slice            harvest.SliceID
	Task             harvest.TaskID
	Run              harvest.RunID
	Batch            harvest.BatchID
	MappingVersion   string
	FetchedAt        time.Time
	StoredAt         time.Time
}

// Message is a revision on its way to a target.
type Message struct {
	Revision
	// EventID names the message, and Key the record it is about: messages of one key
	// are sent one after the other.
	EventID string
	Key     string
	// Body is the event in the JSON format of CloudEvents.
	Body []byte
}

// data is what an event says of a record: the line of an export, and what became of it.
type data struct {
	Source     string          `json:"source"`
	Type       string          `json:"type"`
	ID         string          `json:"id"`
	Status     string          `json:"status"`
	MergedInto string          `json:"merged_into,omitempty"`
	Revision   int64           `json:"revision"`
	UpdatedAt  time.Time       `json:"updated_at,omitzero"`
	RawSHA256  string          `json:"raw_sha256"`
	Effect     string          `json:"effect"`
	Fields     json.RawMessage `json:"fields"`
	Provenance origin          `json:"provenance"`
}

// origin is where a record came from, down to the page.
type origin struct {
	Plan           harvest.PlanID  `json:"plan"`
	Slice          harvest.SliceID `json:"slice"`
	Task           harvest.TaskID  `json:"task"`
	Run            harvest.RunID   `json:"run"`
	Batch          harvest.BatchID `json:"batch"`
	MappingVersion string          `json:"mapping_version"`
	FetchedAt      time.Time       `json:"fetched_at"`
}

// KeyOf names a record among all that one instance holds. It is plain ASCII without
// spaces, whatever ids its source gives.
func KeyOf(source, kind, id string) string {
	return url.PathEscape(source) + "/" + url.PathEscape(kind) + "/" + url.PathEscape(id)
}

// MessageOf writes a revision as an event.
func MessageOf(r Revision) (Message, error) {
	m := Message{Revision: r, Key: KeyOf(r.Source, r.Type, r.ID)}
	if r.Unreadable != nil {
		return m, fmt.Errorf("what is stored cannot be read: %w", r.Unreadable)
	}
	number := strconv.FormatInt(r.Number, 10)
	m.EventID = m.Key + "/" + number
	e := cloudevent.New(m.EventID, "patra/"+url.PathEscape(r.Source), "patra.record."+r.Effect, r.Type+"/"+r.ID, r.StoredAt.UTC(), data{
		Source: r.Source, Type: r.Type, ID: r.ID, Status: string(r.Status), MergedInto: r.MergedInto, Revision: r.Number,
		UpdatedAt: r.UpdatedAt.UTC(), RawSHA256: r.RawSHA256, Effect: r.Effect, Fields: r.Fields,
		Provenance: origin{
			Plan: r.Plan, Slice: r.Slice, Task: r.Task, Run: r.Run, Batch: r.Batch,
			MappingVersion: r.MappingVersion, FetchedAt: r.FetchedAt.UTC(),
		},
	})
	e.PartitionKey = m.Key
	e.Sequence = number
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(e); err != nil {
		return m, fmt.Errorf("what is stored is no event: %w: %w", ErrDamaged, err)
	}
	m.Body = bytes.TrimSuffix(b.Bytes(), []byte("\n"))
	return m, nil
}
