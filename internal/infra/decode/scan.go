package decode

import (
	"encoding/binary"
	"math/bits"
)

// charset says what the strings of a value may hold besides ASCII.
type charset uint64

const (
	ones, highs = 0x0101010101010101, 0x8080808080808080

	hasEscapes charset = 1     // \u
	hasBytes   charset = highs // 0x80 and above
)

// scan returns where the JSON value at i ends, which is inside of outer others,
// and what its strings hold. The end is negative for what is no JSON, is cut
// off or nests more than maxDepth deep; jsontext, which is slower and knows why,
// is asked then. Where the larger of the lists and objects right inside the
// value are is added to jumps, if given.
func scan(b []byte, i, outer int, jumps *[]span) (end int, chars charset) {
	var (
		open  [maxDepth]byte // what closes each open value
		depth int
		begun int // of the value right inside
	)
value:
	if i >= len(b) {
		return -1, 0
	}
	switch c := b[i]; c {
	case '"':
		i, chars = scanString(b, i, chars)
		if i < 0 {
			return -1, 0
		}
	case '{', '[':
		if depth == 1 {
			begun = i
		}
		if depth+outer >= maxDepth {
			return -1, 0
		}
		open[depth] = c + 2 // the closing one in ASCII
		depth++
		i = skipSpace(b, i+1)
		if i < len(b) && b[i] == c+2 {
			i++
			depth--
			break
		}
		if c == '[' {
			goto value
		}
		goto name
	case 't', 'f', 'n':
		i = scanLiteral(b, i)
		if i < 0 {
			return -1, 0
		}
	default:
		i = scanNumber(b, i)
		if i < 0 {
			return -1, 0
		}
	}
	for depth > 0 {
		if i < len(b) && b[i] <= ' ' {
			i = skipSpace(b, i)
		}
		if i >= len(b) {
			return -1, 0
		}
		switch c := b[i]; {
		case c == open[depth-1]:
			i++
			depth--
			if depth == 1 && jumps != nil && i-begun > 64 && i-begun < maxString {
				*jumps = append(*jumps, span{int32(begun), int32(i)})
			}
		case c != ',':
			return -1, 0
		case open[depth-1] == '}':
			i = skipSpace(b, i+1)
			goto name
		default:
			i = skipSpace(b, i+1)
			goto value
		}
	}
	return i, chars
name:
	if i >= len(b) || b[i] != '"' {
		return -1, 0
	}
	i, chars = scanString(b, i, chars)
	if i < 0 {
		return -1, 0
	}
	i = skipSpace(b, i)
	if i >= len(b) || b[i] != ':' {
		return -1, 0
	}
	i = skipSpace(b, i+1)
	goto value
}

// zeros sets the highest bit of each byte of x that is 0, controls that of each that is less than a blank.
// The lowest bit that is set is right; those above it need not be. The other bits of a byte say nothing.
func zeros(x uint64) uint64    { return (x - ones) &^ x }
func controls(x uint64) uint64 { return (x - ones*' ') &^ x }

// scanString returns where the string that opens at i ends, and chars with what
// it may hold; it looks some bytes beyond its end.
func scanString(b []byte, i int, chars charset) (int, charset) {
	for i++; ; {
		for i+8 <= len(b) {
			x := binary.LittleEndian.Uint64(b[i:])
			chars |= charset(x & highs)
			m := (zeros(x^ones*'"') | zeros(x^ones*'\\') | controls(x)) & highs
			if m != 0 {
				i += bits.TrailingZeros64(m) >> 3
				break
			}
			i += 8
		}
		if i >= len(b) {
			return -1, 0
		}
		switch c := b[i]; {
		case c == '"':
			return i + 1, chars
		case c < ' ':
			return -1, 0
		case c == '\\':
			if i+1 >= len(b) {
				return -1, 0
			}
			switch b[i+1] {
			case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
				i += 2
			case 'u':
				chars |= hasEscapes
				if i+6 > len(b) || !hexDigits(b[i+2:i+6]) {
					return -1, 0
				}
				i += 6
			default:
				return -1, 0
			}
		default:
			chars |= charset(c) & hasBytes
			i++
		}
	}
}

func hexDigits(b []byte) bool {
	for _, c := range b {
		if (c < '0' || c > '9') && (c|0x20 < 'a' || c|0x20 > 'f') {
			return false
		}
	}
	return true
}

func scanLiteral(b []byte, i int) int {
	for _, name := range [...]string{"true", "false", "null"} {
		if n := i + len(name); n <= len(b) && string(b[i:n]) == name {
			return n
		}
	}
	return -1
}

// scanNumber returns where the number at i ends.
func scanNumber(b []byte, i int) int {
	digits := func() bool {
		from := i
		for i < len(b) && b[i]-'0' <= 9 {
			i++
		}
		return i > from
	}
	if b[i] == '-' {
		i++
	}
	if i < len(b) && b[i] == '0' {
		i++
	} else if !digits() {
		return -1
	}
	if i < len(b) && b[i] == '.' {
		i++
		if !digits() {
			return -1
		}
	}
	if i < len(b) && b[i]|0x20 == 'e' {
		i++
		if i < len(b) && (b[i] == '+' || b[i] == '-') {
			i++
		}
		if !digits() {
			return -1
		}
	}
	return i
}
