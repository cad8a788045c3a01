package control

import (
	"context"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/problem"
)

// Zoom is how much of its axis a group of slices covers: a unit of the calendar, or of an
// UPDATE a power of ten candidates.
type Zoom string

// The zooms by time, the widest first.
const (
	ZoomYear   Zoom = "year"
	ZoomMonth  Zoom = "month"
	ZoomDay    Zoom = "day"
	ZoomHour   Zoom = "hour"
	ZoomMinute Zoom = "minute"
	ZoomSecond Zoom = "second"
)

var (
	timeZooms    = []Zoom{ZoomYear, ZoomMonth, ZoomDay, ZoomHour, ZoomMinute, ZoomSecond}
	ordinalZooms = []Zoom{"10000000", "1000000", "100000", "10000", "1000", "100", "10", "1"}
)

// Zooms are those of the axis that a mark lies on, the widest first.
func Zooms(of harvest.Mark) []Zoom {
	if of.IsNumber() {
		return ordinalZooms
	}
	return timeZooms
}

const (
	// usualGroups is how many groups a drawing has at most unless a zoom is asked for,
	// mostGroups with it.
	usualGroups = 400
	mostGroups  = 2000
	// SlicesGrouped is how many slices are summed up at most.
	SlicesGrouped = 100_000
	// activeMost bounds the slices in hand that are told apart: there are as many as
	// there are workers.
	activeMost = 2000
)

// Begin is where the group of a mark begins.
func (z Zoom) Begin(m harvest.Mark) harvest.Mark {
	if m.IsNumber() {
		step := z.step()
		return m.At(m.Number() / step * step)
	}
	t := m.Time().UTC()
	switch z {
	case ZoomYear:
		return harvest.TimeMark(time.Date(t.Year(), 1, 1, 0, 0, 0, 0, time.UTC))
	case ZoomMonth:
		return harvest.TimeMark(time.Date(t.Year(), t.Month(), 1, 0, 0, 0, 0, time.UTC))
	case ZoomDay:
		return harvest.TimeMark(time.Date(t.Year(), t.Month(), t.Day(), 0, 0, 0, 0, time.UTC))
	}
	return harvest.TimeMark(t.Truncate(z.length()))
}

// End is where the group that begins at a mark ends.
func (z Zoom) End(m harvest.Mark) harvest.Mark {
	if m.IsNumber() {
		return m.At(m.Number() + z.step())
	}
	switch z {
	case ZoomYear:
		return harvest.TimeMark(m.Time().AddDate(1, 0, 0))
	case ZoomMonth:
		return harvest.TimeMark(m.Time().AddDate(0, 1, 0))
	}
	return harvest.TimeMark(m.Time().Add(z.length()))
}

// length is how long a group is, of a month or a year about.
func (z Zoom) length() time.Duration {
	switch z {
	case ZoomYear:
		return 365 * 24 * time.Hour
	case ZoomMonth:
		return 30 * 24 * time.Hour
	case ZoomDay:
		return 24 * time.Hour
	case ZoomHour:
		return time.Hour
	case ZoomMinute:
		return time.Minute
	}
	return time.Second
}

func (z Zoom) step() int64 {
	n, err := strconv.ParseInt(string(z), 10, 64)
	if err != nil || n < 1 {
		return 1
	}
	return n
}

// groups is about how many groups a span has.
func (z Zoom) groups(s harvest.Span) int64 {
	if s.From.IsNumber() {
		return (s.To.Number()-s.From.Number())/z.step() + 1
	}
	return int64(math.Ceil(float64(s.To.Time().Sub(s.From.Time())) / float64(z.length())))
}

// fitting is the widest zoom at which as many groups as there are slices fit, and the
// finest that makes no more groups than a drawing takes.
func fitting(s harvest.Span, all int64) Zoom {
	zooms := Zooms(s.From)
	best := zooms[0]
	for _, z := range zooms {
		if z.groups(s) > usualGroups {
			break
		}
		best = z
		if z.groups(s) >= all {
			break
		}
	}
	return best
}

