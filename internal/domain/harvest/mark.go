package harvest

import (
	"cmp"
	"fmt"
	"strconv"
	"time"
)

// MarkKind is what the places on the axis of a cursor are.
type MarkKind uint8

// The kinds of marks. A further one takes a constant here, a constructor and an
// accessor, a case in [Mark.Compare], [Mark.String] and [Span.String], and what the
// store writes and reads for it (mark.go there).
const (
	// KindTime marks are instants.
	KindTime MarkKind = iota
	// KindOrdinal marks are numbers of frozen candidates.
	KindOrdinal
	// KindID marks are ids of a source that grow (R75).
	KindID
)

// Axis is the kind of the places that the operation's cursor moves over: an UPDATE
// counts the candidates it froze, the others go by time, unless their source is
// harvested by ids that grow.
func (o Operation) Axis() MarkKind {
	if o == Update {
		return KindOrdinal
	}
	return KindTime
}

// Mark is a place on the axis of a cursor. Marks of one cursor are of one kind;
// two of them are the same place if they are equal by ==. The zero mark is no
// place at all, as the zero time is no instant.
type Mark struct {
	kind MarkKind
	at   time.Time // of KindTime, as [Instant] leaves it
	n    int64     // of KindOrdinal and KindID
}

// TimeMark is the place of an instant.
func TimeMark(t time.Time) Mark { return Mark{at: Instant(t)} }

// OrdinalMark is the place of candidate number n.
func OrdinalMark(n int64) Mark { return Mark{kind: KindOrdinal, n: n} }

// IDMark is the place of the id n of a source.
func IDMark(n int64) Mark { return Mark{kind: KindID, n: n} }

// Kind tells what the mark is.
func (m Mark) Kind() MarkKind { return m.kind }

// Time is the instant of the mark. It panics if the mark is no instant: whoever asks
// knows the operation.
func (m Mark) Time() time.Time {
	m.must(KindTime)
	return m.at
}

// Ordinal is the candidate number of the mark. It panics if the mark is none.
func (m Mark) Ordinal() int64 {
	m.must(KindOrdinal)
	return m.n
}

// ID is the id of the mark. It panics if the mark is none.
func (m Mark) ID() int64 {
	m.must(KindID)
	return m.n
}

// IsNumber reports whether the mark is a number of any kind, and no instant.
func (m Mark) IsNumber() bool { return m.kind != KindTime }

// Number is that of a mark that is one. It panics for an instant.
func (m Mark) Number() int64 {
	if !m.IsNumber() {
		m.must(KindOrdinal)
	}
	return m.n
}

// At is the place of another number on the axis of a mark that is one.
func (m Mark) At(n int64) Mark { return Mark{kind: m.kind, n: n} }

func (m Mark) must(kind MarkKind) {
	if m.kind != kind {
		panic(fmt.Sprintf("mark %s is of kind %d, not %d", m, m.kind, kind))
	}
}

// IsZero reports whether the mark is no place.
func (m Mark) IsZero() bool { return m == Mark{} }

// Compare orders marks of one kind as [cmp.Compare] does. It panics if they are of
// two: there is no order between an instant and a number.
func (m Mark) Compare(other Mark) int {
	other.must(m.kind)
	if m.IsNumber() {
		return cmp.Compare(m.n, other.n)
	}
	return m.at.Compare(other.at)
}

// Before reports whether m lies before another mark of its kind.
func (m Mark) Before(other Mark) bool { return m.Compare(other) < 0 }

// After reports whether m lies after another mark of its kind.
func (m Mark) After(other Mark) bool { return m.Compare(other) > 0 }

// String is the mark for people: RFC 3339 in UTC with a fraction only where there
// is one, or the number.
func (m Mark) String() string {
	if m.IsNumber() {
		return strconv.FormatInt(m.n, 10)
	}
	return shortInstant(m.at)
}

// MarshalText implements encoding.TextMarshaler: in JSON a number is a text, too,
// where others have an instant.
func (m Mark) MarshalText() ([]byte, error) { return []byte(m.String()), nil }

// hashed is the mark in the keys of plans and slices. There a number is the
// microsecond of 1970 it was written as before marks had kinds: by other keys a
// repeated trigger would not find the plan it has.
func (m Mark) hashed() string {
	switch m.kind {
	case KindOrdinal:
		return FormatInstant(time.UnixMicro(m.n))
	case KindID:
		return "id " + m.String()
	}
	return FormatInstant(m.at)
}

// Span is a half-open stretch [From, To) of the axis of a cursor: what a plan or a
// slice answers for. Both ends are of one kind.
type Span struct {
	From Mark `json:"from"`
	To   Mark `json:"to"`
}

// OrdinalSpan is the span of the candidates [from, to).
func OrdinalSpan(from, to int64) Span {
	return Span{From: OrdinalMark(from), To: OrdinalMark(to)}
}

// IDSpan is the span of the ids [from, to) of a source.
func IDSpan(from, to int64) Span { return Span{From: IDMark(from), To: IDMark(to)} }

// Span is the window as a stretch of the axis of a cursor that goes by time.
func (w Window) Span() Span {
	return Span{From: TimeMark(w.From), To: TimeMark(w.To)}
}

// Window is the span of a cursor that goes by time. It panics for any other.
func (s Span) Window() Window {
	return Window{From: s.From.Time(), To: s.To.Time()}
}

// Empty reports whether the span holds nothing.
func (s Span) Empty() bool { return !s.From.Before(s.To) }

// String is the span in logs and errors, with instants in full.
func (s Span) String() string {
	if s.From.IsNumber() {
		return s.Short()
	}
	return s.Window().String()
}

// Short is the span for people, with fractions of a second only where there are
// some.
func (s Span) Short() string {
	switch s.From.kind {
	case KindOrdinal:
		return fmt.Sprintf("records %s to %s", s.From, s.To)
	case KindID:
		return fmt.Sprintf("ids [%s, %s)", s.From, s.To)
	}
	return fmt.Sprintf("[%s, %s)", s.From, s.To)
}
