package source

import (
	"fmt"
	"slices"
)

// The standard publication record: kind of each field.
var standardFields = map[string]string{
	"title": FieldText, "subtitle": FieldText, "abstract": FieldText, "authors": FieldObjects,
	"journal": FieldText, "journal_abbrev": FieldText, "issn": FieldList, "publisher": FieldText,
	"volume": FieldText, "issue": FieldText, "pages": FieldText, "published": FieldText, "type": FieldText, "types": FieldList,
	"language": FieldText, "doi": FieldText, "pmid": FieldText, "pmcid": FieldText, "other_ids": FieldMap,
	"keywords": FieldList, "mesh": FieldObjects, "references_count": FieldNumber, "licence": FieldText,
	"url": FieldText, "retracts": FieldText, "retracted_by": FieldText, "corrects": FieldText,
}

// StandardFields are the names of the fields of the standard record, in order.
func StandardFields() []string { return keysOf(standardFields) }

// Fields of the objects in it.
var standardObjects = map[string]map[string]string{
	"authors": {"family": FieldText, "given": FieldText, "name": FieldText, "orcid": FieldText, "affiliations": FieldList},
	"mesh":    {"term": FieldText, "major": FieldBool, "qualifiers": FieldList},
}

func (c *compiler) mapping() {
	const path = "mapping"
	m := c.def.Mapping
	if len(m.Fields) == 0 {
		c.note(path, "not given: records will have no fields besides their raw item")
	}
	c.fields(path+".fields", m.Fields, standardFields)
	for i, p := range m.Volatile {
		if p == "" {
			c.fail(fmt.Sprintf("%s.volatile[%d]", path, i), "is empty")
		}
	}
	for i, p := range m.Retracted {
		c.presence(fmt.Sprintf("%s.retracted[%d]", path, i), p)
	}
	for i, name := range m.Required {
		if !slices.ContainsFunc(m.Fields, func(f Field) bool { return f.Name == name }) {
			c.fail(fmt.Sprintf("%s.required[%d]", path, i), "%s is not a mapped field", name)
		}
	}
	c.spec.Mapping = Mapping{
		Fields: slices.Clone(m.Fields), Volatile: slices.Clone(m.Volatile),
		Retracted: slices.Clone(m.Retracted), Required: slices.Clone(m.Required),
	}
}

func (c *compiler) presence(path string, p Presence) {
	if p.Path == "" {
		c.fail(path, "needs a path")
	}
	if p.Self && p.In != nil {
		c.fail(path, "self and in exclude each other")
	}
}

// wayTo says how a field of a kind is written, where that is not plain.
func wayTo(kind string) string {
	switch kind {
	case FieldList:
		return ": write {list: PATH} in place of the path"
	case FieldObjects:
		return ": write {each: PATH, fields: {...}}"
	}
	return ""
}

// values checks what a field says of the values it may have.
func (c *compiler) values(at string, f Field) {
	if f.Kind != FieldText && f.Kind != FieldList {
		if len(f.Allowed) > 0 {
			c.fail(at+".allowed", "goes with a text or a list of texts")
		}
		if f.Pattern != "" {
			c.fail(at+".pattern", "goes with a text or a list of texts")
		}
	}
	if slices.Contains(f.Allowed, "") {
		c.fail(at+".allowed", "has an empty value: a field without a value is left out")
	}
	if _, err := f.Matcher(); err != nil {
		c.fail(at+".pattern", "is no regular expression: %v", err)
	}
}

func (c *compiler) fields(path string, fields []Field, known map[string]string) {
	seen := map[string]bool{}
	for _, f := range fields {
		at := join(path, f.Name)
		kind, ok := known[f.Name]
		switch {
		case !ok:
			c.fail(at, "is not a field of the standard record%s", Suggest(f.Name, keysOf(known)))
			continue
		case seen[f.Name]:
			c.fail(at, "is mapped twice")
		case f.Kind != kind:
			c.fail(at, "is a %s, mapped as %s%s", kind, f.Kind, wayTo(kind))
			continue
		}
		seen[f.Name] = true
		if f.Split != "" && kind != FieldObjects {
			c.fail(at+".split", "goes with each")
		}
		c.values(at, f)
		for i, p := range f.From {
			c.pick(fmt.Sprintf("%s[%d]", at, i), p)
		}
		switch kind {
		case FieldObjects:
			if len(f.Each) == 0 || slices.Contains(f.Each, "") || len(f.Fields) == 0 {
				c.fail(at, "needs each and fields")
			}
			c.fields(at+".fields", f.Fields, standardObjects[f.Name])
		case FieldMap:
			if len(f.Entries) == 0 {
				c.fail(at, "needs entries")
			}
			for _, e := range f.Entries {
				if e.Key == "" || len(e.From) == 0 {
					c.fail(at, "entry %q needs a key and a path", e.Key)
				}
				for i, p := range e.From {
					c.pick(fmt.Sprintf("%s[%d]", join(at+".entries", e.Key), i), p)
				}
			}
		default:
			if len(f.From)+len(f.Count) == 0 || slices.Contains(f.Count, "") {
				c.fail(at, "needs a path")
			}
			if len(f.Count) > 0 && (kind != FieldNumber || len(f.From) > 0) {
				c.fail(at+".count", "makes a NUMBER, and alone")
			}
			if f.Label != "" && f.Join == "" {
				c.fail(at+".label", "goes with join")
			}
		}
	}
}