// KeptZoom is how fine the counts of slices are that are kept of a plan with this window:
// as fine as can be drawn.
func KeptZoom(window harvest.Span) Zoom {
	zooms := Zooms(window.From)
	best := zooms[0]
	for _, z := range zooms {
		if z.groups(window) > mostGroups {
			break
		}
		best = z
	}
	return best
}

// KeepsGroups reports whether the counts that are kept of a plan can tell of a span: it
// must begin and end where a group does, or where the plan does.
func (p PlanRow) KeepsGroups(s harvest.Span, z Zoom) bool {
	begins := s.From == p.From || z.Begin(s.From) == s.From
	ends := s.To == p.To || z.Begin(s.To) == s.To
	return p.GroupDigits > 0 && begins && ends
}

// GroupQuery says which slices are summed up: those of a plan, and of these the ones
// whose windows begin within a span if one is given.
type GroupQuery struct {
	Plan     harvest.PlanID
	From, To string // as people write them; empty: the window of the plan
	Zoom     Zoom   // empty: the one that fits
}

// SliceGroup is what became of the slices whose windows begin within [From, To). Slices
// that were cut again are counted, and only their children tell how the group fares.
type SliceGroup struct {
	From harvest.Mark `json:"from"`
	To   harvest.Mark `json:"to"`
	// First is where the first window of the group begins, Until where the last ends;
	// both absent if all were cut again.
	First     harvest.Mark `json:"first,omitzero"`
	Until     harvest.Mark `json:"until,omitzero"`
	Done      int64        `json:"done"`
	Failed    int64        `json:"failed"`
	Cancelled int64        `json:"cancelled"`
	Active    int64        `json:"active"`
	Waiting   int64        `json:"waiting"`
	Resliced  int64        `json:"resliced"`
	SliceSums
}

// SliceSums are what the runs of slices that have ended came to, those of slices that were
// cut again among them.
type SliceSums struct {
	// Expected is how many records were expected when the slices were cut, Estimated of how
	// many of them that is known; those that were cut again are left out.
	Expected  int64 `json:"expected_records"`
	Estimated int64 `json:"estimated_slices"`
	// Records were read: new, changed, or held already.
	Records int64 `json:"records"`
	// Asked are the pages for which a request was sent, Latency how long these took
	// together, in milliseconds, and HTTP429 how often the source said that it was too much.
	Asked   int64 `json:"pages_asked"`
	Latency int64 `json:"latency_ms_total"`
	HTTP429 int64 `json:"http_429"`
}

// AvgLatency is how long a page took, in milliseconds; 0 if none was asked for.
func (s SliceSums) AvgLatency() int64 {
	if s.Asked == 0 {
		return 0
	}
	return s.Latency / s.Asked
}

func (s *SliceSums) add(other SliceSums) {
	s.Expected += other.Expected
	s.Estimated += other.Estimated
	s.Records += other.Records
	s.Asked += other.Asked
	s.Latency += other.Latency
	s.HTTP429 += other.HTTP429
}

// Slices is how many slices tell how the group fares.
func (g SliceGroup) Slices() int64 { return g.Done + g.Failed + g.Cancelled + g.Active + g.Waiting }

// Add counts the slices of another group as well.
func (g *SliceGroup) Add(other SliceGroup) {
	g.Done += other.Done
	g.Failed += other.Failed
	g.Cancelled += other.Cancelled
	g.Active += other.Active
	g.Waiting += other.Waiting
	g.Resliced += other.Resliced
	g.SliceSums.add(other.SliceSums)
}

// Family is that of the worst state in the group.
func (g SliceGroup) Family() Family {
	switch {
	case g.Failed > 0:
		return Failed
	case g.Cancelled > 0:
		return Off
	case g.Active > 0:
		return Active
	case g.Waiting > 0:
		return Waiting
	case g.Done > 0:
		return OK
	}
	return Partial
}

// count adds slices in a state.
func (g *SliceGroup) count(st harvest.SliceState, n int64) {
	switch st {
	case harvest.SliceDone:
		g.Done += n
	case harvest.SliceFailed:
		g.Failed += n
	case harvest.SliceCancelled:
		g.Cancelled += n
	case harvest.SliceResliced:
		g.Resliced += n
	default: // PENDING and READY
		g.Waiting += n
	}
}

