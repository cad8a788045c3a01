// Package template is the one language in which packs say what is sent: text
// with expressions between, as in
//
//	from-index-date:${date(window.from, '2006-01-02')}
//
// "$${" stands for "${". An expression may name the variables that its place
// declares ([NewVars]), call the functions of one table, compare and choose. It
// reads no file, clock or network, knows no loop, and sees nothing of Go: values
// that are no plain text or numbers are opaque to it. The expression library that
// parses and runs it is used here and nowhere else.
//
// Promises:
//   - Work is bounded: the length of a template, the nodes and the depth of an
//     expression, and the length of what it gives have limits.
//   - A value that somebody asked for ([Raw]) becomes text only through an encoder
//     for the place where it stands, and what an encoder has made is not taken
//     apart again.
//   - What [Template.Render] gives holds no CR, LF or NUL.
package template

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/expr-lang/expr/vm"
)

// Limits of a template and of what it gives.
const (
	MaxText     = 16 << 10 // bytes of a template
	MaxRendered = 1 << 20  // bytes of its result
	maxNodes    = 200      // of one expression
	maxDepth    = 32       // of brackets within brackets
	// memoryBudget bounds what the library makes while it runs an expression.
	memoryBudget = 10_000
)

// ErrControl refuses text that could end a header line or a string in C.
var ErrControl = errors.New("holds CR, LF or NUL")

// Template is literal text with expressions between.
type Template struct {
	Parts []Part
}

// Part is literal text, an expression, or a blank.
type Part struct {
	// Text is literal text.
	Text string
	// Blank is the name of what is filled in only when a request is sent, such
	// as a secret: NAME of ${secret.NAME}.
	Blank string
	// Names are the variables that the expression reads and Calls the functions
	// that it calls.
	Names []string
	Calls []string
	// Elements are the lists of which the expression reads one element, each as often
	// as it does. They are among Names as well.
	Elements []string
	// Dates are the calls of date() whose layout stands in the expression.
	Dates []Date
	// Type is what the expression gives, as far as that can be told before.
	Type Kind

	source  string
	program *vm.Program
}

// Date is a call of date(): the variables in the instant that is written, and the layout.
type Date struct {
	Names  []string
	Layout string
}

// IsExpr reports whether the part has to be evaluated.
func (p Part) IsExpr() bool { return p.program != nil }

// Uses reports whether an expression of the template reads that variable.
func (t *Template) Uses(name string) bool {
	return slices.ContainsFunc(t.Parts, func(p Part) bool { return slices.Contains(p.Names, name) })
}

// Names are the variables that the template reads, each as often as it is read.
func (t *Template) Names() []string {
	var names []string
	for _, p := range t.Parts {
		names = append(names, p.Names...)
	}
	return names
}

// Blanks are the names of the blanks of the template.
func (t *Template) Blanks() []string {
	var names []string
	for _, p := range t.Parts {
		if p.Blank != "" {
			names = append(names, p.Blank)
		}
	}
	return names
}

// Parse reads a template that may use the variables. What it returns is shared and
// must not be changed.
func (v *Vars) Parse(text string) (*Template, error) {
	key := parsedKey{v.signature, text}
	if t := parsed.get(key); t != nil {
		return t, nil
	}
	t, err := v.parse(text)
	if err != nil {
		return nil, err
	}
	parsed.put(key, t)
	return t, nil
}

func (v *Vars) parse(text string) (*Template, error) {
	if len(text) > MaxText {
		return nil, fmt.Errorf("the template is longer than %d bytes", MaxText)
	}
	t := new(Template)
	var literal strings.Builder
	flush := func() {
		if literal.Len() > 0 {
			t.Parts = append(t.Parts, Part{Text: literal.String()})
			literal.Reset()
		}
	}
	for text != "" {
		before, rest, found := strings.Cut(text, "${")
		if !found {
			literal.WriteString(text)
			break
		}
		if start, escaped := strings.CutSuffix(before, "$"); escaped {
			literal.WriteString(start + "${")
			text = rest
			continue
		}
		literal.WriteString(before)
		end, err := expressionEnd(rest)
		if err != nil {
			return nil, fmt.Errorf("${%s: %w", clip(rest, 40), err)
		}
		part, err := v.parsePart(rest[:end])
		if err != nil {
			return nil, fmt.Errorf("${%s}: %w", clip(rest[:end], 80), err)
		}
		flush()
		t.Parts = append(t.Parts, part)
		text = rest[end+1:]
	}
	flush()
	return t, nil
}

// expressionEnd finds the brace that ends an expression: outside of quotes, and
// not that of an inner pair. It also sees that brackets do not nest too deep, for
// the parser goes as deep as they do.
func expressionEnd(s string) (int, error) {
	depth, braces := 0, 0
	for i := 0; i < len(s); i++ {
		switch c := s[i]; c {
		case '"', '\'', '`':
			for i++; i < len(s) && s[i] != c; i++ {
				if s[i] == '\\' && c != '`' {
					i++
				}
			}
			if i >= len(s) {
				return 0, errors.New("a quote is not closed")
			}
		case '(', '[', '{':
			depth++
			if depth > maxDepth {
				return 0, fmt.Errorf("brackets are nested deeper than %d", maxDepth)
			}
			if c == '{' {
				braces++
			}
		case ')', ']':
			depth--
		case '}':
			if braces == 0 {
				return i, nil
			}
			braces--
			depth--
		}
	}
	return 0, errors.New("the closing } is missing")
}

// Eval runs the expression of a part on the values of the variables: a value of
// the type that [NewVars] was given.
func (p Part) Eval(values any) (Value, error) {
	machine := &vm.VM{MemoryBudget: memoryBudget}
	out, err := machine.Run(p.program, values)
	if err != nil {
		return Value{}, fmt.Errorf("${%s}: %w", clip(p.source, 80), plainly(err))
	}
	v, err := valueOf(out)
	if err != nil {
		return Value{}, fmt.Errorf("${%s}: %w", clip(p.source, 80), err)
	}
	return v, nil
}

// Render writes the template as text without CR, LF and NUL.
func (t *Template) Render(values any) (string, error) {
	out, err := t.Write(values, func(v Value, _ string) (string, error) { return v.Text, nil })
	if err != nil {
		return "", err
	}
	if strings.ContainsAny(out, "\r\n\x00") {
		return "", ErrControl
	}
	return out, nil
}

// Write writes literal text as it is and each value as write says, which is told
// what stands before it. Of a blank it is given the name, as a value of [KindBlank].
func (t *Template) Write(values any, write func(v Value, before string) (string, error)) (string, error) {
	var out strings.Builder
	for _, p := range t.Parts {
		text := p.Text
		if p.Blank != "" || p.IsExpr() {
			v := Value{Kind: KindBlank, Text: p.Blank}
			var err error
			if p.IsExpr() {
				v, err = p.Eval(values)
			}
			if err != nil {
				return "", err
			}
			text, err = write(v, out.String())
			if err != nil {
				return "", err
			}
		}
		if out.Len()+len(text) > MaxRendered {
			return "", fmt.Errorf("renders to more than %d bytes", MaxRendered)
		}
		out.WriteString(text)
	}
	return out.String(), nil
}

// clip shortens a text for a message.
func clip(s string, n int) string {
	runes := []rune(s)
	if len(runes) <= n {
		return s
	}
	return string(runes[:n]) + "..."
}
