package sqlstore

import (
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/papertrace/patra/internal/domain/harvest"
)

// The columns that tell where on a cursor's axis something lies hold instants, of
// whatever kind its marks are: window_from, window_to and sliced_to, the normalized
// value of a cursor and the ends of its moves. One index and one comparison in SQL
// serve all of them. An ordinal is written as that microsecond of 1970, an id of a
// source as that microsecond from the year 3000 on, where no instant of a harvest
// lies, so that a place tells by itself what it is. Only [stored] writes it so, and
// only [ts.mark] and [parseMark] read it back.

// firstID is the instant that stands for the id 0. Ids up to 2e17 fit behind it.
var firstID = time.Date(3000, 1, 1, 0, 0, 0, 0, time.UTC)

// storedMark is a mark as the columns of a cursor hold it.
type storedMark struct {
	kind    string // cursor_type_code
	value   string // the value as text: cursor_value, init_value, prev_value, new_value
	instant ts     // what is sorted and compared by
	number  any    // normalized_numeric, NULL for an instant
}

// stored turns a mark into what is written of it.
func stored(m harvest.Mark) storedMark {
	switch m.Kind() {
	case harvest.KindOrdinal:
		n := m.Ordinal()
		return storedMark{kind: "ID", value: strconv.FormatInt(n, 10), instant: ts(time.UnixMicro(n)), number: n}
	case harvest.KindID:
		n := m.ID()
		return storedMark{kind: "ID", value: strconv.FormatInt(n, 10), instant: ts(time.UnixMicro(firstID.UnixMicro() + n)), number: n}
	}
	at := m.Time()
	return storedMark{kind: "TIME", value: harvest.FormatInstant(at), instant: ts(at)}
}

// mark is the place of a stored instant on the axis of an operation's cursor; none
// if it is NULL.
func (t ts) mark(op harvest.Operation) harvest.Mark {
	switch at := t.time(); {
	case at.IsZero():
		return harvest.Mark{}
	case op.Axis() == harvest.KindOrdinal:
		return harvest.OrdinalMark(at.UnixMicro())
	case !at.Before(firstID):
		return harvest.IDMark(at.UnixMicro() - firstID.UnixMicro())
	default:
		return harvest.TimeMark(at)
	}
}

// cursorMark is where a cursor stands, by its stored instant. That column may be
// NULL, and never is.
func (t ts) cursorMark(op harvest.Operation) (harvest.Mark, error) {
	if t.time().IsZero() {
		return harvest.Mark{}, errors.New("it is not known where the cursor stands: run patra verify")
	}
	return t.mark(op), nil
}

// parseMark is the place of a value that was stored as text.
func parseMark(op harvest.Operation, value string) (harvest.Mark, error) {
	if op.Axis() == harvest.KindOrdinal {
		n, err := strconv.ParseInt(value, 10, 64)
		if err != nil {
			return harvest.Mark{}, fmt.Errorf("stored number of a candidate: %w", err)
		}
		return harvest.OrdinalMark(n), nil
	}
	if n, err := strconv.ParseInt(value, 10, 64); err == nil {
		return harvest.IDMark(n), nil
	}
	at, err := time.Parse(harvest.TimeLayout, value)
	if err != nil {
		return harvest.Mark{}, fmt.Errorf("stored place: %w", err)
	}
	return harvest.TimeMark(at), nil
}

// spanOf is what lies between two stored instants on the axis of an operation's
// cursor.
func spanOf(op harvest.Operation, from, to ts) harvest.Span {
	return harvest.Span{From: from.mark(op), To: to.mark(op)}
}
