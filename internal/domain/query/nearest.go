package query

import "github.com/papertrace/patra/internal/domain/nearest"

// Nearest is the known word nearest to word, or "" if none is near.
func Nearest(word string, known []string) string { return nearest.Word(word, known) }

// suggest is a hint for a word that is not known.
func suggest(word string, known []string) string { return nearest.Hint(word, known) }
