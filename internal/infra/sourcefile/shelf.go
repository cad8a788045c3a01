package sourcefile

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/papertrace/patra/internal/app/registry"
	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/problem"
	"github.com/papertrace/patra/internal/domain/source"
)

var (
	_ control.Packs    = (*Shelf)(nil)
	_ registry.Packs   = opened{}
	_ control.Mistaken = Problems(nil)
)

// Shelf are the packs that an instance knows: those that come with it, those of a
// folder, and any file that is named.
type Shelf struct {
	// Shipped are the packs that come with patra, Dir a folder of further ones, of
	// which one of the same source replaces the shipped one.
	Shipped fs.FS
	Dir     string
	// Instance are the values of this instance that packs may use.
	Instance map[string]string
	// Deep finds what only the parts that use a contract can see.
	Deep func(*source.Spec) source.Violations
}

// Load implements control.Packs. Every mistake in every file is reported at once,
// in a [PackError].
func (s *Shelf) Load() (map[string]registry.Described, error) {
	l := loading{packs: make(registry.Read)}
	l.read(s.Shipped, "sources/", registry.Shipped)
	if err := l.readFolder(s.Dir); err != nil {
		return nil, err
	}
	return l.packs, l.mistakes()
}

// Open returns the packs for those who need some of them: what comes with patra is
// read when it is asked for. Those of the folder are read here, and every mistake in
// them is reported at once, in a [PackError].
func (s *Shelf) Open() (registry.Packs, error) {
	l := loading{packs: make(registry.Read)}
	if err := l.readFolder(s.Dir); err != nil {
		return nil, err
	}
	return opened{folder: l.packs, shipped: s.Shipped}, l.mistakes()
}

// OpenFor is Open for a node. One that only looks at what is stored can do so without
// packs: if some have mistakes, only the shipped ones are there for it.
func (s *Shelf) OpenFor(readOnly bool, log *slog.Logger) (registry.Packs, error) {
	packs, err := s.Open()
	bad, mistaken := errors.AsType[*PackError](err)
	if !readOnly || !mistaken {
		return packs, err
	}
	log.Warn("source packs are left out", "folder", s.Dir, "err", bad)
	shipped := Shelf{Shipped: s.Shipped}
	return shipped.Open()
}

// loading is how far packs were read.
type loading struct {
	packs registry.Read
	errs  []error
}

func (l *loading) mistakes() error {
	if len(l.errs) > 0 {
		return &PackError{Err: errors.Join(l.errs...)}
	}
	return nil
}

// readFolder reads the packs of a folder, if there is one.
func (l *loading) readFolder(dir string) error {
	if dir == "" {
		return nil
	}
	if _, err := os.ReadDir(dir); err != nil {
		return fmt.Errorf("read folder of source packs: %w", err)
	}
	l.read(os.DirFS(dir), strings.TrimSuffix(dir, string(filepath.Separator))+string(filepath.Separator), registry.File)
	return nil
}

func (l *loading) read(fsys fs.FS, prefix, origin string) {
	names, err := fs.Glob(fsys, "*.yaml")
	if err != nil {
		l.errs = append(l.errs, err)
		return
	}
	for _, name := range names {
		if IsCases(name) {
			continue
		}
		b, err := ReadFS(fsys, name)
		if err != nil {
			l.errs = append(l.errs, fmt.Errorf("read pack: %w", err))
			continue
		}
		d, err := describe(prefix+name, b, origin)
		if err != nil {
			l.errs = append(l.errs, err)
			continue
		}
		l.packs[d.Definition.Source] = d
	}
}

// opened are the packs of a folder, which were read, and behind them those that come
// with patra, each in a file named after its source.
type opened struct {
	folder  registry.Read
	shipped fs.FS
}

// Codes implements registry.Packs.
func (o opened) Codes() []string {
	all := maps.Clone(map[string]registry.Described(o.folder))
	names, _ := fs.Glob(o.shipped, "*.yaml") // the only error is a bad pattern
	for _, name := range names {
		if !IsCases(name) {
			all[strings.TrimSuffix(name, ".yaml")] = registry.Described{}
		}
	}
	return slices.Sorted(maps.Keys(all))
}

// Pack implements registry.Packs.
func (o opened) Pack(code string) (registry.Described, bool, error) {
	if d, is := o.folder[code]; is {
		return d, true, nil
	}
	if !slices.Contains(o.Codes(), code) {
		return registry.Described{}, false, nil
	}
	text, err := fs.ReadFile(o.shipped, code+".yaml")
	if err != nil {
		return registry.Described{}, false, fmt.Errorf("read pack: %w", err)
	}
	d, err := describe("sources/"+code+".yaml", text, registry.Shipped)
	return d, err == nil, err
}

