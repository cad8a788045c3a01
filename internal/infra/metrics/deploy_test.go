package metrics

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/papertrace/patra/internal/app/alert"
)

var ofPatra = regexp.MustCompile(`patra_[a-z0-9_]+`)

// named are the metrics that a text names, histograms without their suffix.
func named(text string) map[string]bool {
	out := map[string]bool{}
	for _, name := range ofPatra.FindAllString(text, -1) {
		out[strings.TrimSuffix(name, "_bucket")] = true
	}
	return out
}

// declared finds a metric by its name.
func declared(name string) bool {
	return slices.ContainsFunc(all(), func(m Metric) bool { return m.Name == name })
}

// TestDeploy_TheDashboardShowsEveryMetric and none that there is not.
func TestDeploy_TheDashboardShowsEveryMetric(t *testing.T) {
	text, err := Dashboard()
	if err != nil {
		t.Fatal(err)
	}
	var board struct {
		Panels []struct {
			ID      int
			Type    string
			GridPos struct{ H, W, X, Y int }
			Targets []struct{ Expr string }
		}
	}
	if err := json.Unmarshal(text, &board); err != nil {
		t.Fatal(err)
	}
	shown := map[string]bool{}
	places := map[[2]int]bool{}
	for _, p := range board.Panels {
		place := [2]int{p.GridPos.X, p.GridPos.Y}
		if places[place] {
			t.Errorf("panel %d lies over another", p.ID)
		}
		places[place] = true
		for _, q := range p.Targets {
			for name := range named(q.Expr) {
				shown[name] = true
				if !declared(name) {
					t.Errorf("panel %d asks for %s, which there is not", p.ID, name)
				}
			}
		}
	}
	for _, m := range all() {
		if !shown[m.Name] {
			t.Errorf("%s is on no panel", m.Name)
		}
	}
}

// TestDeploy_EveryRuleHasOneOfPrometheus: each rule that patra holds sources against is
// one of Prometheus too, over metrics that there are, with the labels that they have.
func TestDeploy_EveryRuleHasOneOfPrometheus(t *testing.T) {
	var file struct {
		Groups []struct {
			Name  string
			Rules []struct {
				Alert, Expr, For string
				Labels           map[string]string
				Annotations      map[string]string
			}
		}
	}
	if err := yaml.UnmarshalWithOptions(Rules(), &file, yaml.Strict()); err != nil {
		t.Fatal(err)
	}
	have := map[string]string{}
	for _, r := range file.Groups[0].Rules {
		have[r.Labels["rule"]] = r.Expr
		names := named(r.Expr)
		for name := range names {
			if !declared(name) {
				t.Errorf("%s asks for %s, which there is not", r.Alert, name)
			}
		}
		if len(names) == 0 || r.Annotations["summary"] == "" || r.Labels["severity"] == "" {
			t.Errorf("%+v says too little", r)
		}
	}
	for _, r := range alert.Rules {
		if have[string(r.Code)] == "" {
			t.Errorf("%s has no rule of Prometheus", r.Code)
		}
	}
	for code := range expressions() {
		if _, known := alert.RuleOf(code); !known {
			t.Errorf("%s is no rule of patra", code)
		}
	}
}

// TestDeploy_QueriesAskForLabelsThatThereAre: by (...) and {...} name labels of the
// metric that they stand at.
func TestDeploy_QueriesAskForLabelsThatThereAre(t *testing.T) {
	selector := regexp.MustCompile(`(patra_[a-z0-9_]+)\{([^}]*)\}`)
	key := regexp.MustCompile(`([a-z]+)\s*[=!]`)
	queries := map[string]string{}
	for _, s := range sections() {
		for _, g := range s.graphs {
			for _, l := range g.lines {
				queries[g.title] += " " + l.expr
			}
		}
	}
	for _, r := range rules() {
		queries[r.name] = r.expr
	}
	for title, text := range queries {
		for _, m := range selector.FindAllStringSubmatch(text, -1) {
			i := slices.IndexFunc(all(), func(d Metric) bool { return d.Name == strings.TrimSuffix(m[1], "_bucket") })
			for _, k := range key.FindAllStringSubmatch(m[2], -1) {
				if i < 0 || !slices.Contains(all()[i].Labels, k[1]) {
					t.Errorf("%s: %s has no label %s", title, m[1], k[1])
				}
			}
		}
	}
}
