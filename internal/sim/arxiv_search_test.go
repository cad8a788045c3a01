package sim

import "testing"

// TestArXiv_GroupsToTheRight: the language has no precedence, whatever stands behind an
// operator belongs to it, and words side by side are joined by OR.
func TestArXiv_GroupsToTheRight(t *testing.T) {
	leaf := func(_ string, v termValue) (clause, error) {
		return clause{test: func(uint32, *record) bool { return v.text == "yes" }}, nil
	}
	for text, want := range map[string]bool{
		"no AND no OR yes":            false, // no AND (no OR yes)
		"(no AND no) OR yes":          true,
		"yes ANDNOT no AND no":        true, // yes AND NOT (no AND no)
		"yes ANDNOT yes ANDNOT yes":   true, // yes AND NOT (yes AND NOT yes)
		"(yes ANDNOT yes) ANDNOT yes": false,
		"no yes":                      true,
		"no AND yes":                  false,
	} {
		test, err := lucene{leaf: leaf, letters: luceneLetters, rightward: true}.compile(text)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if got := test(0, nil); got != want {
			t.Errorf("%s: %v, want %v", text, got, want)
		}
	}
}
