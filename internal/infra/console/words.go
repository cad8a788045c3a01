package console

import (
	"encoding/json"
	"fmt"
	"io/fs"
)

// languages are those that the interface speaks, each by its own name.
var languages = map[string]string{"en": "English", "zh": "中文"}

// words are the texts of the interface in a language, by their keys.
type words map[string]string

// readWords reads the catalogue of a language.
func readWords(language string) (words, error) {
	out := words{}
	names, err := fs.Glob(files, "words/"+language+"/*.json")
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		b, err := files.ReadFile(name)
		if err != nil {
			return nil, err
		}
		parts := map[string]map[string]string{}
		if err := json.Unmarshal(b, &parts); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		for part, texts := range parts {
			for key, text := range texts {
				out[part+"."+key] = text
			}
		}
	}
	return out, nil
}

// say is a text, with what is put into it. A key without a text is shown as it is, and
// a test finds it.
func (w words) say(key string, args ...any) string {
	text, known := w[key]
	if !known {
		return key
	}
	if len(args) == 0 {
		return text
	}
	return fmt.Sprintf(text, args...)
}

// sayOr is a text, or what is given if the catalogue has none.
func (w words) sayOr(key, otherwise string) string {
	if text, known := w[key]; known {
		return text
	}
	return otherwise
}
