package sourcefile

import (
	"strings"

	"github.com/goccy/go-yaml/ast"

	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/source"
)

// tasks are a map by operation.
type tasks = map[harvest.Operation]*source.Overrides

func (r *reader) tasks(n ast.Node, path string) tasks {
	entries, _ := r.entries(n, path)
	out := tasks{}
	for _, e := range entries {
		op, ok := harvest.ParseOperation(e.key)
		if !ok {
			r.unknown(e, path, taskNames())
			continue
		}
		name := strings.ToLower(string(op))
		at := join(path, name)
		if out[op] != nil {
			r.fail(e.place, at, "is given twice")
			continue
		}
		o := into[source.Overrides](r, e.value, at)
		out[op] = &o
		r.pack.places[at] = e.place
	}
	if len(out) == 0 {
		return nil
	}
	return out
}

func taskNames() []string {
	var out []string
	for _, op := range source.Operations {
		out = append(out, strings.ToLower(string(op)))
	}
	return out
}
