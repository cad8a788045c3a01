package work

import (
	"maps"
	"regexp"
	"slices"
	"testing"
)

func TestIsPreprintDOI_RegistrantsAreThoseOfTheExpression(t *testing.T) {
	want := regexp.MustCompile(`[0-9]{4,}`).FindAllString(preprintDOIs.String(), -1)
	slices.Sort(want)
	got := slices.Sorted(maps.Keys(preprintRegistrants))
	if !slices.Equal(got, want) {
		t.Errorf("%q are looked for first, and %q have preprints", got, want)
	}
	for doi, is := range map[string]bool{
		"10.1101/2020.01.02.123456": true, "10.1101/gr.123": false, "10.1590/scielopreprints.12": true, "10.1590/0102-311x": false, "10.48550/arxiv.2001.00001": true,
		"10.36227/techrxiv.1": true, "10.2139/ssrn.1": true, "10.21390/x": false, "": false, "10.": false, "11.2139/ssrn.1": false,
	} {
		if isPreprintDOI(doi) != is {
			t.Errorf("%q: %v", doi, !is)
		}
	}
}
