package source_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/query"
	"github.com/papertrace/patra/internal/domain/source"
)

// searchable is a source whose types and journals are parameters of their own.
func searchable(types, journals query.ParamMap) *source.Definition {
	types.StdKey = "types"
	journals.StdKey = "journals"
	d := def()
	d.Query = &source.QueryConfig{
		Capabilities: []query.Capability{{Field: "type", Ops: []query.Op{query.OpTerm}}, {Field: "jo", Ops: []query.Op{query.OpTerm}}},
		Rules: []query.Rule{
			{Field: "type", Op: query.OpTerm, Emit: query.EmitParams, Params: map[string][]string{"types": {"${plain(value)}"}}},
			{Field: "jo", Op: query.OpTerm, Emit: query.EmitParams, Params: map[string][]string{"journals": {"${quote(value)}"}}},
		},
		Params: []query.ParamMap{types, journals},
	}
	return d
}

func selecting(text string) source.Trigger {
	return source.Trigger{Operation: harvest.Harvest, Query: text}
}

// sentAs renders the search of a spec as the client does.
func sentAs(t *testing.T, spec *source.Spec, name string) []string {
	t.Helper()
	cal, err := spec.Window.Calendar()
	if err != nil {
		t.Fatal(err)
	}
	vars := source.NewCallVars(spec, cal, source.Call{})
	tpl, err := source.ParseTemplate(spec.Search.Query[name])
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, one := range vars.Each(tpl) {
		text, err := tpl.Render(one)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, text)
	}
	return out
}

func TestCompile_SendsKeysByName(t *testing.T) {
	d := searchable(query.ParamMap{Name: "kind", Transform: "${upper(value)}"}, query.ParamMap{Name: "fq", Repeat: true})
	spec, warnings, err := source.Compile(*d, selecting(`type:review jo:"a b" jo:c`))
	if err != nil || len(warnings) > 0 {
		t.Fatal(warnings, err)
	}
	if got := sentAs(t, spec, "kind"); cmp.Diff([]string{"REVIEW"}, got) != "" {
		t.Errorf("kind was sent as %q", got)
	}
	if got := sentAs(t, spec, "fq"); cmp.Diff([]string{`"a b"`, `"c"`}, got) != "" {
		t.Errorf("fq was sent as %q", got)
	}
	if spec.Count != nil && spec.Count.Query["fq"] != "${query.journals}" {
		t.Errorf("the count asks for %v", spec.Count.Query)
	}
	// The description itself is not changed, nor is a plan that selects nothing.
	plain, _, err := source.Compile(*d, harvesting)
	if err != nil || plain.Search.Query["fq"] != "" || plain.Search.Query["kind"] != "" {
		t.Errorf("without a query: %v, %v", plain.Search.Query, err)
	}
}

// TestCompile_SnapshotsNeedAnExecutorThatKnowsTheirWords: one that knows only the
// words of before would take what they say for not said: a bound for open, a page
// for the first but one. One that knows nothing of repeated values would send none of
// them, and harvest more than was asked for; nor would one keep to a query that knows
// nothing of the part that is decided here, or to a window one that would store all of a list,
// or go on after a record one that knows no such place, or tell days by the bounds of a
// slice whose zone is a hint.
func TestCompile_SnapshotsNeedAnExecutorThatKnowsTheirWords(t *testing.T) {
	d := searchable(query.ParamMap{Name: "kind"}, query.ParamMap{Name: "fq", Repeat: true})
	for _, text := range []string{"", `type:review`, `jo:a`, `jo:a jo:b`} {
		spec, _, err := source.Compile(*d, selecting(text))
		if err != nil || spec.Version != 7 {
			t.Errorf("%s: version %d, want 7 (%v)", text, spec.Version, err)
		}
	}
	if source.SpecVersion != 9 {
		t.Errorf("this build runs snapshots up to %d", source.SpecVersion)
	}
}

