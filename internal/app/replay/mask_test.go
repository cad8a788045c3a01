package replay_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/papertrace/patra/internal/app/replay"
)

// TestR77_AddressesAreMaskedHoweverTheyAreWritten, and what is around them stays what it
// was: JSON stays JSON.
func TestR77_AddressesAreMaskedHoweverTheyAreWritten(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		`{"mail":"jane.doe@example.org"}`, `{"mail":"see\njane.doe@example.org"}`, `{"mail":"jane.doe\u0040example.org"}`,
		`{"mail":"\\jane.doe@example.org"}`, `{"mail":"j\u00e4ne.doe@example.org"}`, `{"a":"Electronic address: jane.doe@uni.example.org."}`,
		`{"u":"https://x/?mailto=jane.doe%40example.org"}`, `{"m":"<a>jane.doe&#64;example.org</a> jane.doe&#x40;example.org"}`,
	} {
		got := replay.MaskAddresses(text)
		if strings.Contains(got, "doe") || strings.Contains(got, "example.org") || !strings.Contains(got, "***@***") {
			t.Errorf("%s became %s", text, got)
		}
		if !json.Valid([]byte(got)) {
			t.Errorf("%s became %s, which is no JSON", text, got)
		}
	}
	for _, text := range []string{`{"doi":"10.1000/a@b"}`, `{"x":"@home at 3.5"}`, `{"x":"a @ b.c"}`} {
		if got := replay.MaskAddresses(text); got != text {
			t.Errorf("%s became %s", text, got)
		}
	}
}
