// Package sources holds the source packs that ship with patra, one YAML file
// each, named after its source, and beside each the cases it must pass.
package sources

import "embed"

// FS holds the packs and their cases.
//
//go:embed *.yaml
var FS embed.FS