// SliceMatrix is a plan in so few groups that it can be drawn, however many slices it has.
type SliceMatrix struct {
	Plan harvest.PlanID `json:"plan"`
	From harvest.Mark   `json:"from"`
	To   harvest.Mark   `json:"to"`
	Zoom Zoom           `json:"zoom"`
	// Zooms are those that can be asked for of this span.
	Zooms  []Zoom       `json:"zooms"`
	Groups []SliceGroup `json:"groups"`
	// Uncovered are stretches between slices that no slice answers for, at most so many
	// as are shown.
	Uncovered []harvest.Span `json:"uncovered"`
	// More: slices behind the last group were not looked at.
	More bool `json:"more,omitzero"`
}

// GroupCount is how many slices in one state begin in one group, as the store tells it:
// Place is a mark within the group.
type GroupCount struct {
	Place, Until harvest.Mark
	State        harvest.SliceState
	Count        int64
	SliceSums
}

// Merge adds what another count of the same state has.
func (c *GroupCount) Merge(other GroupCount) {
	c.SliceSums.add(other.SliceSums)
	if other.Count == 0 {
		return
	}
	if c.Count == 0 {
		c.Place = other.Place
		c.Until = other.Until
	}
	c.Count += other.Count
	if other.Place.Before(c.Place) {
		c.Place = other.Place
	}
	if other.Until.After(c.Until) {
		c.Until = other.Until
	}
}

// MatrixStore sums up slices along an index.
type MatrixStore interface {
	// SliceGroups counts the slices of a plan that begin within a span, at most so many
	// of them, by group and state.
	SliceGroups(ctx context.Context, p PlanRow, s harvest.Span, z Zoom, most int) ([]GroupCount, error)
	// ActiveSlices are where slices begin that somebody has in hand, at most so many.
	ActiveSlices(ctx context.Context, p PlanRow, most int) ([]harvest.Mark, error)
}

// errZoom says that a zoom is not one.
var errZoom = problem.New("there is no such zoom here", problem.Problem{
	Code: "usage", Kind: problem.Usage, Next: "leave zoom out, or take one of zooms in the answer without it",
})

// SliceMatrix sums up the slices of a plan by where their windows begin.
func (c *Control) SliceMatrix(ctx context.Context, q GroupQuery) (SliceMatrix, error) {
	out := SliceMatrix{Plan: q.Plan, Groups: []SliceGroup{}, Zooms: []Zoom{}, Uncovered: []harvest.Span{}}
	p, err := c.store.Plan(ctx, q.Plan)
	if err != nil {
		return out, c.orArchived(ctx, err, "plan", int64(q.Plan))
	}
	span, err := c.spanWithin(ctx, p, q.From, q.To)
	if err != nil {
		return out, err
	}
	out.From = span.From
	out.To = span.To
	for _, z := range Zooms(p.From) {
		if z.groups(span) <= mostGroups {
			out.Zooms = append(out.Zooms, z)
		}
	}
	out.Zoom = q.Zoom
	switch {
	case q.Zoom == "":
		total, err := c.store.PlanTotals(ctx, q.Plan)
		if err != nil {
			return out, err
		}
		n := total.Slices.Done + total.Slices.Failed + total.Slices.Open
		whole := harvest.Span{From: p.From, To: p.To}
		if span != whole { // of a part as many as its share, and one
			share := float64(ZoomSecond.groups(span)) / float64(max(ZoomSecond.groups(whole), 1))
			n = int64(float64(n)*share) + 1
		}
		out.Zoom = fitting(span, n)
	case !slices.Contains(out.Zooms, q.Zoom):
		return out, errZoom
	}
	counts, err := c.store.SliceGroups(ctx, p, span, out.Zoom, SlicesGrouped+1)
	if err != nil {
		return out, err
	}
	active, err := c.store.ActiveSlices(ctx, p, activeMost)
	if err != nil {
		return out, err
	}
	out.gather(counts, active)
	return out, nil
}

