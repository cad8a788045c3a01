package source

// Bound is the style of the upper bound that requests carry.
type Bound string

// The styles.
const (
	BoundClosed Bound = "CLOSED" // it includes itself
	BoundOpen   Bound = "OPEN"   // it does not
)

// Usage is what an endpoint is for.
type Usage string

// The usages.
const (
	UsageSearch Usage = "SEARCH" // pages of a window
	UsageCount  Usage = "COUNT"  // how many a window holds
	UsageDetail Usage = "DETAIL" // records by their ids
	UsageLookup Usage = "LOOKUP" // one record by its id
	UsageHead   Usage = "HEAD"   // the greatest id there is
	// Nothing is asked of these by a walk.
	UsageMetrics Usage = "METRICS" // what the source tells of itself
	UsageToken   Usage = "TOKEN"   // where tokens are had
)

// UpdatedAt is where the update time of an item is.
type UpdatedAt string

// The places.
const (
	UpdatedInItem   UpdatedAt = "PATH"   // in the item
	UpdatedByWindow UpdatedAt = "WINDOW" // nowhere: the slice's window stands for it
	UpdatedNever    UpdatedAt = "NONE"   // the source has none
)

// OffsetType is what tells how far a source was read.
type OffsetType string

// The types of offsets.
const (
	OffsetDate      OffsetType = "DATE"
	OffsetID        OffsetType = "ID"
	OffsetComposite OffsetType = "COMPOSITE" // a date, and an id among the records of one date
)

// WindowMode is how the windows of a source lie.
type WindowMode string

// The modes of windows.
const (
	WindowSliding  WindowMode = "SLIDING"  // from where the last ended
	WindowCalendar WindowMode = "CALENDAR" // at whole multiples of their length
)
