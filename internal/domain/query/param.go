package query

import (
	"fmt"
	"strings"

	"github.com/papertrace/patra/internal/domain/template"
)

// Standard keys that rules write to, whatever a source calls them. Rules may use
// others; each must be declared by a [ParamMap].
const (
	KeyQuery  = "query" // the query text
	KeyFilter = "filter"
)

// ParamMap says what a source calls a standard key (a row of
// reg_prov_api_param_map). The names declared are the white list: nothing else is
// ever sent.
type ParamMap struct {
	StdKey string `json:"stdKey" yaml:"stdKey" doc:"what rules write to; templates read ${query.KEY}, of query ${query.text}"`
	// Name stands in the column provider_param_name.
	Name string `json:"name" yaml:"name" doc:"the source's parameter, sent by itself if no template reads the key"`
	// Transform is a template of ${value}, each value of the key as the rules have
	// written it, such as ${upper(value)}.
	Transform string `json:"transform,omitempty" yaml:"transform,omitempty" doc:"shapes each value, such as ${upper(value)}"`
	// Joiner makes one value of several; without it several are refused, or sent as
	// several parameters of the same name if Repeat is set.
	Joiner string `json:"joiner,omitempty" yaml:"joiner,omitempty" doc:"makes one value of several conditions"`
	Repeat bool   `json:"repeat,omitempty" yaml:"repeat,omitempty" doc:"sends the parameter once for each condition"`
	// NameMark ends the name in each joined part ("type:review"). It is set where
	// the source reads parts of one name as alternatives: then no two conditions
	// may share a name.
	NameMark string `json:"nameMark,omitempty" yaml:"nameMark,omitempty" doc:"ends names in joined parts where those of one name are alternatives"`
}

// param is a compiled ParamMap.
type param struct {
	ParamMap
	transform *template.Template // nil: values go as they are
}

// instantSample is what a transform that reads an instant is tried on.
const instantSample = "2024-05-01T00:00:00.000000Z"

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
	t, err := compileTransform(m.Transform)
	if err != nil {
		problems.add(Place{Path: path + ".transform"}, "", "%v", err)
		return p
	}
	p.transform = t
	return p
}

func compileTransform(text string) (*template.Template, error) {
	text, _ = template.FromChain(text)
	t, err := template.NewVars(map[string]any{"value": ""}).Parse(text)
	switch {
	case err != nil:
		return nil, err
	case !t.Uses("value"):
		return nil, fmt.Errorf("${value} is missing: every value would become the same")
	}
	_, err = execute(t, places{"value": instantSample})
	return t, err
}

// apply gives a value the form that the source wants.
func (p param) apply(value string) (string, error) {
	if p.transform == nil {
		return value, nil
	}
	text, err := execute(p.transform, places{"value": value})
	if err != nil {
		return "", fmt.Errorf("the transform of %s: %w", p.StdKey, err)
	}
	return text, nil
}

// Sent is a parameter as the source gets it.
type Sent struct {
	StdKey string
	Name   string
	// Values is one value, or of a key that repeats one for each condition.
	Values []string
}

// sent makes one parameter of the values of a key.
func (p param) sent(values []string) Sent {
	out := Sent{StdKey: p.StdKey, Name: p.Name, Values: values}
	if p.Joiner != "" {
		out.Values = []string{strings.Join(values, p.Joiner)}
	}
	return out
}
