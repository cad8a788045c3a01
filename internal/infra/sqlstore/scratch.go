package sqlstore

// scratch is where the bodies of one insert are put together, row by row, and those of
// the next in the same memory: a large page is never packed as a whole. Rows that were
// packed before are left where they are.
type scratch struct {
	packer *packer
	buf    []byte
	rows   []packedBody
	ends   []int
}

// set takes the rows of an insert. What was given out of those before is valid no
// longer: the driver has copied it by the time the statement has run.
func (s *scratch) set(part []change) {
	s.buf = s.buf[:0]
	s.rows = s.rows[:0]
	s.ends = s.ends[:0]
	for _, c := range part {
		var body packedBody
		if c.body != nil {
			body = *c.body
		} else {
			s.buf, body = s.packer.append(s.buf, c.rec)
		}
		s.rows = append(s.rows, body)
		s.ends = append(s.ends, len(s.buf))
	}
}

// alike reports whether all bodies are packed in one way.
func (s *scratch) alike() bool {
	for i := range s.rows {
		if s.rows[i].codec != s.rows[0].codec || s.rows[i].dictionary != s.rows[0].dictionary {
			return false
		}
	}
	return true
}

// of returns the body of row i, which is c. The buffer may have grown, and so moved, after
// the row was packed.
func (s *scratch) of(i int, c change) packedBody {
	body := s.rows[i]
	if c.body == nil {
		end := s.ends[i]
		body.bytes = s.buf[end-len(body.bytes) : end : end]
	}
	return body
}
