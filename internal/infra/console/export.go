package console

import (
	"context"
	"encoding/csv"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// mostExported is how many rows of a list a file has at most.
const mostExported = 10_000

// moreHeader says where a file goes on that does not hold all of its list.
const moreHeader = "Patra-More"

// export answers with the list of a page as a file, with all that its filters let through
// and not only the part that is shown.
func (c *Console) export(w http.ResponseWriter, v *visit, p page) {
	ctx, cancel := context.WithTimeout(v.Context(), answersIn)
	defer cancel()
	var rows [][]string
	for next := ""; ; {
		shown, err := p.show(ctx, v)
		if err != nil {
			c.fail(w, v, err)
			return
		}
		at := shown.listed()
		if at < 0 {
			break
		}
		list := shown.Panels[at]
		if rows == nil {
			rows = append(rows, list.Table.heads())
		}
		for _, r := range list.Table.Rows {
			rows = append(rows, r.texts(len(list.Table.Head)))
		}
		next = list.Next
		if next == "" {
			break
		}
		if len(rows) > mostExported {
			w.Header().Set(moreHeader, next)
			break
		}
		v, err = v.goOn(next)
		if err != nil {
			c.fail(w, v, err)
			return
		}
	}
	w.Header().Set("Content-Type", "text/csv; charset=utf-8")
	w.Header().Set("Content-Disposition", `attachment; filename="patra`+strings.ReplaceAll(strings.TrimPrefix(v.URL.Path, c.base), "/", "-")+`.csv"`)
	out := csv.NewWriter(w)
	out.WriteAll(rows) //nolint:errcheck // whoever asked is gone
}

// goOn is the same visit, at the next part of a list.
func (v *visit) goOn(next string) (*visit, error) {
	u, err := url.Parse(next)
	if err != nil {
		return v, err
	}
	r := v.Request.Clone(v.Context())
	r.URL.RawQuery = u.RawQuery
	other := *v
	other.Request = r
	return &other, nil
}

// listed is the place of the list that a page is about; negative if it has none, or nothing
// is in it. A part called list is that list; where there is none it is the first table of a
// page with filters.
func (p *view) listed() int {
	at := slices.IndexFunc(p.Panels, func(one panel) bool { return one.ID == "list" })
	if at < 0 && len(p.Filters) > 0 {
		at = slices.IndexFunc(p.Panels, func(one panel) bool { return one.Table != nil })
	}
	if at < 0 || p.Panels[at].Table == nil {
		return -1
	}
	return at
}

func (t *table) heads() []string {
	var out []string
	for _, h := range t.Head {
		out = append(out, h.Text)
	}
	return out
}

// texts are the cells of a row as texts, as many as there are columns.
func (r row) texts(columns int) []string {
	out := make([]string, columns)
	for i, c := range r.Cells[:min(len(r.Cells), columns)] {
		out[i] = noFormula(c.plain())
	}
	return out
}

// plain is what a cell says, in one text.
func (c cell) plain() string {
	var parts []string
	add := func(text string) {
		if text != "" {
			parts = append(parts, text)
		}
	}
	if c.State != nil {
		add(c.State.Word)
	}
	add(strings.ReplaceAll(c.Text, "\u202f", "")) // thousands stand apart for eyes only
	if c.At != nil {
		add(c.At.Format(time.RFC3339))
	}
	if c.Bar != nil {
		add(c.Bar.Text)
	}
	for _, m := range c.Marks {
		add(m.Word)
	}
	for _, line := range c.Lines {
		add(line)
	}
	for _, p := range c.Passages {
		add(p.Text)
	}
	add(c.Small)
	return strings.Join(parts, " ")
}

// noFormula is a text that no program for tables takes for a formula.
func noFormula(text string) string {
	if strings.HasPrefix(text, "=") || strings.HasPrefix(text, "+") || strings.HasPrefix(text, "-") || strings.HasPrefix(text, "@") || strings.HasPrefix(text, "\t") || strings.HasPrefix(text, "\r") {
		return "'" + text
	}
	return text
}
