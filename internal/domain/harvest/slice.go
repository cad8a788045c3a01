package harvest

import (
	"cmp"
	"errors"
	"fmt"
	"time"
)

// SliceSpec is the boundary of one slice, as stored in slice_spec.
type SliceSpec struct {
	Strategy StrategyCode `json:"strategy"`
	Window   WindowSpec   `json:"window,omitzero"`
	Range    Range        `json:"range,omitzero"`
	Cursor   *CursorSpec  `json:"cursor,omitempty"`
	Budget   *BudgetSpec  `json:"budget,omitempty"`
	Hints    *SliceHints  `json:"hints,omitempty"`
	// PageSize in place of the source's own, 0 for that (R26). Whoever walks the
	// slice keeps to it; only a slice cut off this one may have another.
	PageSize int `json:"pageSize,omitzero"`
	// Cut tells what the slice was cut off another for, nil if it was not, or only
	// because it was advisable.
	Cut *CutTrail `json:"cut,omitempty"`
}

// WindowSpec is the time boundary of a slice. Bounds are nominal: an overlap
// widens only the request (R10). Timezone is that of the bounds, always UTC; in slices
// of older versions it is the source's, which stands in the hints now (R77).
type WindowSpec struct {
	From      time.Time `json:"from"`
	To        time.Time `json:"to"`
	Boundary  Boundary  `json:"boundary"`
	Timezone  string    `json:"timezone"`
	Precision Precision `json:"precision"`
}

// boundsZone is the zone of the bounds of a slice.
const boundsZone = "UTC"

// zone is the name of the zone by which the slice was cut.
func (s SliceSpec) zone() string {
	if s.Hints != nil && s.Hints.Timezone != "" {
		return s.Hints.Timezone
	}
	return s.Window.Timezone
}

// calendar is that by which the window was cut, in UTC where its zone is not known
// here.
func (s SliceSpec) calendar() Calendar {
	zone, err := time.LoadLocation(s.zone())
	if err != nil {
		zone = time.UTC
	}
	return Calendar{Precision: s.Window.Precision, Zone: zone}
}

// Boundary is always CLOSED/OPEN (C8).
type Boundary struct {
	From Bound `json:"from"`
	To   Bound `json:"to"`
}

// Bound says whether the end of a window or range belongs to it.
type Bound string

// The bounds.
const (
	BoundClosed Bound = "CLOSED"
	BoundOpen   Bound = "OPEN"
)

var halfOpen = Boundary{From: BoundClosed, To: BoundOpen}

// Range is a part [From, To) of what lies in a window: of its ids, of the hash
// buckets of these, of the ordinals of candidates, or of the pages of a walk.
// The zero range is all of it.
type Range struct {
	Key string `json:"key"`
	// From is 0 at the beginning, To is 0 where there is no end.
	From int64 `json:"from"`
	To   int64 `json:"to,omitzero"`
	// Of is the number of buckets there are, if the range is one of them.
	Of       int64    `json:"of,omitzero"`
	Boundary Boundary `json:"boundary"`
}

// Keys of ranges that are not ids of the source.
const (
	RangeOrdinal = "ordinal"
	RangePage    = "page"
	RangeBucket  = "bucket"
)

// NewRange returns [from, to) over key; to 0 means without end.
func NewRange(key string, from, to int64) Range {
	return Range{Key: key, From: from, To: to, Boundary: halfOpen}
}

// Whole reports whether r is no part but all of it.
func (r Range) Whole() bool { return r.From == 0 && r.To == 0 }

func (r Range) String() string {
	if r.Of != 0 {
		return fmt.Sprintf("%s %d of %d", r.Key, r.From, r.Of)
	}
	if r.To == 0 {
		return fmt.Sprintf("%s [%d, ...)", r.Key, r.From)
	}
	return fmt.Sprintf("%s [%d, %d)", r.Key, r.From, r.To)
}

// CursorSpec is where the walk of a slice begins, if not at the beginning.
type CursorSpec struct {
	StartToken string `json:"startToken,omitempty"`
	// Held are the values that requests with the token repeat.
	Held map[string]string `json:"held,omitempty"`
	// Seen counts the ids of the pages before.
	Seen int64 `json:"seen,omitzero"`
}

// BudgetSpec bounds what a slice may cost; what is spent leads to another cut.
type BudgetSpec struct {
	MaxRequests    int   `json:"maxRequests,omitzero"`
	MaxRecords     int64 `json:"maxRecords,omitzero"`
	MaxDurationSec int   `json:"maxDurationSec,omitzero"`
	// Priority is that of the slice's task: the lower the number, the earlier it is taken.
	Priority int `json:"priority,omitzero"`
}

