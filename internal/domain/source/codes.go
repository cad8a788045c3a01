package source

// Bound is the style of the upper bound that requests carry.
type Bound string

// The styles.
const (
	BoundClosed Bound = "CLOSED" // it includes itself
	BoundOpen   Bound = "OPEN"   // it does not
)
