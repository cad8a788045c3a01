package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
)

// form is how a command prints its answer. Whatever the form, the data are the same:
// those of the API.
type form string

const (
	asTable form = "table" // words and tables for people, as wide as the terminal
	asWide  form = "wide"  // the same, however wide
	asJSON  form = "json"  // one object
	asJSONL form = "jsonl" // an object a line, for each thing of a list
	asYAML  form = "yaml"
	asCSV   form = "csv"  // a row for each thing of a list
	asName  form = "name" // what other commands call each thing by
)

var forms = []form{asTable, asWide, asJSON, asJSONL, asYAML, asCSV, asName}

// settleForm finds the form that was asked for.
func (c *cli) settleForm() error {
	if c.json && c.form != asTable && c.form != asJSON {
		return fmt.Errorf("--json and -o %s: use one of them", c.form)
	}
	if c.quiet && (c.json || c.form != asTable && c.form != asName) {
		return errors.New("-q prints names and nothing else: leave --json and -o out")
	}
	if c.json {
		c.form = asJSON
	}
	if c.quiet {
		c.form = asName
	}
	if len(c.fields) > 0 && (c.form == asTable || c.form == asWide || c.form == asName) {
		return fmt.Errorf("--fields picks from data: use it with -o %s", listed([]form{asJSON, asJSONL, asYAML, asCSV}))
	}
	if c.form == asWide {
		c.screen.width = 0
	}
	c.json = c.form != asTable && c.form != asWide
	return nil
}

func listed(all []form) string {
	words := make([]string, len(all))
	for i, f := range all {
		words[i] = string(f)
	}
	return strings.Join(words[:len(words)-1], ", ") + " or " + words[len(words)-1]
}

// show prints what control answers of one thing: as data if that was asked for, else in words.
func (c *cli) show(v any, words func()) error { return c.showList(v, "", words) }

// showList prints an answer that is a list, which is the member at of it.
func (c *cli) showList(v any, at string, words func()) error {
	if c.json {
		return c.printData(v, at)
	}
	words()
	return nil
}

// printData prints an answer for programs. Those forms that have a line for each thing have one for
// each member of the list at, or one for the answer where that is no list.
func (c *cli) printData(v any, at string) error {
	if c.form == asJSON && len(c.fields) == 0 {
		return c.printJSON(v)
	}
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("marshal output: %w", err)
	}
	doc, err := readValue(json.NewDecoder(bytes.NewReader(b)))
	if err != nil {
		return fmt.Errorf("read output: %w", err)
	}
	list := things(doc, at)
	if len(c.fields) > 0 {
		if err := knownFields(list, c.fields); err != nil {
			return &usageError{err: err}
		}
		for i := range list {
			list[i] = pick(list[i].(object), c.fields)
		}
		doc = withThings(doc, list, at)
	}
	if c.form == asJSONL || c.form == asCSV || c.form == asName {
		c.noteMore(doc)
	}
	switch c.form {
	case asJSONL:
		for _, one := range list {
			if err := c.printJSON(one); err != nil {
				return err
			}
		}
		return nil
	case asYAML:
		text, err := yaml.Marshal(yamlValue(doc))
		if err != nil {
			return fmt.Errorf("marshal output: %w", err)
		}
		c.printf("%s", text)
		return nil
	case asCSV:
		c.printCSV(list)
		return nil
	case asName:
		return c.printNames(list)
	default:
		return c.printJSON(doc)
	}
}

// noteMore says that a list goes on, where its form has no place for that.
func (c *cli) noteMore(doc any) {
	o, _ := doc.(object)
	next, _ := o.get("next")
	if text, is := next.(string); is && text != "" {
		c.notef("next: %s\n", c.nextPageOf(text))
	}
}

// member is one of an object, whose order is kept.
type member struct {
	key   string
	value any
}

type object []member

