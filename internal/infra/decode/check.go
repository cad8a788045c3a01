package decode

import (
	"fmt"
	"strings"

	"github.com/papertrace/patra/internal/domain/problem"
	"github.com/papertrace/patra/internal/domain/source"
)

// Check finds what only a decoder can see of a spec: paths that cannot be followed.
func Check(spec *source.Spec) source.Violations {
	var bad source.Violations
	cal, err := spec.Window.Calendar()
	if err != nil {
		return append(bad, source.Violation{Path: "window.zone", Text: err.Error()})
	}
	for _, p := range source.Purposes() {
		e := spec.Endpoint(p)
		if e == nil {
			continue
		}
		_, err := compileFor(spec, e, cal)
		for _, err := range problem.Each(err) {
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
