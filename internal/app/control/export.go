package control

import (
	"time"

	"github.com/papertrace/patra/internal/domain/harvest"
)

// ExportQuery says which records are wanted.
type ExportQuery struct {
	Provenance    string
	SinceRevision int64
	Raw           bool
}

// Exported is one record with its newest version and where it came from.
type Exported struct {
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
}
