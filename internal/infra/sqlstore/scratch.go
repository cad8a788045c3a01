package sqlstore

import (
	"slices"
	"unsafe"
)

// scratch is where the long values of one insert are put together, row by row, and
// those of the next in the same memory: of a large page neither what is packed nor
// the fields are held as a whole. Rows that were packed before are left where they
// are.
type scratch struct {
	buf  []byte
	rows []scratchRow
}

// scratchRow is where the values of a row lie in the buffer: packed bytes from start
// to mid, fields from there to end.
type scratchRow struct {
	start, mid, end int
}

// set takes the rows of an insert. What was given out of those before is valid no
// longer: the driver has copied it by the time the statement has run.
func (s *scratch) set(part []change) {
	s.buf = s.buf[:0]
	s.rows = s.rows[:0]
	for _, c := range part {
		row := scratchRow{start: len(s.buf)}
		if c.packed == nil {
			// Fields are about as large as what they are made of, as a rule.
			s.buf = slices.Grow(s.buf, encoder.MaxEncodedSize(len(c.rec.Raw))+len(c.rec.Raw)+1024)
			s.buf = encoder.EncodeAll(c.rec.Raw, s.buf)
			row.mid = len(s.buf)
			s.buf = c.rec.AppendFields(s.buf)
		}
		row.end = len(s.buf)
		s.rows = append(s.rows, row)
	}
}

// of returns the packed bytes and the fields of row i, which is c.
func (s *scratch) of(i int, c change) (packed []byte, fields string) {
	if c.packed != nil {
		return c.packed, string(c.rec.Mapped())
	}
	r := s.rows[i]
	if r.end > r.mid {
		fields = unsafe.String(&s.buf[r.mid], r.end-r.mid)
	}
	return s.buf[r.start:r.mid:r.mid], fields
}
