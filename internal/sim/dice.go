package sim

import "math/bits"

// dice is a splitmix64 sequence: small, fast and the same on every machine.
type dice struct{ state uint64 }

// roll starts a sequence from the given numbers, in their order.
func roll(parts ...uint64) dice {
	h := uint64(0x51a7e5)
	for _, p := range parts {
		h = mix(h ^ mix(p+0x9e3779b97f4a7c15))
	}
	return dice{h}
}

func mix(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

func (d *dice) next() uint64 {
	d.state += 0x9e3779b97f4a7c15
	return mix(d.state)
}

// n returns a number in [0, k).
func (d *dice) n(k int) int {
	hi, _ := bits.Mul64(d.next(), uint64(k))
	return int(hi)
}

// between returns a number in [lo, hi].
func (d *dice) between(lo, hi int) int { return lo + d.n(hi-lo+1) }

// percent is true p times out of a hundred.
func (d *dice) percent(p int) bool { return d.n(100) < p }

// float returns a number in [0, 1).
func (d *dice) float() float64 { return float64(d.next()>>11) / (1 << 53) }

// seedOf turns a source's name into a number for roll.
func seedOf(name string) uint64 {
	h := uint64(14695981039346656037)
	for i := range len(name) {
		h = (h ^ uint64(name[i])) * 1099511628211
	}
	return h
}
