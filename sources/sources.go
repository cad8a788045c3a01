// Package sources holds the source packs that ship with patra, one YAML file
// each, named after its source.
package sources

import "embed"

// FS holds the packs.
//
//go:embed *.yaml
var FS embed.FS
