package query

import "github.com/papertrace/patra/internal/domain/nearest"

// suggest is a hint for a word that is not known.
func suggest(word string, known []string) string { return nearest.Hint(word, known) }
