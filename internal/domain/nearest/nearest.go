// Package nearest finds the word that was probably meant by one that is not
// known, so that a mistake can be answered with a proposal.
package nearest

import "strings"

// Word is the known word nearest to word, or "" if none is near.
func Word(word string, known []string) string {
	word = strings.ToLower(word)
	best, at := "", 1+len(word)/2
	for _, k := range known {
		if d := distance(word, strings.ToLower(k)); d < at {
			best, at = k, d
		}
	}
	return best
}

// Hint is what to say about a word that is not known: the one nearest to it, or
// all that are known.
func Hint(word string, known []string) string {
	if n := Word(word, known); n != "" {
		return "did you mean " + n + "?"
	}
	if len(known) == 0 {
		return ""
	}
	return "known are " + strings.Join(known, ", ")
}

// distance is the number of letters to change, add, take away or swap with the next.
func distance(a, b string) int {
	if len(a) > 64 || len(b) > 64 {
		return 64
	}
	var before []int
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		next := make([]int, len(b)+1)
		next[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			next[j+1] = min(row[j]+cost, row[j+1]+1, next[j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				next[j+1] = min(next[j+1], before[j-1]+1)
			}
		}
		before, row = row, next
	}
	return row[len(b)]
}
