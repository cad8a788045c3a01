package replay

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"slices"
)

// hexSum is the SHA-256 of b, in hex.
func hexSum(b []byte) string {
	s := sha256.Sum256(b)
	return hex.EncodeToString(s[:])
}

// sum reads a hash from hex; one that cannot be read is all zeros.
func sum(text string) (out [32]byte) {
	b, err := hex.DecodeString(text)
	if err == nil {
		copy(out[:], b)
	}
	return out
}

// names are the keys of two objects, sorted.
func names(a, b map[string]json.RawMessage) []string {
	all := maps.Clone(a)
	if all == nil {
		all = map[string]json.RawMessage{}
	}
	maps.Copy(all, b)
	return slices.Sorted(maps.Keys(all))
}

// name of the item for people.
func (it *Item) name() string { return cmp.Or(it.ID, "an item without id") }
