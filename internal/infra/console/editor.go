package console

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/papertrace/patra/internal/domain/problem"
)

// newSource is the editor with a skeleton to begin with.
func (c *Console) newSource(_ context.Context, v *visit) (*view, error) {
	if !v.May(control.Admin) {
		return nil, errReadOnly
	}
	out := c.editor(v, strings.ReplaceAll(control.PackSkeleton, "NAME", "mysource"))
	out.CLI = "patra source new mysource"
	start := panel{ID: "start", Title: v.t("editor.from_oai"), Note: v.t("editor.from_oai_note"), Form: &form{
		Action: v.path("/sources/edit"), Submit: v.t("editor.ask"), Hidden: map[string]string{"do": "oai"},
		Fields: []field{{Name: "oai", Label: v.t("editor.address"), Kind: "url", Required: true}},
	}}
	out.Panels = append([]panel{start}, out.Panels...)
	return out, nil
}

// editSource is the editor with what is in force of a source.
func (c *Console) editSource(ctx context.Context, v *visit) (*view, error) {
	if !v.May(control.Admin) {
		return nil, errReadOnly
	}
	code := v.PathValue("code")
	pack, err := c.control.ExportSource(ctx, code, time.Time{})
	if err != nil {
		return nil, err
	}
	out := c.editor(v, pack)
	out.CLI = "patra source export " + code
	out.Crumbs = append(out.Crumbs, link{code, v.path("/sources/%s", code)})
	return out, nil
}

// editor is a page with a pack to be written, without anything said about it yet.
func (c *Console) editor(v *visit, pack string) *view {
	rows := min(max(strings.Count(pack, "\n")+3, 16), 40)
	return &view{
		Title: v.t("editor.title"), Lead: v.t("editor.lead"), Up: v.path("/sources"), Crumbs: []link{{v.t("rail./sources"), v.path("/sources")}},
		Panels: []panel{{ID: "editor", Title: v.t("editor.pack"), Form: &form{
			Action: v.path("/sources/edit"), Wide: true, Submit: v.t("editor.check"),
			More: []option{{"lint", v.t("editor.lint")}, {"preview", v.t("editor.preview")}},
			Fields: []field{
				{Name: "pack", Label: v.t("editor.yaml"), Kind: "textarea", Value: pack, Rows: rows, Required: true},
				{Name: "at", Label: v.t("editor.at"), Value: v.PostFormValue("at"), Hint: v.t("editor.at_hint")},
				{Name: "observe", Label: v.t("editor.observe"), Value: v.PostFormValue("observe"), Hint: v.t("editor.observe_hint")},
			},
		}}},
	}
}

// mostPack is how long a form with a pack may be.
const mostPack = 2 << 20

// edit looks at a pack that somebody writes, or applies it.
func (c *Console) edit(w http.ResponseWriter, r *http.Request) {
	v := visitOf(r)
	if !c.receive(w, v, mostPack, control.Admin) {
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), checksIn)
	defer cancel()
	pack := strings.ReplaceAll(v.PostFormValue("pack"), "\r\n", "\n")
	do := v.PostFormValue("do")
	if do == "apply" {
		c.applyPack(w, v, pack)
		return
	}
	shown, err := c.edited(ctx, v, do, pack)
	if err != nil {
		c.fail(w, v, err)
		return
	}
	c.answer(w, v, shown, "/sources")
}

// checksIn is how long a check may take: a source may be slow.
const checksIn = 90 * time.Second

// edited is the editor with what there is to say about a pack.
func (c *Console) edited(ctx context.Context, v *visit, do, pack string) (*view, error) {
	if do == "oai" {
		made, err := c.control.PackFromOAI(ctx, "", v.PostFormValue("oai"), "")
		if err != nil {
			return nil, err
		}
		pack = made
	}
	out := c.editor(v, pack)
	linted, err := c.control.LintText(pack)
	if err != nil {
		return nil, err
	}
	said := messagesPanel(v, pack, linted)
	switch {
	case !linted.Clean || do == "lint" || do == "oai":
		out.Panels = append([]panel{said}, out.Panels...)
	case do == "preview":
		shown, err := c.packPreview(v, pack)
		if err != nil {
			return nil, err
		}
		out.Panels = append(append([]panel{said}, shown...), out.Panels...)
	default:
		checked, err := c.checkPanels(ctx, v, pack)
		if err != nil {
			return nil, err
		}
		out.Panels = append(append([]panel{said}, out.Panels...), checked...)
	}
	return out, nil
}

