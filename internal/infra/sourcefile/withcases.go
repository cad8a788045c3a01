package sourcefile

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/source"
)

// caseVars stand for the instance's own values: a case is the same everywhere. The
// contact is masked in what was asked, as in everything that is shown.
var caseVars = map[string]string{"contact": "somebody@example.org", "tool": "patra"}

// WithCases reads a pack, a file or one that comes with patra, and the cases beside
// it; the file of cases stands for its pack.
func (s *Shelf) WithCases(name string) (control.PackCases, error) {
	name = PackOf(name)
	out := control.PackCases{Pack: name, File: CasesOf(name)}
	text, cases, err := s.readWithCases(name)
	if err != nil {
		return out, err
	}
	pack, err := Parse(name, text)
	if err != nil {
		return out, err
	}
	out.Compile = func(op harvest.Operation, query string) (*source.Spec, error) {
		spec, _, err := pack.Compile(source.Trigger{Operation: op, Query: query, Vars: caseVars})
		return spec, err
	}
	out.Cases, err = ParseCases(out.File, cases)
	return out, err
}

func (s *Shelf) readWithCases(name string) (pack, cases []byte, err error) {
	pack, err = ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		own, missing := fs.ReadFile(s.Shipped, name+".yaml")
		if missing == nil {
			cases, err = fs.ReadFile(s.Shipped, CasesOf(name))
			return own, cases, err
		}
	}
	if err != nil {
		return nil, nil, fmt.Errorf("read source pack: %w", err)
	}
	cases, err = ReadFile(CasesOf(name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, &NoCasesError{Pack: name, File: filepath.Base(CasesOf(name))}
	}
	if err != nil {
		return nil, nil, fmt.Errorf("read cases: %w", err)
	}
	return pack, cases, nil
}

// NoCasesError says that there is no file of cases beside a pack.
type NoCasesError struct{ Pack, File string }

func (e *NoCasesError) Error() string {
	return fmt.Sprintf("%s has no cases: there is no %s beside it", e.Pack, e.File)
}
