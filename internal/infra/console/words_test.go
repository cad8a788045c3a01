package console

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestWords_EveryLanguageSaysEverything: the catalogues have the same keys, the same
// places for what is put into a text, and nothing that no page says.
func TestWords_EveryLanguageSaysEverything(t *testing.T) {
	en, err := readWords("en")
	if err != nil {
		t.Fatal(err)
	}
	for language := range languages {
		other, err := readWords(language)
		if err != nil {
			t.Fatal(err)
		}
		for key, text := range en {
			said, known := other[key]
			if !known || strings.TrimSpace(said) == "" {
				t.Errorf("%s has no text for %s", language, key)
			}
			if !slices.Equal(places(text), places(said)) {
				t.Errorf("%s: %s puts %v into %q, and English %v", language, key, places(said), said, places(text))
			}
		}
		for key := range other {
			if _, known := en[key]; !known {
				t.Errorf("%s says %s, and English does not", language, key)
			}
		}
	}
}

var place = regexp.MustCompile(`%[-+0-9.]*[a-z%]`)

func places(text string) []string { return place.FindAllString(text, -1) }

// TestWords_EveryKeyThatIsUsedIsThere reads the keys out of the code and the templates.
func TestWords_EveryKeyThatIsUsedIsThere(t *testing.T) {
	en, err := readWords("en")
	if err != nil {
		t.Fatal(err)
	}
	used := regexp.MustCompile(`(?:\.t|\.say|\{\{t|\(t) ?\(?"([^"]+\.[^"]+)"`)
	names, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	pages, err := filepath.Glob("templates/*.html")
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, name := range append(names, pages...) {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range used.FindAllStringSubmatch(string(b), -1) {
			found++
			if _, known := en[m[1]]; !known && !strings.HasSuffix(m[1], ".") {
				t.Errorf("%s says %s, which no catalogue has", name, m[1])
			}
		}
	}
	if found < 50 {
		t.Errorf("only %d keys found", found)
	}
}