// gather makes groups of what was counted, in their order, and tells what is in hand from
// what waits.
func (m *SliceMatrix) gather(counts []GroupCount, active []harvest.Mark) {
	at := map[harvest.Mark]int{}
	looked := int64(0)
	for _, n := range counts {
		begin := m.Zoom.Begin(n.Place)
		i, known := at[begin]
		if !known {
			i = len(m.Groups)
			at[begin] = i
			m.Groups = append(m.Groups, m.group(begin))
		}
		g := &m.Groups[i]
		g.count(n.State, n.Count)
		if n.State == harvest.SliceResliced {
			n.Expected = 0
			n.Estimated = 0
		}
		g.SliceSums.add(n.SliceSums)
		if n.State != harvest.SliceResliced && n.Count > 0 {
			g.stretch(n.Place, n.Until)
		}
		looked += n.Count
	}
	m.More = looked > SlicesGrouped
	for _, place := range active {
		i, known := at[m.Zoom.Begin(place)]
		if known && m.Groups[i].Waiting > 0 {
			m.Groups[i].Waiting--
			m.Groups[i].Active++
		}
	}
	slices.SortFunc(m.Groups, func(a, z SliceGroup) int { return a.From.Compare(z.From) })
	m.findUncovered()
}

// uncoveredShown is how many stretches without a slice are told.
const uncoveredShown = 20

// findUncovered tells where a window begins behind the end of all before it.
func (m *SliceMatrix) findUncovered() {
	var covered harvest.Mark
	for _, g := range m.Groups {
		if g.First.IsZero() {
			continue
		}
		if !covered.IsZero() && covered.Before(g.First) && len(m.Uncovered) < uncoveredShown {
			m.Uncovered = append(m.Uncovered, harvest.Span{From: covered, To: g.First})
		}
		if covered.IsZero() || g.Until.After(covered) {
			covered = g.Until
		}
	}
}

// stretch widens what the windows of the group cover.
func (g *SliceGroup) stretch(from, until harvest.Mark) {
	if g.First.IsZero() || from.Before(g.First) {
		g.First = from
	}
	if g.Until.IsZero() || until.After(g.Until) {
		g.Until = until
	}
}

// group is an empty group that begins at a mark, as far as it lies within the span.
func (m *SliceMatrix) group(begin harvest.Mark) SliceGroup {
	g := SliceGroup{From: begin, To: m.Zoom.End(begin)}
	if g.From.Before(m.From) {
		g.From = m.From
	}
	if g.To.After(m.To) {
		g.To = m.To
	}
	return g
}

// spanWithin reads a part of the window of a plan; what is not given is its end.
func (c *Control) spanWithin(ctx context.Context, p PlanRow, from, to string) (harvest.Span, error) {
	out := harvest.Span{From: p.From, To: p.To}
	if from == "" && to == "" {
		return out, nil
	}
	cal := c.calendar(ctx, p.Source, p.Operation, p.Endpoint, "")
	for _, end := range []struct {
		text string
		mark *harvest.Mark
	}{{from, &out.From}, {to, &out.To}} {
		if end.text == "" {
			continue
		}
		m, err := parseMark(p.From, end.text, cal)
		if err != nil {
			return out, err
		}
		*end.mark = m
	}
	if !out.From.Before(out.To) {
		return out, errSpan
	}
	return out, nil
}

// errSpan says that a span is none.
var errSpan = problem.New("from and to name no part of the window of the plan", problem.Problem{
	Code: "usage", Kind: problem.Usage, Next: "from comes before to; instants are RFC 3339, such as 2026-01-31T00:00:00Z, candidates of an UPDATE and ids numbers",
})

// parseMark reads a place on the axis that a mark lies on.
func parseMark(of harvest.Mark, text string, cal harvest.Calendar) (harvest.Mark, error) {
	if of.IsNumber() {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil || n < 0 {
			return harvest.Mark{}, errSpan
		}
		return of.At(n), nil
	}
	if t, _, err := readInstant(text, cal); err == nil {
		return harvest.TimeMark(t), nil
	}
	return harvest.Mark{}, errSpan
}
