package console

import (
	"fmt"
	"html/template"
	"strings"

	"github.com/papertrace/patra/internal/app/control"
)

// reasonFamilies are the families of the reasons that are more than waiting.
var reasonFamilies = map[control.Reason]control.Family{
	"":                           control.Active,
	control.ReasonRateWait:       control.Partial,
	control.ReasonRateCooldown:   control.Partial,
	control.ReasonQuota:          control.Partial,
	control.ReasonQuotaKept:      control.Partial,
	control.ReasonCircuitOpen:    control.Failed,
	control.ReasonLineStopped:    control.Failed,
	control.ReasonSpecInvalid:    control.Failed,
	control.ReasonNoExecutor:     control.Remarked,
	control.ReasonSourcePaused:   control.Off,
	control.ReasonScheduledLater: control.Waiting,
}

// reasonsPanel draws what the queued tasks wait for, as parts of one bar.
func (v *visit) reasonsPanel(all []control.WaitingShare) panel {
	var sum int64
	for _, r := range all {
		sum += r.Tasks
	}
	t := &table{Caption: v.t("queue.reasons"), Head: []column{{Text: v.t("why.waiting")}, {Text: v.t("col.why")}, {Text: v.t("queue.tasks"), Num: true}}}
	var b strings.Builder
	fmt.Fprintf(&b, `<svg class="wide" role="img" aria-label="%s" height="24">`, template.HTMLEscapeString(v.t("queue.reasons")))
	var legend []state
	x := 0.0
	for _, r := range all {
		family, known := reasonFamilies[r.Reason]
		if !known {
			family = control.Waiting
		}
		name := v.look.words.sayOr("reason."+string(r.Reason), string(r.Reason))
		if r.Reason == "" {
			name = v.t("queue.next_in_turn")
		}
		tasks := counted(control.Counted{Count: r.Tasks, More: r.More})
		width := float64(r.Tasks) / float64(sum) * 100
		fmt.Fprintf(&b, `<rect class="f-%s" x="%.2f%%" y="0" width="%.2f%%" height="22"><title>%s</title></rect>`,
			family, x, max(width-0.3, 0.2), template.HTMLEscapeString(name+": "+tasks.Text))
		if width > 8 {
			fmt.Fprintf(&b, `<text class="sign" x="%.2f%%" y="15">%s %s</text>`, x+width/2, family.Glyph(), template.HTMLEscapeString(tasks.Text))
		}
		x += width
		legend = append(legend, state{Family: family, Word: name + " " + tasks.Text})
		t.Rows = append(t.Rows, row{Cells: []cell{stated(family, name), text(r.Text), tasks}})
	}
	b.WriteString(`</svg>`)
	drawing := template.HTML(b.String()) //nolint:gosec // numbers, and words that are escaped
	return panel{ID: "reasons", Title: v.t("queue.reasons"), Figure: &figure{
		Title: v.t("queue.reasons"), Summary: v.t("queue.reasons_summary", grouped(sum), len(all), all[0].Text), Drawing: drawing, Legend: legend, Data: t,
	}}
}
