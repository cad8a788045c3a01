package doi

import "testing"

// TestIs_OneListOfWhatADOIIs: what is a DOI and what only looks like one, as a text and
// as bytes.
func TestIs_OneListOfWhatADOIIs(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"10.1000/a": true, "10.1000.10/123456": true, "10.123456789/x": true, "10.1000/É": true, "10.1000/a/b": true,
		"10.1002/(sici)1096-9861(19960129)365:1<113::aid-cne9>3.0.co;2-6": true, "10.24191/doi.org/10.24191/ij.v8i2.81": true,
		"": false, "10": false, "10.": false, "10/abc": false, "10.99/x": false, "10.1234567890/x": false, "10.1000": false, "10.1000/": false,
		"10.1000./x": false, "10..1000/x": false, "10.1000a/x": false, "11.1000/x": false, "10.1000/a b": false, "10.1000/a\tb": false, "x10.1000/a": false,
	} {
		if Is(text) != want || Is([]byte(text)) != want {
			t.Errorf("%q: %t and %t, want %t", text, Is(text), Is([]byte(text)), want)
		}
	}
}

// TestBare_TakesOffWhatStandsBefore: addresses and marks go, what is within a DOI stays.
func TestBare_TakesOffWhatStandsBefore(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		" https://doi.org/10.1000/A ": "10.1000/A", "HTTP://DX.DOI.ORG/10.1/x": "10.1/x", "doi: 10.1/x": "10.1/x", "doi.org/doi: 10.1/a": "10.1/a",
		"info:doi/10.1/a": "10.1/a", "doi:https://doi.org/10.1/a": "10.1/a", "\u200b10.1/a\ufeff\n": "10.1/a", "10.1/doi.org/a": "10.1/doi.org/a", "[doi] 10.1/a": "10.1/a", "\u00a0": "", "": "",
	} {
		got, _ := Bare(text)
		bytes, _ := Bare([]byte(text))
		if got != want || string(bytes) != want {
			t.Errorf("%q is %q and %q, want %q", text, got, bytes, want)
		}
	}
	if _, address := Bare("doi:10.1/a"); address {
		t.Error("a name is no address")
	}
	if _, address := Bare("doi.org/10.1/a"); !address {
		t.Error("the resolver is an address")
	}
	if got := Lower("10.1/AÉ"); got != "10.1/aÉ" {
		t.Error(got)
	}
}
