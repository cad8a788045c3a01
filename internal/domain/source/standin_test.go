package source_test

import (
	"testing"

	"github.com/papertrace/patra/internal/domain/source"
)

// TestR17_WhoStandsInForASource: who is named in its place, and this machine.
func TestR17_WhoStandsInForASource(t *testing.T) {
	for own, want := range map[string]bool{
		"https://api.crossref.org": false, "https://localhost.example.org/": false, "http://10.0.0.1/": false, "%": false,
		"http://localhost:8100/crossref": true, "http://127.0.0.1:8100/crossref": true, "http://[::1]:8100": true,
	} {
		s := new(source.Spec)
		s.HTTP.BaseURL = own
		if got := s.StandsIn(""); got != want {
			t.Errorf("%s: %v", own, got)
		}
		if !s.StandsIn("https://mirror.example.org") {
			t.Errorf("%s: who is named in its place is not seen", own)
		}
	}
}
