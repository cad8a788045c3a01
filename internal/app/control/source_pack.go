package control

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/papertrace/patra/internal/app/registry"
	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/problem"
	"github.com/papertrace/patra/internal/domain/source"
)

// Packs knows how the descriptions of sources are written down. Mistakes in a pack
// are one error, which lists them ([Mistaken]).
type Packs interface {
	// Read reads a pack and checks it whole: a file, or by its name one that comes
	// with patra. With mistakes it returns what could be read as well.
	Read(name string) (Pack, error)
	// Parse reads a pack from its text, under a name for messages, checks it whole and
	// lists what it leaves open.
	Parse(name, text string) (Pack, []source.Warning, error)
	// Lint checks a pack, or the cases of one, and lists what it leaves open.
	Lint(name string) ([]source.Warning, error)
	// Load reads all packs that come with patra or lie in its folder, by source.
	Load() (map[string]registry.Described, error)
	// Folder is where further packs lie, empty if nowhere. Vars are the values of
	// this instance that packs may use.
	Folder() string
	Vars() map[string]string
	// Values are those of a part of a description, by the paths people write.
	Values(part any) []Value
	// Diff lists the values that two descriptions do not share.
	Diff(a, b source.Definition) []ValueChange
	// Format writes a description as a pack.
	Format(d source.Definition) string
}

// Pack is a pack as it was read.
type Pack struct {
	registry.Described
	// Place says where in the file violations stand.
	Place func(source.Violations) error
	// Has reports whether the file says something at a path.
	Has func(path string) bool
}

// Mistaken is an error that lists the mistakes of packs.
type Mistaken interface {
	error
	Mistakes() []Mistake
}

// Mistake is something wrong in a file, or worth a note, by its place.
type Mistake struct {
	File   string `json:"file"`
	Line   int    `json:"line,omitzero"`
	Column int    `json:"column,omitzero"`
	Path   string `json:"path,omitempty"`
	Text   string `json:"text"`
}

// Value is one value of a description, by its path.
type Value struct {
	Path string `json:"path"`
	Text string `json:"value"`
}

// ValueChange is a value that two descriptions do not share; an empty side does not
// have it.
type ValueChange struct {
	Path string `json:"path"`
	Old  string `json:"old,omitempty"`
	New  string `json:"new,omitempty"`
}

func (d ValueChange) String() string {
	show := func(s string) string {
		if s == "" {
			return "(none)"
		}
		return s
	}
	return fmt.Sprintf("%s: %s -> %s", d.Path, show(d.Old), show(d.New))
}

// Linted is what came of checking packs.
type Linted struct {
	Clean    bool      `json:"clean"`
	Mistakes []Mistake `json:"mistakes"`
	Notes    []Mistake `json:"notes"`
	// Files are those without mistakes, in order.
	Files []LintedFile `json:"-"`

	texts []string // of the mistakes
}

// LintedFile is a file without mistakes and what it leaves open.
type LintedFile struct {
	Name  string
	Notes []source.Warning
}

// Lint checks packs, every one of them whole. It needs neither a store nor a
// network.
func Lint(packs Packs, files []string) (Linted, error) {
	out := Linted{Mistakes: []Mistake{}, Notes: []Mistake{}}
	for _, file := range files {
		warnings, err := packs.Lint(file)
		if bad, is := errors.AsType[Mistaken](err); is {
			out.Mistakes = append(out.Mistakes, bad.Mistakes()...)
			out.texts = append(out.texts, bad.Error())
			continue
		}
		if err != nil {
			return out, err
		}
		out.Files = append(out.Files, LintedFile{Name: file, Notes: warnings})
		for _, w := range warnings {
			out.Notes = append(out.Notes, Mistake{File: file, Path: w.Path, Text: w.Text})
		}
	}
	out.Clean = len(out.Mistakes) == 0
	return out, nil
}

// packSent is the name of a pack that came without a file.
const packSent = "pack"

// LintText checks the text of a pack.
func (c *Control) LintText(text string) (Linted, error) {
	out := Linted{Clean: true, Mistakes: []Mistake{}, Notes: []Mistake{}}
	_, warnings, err := c.packs.Parse(packSent, text)
	if bad, is := errors.AsType[Mistaken](err); is {
		out.Mistakes = append(out.Mistakes, bad.Mistakes()...)
		out.Clean = false
		return out, nil
	}
	for _, w := range warnings {
		out.Notes = append(out.Notes, Mistake{File: packSent, Path: w.Path, Text: w.Text})
	}
	return out, err
}

// Err is an error that lists the mistakes, nil if there are none.
func (l Linted) Err() error {
	if l.Clean {
		return nil
	}
	files := map[string]bool{}
	for _, m := range l.Mistakes {
		files[m.File] = true
	}
	text := joinLines(l.texts)
	return problem.New(text, problem.Problem{
		Code: "pack_invalid", Kind: problem.Usage, Title: Count(len(l.Mistakes), "mistake") + " in " + Count(len(files), "pack"), Detail: text,
		Next: "mend the lines named above and lint again",
	})
}

// SourceDiff is what differs between two states of a source.
type SourceDiff struct {
	Fields []ValueChange `json:"fields"`
	New    string        `json:"new"`
	Old    string        `json:"old"`
	Source string        `json:"source"`
}

// DiffPack compares a pack with what is in force of its source now.
func (c *Control) DiffPack(ctx context.Context, file string) (SourceDiff, error) {
	p, err := c.packs.Read(file)
	if err != nil {
		return SourceDiff{}, err
	}
	con, err := c.registry.Contents(ctx, p.Definition.Source)
	if err != nil {
		return SourceDiff{}, err
	}
	fields := c.differences(con.Pack(con.ReadAt), p.Definition)
	return SourceDiff{Fields: fields, New: file, Old: "in force now", Source: p.Definition.Source}, nil
}

// DiffSource compares a source at two instants; a zero to is now.
func (c *Control) DiffSource(ctx context.Context, code string, from, to time.Time) (SourceDiff, error) {
	con, err := c.registry.Contents(ctx, code)
	if err != nil {
		return SourceDiff{}, err
	}
	if to.IsZero() {
		to = con.ReadAt
	}
	fields := c.differences(con.Pack(from), con.Pack(to))
	return SourceDiff{Fields: fields, New: Time(to).String(), Old: Time(from).String(), Source: code}, nil
}

func (c *Control) differences(a, b source.Definition) []ValueChange {
	if diff := c.packs.Diff(a, b); diff != nil {
		return diff
	}
	return []ValueChange{}
}

// ExportSource writes what is in force of a source at an instant as a pack; zero:
// now.
func (c *Control) ExportSource(ctx context.Context, code string, at time.Time) (string, error) {
	con, err := c.registry.Contents(ctx, code)
	if err != nil {
		return "", err
	}
	if at.IsZero() {
		at = con.ReadAt
	}
	if len(con.InForce(at)) == 0 {
		return "", fmt.Errorf("source %s at %s: no row was in force: %w", code, Time(at), harvest.ErrNotFound)
	}
	return fmt.Sprintf("# %s as in force at %s\n%s", code, Time(at), c.packs.Format(con.Pack(at))), nil
}