// messagesPanel says what is wrong with a pack, line by line.
func messagesPanel(v *visit, pack string, l control.Linted) panel {
	out := panel{ID: "messages", Title: v.t("editor.messages")}
	if l.Clean && len(l.Notes) == 0 {
		out.Empty = v.t("editor.clean")
		return out
	}
	lines := strings.Split(pack, "\n")
	t := &table{Caption: out.Title, Head: []column{{Text: v.t("col.state")}, {Text: v.t("editor.line"), Num: true}, {Text: v.t("editor.said")}, {Text: v.t("editor.text")}}}
	add := func(f control.Family, word string, m control.Mistake) {
		at := cell{}
		text0 := cell{}
		if m.Line > 0 {
			at = cell{Text: strconv.Itoa(m.Line)}
		}
		if m.Line > 0 && m.Line <= len(lines) {
			text0 = mono(strings.TrimSpace(lines[m.Line-1]))
		}
		t.Rows = append(t.Rows, row{Cells: []cell{stated(f, word), at, {Text: m.Text, Small: m.Path}, text0}})
	}
	for _, m := range l.Mistakes {
		add(control.Failed, v.t("source.wrong"), m)
	}
	for _, m := range l.Notes {
		add(control.Remarked, v.t("source.note"), m)
	}
	out.Table = t
	return out
}

// packWish is a pack that is to be in force, as the API takes it: from when on, and how
// long what was before stays beside it to be watched.
func (v *visit) packWish(pack string) (map[string]any, error) {
	out := map[string]any{"pack": pack}
	at, err := v.readMoment(v.PostFormValue("at"))
	if err != nil {
		return nil, err
	}
	if !at.IsZero() {
		out["at"] = instantText(at)
	}
	if observe := strings.TrimSpace(v.PostFormValue("observe")); observe != "" {
		out["observe"] = observe
	}
	return out, nil
}

// packPreview asks the API what a pack would change, with the form that does it.
func (c *Console) packPreview(v *visit, pack string) ([]panel, error) {
	wish, err := v.packWish(pack)
	if err != nil {
		return nil, err
	}
	a := c.ask(v.apiRequest(http.MethodPost, "/packs/preview", wish))
	if err := a.refused(); err != nil {
		return nil, err
	}
	doc, err := readDocument(a.body.Bytes())
	if err != nil {
		return nil, err
	}
	token := tokenOf(a)
	doc.drop("token")
	doc.drop("applied") // a preview never is
	return append(doc.panels(v), panel{ID: "confirm", Title: v.t("change.confirm"), Note: v.t("change.holds"), Form: &form{
		Action: v.path("/sources/edit"), Submit: v.t("editor.apply"), Hidden: map[string]string{"do": "apply", "pack": pack, "token": token, "at": v.PostFormValue("at"), "observe": v.PostFormValue("observe")},
		Fields: []field{{Name: "reason", Label: v.t("change.reason"), Kind: "text", Required: true, Hint: v.t("change.reason_hint")}},
	}}), nil
}

// applyPack makes the registry say what a pack says, and leads to the source.
func (c *Console) applyPack(w http.ResponseWriter, v *visit, pack string) {
	body, err := v.packWish(pack)
	if err != nil {
		c.fail(w, v, err)
		return
	}
	body["token"] = v.PostFormValue("token")
	body["reason"] = strings.TrimSpace(v.PostFormValue("reason"))
	a := c.ask(v.apiRequest(http.MethodPost, "/packs", body))
	if err := a.refused(); err != nil {
		c.fail(w, v, err)
		return
	}
	doc, err := readDocument(a.body.Bytes())
	if err != nil {
		c.fail(w, v, err)
		return
	}
	code := plain(doc.values["source"])
	if code == "" {
		c.fail(w, v, problem.New(v.t("editor.no_code"), problem.Problem{Code: "usage", Kind: problem.Usage}))
		return
	}
	c.cache.forget()
	http.Redirect(w, v.Request, v.path("/sources/%s", code)+"?done="+url.QueryEscape("apply "+code), http.StatusSeeOther)
}
