package sourcefile

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/papertrace/patra/internal/domain/problem"
	"github.com/papertrace/patra/internal/domain/source"
)

// MaxSize is the largest pack read.
const MaxSize = 1 << 20

// Pack is a source pack as read: the definition and where each part of it
// stands in the file.
type Pack struct {
	File       string
	Definition source.Definition
	places     map[string]place
	problems   Problems
}

type place struct{ line, column int }

// Problem is one mistake in a pack.
type Problem struct {
	File         string
	Line, Column int
	Path         string // e.g. window.zone
	Text         string
}

func (p Problem) String() string {
	s := fmt.Sprintf("%s:%d:%d: ", p.File, p.Line, p.Column)
	if p.Path != "" {
		s += p.Path + ": "
	}
	return s + p.Text
}

// Problems are all mistakes found in a pack.
type Problems []Problem

func (p Problems) Error() string {
	lines := make([]string, len(p))
	for i := range p {
		lines[i] = p[i].String()
	}
	return strings.Join(lines, "\n")
}

// Mistakes implements control.Mistaken.
func (p Problems) Mistakes() []control.Mistake {
	out := make([]control.Mistake, len(p))
	for i, m := range p {
		out[i] = control.Mistake(m)
	}
	return out
}

// Problem implements problem.Error.
func (p Problems) Problem() problem.Problem {
	title := fmt.Sprintf("the source pack has %d mistakes", len(p))
	if len(p) == 1 {
		title = "the source pack has 1 mistake"
	}
	return problem.Problem{
		Code: "pack_invalid", Kind: problem.Usage, Title: title, Detail: p.Error(),
		Next: "mend the lines named above and run `patra source lint FILE`; nothing was changed",
	}
}

// Parse reads a pack. On [Problems] the pack is returned as far as it could be
// read, so that [Pack.Compile] can find what else is wrong with it; it is not
// to be used otherwise.
func Parse(file string, data []byte) (*Pack, error) {
	p := &Pack{File: file, places: map[string]place{}}
	r := &reader{pack: p}
	r.document(data)
	p.Definition = p.Definition.Canonical()
	if len(p.problems) > 0 {
		return p, p.problems
	}
	return p, nil
}

// Compile compiles the pack's definition for an operation. The error, if any, is [Problems]:
// those of reading and those of meaning, each with its place in the file.
func (p *Pack) Compile(t source.Trigger) (*source.Spec, []source.Warning, error) {
	spec, warnings, err := source.Compile(p.Definition.For(t.Operation), t)
	violations, known := errors.AsType[source.Violations](err)
	if err != nil && !known {
		return nil, warnings, fmt.Errorf("%s: %w", p.File, err)
	}
	if len(p.problems) == 0 && violations.ListsNothing() {
		return nil, warnings, violations
	}
	if problems := p.Place(violations); len(problems) > 0 {
		return nil, warnings, problems
	}
	return spec, warnings, nil
}

// Check is [source.Check] of the pack's definition. The error, if any, is
// [Problems]: those of reading and those of meaning, by their place in the file.
func (p *Pack) Check(vars map[string]string, deep func(*source.Spec) source.Violations) ([]source.Warning, error) {
	violations, warnings := source.Check(p.Definition, vars, deep)
	if problems := p.Place(violations); len(problems) > 0 {
		slices.SortStableFunc(problems, func(a, b Problem) int {
			return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
		})
		return warnings, problems
	}
	return warnings, nil
}

// Place puts violations in their place in the file, behind what was wrong with
// reading it.
func (p *Pack) Place(violations source.Violations) Problems {
	problems := slices.Clone(p.problems)
	for _, v := range violations {
		if p.follows(v.Path) {
			continue
		}
		at := p.at(v.Path)
		problems = append(problems, Problem{File: p.File, Line: at.line, Column: at.column, Path: v.Path, Text: v.Text})
	}
	return problems
}

// follows reports whether a violation at path may only be the echo of a problem
// of reading in the same place.
func (p *Pack) follows(path string) bool {
	for _, q := range p.problems {
		if q.Path == "" || parent(q.Path) == parent(path) ||
			strings.HasPrefix(path, q.Path) || strings.HasPrefix(q.Path, path) {
			return true
		}
	}
	return false
}

// at finds the place of a path, or of the nearest part around it.
func (p *Pack) at(path string) place {
	for ; path != ""; path = parent(path) {
		if at, ok := p.places[path]; ok {
			return at
		}
	}
	return place{1, 1}
}

func parent(path string) string {
	if i := strings.LastIndexAny(path, ".["); i >= 0 {
		return path[:i]
	}
	return ""
}

// Hash identifies the description as written, whatever its layout.
func (p *Pack) Hash() string {
	sum := sha256.Sum256(Format(p.Definition))
	return hex.EncodeToString(sum[:])
}

// Has reports whether a path, or its beginning, stands in the file.
func (p *Pack) Has(path string) bool {
	for ; path != ""; path = parent(path) {
		if _, ok := p.places[path]; ok {
			return true
		}
	}
	return false
}
