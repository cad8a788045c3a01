package source

import (
	"strconv"
	"testing"

	"github.com/papertrace/patra/internal/domain/harvest"
)

// TestC1_WordsMapToNumbers: the words of the dictionary and their synonyms are
// names of the places of the three operations.
func TestC1_WordsMapToNumbers(t *testing.T) {
	want := map[string]int{"HIGH": 100, "MEDIUM": 200, "NORMAL": 200, "LOW": 300}
	n := 0
	for _, item := range DictPriority.items() {
		for _, word := range append([]string{item.Code}, item.Aliases...) {
			n++
			got, ok := harvest.ParsePriority(word)
			if !ok || got != want[word] || item.Name != strconv.Itoa(got) {
				t.Errorf("%s is %d (%v), the dictionary says %s", word, got, ok, item.Name)
			}
		}
	}
	if n != len(want) {
		t.Errorf("%d words", n)
	}
	for op, p := range map[harvest.Operation]int{harvest.Harvest: want["HIGH"], harvest.Update: want["MEDIUM"], harvest.Backfill: want["LOW"]} {
		if op.Priority() != p {
			t.Errorf("%s has place %d", op, op.Priority())
		}
	}
	for place, word := range map[int]string{100: "high", 200: "normal", 300: "low"} {
		if got := harvest.PriorityWord(place); got != word {
			t.Errorf("place %d is shown as %s", place, got)
		}
	}
	if _, ok := harvest.ParsePriority("urgent"); ok {
		t.Error("any word is taken")
	}
}
