package console

import (
	"context"
	"fmt"
	"net/http"
	"slices"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/problem"
)

// Demo is the simulator behind a demonstration. Each fault befalls one source.
type Demo interface {
	// Kinds are the faults that can be switched on.
	Kinds() []string
	// SourceOf is the source that a fault befalls.
	SourceOf(kind string) string
	// IsOn reports whether a fault is switched on, Served how many requests it befell.
	IsOn(kind string) bool
	Served(kind string) int
	// Switch turns a fault on or off. While it is on it befalls every request that it
	// can befall.
	Switch(kind string, on bool) error
}

// How patra shows a fault that lasts; whatever is not named here is an outage, which is
// asked again later.
var (
	// stopping faults look like a change of the source: it is not asked again before a
	// person has looked.
	stopping = []string{"html_200", "error_200", "total_dropped"}
	// spoiling faults leave items that cannot be taken in.
	spoiling = []string{"invalid_utf8", "detail_missing", "detail_bad_item"}
	// breaking faults make a walk begin again.
	breaking = []string{"empty_middle_page", "repeated_page", "cursor_expired", "webenv_lost", "total_wrong", "token_dropped", "token_dropped_short"}
	// harmless faults do not keep the work from going on.
	harmless = []string{"slow", "short_page", "detail_extra", "retry_after_on_200"}
)

// seenAs is the key of the sentence that says how and when a fault is seen.
func seenAs(kind string) string {
	for key, kinds := range map[string][]string{"seen.stops": stopping, "seen.aside": spoiling, "seen.again": breaking, "seen.harmless": harmless} {
		if slices.Contains(kinds, kind) {
			return key
		}
	}
	return "seen.outage"
}

// demoPages are those of a demonstration; none where there is nothing invented.
func (c *Console) demoPages() []page {
	if c.demo == nil {
		return nil
	}
	return []page{{"/demo", "/demo", c.demoPage}}
}

// demoPage is the tour, and a switch for every fault.
func (c *Console) demoPage(ctx context.Context, v *visit) (*view, error) {
	out := &view{Title: v.t("rail./demo"), Lead: v.t("demo.lead"), Topics: "work time"}
	tour, err := c.tour(ctx, v)
	if err != nil {
		return nil, err
	}
	t := &table{Caption: v.t("demo.faults"), Head: []column{
		{Text: v.t("demo.fault")}, {Text: v.t("demo.switch")}, {Text: v.t("demo.what")}, {Text: v.t("demo.befalls")}, {Text: v.t("demo.served"), Num: true},
	}}
	on := 0
	for _, kind := range c.demo.Kinds() {
		is := c.demo.IsOn(kind)
		if is {
			on++
		}
		source := c.demo.SourceOf(kind)
		t.Rows = append(t.Rows, row{Picked: is, Cells: []cell{
			mono(kind),
			c.switchCell(v, kind, is),
			{Text: v.look.words.sayOr("fault."+kind, spoken(kind)), Lines: []string{v.t(seenAs(kind))}},
			linked(source, v.path("/sources/%s", source)),
			count(c.demo.Served(kind)),
		}})
	}
	faults := panel{ID: "faults", Title: v.t("demo.faults"), Note: v.t("demo.faults_note"), Table: t}
	if on > 0 {
		out.State = &state{Family: control.Remarked, Word: v.t("demo.on", on)}
		if v.May(control.Operator) {
			faults.Actions = []action{{Label: v.t("demo.all_off"), Post: c.base + "/demo", Hidden: map[string]string{"fault": "all", "to": "off"}, ID: "switch-all"}}
		}
	}
	out.Panels = []panel{tour, faults}
	return out, nil
}

// switchCell tells whether a fault is on, with the button that turns it.
func (c *Console) switchCell(v *visit, kind string, on bool) cell {
	out := stated(control.Off, v.t("demo.is_off"))
	turn := action{Label: v.t("demo.turn_on"), Post: c.base + "/demo", Hidden: map[string]string{"fault": kind, "to": "on"}, ID: "switch-" + kind}
	if on {
		out = stated(control.Remarked, v.t("demo.is_on"))
		turn.Label = v.t("demo.turn_off")
		turn.Hidden["to"] = "off"
	}
	if v.May(control.Operator) {
		out.Actions = []action{turn}
	}
	return out
}

// tour leads through what patra is for in three steps: a run, what was asked and
// answered in it, and the same again without any effect.
func (c *Console) tour(ctx context.Context, v *visit) (panel, error) {
	out := panel{ID: "tour", Title: v.t("demo.tour")}
	list, err := c.control.Runs(ctx, control.RunQuery{State: harvest.RunSucceeded, Page: control.Page{Limit: 1}})
	if err != nil {
		return out, err
	}
	if len(list.Runs) == 0 {
		out.Empty = v.t("demo.tour_soon")
		return out, nil
	}
	run := list.Runs[0].ID
	batch := fmt.Sprintf("%d/1", run)
	step := func(n, what, href, next string) need {
		return need{State: state{Family: control.Active, Word: n}, Text: what, Where: link{v.t("demo.go"), href}, Next: next}
	}
	out.Needs = []need{
		step("1", v.t("demo.tour_1"), v.path("/runs/%d", run), fmt.Sprintf("patra run show %d", run)),
		step("2", v.t("demo.tour_2"), v.base+"/blackbox/"+batch, "patra blackbox show "+batch),
		step("3", v.t("demo.tour_3"), v.base+"/blackbox/"+batch, "patra replay "+batch),
	}
	return out, nil
}

// errNoFault says that there is no such fault.
func errNoFault(err error) error {
	return problem.New(err.Error(), problem.Problem{Code: "usage", Kind: problem.Usage, Next: "choose one of the page"})
}

// switchFault turns a fault on or off, or all of them off, for a form of our own.
func (c *Console) switchFault(w http.ResponseWriter, r *http.Request) {
	v := visitOf(r)
	if c.demo == nil {
		c.fail(w, v, errNoPage)
		return
	}
	if !c.receive(w, v, mostForm, control.Operator) {
		return
	}
	kinds := []string{v.PostFormValue("fault")}
	on := v.PostFormValue("to") == "on"
	if kinds[0] == "all" {
		kinds = c.demo.Kinds()
		on = false
	}
	for _, kind := range kinds {
		if err := c.demo.Switch(kind, on); err != nil {
			c.fail(w, v, errNoFault(err))
			return
		}
	}
	c.cache.forget()
	http.Redirect(w, r, v.path("/demo"), http.StatusSeeOther)
}

// errReadOnly says that the visitor may not change anything.
var errReadOnly = problem.New("nothing can be changed here by you", problem.Problem{
	Code: "read_only", Kind: problem.Usage, Next: "ask an operator, or a server without --read-only",
})
