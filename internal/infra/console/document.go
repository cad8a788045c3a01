package console

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"time"
)

// document is a document of the API that is shown as it is: names and values, in the
// order they came.
type document struct {
	names  []string
	values map[string]json.RawMessage
}

// readDocument reads an object with its names in order.
func readDocument(b []byte) (*document, error) {
	d := json.NewDecoder(bytes.NewReader(b))
	out := &document{values: map[string]json.RawMessage{}}
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return out, err
	}
	for d.More() {
		t, err := d.Token()
		if err != nil {
			return out, err
		}
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return out, err
		}
		name, _ := t.(string)
		out.names = append(out.names, name)
		out.values[name] = value
	}
	return out, nil
}

// text is a text within the document, empty if it is not there.
func (d *document) text(name string) string {
	var s string
	if json.Unmarshal(d.values[name], &s) != nil {
		return ""
	}
	return s
}

// inner is an object within the document.
func (d *document) inner(name string) (*document, bool) {
	out, err := readDocument(d.values[name])
	return out, err == nil
}

func (d *document) drop(name string) {
	delete(d.values, name)
	var left []string
	for _, n := range d.names {
		if n != name {
			left = append(left, n)
		}
	}
	d.names = left
}

// unwrap takes the only object of a document out of its wrapping: what all names begin with
// tells nothing.
func (d *document) unwrap() {
	if len(d.names) != 1 {
		return
	}
	value := d.values[d.names[0]]
	if len(value) == 0 || value[0] != '{' {
		return
	}
	inner, err := readDocument(value)
	if err == nil {
		*d = *inner
	}
}

// beforeAfter puts what will be behind what is.
func (d *document) beforeAfter() {
	after := slices.Index(d.names, "after")
	before := slices.Index(d.names, "before")
	if after < 0 || before < after {
		return
	}
	d.names[after] = "before"
	d.names[before] = "after"
}

// mostShown is how many things of a list are shown before a change is confirmed.
const mostShown = 20

// panels show the document: single values as facts, lists as tables.
func (d *document) panels(v *visit) []panel {
	facts := panel{ID: "preview", Title: v.t("change.preview")}
	var tables []panel
	d.unwrap()
	d.beforeAfter()
	d.each("", func(name string, value json.RawMessage) {
		switch {
		case len(value) > 0 && value[0] == '[':
			if p, is := tableOf(v, name, value); is {
				tables = append(tables, p)
				return
			}
			facts.Facts = append(facts.Facts, fact{v.named(name), cell{Lines: plainList(value)}})
		default:
			facts.Facts = append(facts.Facts, fact{v.named(name), v.valued(value)})
		}
	})
	if len(facts.Facts) == 0 {
		return tables
	}
	return append([]panel{facts}, tables...)
}

// each visits every value that is no object, with the names above it before its own.
func (d *document) each(above string, visit func(name string, value json.RawMessage)) {
	for _, name := range d.names {
		value := d.values[name]
		if len(value) > 0 && value[0] == '{' {
			if inner, err := readDocument(value); err == nil {
				inner.each(above+name+" ", visit)
				continue
			}
		}
		visit(above+name, value)
	}
}

// named is a name of a document, with those above it, in the visitor's language.
func (v *visit) named(name string) string {
	var parts []string
	for part := range strings.SplitSeq(name, " ") {
		parts = append(parts, v.look.words.sayOr("doc."+part, spoken(part)))
	}
	return strings.Join(parts, ": ")
}

// valued is a single value of a document: instants and yes or no as people write them.
func (v *visit) valued(value json.RawMessage) cell {
	said := plain(value)
	switch t, err := time.Parse(time.RFC3339Nano, said); {
	case err == nil:
		return instant(t)
	case said == "true":
		return text(v.t("doc.yes"))
	case said == "false":
		return text(v.t("doc.no"))
	case said == "null":
		return cell{}
	}
	return text(said)
}

// spoken is a name of a document as a person says it.
func spoken(name string) string { return strings.ReplaceAll(name, "_", " ") }

// plain is a value without the marks of JSON.
func plain(value json.RawMessage) string {
	var s string
	if json.Unmarshal(value, &s) == nil {
		return s
	}
	return string(value)
}

// plainList are the values of a list without the marks of JSON.
func plainList(value json.RawMessage) []string {
	var all []json.RawMessage
	if json.Unmarshal(value, &all) != nil {
		return []string{string(value)}
	}
	var out []string
	for _, one := range all {
		out = append(out, plain(one))
	}
	return out
}

// tableOf shows a list of objects; false if it is a list of something else.
func tableOf(v *visit, name string, value json.RawMessage) (panel, bool) {
	var all []json.RawMessage
	if json.Unmarshal(value, &all) != nil || len(all) == 0 || all[0][0] != '{' {
		return panel{}, false
	}
	out := panel{ID: "list-" + strings.ReplaceAll(name, " ", "-"), Title: v.named(name), Table: &table{Caption: v.named(name)}}
	if len(all) > mostShown {
		out.Note = v.t("change.first", mostShown, len(all))
		all = all[:mostShown]
	}
	var columns []string
	known := map[string]bool{}
	var rows []map[string]cell
	for _, one := range all {
		cells := map[string]cell{}
		inner, err := readDocument(one)
		if err != nil {
			continue
		}
		inner.each("", func(name string, value json.RawMessage) {
			if !known[name] {
				known[name] = true
				columns = append(columns, name)
			}
			cells[name] = v.valued(value)
			if len(value) > 0 && value[0] == '[' {
				cells[name] = cell{Lines: plainList(value)}
			}
		})
		rows = append(rows, cells)
	}
	for _, name := range columns {
		out.Table.Head = append(out.Table.Head, column{Text: v.named(name)})
	}
	for _, cells := range rows {
		r := row{}
		for _, name := range columns {
			r.Cells = append(r.Cells, cells[name])
		}
		out.Table.Rows = append(out.Table.Rows, r)
	}
	return out, true
}
