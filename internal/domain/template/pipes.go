package template

import "strings"

// FromPipes writes a template of the older form, {{value|lower|filter}}, in
// today's, ${filter(lower(value))}. It reports whether the text was of that form.
// Rows of a registry may hold such templates for ever.
func FromPipes(text string) (string, bool) {
	if !strings.Contains(text, "{{") || strings.Contains(text, "${") {
		return text, false
	}
	var out strings.Builder
	rest := text
	for rest != "" {
		literal, after, found := strings.Cut(rest, "{{")
		out.WriteString(literal)
		if !found {
			break
		}
		inner, next, closed := strings.Cut(after, "}}")
		if !closed {
			return text, false
		}
		name, chain, _ := strings.Cut(inner, "|")
		out.WriteString("${" + called(strings.TrimSpace(name), chain) + "}")
		rest = next
	}
	return out.String(), true
}

// FromChain writes the older form of a parameter's transform, such as
// "exclusive_day|date:2006/01/02", in today's, ${date(exclusive_day(time(value)), '2006/01/02')}.
// It reports whether the text was of that form.
func FromChain(text string) (string, bool) {
	if text == "" || strings.Contains(text, "${") {
		return text, false
	}
	first, _, _ := strings.Cut(text, "|")
	first, _, _ = strings.Cut(first, ":")
	value := "value"
	switch first = strings.TrimSpace(first); {
	case first == "date", first == "epoch", first == "epochms", strings.HasPrefix(first, "exclusive_"):
		value = "time(value)"
	}
	return "${" + called(value, text) + "}", true
}

// called applies the transforms of a chain one around the other.
func called(value, chain string) string {
	if chain == "" {
		return value
	}
	for step := range strings.SplitSeq(chain, "|") {
		name, argument, hasArgument := strings.Cut(step, ":")
		name = strings.TrimSpace(name)
		if name == "strip" {
			name = "cut"
		}
		value = name + "(" + value
		if hasArgument {
			value += ", '" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(argument) + "'"
		}
		value += ")"
	}
	return value
}
