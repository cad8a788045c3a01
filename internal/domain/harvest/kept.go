package harvest

import "time"

// KeptItem is an item in quarantine with the bytes that came.
type KeptItem struct {
	// Number is that of its row.
	Number int64
	// ID is that of its record, empty if none could be read.
	ID  string
	Raw []byte
	// Phase of the page that brought it, empty if that is not kept any more.
	Phase Phase
	// ObservedAt is when that page was asked for.
	ObservedAt time.Time
}

// KeptPick says which items in quarantine are wanted.
type KeptPick struct {
	Provenance string
	RecordType string
	// Numbers are those of the items; none: all.
	Numbers []int64
	// IDs are those of their records; none: all.
	IDs []string
}