// MarshalJSON implements json.Marshaler.
func (o object) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, m := range o {
		if i > 0 {
			b.WriteByte(',')
		}
		key, err := json.Marshal(m.key)
		if err != nil {
			return nil, err
		}
		value, err := json.Marshal(m.value)
		if err != nil {
			return nil, err
		}
		b.Write(key)
		b.WriteByte(':')
		b.Write(value)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

func (o object) get(key string) (any, bool) {
	i := slices.IndexFunc(o, func(m member) bool { return m.key == key })
	if i < 0 {
		return nil, false
	}
	return o[i].value, true
}

// readValue reads a JSON value: objects keep their order, numbers their digits.
func readValue(d *json.Decoder) (any, error) {
	d.UseNumber()
	tok, err := d.Token()
	if err != nil {
		return nil, err
	}
	switch tok {
	case json.Delim('{'):
		o := object{}
		for d.More() {
			key, err := d.Token()
			if err != nil {
				return nil, err
			}
			value, err := readValue(d)
			if err != nil {
				return nil, err
			}
			o = append(o, member{key.(string), value})
		}
		_, err := d.Token()
		return o, err
	case json.Delim('['):
		list := []any{}
		for d.More() {
			value, err := readValue(d)
			if err != nil {
				return nil, err
			}
			list = append(list, value)
		}
		_, err := d.Token()
		return list, err
	}
	return tok, nil
}

// things are what an answer is about: the list at one of its members, or itself.
func things(doc any, at string) []any {
	if at == "" {
		return []any{doc}
	}
	o, _ := doc.(object)
	value, _ := o.get(at)
	list, _ := value.([]any) // what has no members may be null
	return slices.Clone(list)
}

// withThings puts a list back where it was.
func withThings(doc any, list []any, at string) any {
	if at == "" {
		return list[0]
	}
	if len(list) == 0 {
		return doc
	}
	out := slices.Clone(doc.(object))
	i := slices.IndexFunc(out, func(m member) bool { return m.key == at })
	out[i].value = list
	return out
}

// knownFields refuses a field that none of the things has. A thing may lack one that
// others have.
func knownFields(list []any, fields []string) error {
	heads := fieldsOf(list)
	if len(heads) == 0 {
		return nil
	}
	for _, field := range fields {
		first, _, _ := strings.Cut(field, ".")
		if !slices.Contains(heads, first) {
			return fmt.Errorf("--fields %s: there is no such field; there are %s", field, strings.Join(heads, ", "))
		}
	}
	return nil
}

// fieldsOf are the fields that any of the things has.
func fieldsOf(list []any) (heads []string) {
	for _, one := range list {
		o, _ := one.(object)
		for _, m := range o {
			if !slices.Contains(heads, m.key) {
				heads = append(heads, m.key)
			}
		}
	}
	return heads
}

// pick takes fields out of an object, each by its name or by a path of names. One that
// it lacks is null.
func pick(o object, fields []string) object {
	out := object{}
	for _, field := range fields {
		var value any = o
		for name := range strings.SplitSeq(field, ".") {
			inner, _ := value.(object)
			value, _ = inner.get(name)
		}
		out = append(out, member{field, value})
	}
	return out
}

func yamlValue(v any) any {
	switch v := v.(type) {
	case object:
		out := make(yaml.MapSlice, len(v))
		for i, m := range v {
			out[i] = yaml.MapItem{Key: m.key, Value: yamlValue(m.value)}
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, one := range v {
			out[i] = yamlValue(one)
		}
		return out
	case json.Number:
		if n, err := v.Int64(); err == nil {
			return n
		}
		n, _ := v.Float64()
		return n
	default:
		return v
	}
}

// printCSV prints a row for each thing. Its columns are the fields that any of them has.
func (c *cli) printCSV(list []any) {
	heads := fieldsOf(list)
	c.printRow(heads)
	for _, one := range list {
		o, _ := one.(object)
		row := make([]string, len(heads))
		for i, head := range heads {
			value, _ := o.get(head)
			row[i] = csvText(value)
		}
		c.printRow(row)
	}
}

// csvText is a value as a cell holds it: a list or an object as JSON. Text that a
// spreadsheet would take for a formula begins with an apostrophe.
func csvText(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		if v != "" && strings.ContainsRune("=+-@\t\r\n", rune(v[0])) {
			return "'" + v
		}
		return v
	case json.Number:
		return v.String()
	case bool:
		return fmt.Sprint(v)
	default:
		b, err := json.Marshal(v)
		if err != nil {
			return fmt.Sprint(v)
		}
		return string(b)
	}
}

func (c *cli) printRow(cells []string) {
	quoted := make([]string, len(cells))
	for i, cell := range cells {
		quoted[i] = `"` + strings.ReplaceAll(cell, `"`, `""`) + `"`
	}
	_, _ = io.WriteString(c.out, strings.Join(quoted, ",")+"\r\n") // what cannot be written, c.out remembers
}

// namedBy are the fields by which other commands take a thing, the best first. What has a code
// has a name for people.
var namedBy = []string{"name", "id", "number", "slice", "code", "key", "source"}

// printNames prints what other commands call each thing by, a line each.
func (c *cli) printNames(list []any) error {
	for _, one := range list {
		o, _ := one.(object)
		_, hasCode := o.get("code")
		i := slices.IndexFunc(namedBy, func(key string) bool {
			_, has := o.get(key)
			return has && !(key == "name" && hasCode)
		})
		if i < 0 {
			return &usageError{cmd: c.command, err: errors.New("-o name: what this shows has no name")}
		}
		value, _ := o.get(namedBy[i])
		c.printf("%v\n", value)
	}
	return nil
}

// formFlag reads a form from the command line.
type formFlag form

func (f *formFlag) String() string { return string(*f) }

func (f *formFlag) Type() string { return "form" }

func (f *formFlag) Set(s string) error {
	if !slices.Contains(forms, form(s)) {
		return fmt.Errorf("use %s", listed(forms))
	}
	*f = formFlag(s)
	return nil
}
