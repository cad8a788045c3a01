// Package digest makes the SHA-256 of many messages at once.
//
// A page brings a thousand items of some kilobytes each, and two hashes are kept of
// every one. A processor with instructions for SHA-256 makes them one after the other
// fastest. One without them, but with AVX-512, takes eight messages side by side through
// the same steps, a word of each in every register, for a fifth of the time that eight
// one after the other take. The hashes are those of crypto/sha256 either way, which also
// serves every other processor, long messages and few of them.
package digest

import (
	"crypto/sha256"
	"encoding/binary"
)

// Sum is the SHA-256 of a message.
type Sum = [sha256.Size]byte

const (
	// width is how many messages are taken side by side.
	width = 8
	// fewest is how many messages there must be for that: below it most of the width
	// would be idle.
	fewest = 4
	// longest is how long a message may be to be taken so: one that is longer than all
	// others would be hashed alone in the end, which takes longer than in the usual way.
	longest = 64 << 10
	// mostBlocks is for how many blocks the steps go on without a pause in which the
	// runtime may stop the goroutine.
	mostBlocks = 256
)

// SumAll puts the SHA-256 of every message into sums, which has as many places.
func SumAll(sums []Sum, messages [][]byte) {
	if !sideBySide || len(messages) < fewest {
		oneByOne(sums, messages)
	} else {
		eightAtOnce(sums, messages)
	}
}

func oneByOne(sums []Sum, messages [][]byte) {
	for i, m := range messages {
		sums[i] = sha256.Sum256(m)
	}
}

func eightAtOnce(sums []Sum, messages [][]byte) {
	h := hasher{sums: sums, messages: messages}
	h.run()
}

// hasher takes messages through the steps, each in a lane of its own.
type hasher struct {
	sums     []Sum
	messages [][]byte
	next     int // the first message that has no lane yet
	lanes    [width]lane
	// state has word w of lane i at [w][i].
	state [8][width]uint32
	at    [width]*byte
}

// lane is where a message is hashed.
type lane struct {
	message int
	rest    []byte // whole blocks
	// padding are the last blocks: the rest of the message, the mark behind it, and its
	// length.
	padding [2 * sha256.BlockSize]byte
	padded  []byte // what of the padding is still to come, after rest
	busy    bool
}

func (h *hasher) run() {
	for {
		blocks := h.prepare()
		if blocks == 0 {
			return
		}
		compress(&h.state, &h.at, blocks)
		for i := range h.lanes {
			l := &h.lanes[i]
			if l.busy {
				l.rest = l.rest[blocks*sha256.BlockSize:]
			}
		}
	}
}

// prepare gives every lane that is at the end of its message the next one, and returns
// for how many blocks all lanes can go on; 0 when all messages are done. A lane for which
// there is no message goes along with one that has one, and nobody looks at what it makes.
func (h *hasher) prepare() (blocks int) {
	var some *byte
	for i := range h.lanes {
		l := &h.lanes[i]
		if len(l.rest) == 0 && !h.refill(i) {
			continue
		}
		h.at[i] = &l.rest[0]
		some = h.at[i]
		n := len(l.rest) / sha256.BlockSize
		if blocks == 0 || n < blocks {
			blocks = n
		}
	}
	for i := range h.lanes {
		if !h.lanes[i].busy {
			h.at[i] = some
		}
	}
	return min(blocks, mostBlocks)
}

// refill gives a lane its next blocks: the end of its message, or the beginning of the
// next one. It reports whether there are any.
func (h *hasher) refill(i int) bool {
	l := &h.lanes[i]
	if len(l.padded) > 0 {
		l.rest = l.padded
		l.padded = nil
		return true
	}
	if l.busy {
		h.finish(i)
	}
	for h.next < len(h.messages) && len(h.messages[h.next]) > longest {
		h.sums[h.next] = sha256.Sum256(h.messages[h.next])
		h.next++
	}
	l.busy = h.next < len(h.messages)
	if l.busy {
		h.begin(i)
	}
	return l.busy
}

// begin puts the next message into a lane.
func (h *hasher) begin(i int) {
	l := &h.lanes[i]
	l.message = h.next
	h.next++
	m := h.messages[l.message]
	whole := len(m) &^ (sha256.BlockSize - 1)
	l.rest = m[:whole]
	l.pad(m[whole:], len(m))
	if whole == 0 {
		l.rest = l.padded
		l.padded = nil
	}
	for w, v := range initial {
		h.state[w][i] = v
	}
}

// pad makes the last blocks of a message of so many bytes, of which end is left.
func (l *lane) pad(end []byte, size int) {
	const lengthSize = 8
	n := copy(l.padding[:], end)
	l.padding[n] = 0x80
	clear(l.padding[n+1:])
	l.padded = l.padding[:sha256.BlockSize]
	if n+1+lengthSize > sha256.BlockSize {
		l.padded = l.padding[:]
	}
	binary.BigEndian.PutUint64(l.padded[len(l.padded)-lengthSize:], uint64(size)*8)
}

// finish takes the hash of a message out of its lane.
func (h *hasher) finish(i int) {
	sum := &h.sums[h.lanes[i].message]
	for w := range h.state {
		binary.BigEndian.PutUint32(sum[4*w:], h.state[w][i])
	}
}

// initial is the state before the first block.
var initial = [8]uint32{0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19}
