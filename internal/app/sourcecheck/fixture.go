package sourcecheck

import "github.com/papertrace/patra/internal/domain/harvest"

// Fixture is a check that was saved: what it depended on and what came back.
type Fixture struct {
	Version   int               `json:"version"`
	Source    string            `json:"source"`
	Operation harvest.Operation `json:"operation"`
	Query     string            `json:"query,omitempty"`
	BaseURL   string            `json:"base_url,omitempty"`
	Asked     harvest.Window    `json:"asked"` // zero bounds: not asked for
	Records   int               `json:"records,omitzero"`
	Situation Situation         `json:"situation"`
	Files     []string          `json:"exchanges"`

	// Exchanges is what came back, each in a file of its own.
	Exchanges []Exchange `json:"-"`
}
