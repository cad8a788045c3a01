package control

import (
	"testing"
	"time"

	"github.com/papertrace/patra/internal/domain/source"
)

// TestShort_LengthsOfTime: units of which there are none are not told.
func TestShort_LengthsOfTime(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0s", 90 * time.Second: "1m30s", 10 * time.Minute: "10m", time.Hour: "1h", 90 * time.Minute: "1h30m",
		24 * time.Hour: "1 day", 48 * time.Hour: "2 days", 36 * time.Hour: "36h",
	} {
		if got := short(source.Duration(d)); got != want {
			t.Errorf("%s is told as %q, not %q", d, got, want)
		}
	}
}
