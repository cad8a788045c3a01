package work

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// TestEditDistance_IsThatOfTheTable: what is made 64 rows at once is what the table says, row by
// row, for short and long texts, alike and not, of few letters and many.
func TestEditDistance_IsThatOfTheTable(t *testing.T) {
	t.Parallel()
	letters := []rune("abcdefghij klmnopqrstuvwxyz0123456789äöü中文标题研究")
	rng := rand.New(rand.NewPCG(3, 4))
	text := func(of []rune, most int) []rune {
		out := make([]rune, rng.IntN(most+1))
		for i := range out {
			out[i] = of[rng.IntN(len(of))]
		}
		return out
	}
	for range 3000 {
		of := letters[:2+rng.IntN(len(letters)-2)]
		most := []int{3, 40, 64, 65, 130, comparedMost}[rng.IntN(6)]
		a := text(of, most)
		b := text(of, most)
		if rng.IntN(2) == 0 { // alike
			b = append([]rune(nil), a...)
			for range rng.IntN(6) {
				if len(b) > 0 {
					i := rng.IntN(len(b))
					b = append(b[:i], append(text(of, 2), b[i+1:]...)...)
				}
			}
			b = b[:min(len(b), comparedMost)]
		}
		if got, want := editDistance(a, b), tableDistance(a, b); got != want {
			t.Fatalf("%q and %q: %d, the table says %d", string(a), string(b), got, want)
		}
	}
}

func tableDistance(a, b []rune) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i, r := range a {
		before := row[0]
		row[0] = i + 1
		for j, s := range b {
			cost := before
			if r != s {
				cost = 1 + min(before, row[j], row[j+1])
			}
			before = row[j+1]
			row[j+1] = cost
		}
	}
	return row[len(b)]
}

func BenchmarkEditDistance(b *testing.B) {
	x := []rune("randomized controlled trial of early physiotherapy after stroke in rural hospitals")
	y := []rune("cohort study of late occupational therapy before surgery in urban clinics, a pilot")
	for b.Loop() {
		editDistance(x, y)
	}
}

func BenchmarkEditDistance_Table(b *testing.B) {
	x := []rune("randomized controlled trial of early physiotherapy after stroke in rural hospitals")
	y := []rune("cohort study of late occupational therapy before surgery in urban clinics, a pilot")
	for b.Loop() {
		tableDistance(x, y)
	}
}

// TestWordsInBoth_ManyAsFew: the words of a long title are counted by a table, those of a short one
// by going through them, with the same result.
func TestWordsInBoth_ManyAsFew(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(7, 7))
	words := func(n int) (list []string) {
		for range n {
			list = append(list, string(rune('a'+r.IntN(9))))
		}
		return list
	}
	strangers := make([]string, usualWords+1)
	for i := range strangers {
		strangers[i] = "in no other list"
	}
	for range 2000 {
		left, right := words(r.IntN(14)), words(r.IntN(14))
		many := wordsInBoth(slices.Concat(left, strangers), right)
		if few := wordsInBoth(slices.Clone(left), right); few != many {
			t.Fatalf("%v and %v: %d by going through them, %d by a table", left, right, few, many)
		}
	}
}
