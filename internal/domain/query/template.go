package query

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/papertrace/patra/internal/domain/template"
)

// places are the variables that a rule's templates may read, each with a value of
// the type it will have.
type places map[string]any

// placeOf is what a value of that type is to a template: only text that somebody
// asked for can hold anything that would have to be encoded.
func placeOf(t Type) any {
	switch t {
	case TypeDate:
		return template.Instant{}
	case TypeText:
		return template.Raw{}
	}
	return ""
}

// samples are values to try a template on.
var samples = map[string]any{
	"template.Instant": template.At(time.Date(2024, 5, 1, 0, 0, 0, 0, time.UTC)),
	"template.Raw":     template.Asked("word"),
	"template.Encoded": template.Safe("word"),
	"string":           "2024",
}

// compileTemplate reads a template that may use these places. Each of its
// expressions must give text that is fit for its place, which is seen by their
// types, and where those do not tell, by trying them.
func compileTemplate(text string, names places) (*template.Template, error) {
	if err := cleanText(text); err != nil {
		return new(template.Template), fmt.Errorf("the template %w", err)
	}
	text, _ = template.FromPipes(text)
	if strings.Contains(text, "{{") {
		return new(template.Template), errors.New("{{ stands for nothing: a value is written ${quote(value)}")
	}
	t, err := template.NewVars(map[string]any(names)).Parse(text)
	if err != nil {
		return new(template.Template), err
	}
	for _, p := range t.Parts {
		switch p.Type {
		case template.KindInstant:
			return t, fmt.Errorf("say how the time is written: date(%s, '2006-01-02')", p.Names[0])
		case template.KindRaw:
			return t, fmt.Errorf("the value is not encoded for its place: use one of %s", strings.Join(template.Encoders(), ", "))
		}
	}
	values := make(places)
	for name, of := range names {
		values[name] = samples[fmt.Sprintf("%T", of)]
	}
	if _, err := execute(t, values); err != nil {
		return t, err
	}
	return t, nil
}

// errAbsent is returned for a template that needs a bound which is absent.
var errAbsent = errors.New("a bound is missing")

// execute writes the template. A name without value is absent: an expression that
// reads one must come to something nevertheless.
func execute(t *template.Template, values places) (string, error) {
	out, err := t.Write(map[string]any(values), func(v template.Value, _ string) (string, error) {
		switch {
		case v.Kind == template.KindInstant:
			return "", errors.New("say how the time is written, as in date(from, '2006-01-02')")
		case v.Text == "":
			return "", errEmpty
		case len(v.Text) > MaxRendered:
			return "", errTooLong
		}
		if err := cleanText(v.Text); err != nil {
			return "", fmt.Errorf("%s %w", quoted(v.Text), err)
		}
		return v.Text, nil
	})
	isAbsent := func(name string) bool { return values[name] == nil }
	switch {
	case err != nil && slices.ContainsFunc(t.Names(), isAbsent):
		return "", errAbsent
	case err != nil:
		return "", err
	case len(out) > MaxRendered:
		return "", errTooLong
	}
	return out, nil
}

var errEmpty = errors.New("the value leaves nothing to ask for")

// calls reports whether an expression of the part calls that function.
func calls(p template.Part, name string) bool { return slices.Contains(p.Calls, name) }

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
