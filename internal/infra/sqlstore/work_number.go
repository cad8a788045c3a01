package sqlstore

import "encoding/binary"

// packedNumbers are numbers that were packed one behind the other, and what stands between.
type packedNumbers struct {
	rest []byte
	// isDamaged: there was none where one was read.
	isDamaged bool
}

// next reads a number, 0 where there is none.
func (p *packedNumbers) next() uint64 {
	v, n := binary.Uvarint(p.rest)
	if n <= 0 {
		p.isDamaged = true
		p.rest = nil
		return 0
	}
	p.rest = p.rest[n:]
	return v
}
