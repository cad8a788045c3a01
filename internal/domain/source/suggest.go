package source

import (
	"slices"

	"github.com/papertrace/patra/internal/domain/nearest"
)

func keysOf[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// Suggest returns ": did you mean X?" for the known word nearest to word, else
// a list of the known words.
func Suggest(word string, known []string) string {
	if len(known) == 0 {
		return ""
	}
	return ": " + nearest.Hint(word, known)
}
