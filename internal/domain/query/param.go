package query

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Standard keys: the names under which the parts of a request are known here,
// whatever a source calls them. Rules may use others; each must be declared by a
// [ParamMap].
const (
	KeyQuery    = "query" // the query text
	KeyFilter   = "filter"
	KeyFrom     = "from" // instants, in [InstantLayout]
	KeyTo       = "to"   // out of the range
	KeyPageSize = "page_size"
	KeyOffset   = "offset"
	KeyPage     = "page"
	KeyCursor   = "cursor"
	KeySort     = "sort"
	KeyIDs      = "ids"
)

// ParamMap says what a source calls a standard key (a row of
// reg_prov_api_param_map). The names declared are the white list: nothing else is
// ever sent.
type ParamMap struct {
	StdKey string `json:"stdKey" yaml:"stdKey"`
	Name   string `json:"name" yaml:"name"` // provider_param_name
	// Transform is a chain of transforms of the value, such as
	// "exclusive_day|date:2006/01/02" for an end that the source includes.
	Transform string `json:"transform,omitempty" yaml:"transform,omitempty"`
	// Joiner makes one value of several; without it several are refused, or sent as
	// several parameters of the same name if Repeat is set.
	Joiner string `json:"joiner,omitempty" yaml:"joiner,omitempty"`
	Repeat bool   `json:"repeat,omitempty" yaml:"repeat,omitempty"`
	// NameMark ends the name in each joined part ("type:review"). It is set where
	// the source reads parts of one name as alternatives: then no two conditions
	// may share a name.
	NameMark string `json:"nameMark,omitempty" yaml:"nameMark,omitempty"`
}

// param is a compiled ParamMap.
type param struct {
	ParamMap
	steps []step
	time  bool // the transforms begin with an instant
}

func compileParam(m ParamMap, path string, problems *Problems) param {
	p := param{ParamMap: m}
	at := Place{Path: path}
	for _, one := range [][2]string{{"stdKey", m.StdKey}, {"name", m.Name}} {
		if s := one[1]; s == "" || cleanText(s) != nil || strings.ContainsAny(s, " &=?#") {
			problems.add(Place{Path: path + "." + one[0]}, "", "%s cannot name a parameter", quoted(s))
		}
	}
	if err := cleanText(m.Joiner + m.NameMark); err != nil {
		problems.add(at, "", "the joiner %v", err)
	}
	if m.Joiner != "" && m.Repeat {
		problems.add(at, "", "joiner and repeat exclude each other")
	}
	if m.NameMark != "" && m.Joiner == "" {
		problems.add(at, "", "nameMark needs a joiner")
	}
	if m.Transform == "" {
		return p
	}
	// Where the first transform takes time the value is an instant; else it is text,
	// which as a parameter of its own needs no encoding beyond the transport's.
	kind := slotSafe
	first, _, _ := strings.Cut(strings.SplitN(m.Transform, "|", 2)[0], ":")
	if transforms[strings.TrimSpace(first)].in == slotTime {
		kind, p.time = slotTime, true
	}
	part, err := compilePart("value|"+m.Transform, map[string]slotKind{"value": kind})
	switch {
	case err != nil:
		problems.add(Place{Path: path + ".transform"}, "", "%v", err)
	case part.hasFallback:
		problems.add(Place{Path: path + ".transform"}, "", "a parameter has no default")
	}
	p.steps = part.steps
	return p
}

func (p param) apply(value string) (string, error) {
	s := slot{kind: slotSafe, text: value}
	if p.time {
		t, err := time.Parse(InstantLayout, value)
		if err != nil {
			return "", fmt.Errorf("parameter %s: %s is not an instant", p.StdKey, quoted(value))
		}
		s = slot{kind: slotTime, at: t}
	}
	text, err := run(s, p.steps)
	if err != nil {
		return "", fmt.Errorf("parameter %s: %w", p.StdKey, err)
	}
	return text, nil
}

// Map turns values under standard keys into the source's own parameters. Empty
// values are left out. A key that is not declared is refused.
func (r *Renderer) Map(std map[string][]string) (map[string][]string, error) {
	out := make(map[string][]string)
	for _, key := range sortedKeys(std) {
		var values []string
		p, known := r.params[key]
		for _, v := range std[key] {
			if v == "" {
				continue
			}
			if !known {
				return nil, fmt.Errorf("%s has no parameter for %s: %s", r.source, quoted(key), suggest(key, sortedKeys(r.params)))
			}
			text, err := p.apply(v)
			if err != nil {
				return nil, err
			}
			if text != "" {
				values = append(values, text)
			}
		}
		switch {
		case len(values) == 0:
			continue
		case p.Joiner != "":
			values = []string{strings.Join(values, p.Joiner)}
		case len(values) > 1 && !p.Repeat:
			return nil, fmt.Errorf("%s takes one %s, not %d", r.source, key, len(values))
		}
		if slices.ContainsFunc(values, func(v string) bool { return len(v) > MaxRendered }) {
			return nil, fmt.Errorf("parameter %s: %w", key, errTooLong)
		}
		out[p.Name] = values
	}
	return out, nil
}
