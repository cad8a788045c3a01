package replay_test

import (
	"testing"

	"github.com/papertrace/patra/internal/app/replay"
)

// TestParseRef_TakesWhatLogsAndListsShow and nothing else.
func TestParseRef_TakesWhatLogsAndListsShow(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]replay.Ref{
		"17/3": {Run: 17, No: 3}, "ing-17-3": {Run: 17, No: 3}, "512": {ID: 512},
	} {
		got, err := replay.ParseRef(text)
		if err != nil || got != want {
			t.Errorf("%s is %+v: %v", text, got, err)
		}
	}
	for _, text := range []string{"", "box.zst", "17/", "/3", "0/1", "17/3/2", "ing-17", "ing-17-x", "-3", "99999999999999999999"} {
		if got, err := replay.ParseRef(text); err == nil {
			t.Errorf("%q is taken for %+v", text, got)
		}
	}
}
