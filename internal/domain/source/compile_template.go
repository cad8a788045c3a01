package source

import (
	"fmt"
	"slices"
	"strings"

	"github.com/papertrace/patra/internal/domain/query"
)

// The variables of a template. page.held.NAME comes on top.
var templateVars = []string{
	"window.from", "window.to", "window.last", "range.on", "range.from", "range.last", "bucket", "buckets",
	"page.size", "page.offset", "page.no", "page.token", "page.first",
	"ids", "vars.contact", "vars.tool",
}

// The instance's own values among them.
var templateOwn = []string{"contact", "tool"}

// The functions of a template, and the words that are neither.
var (
	templateFuncs = []string{"date", "iso", "epoch", "epochms", "join", "lower", "upper", "coalesce", "default", "path", "text", "json", "cut"}
	templateWords = []string{"true", "false", "nil", "and", "or", "not", "in", "contains", "startsWith", "endsWith"}
)

// template is what is known of a checked template: the variables it uses.
type template struct {
	vars []string
}

func (t template) uses(name string) bool { return slices.Contains(t.vars, name) }

// parseTemplate checks the names in a template of text and ${...} expressions;
// "$${" stands for "${". The grammar of an expression is the renderer's.
func parseTemplate(s string) (template, error) {
	var t template
	for {
		before, rest, ok := strings.Cut(s, "${")
		switch {
		case !ok:
			return t, nil
		case strings.HasSuffix(before, "$"):
			s = rest
			continue
		}
		var err error
		if s, err = t.scan(rest); err != nil {
			return t, fmt.Errorf("${%s: %w", clip(rest), err)
		}
	}
}

func clip(s string) string {
	if len(s) > 40 {
		return s[:40] + "..."
	}
	return s
}

// scan goes over one expression, to behind its closing brace.
func (t *template) scan(s string) (rest string, err error) {
	names, depth := 0, 0
	for i := 0; i < len(s); {
		switch c := s[i]; {
		case c == '\'' || c == '"' || c == '`':
			for i++; i < len(s) && s[i] != c; i++ {
				if s[i] == '\\' && c != '`' {
					i++
				}
			}
			if i >= len(s) {
				return "", fmt.Errorf("a quote is not closed")
			}
			names++
		case c == '{':
			depth++
		case c == '}' && depth > 0:
			depth--
		case c == '}':
			if names == 0 {
				return "", fmt.Errorf("the expression is empty")
			}
			return s[i+1:], nil
		case letter(c):
			end := i
			for end < len(s) && (letter(s[end]) || s[end] == '.' || s[end] >= '0' && s[end] <= '9') {
				end++
			}
			name := s[i:end]
			called := strings.HasPrefix(strings.TrimLeft(s[end:], " \t\n"), "(")
			if err := t.name(name, called); err != nil {
				return "", err
			}
			i = end
			names++
			continue
		case c >= '0' && c <= '9':
			for i < len(s) && (letter(s[i]) || s[i] == '.' || s[i] >= '0' && s[i] <= '9') {
				i++
			}
			names++
			continue
		}
		i++
	}
	return "", fmt.Errorf("the closing } is missing")
}

func letter(c byte) bool { return c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }

func (t *template) name(name string, called bool) error {
	held, isHeld := strings.CutPrefix(name, "page.held.")
	switch {
	case called:
		if !slices.Contains(templateFuncs, name) {
			return fmt.Errorf("function %s is not known%s", name, Suggest(name, templateFuncs))
		}
	case slices.Contains(templateWords, name):
	case slices.Contains(templateVars, name), isHeld && held != "", strings.HasPrefix(name, "query.") && len(name) > len("query."),
		strings.HasPrefix(name, secretVar) && len(name) > len(secretVar):
		t.vars = append(t.vars, name)
	default:
		return fmt.Errorf("variable %s is not known%s", name, Suggest(name, append([]string{"page.held.NAME"}, templateVars...)))
	}
	return nil
}

func keysOf[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// Suggest returns ": did you mean X?" for the known word nearest to word, else
// a list of the known words.
func Suggest(word string, known []string) string {
	best := query.Nearest(word, known)
	switch {
	case best != "":
		return fmt.Sprintf(": did you mean %s?", best)
	case len(known) > 0:
		return ": known are " + strings.Join(known, ", ")
	}
	return ""
}
