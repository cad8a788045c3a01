package harvest

import (
	"bytes"
	"crypto/sha256"
	"math/rand/v2"
	"slices"
	"testing"
)

// randomItem is an item of n random bytes with some volatile parts, which may overlap.
func randomItem(r *rand.Rand, n, parts int) Item {
	it := Item{Raw: make([]byte, n)}
	for i := range it.Raw {
		it.Raw[i] = byte(r.Uint32())
	}
	for range parts {
		from := r.IntN(n + 1)
		to := from + r.IntN(n-from+1)
		it.Volatile = append(it.Volatile, ByteRange{int32(from), int32(to)})
	}
	slices.SortFunc(it.Volatile, func(a, b ByteRange) int { return int(a.From - b.From) })
	return it
}

// content is an item without its volatile parts, byte by byte.
func content(it *Item) []byte {
	var out bytes.Buffer
	for i, c := range it.Raw {
		if !slices.ContainsFunc(it.Volatile, func(p ByteRange) bool { return int(p.From) <= i && i < int(p.To) }) {
			out.WriteByte(c)
		}
	}
	return out.Bytes()
}

func TestHasher_SameAsItemByItem(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var h Hasher
	for _, count := range []int{0, 1, 2, 7, 8, 32, 33} {
		items := make([]Item, count)
		for i := range items {
			size := r.IntN(3000)
			if i%7 == 3 {
				size = copiedUpTo - 2 + r.IntN(5)
			}
			items[i] = randomItem(r, size, i%4)
		}
		for i, got := range h.Of(items) {
			it := &items[i]
			want := ItemHashes{sha256.Sum256(it.Raw), sha256.Sum256(content(it))}
			if got != want {
				t.Fatalf("item %d of %d, %d bytes, volatile %v: other hashes than those of its bytes", i, count, len(it.Raw), it.Volatile)
			}
			raw, lasting := it.Hashes()
			if got != (ItemHashes{raw, lasting}) {
				t.Fatalf("item %d of %d: other hashes than alone", i, count)
			}
		}
	}
}
