package source

import (
	"maps"
	"strings"

	"github.com/papertrace/patra/internal/domain/query"
)

// QueryConfig is what a source can be searched for and how that is written
// there. What it cannot be searched for is looked for in its records.
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
	// Sent is the part of the query that the source is asked for, in the JSON form; it
	// finds at least all that is asked for. Empty in plans made when all was sent.
	Sent  string      `json:"sent,omitempty"`
	Finds query.Finds `json:"finds,omitempty"`
	// Rest is the part that is decided here, on each record that comes, in the JSON
	// form and with the source's own values; empty: the source decides everything.
	// Unseen are the fields of Rest that the source's records do not have, and Shown
	// those that they do not show always.
	// Spelt are fields that are sent and whose source may tell accents.
	Rest   string                 `json:"rest,omitempty"`
	Spelt  []string               `json:"spelt,omitempty"`
	Unseen []string               `json:"unseen,omitempty"`
	Shown  map[string]query.Shown `json:"shown,omitempty"`
	// whole is all of the query, with the source's own values, and showing what its records show. Whoever
	// holds stored records against the query needs them; they are no part of a plan.
	whole   query.Expr
	showing map[string]query.Shown
}

// Whole reports whether nothing of the query is sent, so that the source is read whole.
func (s *Selection) Whole() bool { return s.Rest != "" && len(s.Values) == 0 && len(s.Repeated) == 0 }

// SentParam is a parameter of a request that carries a part of the query.
type SentParam struct {
	Name   string
	Values []string
}

// QueryParams are the parameters that carry the query, each as the part of it that its
// template puts in: the window that may stand beside it there is left out.
func (s *Spec) QueryParams() []SentParam {
	var out []SentParam
	if s.Query == nil {
		return out
	}
	values := make(map[string][]string)
	for key, v := range s.Query.Values {
		values[key] = []string{v}
	}
	maps.Copy(values, s.Query.Repeated)
	for _, key := range keysOf(values) {
		out = append(out, SentParam{Name: s.carrier(key), Values: values[key]})
	}
	return out
}

// carrier is the name of the parameter that carries a key of the query, or where else
// the request has it.
func (s *Spec) carrier(key string) string {
	for _, group := range []map[string]string{s.Search.Query, s.Search.Form} {
		for _, name := range keysOf(group) {
			if t, err := ParseTemplate(group[name]); err == nil && t.Uses("query."+key) {
				return name
			}
		}
	}
	if strings.Contains(s.Search.Path, "query."+key) {
		return "path"
	}
	return "body"
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
