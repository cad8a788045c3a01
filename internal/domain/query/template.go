package query

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A template is text with places {{name|transform|transform:argument}}. It has no
// code, no loops and no conditions; each name and transform is from a fixed list,
// and the text a value ends as is encoded for its place or the template is refused
// when it is compiled.
type template struct {
	text  string
	parts []part
}

// part is literal text or a place.
type part struct {
	literal string
	name    string
	steps   []step
	// fallback is written for a bound that is absent.
	fallback    string
	hasFallback bool
}

type step struct {
	name, arg string
	transform transform
}

// Limits of a template.
const (
	maxTemplate = 1024
	maxParts    = 32
	maxSteps    = 8
)

// slot is a value on its way through the transforms.
type slot struct {
	kind slotKind
	text string
	at   time.Time
}

type slotKind string

const (
	slotText slotKind = "text" // as it came: not yet fit for any place
	slotTime slotKind = "time"
	slotSafe slotKind = "safe" // fit for its place
)

// transform is one entry of the white list.
type transform struct {
	in, out slotKind // out "" keeps the kind; in "" takes text and safe text
	arg     bool
	apply   func(s slot, arg string) (slot, error)
}

var transforms = makeTransforms()

func makeTransforms() map[string]transform {
	onText := func(f func(string, string) string) func(slot, string) (slot, error) {
		return func(s slot, arg string) (slot, error) { s.text = f(s.text, arg); return s, nil }
	}
	toText := func(f func(time.Time, string) string) func(slot, string) (slot, error) {
		return func(s slot, arg string) (slot, error) { return slot{kind: slotSafe, text: f(s.at, arg)}, nil }
	}
	m := map[string]transform{
		"lower": {apply: onText(func(s, _ string) string { return strings.ToLower(s) })},
		"upper": {apply: onText(func(s, _ string) string { return strings.ToUpper(s) })},
		// strip takes a beginning away, e.g. "https://doi.org/".
		"strip": {arg: true, apply: onText(func(s, arg string) string {
			if len(s) >= len(arg) && strings.EqualFold(s[:len(arg)], arg) {
				return s[len(arg):]
			}
			return s
		})},
		"date": {in: slotTime, out: slotSafe, arg: true, apply: toText(func(t time.Time, layout string) string { return t.Format(layout) })},
		"epoch": {in: slotTime, out: slotSafe, apply: toText(func(t time.Time, _ string) string {
			return strconv.FormatInt(t.Unix(), 10)
		})},
		"epochms": {in: slotTime, out: slotSafe, apply: toText(func(t time.Time, _ string) string {
			return strconv.FormatInt(t.UnixMilli(), 10)
		})},
	}
	// exclusive_X turns an end that is out of the range into the last X in it.
	for name, floor := range map[string]func(time.Time) time.Time{
		"year":   func(t time.Time) time.Time { return time.Date(t.Year(), 1, 1, 0, 0, 0, 0, time.UTC) },
		"month":  func(t time.Time) time.Time { return time.Date(t.Year(), t.Month(), 1, 0, 0, 0, 0, time.UTC) },
		"day":    func(t time.Time) time.Time { return t.Truncate(24 * time.Hour) },
		"hour":   func(t time.Time) time.Time { return t.Truncate(time.Hour) },
		"minute": func(t time.Time) time.Time { return t.Truncate(time.Minute) },
		"second": func(t time.Time) time.Time { return t.Truncate(time.Second) },
	} {
		m["exclusive_"+name] = transform{in: slotTime, out: slotTime, apply: func(s slot, _ string) (slot, error) {
			s.at = floor(s.at.Add(-time.Microsecond))
			return s, nil
		}}
	}
	for name, encode := range encoders {
		m[name] = transform{in: slotText, out: slotSafe, apply: func(s slot, _ string) (slot, error) {
			text, err := encode(s.text)
			return slot{kind: slotSafe, text: text}, err
		}}
	}
	return m
}