// Scheduled implements registry.Packs. A shipped pack is read only if it has the word
// in it.
func (o opened) Scheduled() (out []string, err error) {
	for _, code := range o.Codes() {
		if _, read := o.folder[code]; !read {
			text, err := fs.ReadFile(o.shipped, code+".yaml")
			if err != nil {
				return nil, fmt.Errorf("read pack: %w", err)
			}
			if !bytes.Contains(text, []byte("schedule:")) {
				continue
			}
		}
		d, _, err := o.Pack(code)
		if err != nil {
			return nil, err
		}
		if d.Definition.Scheduled() {
			out = append(out, code)
		}
	}
	return out, nil
}

// shippedRead are the shipped packs that were read, by their text: each is the same as
// long as the process lives, however often it is asked for.
var shippedRead sync.Map

// describe reads a pack.
func describe(name string, text []byte, origin string) (registry.Described, error) {
	key := sha256.Sum256(text)
	if d, known := shippedRead.Load(key); known && origin == registry.Shipped {
		return d.(registry.Described), nil
	}
	p, err := Parse(name, text)
	if err != nil {
		// What can be read of it may have further mistakes.
		_, _, err = p.Compile(source.Trigger{Operation: harvest.Harvest})
		return registry.Described{}, err
	}
	d := registry.Described{Definition: p.Definition, Hash: p.Hash(), Origin: origin}
	if origin == registry.Shipped {
		shippedRead.Store(key, d)
	}
	return d, nil
}

// PackError says what is wrong with source packs.
type PackError struct{ Err error }

func (e *PackError) Error() string { return e.Err.Error() }

func (e *PackError) Unwrap() error { return e.Err }

// Problem implements problem.Error.
func (e *PackError) Problem() problem.Problem {
	return problem.Problem{
		Code: "pack_invalid", Kind: problem.Usage, Title: "a source pack has mistakes", Detail: e.Error(),
		Next: "mend the lines named above and run the command again; nothing was changed",
	}
}

// Folder implements control.Packs.
func (s *Shelf) Folder() string { return s.Dir }

// Vars implements control.Packs.
func (s *Shelf) Vars() map[string]string { return s.Instance }

// Read implements control.Packs.
func (s *Shelf) Read(name string) (control.Pack, error) {
	p, origin, _, err := s.read(name)
	if p == nil {
		return control.Pack{}, err
	}
	return p.asRead(origin), err
}

// Parse implements control.Packs.
func (s *Shelf) Parse(name, text string) (control.Pack, []source.Warning, error) {
	p, _ := Parse(name, []byte(text)) // its mistakes are among those that Check finds
	warnings, err := p.Check(s.Instance, s.Deep)
	return p.asRead(registry.File), warnings, err
}

// asRead is the pack as others see it.
func (p *Pack) asRead(origin string) control.Pack {
	d := registry.Described{Definition: p.Definition, Hash: p.Hash(), Origin: origin}
	place := func(v source.Violations) error { return p.Place(v) }
	return control.Pack{Described: d, Place: place, Has: p.Has}
}

// read reads a pack and checks it whole: a file, or by the name of its source one of the
// folder, or else one that comes with patra.
func (s *Shelf) read(name string) (p *Pack, origin string, warnings []source.Warning, err error) {
	origin = registry.File
	b, err := ReadFile(name)
	if file := s.fileOf(name); errors.Is(err, fs.ErrNotExist) && file != "" {
		name = file
		b, err = ReadFile(name)
	}
	if errors.Is(err, fs.ErrNotExist) {
		own, shipped := fs.ReadFile(s.Shipped, name+".yaml")
		if shipped == nil {
			name += ".yaml"
			origin = registry.Shipped
			b = own
			err = nil
		}
	}
	if err != nil {
		return nil, origin, nil, fmt.Errorf("read source pack: %w", err)
	}
	p, _ = Parse(name, b) // its mistakes are among those that Check finds
	warnings, err = p.Check(s.Instance, s.Deep)
	return p, origin, warnings, err
}

// fileOf is the file of the folder that describes a source, empty if none does.
func (s *Shelf) fileOf(code string) (file string) {
	if s.Dir == "" {
		return ""
	}
	names, _ := filepath.Glob(filepath.Join(s.Dir, "*.yaml")) // the only error is a bad pattern
	for _, name := range names {
		if IsCases(name) {
			continue
		}
		b, err := ReadFile(name)
		if err != nil {
			continue // whoever opens the folder tells of it
		}
		if p, _ := Parse(name, b); p != nil && p.Definition.Source == code {
			file = name // of several the last is the one that counts
		}
	}
	return file
}

// Lint implements control.Packs.
func (s *Shelf) Lint(name string) ([]source.Warning, error) {
	if !IsCases(name) {
		_, _, warnings, err := s.read(name)
		return warnings, err
	}
	data, err := ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("read cases: %w", err)
	}
	_, err = ParseCases(name, data)
	return nil, err
}

// Values implements control.Packs.
func (s *Shelf) Values(part any) []control.Value { return Values(part) }

// Diff implements control.Packs.
func (s *Shelf) Diff(a, b source.Definition) []control.ValueChange { return Diff(a, b) }

// Format implements control.Packs.
func (s *Shelf) Format(d source.Definition) string { return string(Format(d)) }
