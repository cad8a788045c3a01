package console

import (
	"context"
	"strings"

	"github.com/papertrace/patra/internal/app/control"
)

// keys are what can be pressed, each with the key of its sentence.
var keys = []struct{ press, does string }{
	{"/", "help.key_search"},
	{"g o, g s, g p, g q, g c, g r, g e, g d, g b, g a, g t", "help.key_rooms"},
	{"j k", "help.key_rows"},
	{"Enter", "help.key_open"},
	{".", "help.key_actions"},
	{"[ ]", "help.key_siblings"},
	{"u", "help.key_up"},
	{"p", "help.key_pause"},
	{"← → ↑ ↓ Home End", "help.key_cells"},
	{"?", "help.key_help"},
}

// spokenOf are the words of the glossary that stand on most pages.
var spokenOf = []string{"source", "pack", "plan", "slice", "task", "run", "page", "cursor", "watermark", "gap", "quarantine", "record", "work", "black_box"}

// documents are what there is to read, by where it stands in the source of patra.
var documents = []string{"docs/tour.md", "docs/glossary.md", "docs/write-a-source.md", "docs/commands.md", "docs/codes.md", "docs/export.md", "docs/blackbox.md", "docs/metrics.md"}

// help tells which keys there are, what the marks and words mean, and where more stands.
func (c *Console) help(_ context.Context, v *visit) (*view, error) {
	out := &view{Title: v.t("shell.help"), Lead: v.t("help.lead"), CLI: "patra explain"}
	press := &table{Caption: v.t("help.keys"), Head: []column{{Text: v.t("help.press")}, {Text: v.t("help.does")}}}
	for _, k := range keys {
		press.Rows = append(press.Rows, row{Cells: []cell{mono(k.press), text(v.t(k.does))}})
	}
	marks := &table{Caption: v.t("help.marks"), Head: []column{{Text: v.t("help.mark")}, {Text: v.t("help.means")}}}
	for _, f := range []control.Family{control.Waiting, control.Active, control.OK, control.Partial, control.Remarked, control.Failed, control.Stopped, control.Off} {
		marks.Rows = append(marks.Rows, row{Cells: []cell{stated(f, v.t("mark."+string(f))), text(v.t("mark." + string(f) + "_means"))}})
	}
	fresh := &table{Caption: v.t("col.freshness"), Head: []column{{Text: v.t("col.freshness")}, {Text: v.t("help.means")}}}
	for _, f := range []control.Freshness{control.FreshOnTime, control.FreshCatchingUp, control.FreshLate, control.FreshWaiting, control.FreshStopped} {
		fresh.Rows = append(fresh.Rows, row{Cells: []cell{v.freshness(f), text(v.t("fresh." + string(f)))}})
	}
	glossary := &table{Caption: v.t("help.words"), Head: []column{{Text: v.t("help.word")}, {Text: v.t("help.means")}}}
	for _, w := range spokenOf {
		glossary.Rows = append(glossary.Rows, row{Cells: []cell{text(v.t("word." + w)), text(v.t("word." + w + "_means"))}})
	}
	read := &table{Caption: v.t("help.documents"), Head: []column{{Text: v.t("help.document")}, {Text: v.t("help.about")}}}
	for _, d := range documents {
		name := strings.TrimSuffix(strings.TrimPrefix(d, "docs/"), ".md")
		read.Rows = append(read.Rows, row{Cells: []cell{mono(d), text(v.t("document." + strings.ReplaceAll(name, "-", "_")))}})
	}
	read.Rows = append(read.Rows, row{Cells: []cell{linked("/api/v1/openapi.json", v.path("/api/v1/openapi.json")), text(v.t("document.openapi"))}})
	out.Panels = []panel{
		{ID: "keys", Title: v.t("help.keys"), Note: v.t("help.keys_note"), Table: press, Switch: &onOff{ID: "keys-switch", On: v.t("help.keys_on"), Off: v.t("help.keys_off")}},
		{ID: "marks", Title: v.t("help.marks"), Note: v.t("help.marks_note"), Table: marks},
		{ID: "fresh", Title: v.t("col.freshness"), Table: fresh},
		{ID: "words", Title: v.t("help.words"), Table: glossary},
		{ID: "documents", Title: v.t("help.documents"), Table: read},
	}
	return out, nil
}
