package node

import (
	"fmt"
	"strings"

	"github.com/papertrace/patra/internal/domain/source"
	"github.com/papertrace/patra/internal/infra/decode"
	"github.com/papertrace/patra/internal/infra/upstream"
)

// CheckSpec finds what only the parts that use a spec can see: templates that
// do not render, paths that cannot be followed.
func CheckSpec(spec *source.Spec) source.Violations {
	bad := upstream.Check(spec)
	cal, err := spec.Window.Calendar()
	if err != nil {
		return append(bad, source.Violation{Path: "window.zone", Text: err.Error()})
	}
	for _, p := range source.Purposes() {
		e := spec.Endpoint(p)
		if e == nil {
			continue
		}
		var m *source.Mapping
		if spec.Maps(e) {
			m = &spec.Mapping
		}
		_, err := decode.Compile(e, spec.ID, m, cal)
		for _, err := range split(err) {
			path, text, ok := strings.Cut(err.Error(), ": ")
			switch {
			case !ok:
				path, text = "endpoints."+e.Name, err.Error()
			case strings.HasPrefix(path, "response"):
				path = fmt.Sprintf("endpoints.%s.%s", e.Name, path)
			}
			bad = append(bad, source.Violation{Path: path, Text: text})
		}
	}
	return bad
}

// split takes joined errors apart.
func split(err error) []error {
	if many, ok := err.(interface{ Unwrap() []error }); ok { //nolint:errorlint // as errors.Join made it
		return many.Unwrap()
	}
	if err == nil {
		return nil
	}
	return []error{err}
}