// compileTemplate reads a template whose places have these names and kinds.
func compileTemplate(text string, names map[string]slotKind) (template, error) {
	t := template{text: text}
	if err := cleanText(text); err != nil {
		return t, fmt.Errorf("the template %w", err)
	}
	if len(text) > maxTemplate {
		return t, fmt.Errorf("the template is longer than %d bytes", maxTemplate)
	}
	for rest := text; rest != ""; {
		literal, after, found := strings.Cut(rest, "{{")
		if strings.Contains(literal, "}}") {
			return t, errors.New("}} closes nothing")
		}
		if literal != "" {
			t.parts = append(t.parts, part{literal: literal})
		}
		if !found {
			break
		}
		inner, next, closed := strings.Cut(after, "}}")
		if !closed {
			return t, errors.New("{{ is not closed")
		}
		p, err := compilePart(inner, names)
		if err != nil {
			return t, fmt.Errorf("{{%s}}: %w", clipRight(inner, 40), err)
		}
		t.parts = append(t.parts, p)
		rest = next
	}
	if len(t.parts) > maxParts {
		return t, fmt.Errorf("the template has more than %d parts", maxParts)
	}
	return t, nil
}

func compilePart(inner string, names map[string]slotKind) (part, error) {
	words := strings.Split(inner, "|")
	p := part{name: strings.TrimSpace(words[0])}
	kind, ok := names[p.name]
	if !ok {
		return p, fmt.Errorf("%s is not known here%s", quoted(p.name), brackets(suggest(p.name, sortedKeys(names))))
	}
	if len(words)-1 > maxSteps {
		return p, fmt.Errorf("more than %d transforms", maxSteps)
	}
	for _, word := range words[1:] {
		name, arg, hasArg := strings.Cut(word, ":")
		name = strings.TrimSpace(name)
		if name == "default" {
			p.fallback, p.hasFallback = arg, true
			continue
		}
		tr, ok := transforms[name]
		switch {
		case !ok:
			return p, fmt.Errorf("transform %s is not known%s", quoted(name), brackets(suggest(name, append(sortedKeys(transforms), "default"))))
		case p.hasFallback:
			return p, errors.New("default comes last")
		case p.encoder() != "":
			return p, fmt.Errorf("nothing but default may follow %s: it would undo the encoding", p.encoder())
		case hasArg != tr.arg || tr.arg && arg == "":
			return p, fmt.Errorf("transform %s: wrong argument", name)
		case tr.in != "" && tr.in != kind && !(tr.in == slotText && kind == slotSafe):
			return p, fmt.Errorf("transform %s takes %s, not %s", name, tr.in, kind)
		case tr.in == "" && kind == slotTime:
			return p, fmt.Errorf("transform %s takes text, not time", name)
		}
		if tr.out != "" {
			kind = tr.out
		}
		p.steps = append(p.steps, step{name, arg, tr})
	}
	switch kind {
	case slotTime:
		return p, errors.New("say how the time is written: |date:2006-01-02")
	case slotText:
		return p, fmt.Errorf("the value is not encoded for its place: add one of %s", strings.Join(sortedKeys(encoders), ", "))
	}
	return p, nil
}

// encoder is the one the value ends in, or "".
func (p part) encoder() string {
	if len(p.steps) > 0 {
		last := p.steps[len(p.steps)-1].name
		if _, ok := encoders[last]; ok {
			return last
		}
	}
	return ""
}

func brackets(hint string) string {
	if hint == "" {
		return ""
	}
	return " (" + hint + ")"
}

// uses reports whether the template has a place of that name.
func (t template) uses(name string) bool {
	return slices.ContainsFunc(t.parts, func(p part) bool { return p.name == name })
}

// errAbsent is returned for a place whose value is absent and has no default.
var errAbsent = errors.New("a bound is missing")

// execute writes the template. A name without value is absent.
func (t template) execute(values map[string]slot) (string, error) {
	var b strings.Builder
	for _, p := range t.parts {
		if p.name == "" {
			b.WriteString(p.literal)
			continue
		}
		s, ok := values[p.name]
		if !ok {
			if !p.hasFallback {
				return "", errAbsent
			}
			b.WriteString(p.fallback)
			continue
		}
		text, err := run(s, p.steps)
		if err != nil {
			return "", err
		}
		if text == "" {
			return "", fmt.Errorf("%s leaves nothing to ask for", quoted(s.text))
		}
		b.WriteString(text)
		if b.Len() > MaxRendered {
			return "", errTooLong
		}
	}
	return b.String(), nil
}

// run takes a value through the transforms.
func run(s slot, steps []step) (string, error) {
	var err error
	for _, st := range steps {
		if s, err = st.transform.apply(s, st.arg); err != nil {
			return "", err
		}
		if len(s.text) > MaxRendered {
			return "", errTooLong
		}
	}
	if err := cleanText(s.text); err != nil {
		return "", fmt.Errorf("%s %w", quoted(s.text), err)
	}
	return s.text, nil
}