// TestCompile_SelectionOfAnOlderSnapshot: without the newer fields it is sent as
// it was.
func TestCompile_SelectionOfAnOlderSnapshot(t *testing.T) {
	const snapshot = `{"text":"type:a","json":"{}","hash":"h","values":{"filter":"type:a,type:b"}}`
	var sel source.Selection
	if err := json.Unmarshal([]byte(snapshot), &sel); err != nil {
		t.Fatal(err)
	}
	spec, _, err := source.Compile(*def(), harvesting)
	if err != nil {
		t.Fatal(err)
	}
	spec.Query = &sel
	spec.Search.Query["filter"] = "x:y${query.filter == '' ? '' : ',' + query.filter}"
	if got := sentAs(t, spec, "filter"); cmp.Diff([]string{"x:y,type:a,type:b"}, got) != "" {
		t.Errorf("sent as %q", got)
	}
	back, err := json.Marshal(sel)
	if err != nil || string(back) != snapshot {
		t.Errorf("written again: %s, %v", back, err)
	}
}

func TestCompile_ReadKeysAreSentWhereTheyAreRead(t *testing.T) {
	d := searchable(query.ParamMap{Name: "other"}, query.ParamMap{Name: "fq", Repeat: true})
	d.Endpoints[0].Query["kind"] = "${query.types}"
	d.Endpoints[0].Query["fq"] = "${query.journals == '' ? '' : 'jo:' + query.journals}"
	spec, warnings, err := source.Compile(*d, selecting(`type:review jo:a jo:b`))
	if err != nil {
		t.Fatal(err)
	}
	want := []source.Warning{{Path: "query.params[0].name", Text: "is not used: the template of kind reads ${query.types}"}}
	if diff := cmp.Diff(want, warnings); diff != "" {
		t.Error(diff)
	}
	if _, sent := spec.Search.Query["other"]; sent {
		t.Errorf("sent twice: %v", spec.Search.Query)
	}
	if got := sentAs(t, spec, "fq"); cmp.Diff([]string{`jo:"a"`, `jo:"b"`}, got) != "" {
		t.Errorf("fq was sent as %q", got)
	}
}

func TestCompile_SelectionsThatCannotBeSent(t *testing.T) {
	repeat := query.ParamMap{Name: "fq", Repeat: true}
	for name, c := range map[string]struct {
		change func(*source.Definition)
		want   string
	}{
		"name taken": {
			func(d *source.Definition) { d.Endpoints[0].Query["kind"] = "all" },
			"the query needs types, which is sent as kind, and endpoint works has a parameter of that name: let its template read ${query.types}",
		},
		"name of a credential": {
			func(d *source.Definition) {
				d.Auth = &source.Auth{Type: "API_KEY", In: "QUERY", Name: "Kind"}
			},
			"the query needs types, which is sent as kind, and so is a credential",
		},
		"body": {
			func(d *source.Definition) {
				e := &d.Endpoints[0]
				e.Method = "POST"
				e.ContentType = "text/plain"
				e.Body = "x"
			},
			"the query needs types, which no template of endpoint works reads as ${query.types}",
		},
		"several in a header": {
			func(d *source.Definition) {
				text := "${query.journals}"
				d.Endpoints[0].Headers = source.Headers{"X-Journal": &text}
			},
			"journals has several values, and endpoint works reads ${query.journals} in a place that is sent once: let a parameter read it",
		},
		"several of two keys": {
			func(d *source.Definition) {
				d.Query.Params[0].Repeat = true
				d.Endpoints[0].Query["fq"] = "${query.types}${query.journals}"
			},
			"a parameter of endpoint works reads ${query.types} and another key of several values",
		},
	} {
		d := searchable(query.ParamMap{Name: "kind"}, repeat)
		c.change(d)
		text := `type:review jo:a jo:b`
		if name == "several of two keys" {
			text += ` type:letter`
		}
		_, _, err := source.Compile(*d, selecting(text))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
	}
}