// budgetWalks is by how much the budget of a slice whose source declares none exceeds the
// longest walk that is not cut for its length. It is there for what nobody thought of:
// whatever else has a slice cut comes long before.
const budgetWalks = 50

// DefaultBudget is what a slice may cost whose source does not say it.
func DefaultBudget(limits CutLimits, pageSize int) BudgetSpec {
	requests := budgetWalks * limits.filled().PagesHard
	longest := max(DefaultCuts().WalkTime, limits.WalkTime)
	return BudgetSpec{
		MaxRequests:    requests,
		MaxRecords:     int64(requests) * int64(max(1, pageSize)),
		MaxDurationSec: int(4 * longest / time.Second),
	}
}

// Over is the budget, and what another says where this one says nothing.
func (b *BudgetSpec) Over(other BudgetSpec) BudgetSpec {
	if b == nil {
		return other
	}
	return BudgetSpec{
		MaxRequests:    cmp.Or(b.MaxRequests, other.MaxRequests),
		MaxRecords:     cmp.Or(b.MaxRecords, other.MaxRecords),
		MaxDurationSec: cmp.Or(b.MaxDurationSec, other.MaxDurationSec),
		Priority:       cmp.Or(b.Priority, other.Priority),
	}
}

// Priority is when the turn of a slice of an operation is. Slices of plans that were made
// before they had a budget have the operation's.
func (s SliceSpec) Priority(op Operation) int {
	return s.Budget.Over(BudgetSpec{Priority: op.Priority()}).Priority
}

// SliceHints are what was known when the slice was cut. Of these the overlap
// widens the request, and a count is held against the walk (R64).
type SliceHints struct {
	ExpectedPageSize int   `json:"expectedPageSize,omitzero"`
	ExpectedRecords  int64 `json:"expectedRecords,omitzero"`
	// ExpectedRequests is how many requests the walk takes if the records are as many as
	// expected, BudgetHint how many the rate gate could let out within a day when the slice
	// was planned; 0 if nothing told.
	ExpectedRequests int64      `json:"expectedRequests,omitzero"`
	BudgetHint       int64      `json:"budgetHint,omitzero"`
	EstimatedBy      Estimation `json:"estimatedBy,omitempty"`
	SafetyLagSec     int        `json:"safetyLagSec,omitzero"`
	OverlapSec       int        `json:"overlapSec,omitzero"`
	Explore          bool       `json:"explore,omitzero"`
	// Order is the one that the source declares of its pages, Timezone the zone of its days,
	// by which the window was cut; neither if it is not known.
	Order    string `json:"order,omitempty"`
	Timezone string `json:"timezone,omitempty"`
}

// Span is the stretch of its cursor's axis that the slice answers for. Slices by
// ordinals are ordered, tiled and proven like those by time.
func (s SliceSpec) Span() Span {
	switch {
	case s.ByID():
		return IDSpan(s.Range.From, s.Range.To)
	case s.Strategy == StrategyID:
		return OrdinalSpan(s.Range.From, s.Range.To)
	}
	return s.NominalWindow().Span()
}

// ByID reports whether the slice is a range of ids of a source that is harvested by
// them, and not of candidates.
func (s SliceSpec) ByID() bool { return s.Strategy == StrategyID && s.Range.Key != RangeOrdinal }

// NominalWindow returns the window the slice answers for; a slice of candidates or
// of ids has none.
func (s SliceSpec) NominalWindow() Window {
	return Window{From: s.Window.From, To: s.Window.To}
}

// Part is what the slice answers for.
func (s SliceSpec) Part() Part {
	p := Part{Span: s.Span()}
	if s.Strategy != StrategyID {
		p.Range = s.Range
	}
	return p
}

// RequestWindow returns the window the slice asks for: the nominal one, begun
// earlier by the overlap.
func (s SliceSpec) RequestWindow() Window {
	w := s.NominalWindow()
	if s.Hints != nil {
		w.From = w.From.Add(-time.Duration(s.Hints.OverlapSec) * time.Second)
	}
	return w
}

// Signature identifies the slice within its plan: strategy, nominal bounds and
// paging, without budgets, estimates or provenance (R6, C15).
func (s SliceSpec) Signature(pagingType PagingType, pageSize int) string {
	of := s.Span()
	parts := []string{string(s.Strategy), of.From.hashed(), of.To.hashed(), string(pagingType), fmt.Sprint(cmp.Or(s.PageSize, pageSize))}
	if !s.Range.Whole() {
		parts = append(parts, s.Range.String())
	}
	return HashKey(parts...)
}

