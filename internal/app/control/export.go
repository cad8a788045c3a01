package control

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"time"
	"unicode/utf8"

	"github.com/papertrace/patra/internal/domain/harvest"
)

// ExportQuery says which records are wanted. What is empty asks for all.
type ExportQuery struct {
	Sources  []string
	Statuses []harvest.RecordStatus
	// Plan is the one that brought the record, or a revision of it.
	Plan harvest.PlanID
	// Since is when the record was stored or changed here, at the earliest.
	Since         time.Time
	SinceRevision int64
	Raw           bool
	// Selections, if any, are those of which a record must be a member.
	Selections []SelectionPart
}

// SelectionPart are the records of a selection that were first seen in (After, Until], and of
// these, where Since is set, the ones that were changed at their source since then. One that
// was seen before and was changed into that time only after After counts as first seen then.
// A record that does not tell when it was changed is among them. Zero times are no bounds.
type SelectionPart struct {
	Selection    harvest.SelectionID
	Since        time.Time
	After, Until time.Time
}

// Exported is one record with its newest version and where it came from.
type Exported struct {
	Number               int64
	Provenance, Type, ID string
	Status               harvest.RecordStatus
	MergedInto           string
	Revision             int64
	UpdatedAt            time.Time
	RawSHA256            string
	Fields               []byte
	Raw                  []byte
	Plan                 harvest.PlanID
	Slice                harvest.SliceID
	Task                 harvest.TaskID
	Run                  harvest.RunID
	Batch                harvest.BatchID
	MappingVersion       string
	FetchedAt            time.Time
	// Work is set where the record stands for several.
	Work *ExportedWork
}

// ExportLine is one line of JSONL. The record as it came is a string that holds
// exactly its bytes, JSON included: embedded as a value it would lose its white
// space, and with it the hash.
type ExportLine struct {
	Source     string          `json:"source"`
	Type       string          `json:"type"`
	ID         string          `json:"id"`
	Status     string          `json:"status"`
	MergedInto string          `json:"merged_into,omitempty"`
	Revision   int64           `json:"revision"`
	UpdatedAt  *Time           `json:"updated_at,omitempty"`
	RawSHA256  string          `json:"raw_sha256"`
	Fields     json.RawMessage `json:"fields"`
	Provenance ExportOrigin    `json:"provenance"`
	Work       *ExportedWork   `json:"work,omitempty"`
	Raw        *string         `json:"raw,omitempty"`
	RawBase64  []byte          `json:"raw_base64,omitempty"` // bytes that are not UTF-8
}

// ExportOrigin is where a record came from, down to the page.
type ExportOrigin struct {
	Plan           int64  `json:"plan"`
	Slice          int64  `json:"slice"`
	Task           int64  `json:"task"`
	Run            int64  `json:"run"`
	Batch          int64  `json:"batch"`
	MappingVersion string `json:"mapping_version"`
	FetchedAt      Time   `json:"fetched_at"`
}

// lineOf is a record as a line.
func lineOf(e *Exported) ExportLine {
	line := ExportLine{
		Source: e.Provenance, Type: e.Type, ID: e.ID, Status: string(e.Status), MergedInto: e.MergedInto,
		Revision: e.Revision, RawSHA256: e.RawSHA256, Fields: bytes.Clone(e.Fields),
		Provenance: ExportOrigin{int64(e.Plan), int64(e.Slice), int64(e.Task), int64(e.Run), int64(e.Batch), e.MappingVersion, Time(e.FetchedAt)}, Work: e.Work,
	}
	if !e.UpdatedAt.IsZero() {
		line.UpdatedAt = new(Time(e.UpdatedAt))
	}
	switch {
	case e.Raw == nil:
	case utf8.Valid(e.Raw):
		line.Raw = new(string(e.Raw))
	default:
		line.RawBase64 = e.Raw
	}
	return line
}

func writeLine(w io.Writer, e *Exported) error {
	b, err := marshalPlain(lineOf(e))
	if err != nil {
		return fmt.Errorf("record %s %s: %w", e.Provenance, e.ID, err)
	}
	_, err = w.Write(append(b, '\n'))
	return err
}

// marshalPlain is json.Marshal that leaves <, > and & as they are.
func marshalPlain(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}
