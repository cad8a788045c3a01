package upstream

import (
	"maps"
	"slices"

	"github.com/papertrace/patra/internal/domain/source"
)

// Check finds what is wrong with the templates of a spec beyond the names they
// use, and hooks that are not there, every one of them by its path in the
// source's description.
func Check(spec *source.Spec) (bad source.Violations) {
	by := func(parse func(string) (*template, error)) func(path, s string) {
		return func(path, s string) {
			if _, err := parse(s); err != nil {
				bad = append(bad, source.Violation{Path: path, Text: err.Error()})
			}
		}
	}
	check, body := by(parseTemplate), by(parseBody)
	group := func(path string, m map[string]string) {
		for _, k := range slices.Sorted(maps.Keys(m)) {
			check(path+"."+k, m[k])
		}
	}
	group("http.headers", spec.HTTP.Headers.Texts())
	for _, p := range source.Purposes() {
		e := spec.Endpoint(p)
		if e == nil {
			continue
		}
		path := "endpoints." + e.Name
		check(path+".path", e.Path)
		group(path+".query", e.Query)
		group(path+".form", e.Form)
		body(path+".body", e.Body)
		if e.Next != nil {
			group(path+".next.query", e.Next.Query)
			group(path+".next.form", e.Next.Form)
			body(path+".next.body", e.Next.Body)
		}
		group(path+".headers", e.Headers.Texts())
	}
	return append(bad, shipped.check(spec)...)
}