// Validate checks one slice before it is stored: the strategy and the parts it
// needs, bounds that are in order and CLOSED/OPEN (C8).
func (s SliceSpec) Validate() error {
	errs := []error{s.checkStrategy()}
	if of := s.Span(); of.Empty() {
		errs = append(errs, fmt.Errorf("%s: %w", of, ErrEmptyWindow))
	}
	if s.Strategy != StrategyID {
		errs = append(errs, s.Window.check())
	}
	if s.Range != (Range{}) {
		errs = append(errs, s.Range.check())
	}
	return errors.Join(errs...)
}

// checkStrategy checks that the slice has the parts its strategy needs, and none
// that it has no use for.
func (s SliceSpec) checkStrategy() error {
	switch s.Strategy {
	case StrategyTime, StrategyVolume:
		if !s.Range.Whole() || s.Cursor != nil {
			return fmt.Errorf("strategy %s has a window and no range", s.Strategy)
		}
	case StrategyHybrid:
		if s.Range.Whole() {
			return fmt.Errorf("strategy %s needs a range", s.Strategy)
		}
	case StrategyPage: // of some pages, or of all
	case StrategyHash:
		if !s.Range.Whole() && s.Range.Of == 0 || s.Cursor != nil {
			return fmt.Errorf("strategy %s has a window and a bucket", s.Strategy)
		}
	case StrategyLandmark:
		if s.Range.From > 0 && (s.Cursor == nil || s.Cursor.StartToken == "") {
			return fmt.Errorf("strategy %s needs the token its walk begins with", s.Strategy)
		}
	case StrategyID:
		if s.Range.Key == "" || s.Range.To == 0 || s.Range.Of != 0 || s.Window != (WindowSpec{}) {
			return fmt.Errorf("strategy %s needs a range of ordinals or ids and nothing else", s.Strategy)
		}
	default:
		return fmt.Errorf("strategy %q is not known", s.Strategy)
	}
	return nil
}

// check checks how the bounds of a window are meant. That they are in order is
// checked for all slices alike, also for those over ordinals.
func (w WindowSpec) check() error {
	var errs []error
	if w.Boundary != halfOpen {
		errs = append(errs, fmt.Errorf("boundary %v is not CLOSED/OPEN", w.Boundary))
	}
	if w.Timezone != boundsZone {
		errs = append(errs, fmt.Errorf("bounds are told in %q and not in %s", w.Timezone, boundsZone))
	}
	if !w.Precision.Valid() {
		errs = append(errs, fmt.Errorf("precision %q is not known", w.Precision))
	}
	return errors.Join(errs...)
}

// check checks a range that is given: its bounds, and of a bucket its number.
func (r Range) check() error {
	var errs []error
	if r.Boundary != halfOpen {
		errs = append(errs, fmt.Errorf("boundary %v is not CLOSED/OPEN", r.Boundary))
	}
	if r.Key == "" || r.From < 0 || r.To != 0 && r.To <= r.From {
		errs = append(errs, fmt.Errorf("range %s is empty or has no key", r))
	}
	if r.Of != 0 || r.Key == RangeBucket {
		errs = append(errs, r.checkBucket())
	}
	return errors.Join(errs...)
}

// hintedZone is a zone as it is hinted at: not where it is that of the bounds.
func hintedZone(name string) string {
	if name == boundsZone {
		return ""
	}
	return name
}

// NewSliceSpec is a slice over the part p of a calendar.
func NewSliceSpec(p Part, c Calendar, pageSize int, expected int64, lag time.Duration) SliceSpec {
	w := p.Window()
	s := SliceSpec{
		Strategy: StrategyTime,
		Window: WindowSpec{
			From: w.From, To: w.To,
			Boundary:  halfOpen,
			Timezone:  boundsZone,
			Precision: c.Precision,
		},
		Range: p.Range,
		Hints: &SliceHints{
			ExpectedPageSize: pageSize,
			ExpectedRecords:  expected,
			SafetyLagSec:     int(lag / time.Second),
			Timezone:         hintedZone(c.zone().String()),
		},
	}
	if !p.Range.Whole() {
		s.Strategy = StrategyHybrid
	}
	return s
}

// NewIDSlice is a slice over the candidates [from, to), or over the ids of that key.
func NewIDSlice(key string, from, to int64, batch int) SliceSpec {
	return SliceSpec{
		Strategy: StrategyID, Range: NewRange(key, from, to),
		Hints: &SliceHints{ExpectedPageSize: batch, ExpectedRecords: to - from},
	}
}
