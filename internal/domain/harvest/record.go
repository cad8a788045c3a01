package harvest

import (
	"bytes"
	"cmp"
	"time"
)

// RecordStatus says what became of a record upstream. Rows are never deleted.
type RecordStatus string

// The statuses of a record.
const (
	RecordActive    RecordStatus = "ACTIVE"
	RecordRetracted RecordStatus = "RETRACTED"
	RecordMerged    RecordStatus = "MERGED"
	RecordGone      RecordStatus = "GONE"
)

// RecordKey is what makes a record one record: the endpoint it came through is
// lineage, not identity (R29). ID is in the source's declared canonical form
// and compares as bytes.
type RecordKey struct {
	Provenance string
	Type       string
	ID         string
}

// Version is what decides between two states of one record (R28). UpdatedAt is
// zero where the source's items carry none (R57).
type Version struct {
	UpdatedAt   time.Time
	Provider    int64
	ObservedAt  time.Time
	ContentHash [32]byte
}

// Compare orders versions totally, so that any order of arrival converges:
// update time, the provider's own version number, when it was asked for, and at
// last the content, which only serves to decide the same way everywhere.
func (v Version) Compare(o Version) int {
	return cmp.Or(
		v.UpdatedAt.Compare(o.UpdatedAt),
		cmp.Compare(v.Provider, o.Provider),
		v.ObservedAt.Compare(o.ObservedAt),
		bytes.Compare(v.ContentHash[:], o.ContentHash[:]),
	)
}

// Record is one item of a page, ready to be stored.
type Record struct {
	ID             string
	Version        Version
	RawSHA256      [32]byte
	Raw            []byte                       // bytes exactly as received
	Fields         []byte                       // JSON object of the standard publication record
	Map            func(dst, raw []byte) []byte // makes them where they are not kept, as of [Item]
	Status         RecordStatus
	MappingVersion string
}

// Mapped are the record's fields, kept or made anew.
func (r *Record) Mapped() []byte {
	if r.Map != nil {
		return r.Map(nil, r.Raw)
	}
	return r.Fields
}

// AppendFields appends the record's fields, kept or made anew.
func (r *Record) AppendFields(dst []byte) []byte {
	if r.Map != nil {
		return r.Map(dst, r.Raw)
	}
	return append(dst, r.Fields...)
}

// StoredRecord is what the store already has of a record when a version of it arrives.
type StoredRecord struct {
	Version        Version
	RawSHA256      [32]byte
	MappingVersion string
	Status         RecordStatus
}

// Effect is what an arriving version does to the stored record.
type Effect string

// The effects; each is a column of a batch's account (I8). FILTERED and
// QUARANTINED items never come as far as a merge.
const (
	Inserted  Effect = "inserted"
	Updated   Effect = "updated"
	Remapped  Effect = "remapped"
	Unchanged Effect = "unchanged"
	Stale     Effect = "stale"
)

// Outcome is what [Merge] decided.
type Outcome struct {
	Effect Effect
	// Observe: the observation time of the stored version moves on. Otherwise the
	// next version would be compared with a time long past, and the order of
	// arrival would matter.
	Observe bool
	// Replace: the raw bytes, their hash and the update time of the stored version
	// are replaced in place by those that came. The two differ in volatile parts
	// only, which make no new version (R62).
	Replace bool
}

// Merge decides what an arriving record does to the stored one:
//
//	content   order   status and mapping   effect
//	same      older   any                  unchanged
//	same      newer   both the same        unchanged, but observed again
//	same      newer   another mapping      remapped: the fields are made anew
//	same      newer   another status       updated
//	other     newer   any                  updated
//	other     older   any                  stale: it is only counted
func Merge(stored StoredRecord, in Record) Outcome {
	newer := in.Version.Compare(stored.Version) > 0
	same := in.Version.ContentHash == stored.Version.ContentHash
	switch {
	case same && !newer:
		return Outcome{Effect: Unchanged}
	case same && in.Status == stored.Status && in.MappingVersion == stored.MappingVersion:
		return Outcome{Effect: Unchanged, Observe: true, Replace: in.RawSHA256 != stored.RawSHA256}
	case same && in.Status == stored.Status:
		return Outcome{Effect: Remapped}
	case newer:
		return Outcome{Effect: Updated}
	default:
		return Outcome{Effect: Stale}
	}
}
