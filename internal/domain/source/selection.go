package source

import "github.com/papertrace/patra/internal/domain/query"

// QueryConfig is what a source can be searched for and how that is written
// there. Without it a source can only be harvested whole.
type QueryConfig struct {
	Capabilities []query.Capability `yaml:"capabilities" doc:"what the source can do with each field"`
	Rules        []query.Rule       `yaml:"rules" doc:"how each kind of condition is written for the source"`
	Params       []query.ParamMap   `yaml:"params" doc:"standard keys that rules write to, and how several values become one"`
}

// Selection is what of a source is wanted, in the source's own words, as bound
// at plan time. Windows are never part of it (R7).
type Selection struct {
	// Text is the canonical form for people, JSON that for programs.
	Text string `json:"text"`
	JSON string `json:"json"`
	Hash string `json:"hash"`
	// Values are what the source is sent, by standard key; templates read them
	// as query.KEY, the query text as query.text.
	Values map[string]string `json:"values,omitempty"`
	// Repeated are the values of keys of which a source gets several one by one: a
	// parameter whose template reads such a key is sent once for each.
	Repeated map[string][]string `json:"repeated,omitempty"`
}

// everything is the selection of no query at all.
var everything = query.NewSelection(query.All{})

// Selected is the selection of the spec: what was asked for, or everything.
func (s *Spec) Selected() (json, hash string) {
	if s.Query == nil {
		return string(everything.JSON()), everything.Hash()
	}
	return s.Query.JSON, s.Query.Hash
}
