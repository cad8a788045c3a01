package upstream

import "github.com/papertrace/patra/internal/domain/source"

// Check finds hooks that a spec names and that are not there, each by its path in
// the source's description.
func Check(spec *source.Spec) source.Violations { return shipped.check(spec) }
