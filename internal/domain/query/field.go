package query

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// DataType is the type of a field.
type DataType string

// The types of fields.
const (
	DataText    DataType = "TEXT"    // words to search in
	DataKeyword DataType = "KEYWORD" // whole values
	DataDate    DataType = "DATE"
	DataNumber  DataType = "NUMBER" // with Date set: a calendar year
	DataBool    DataType = "BOOL"
	DataToken   DataType = "TOKEN" // the source's own language
)

// Fields with a meaning of their own.
const (
	FieldFull  = "full"  // where a word without field is searched
	FieldToken = "token" // what capabilities and rules of TOKEN are written under
)

// Field is one unified field (a row of reg_expr_field_dict).
type Field struct {
	Key         string   `json:"key" yaml:"key"`
	Name        string   `json:"name,omitempty" yaml:"name,omitempty"`
	Description string   `json:"description,omitempty" yaml:"description,omitempty"`
	DataType    DataType `json:"dataType" yaml:"dataType"`
	// Multi: a record may have several values.
	Multi bool `json:"multi,omitempty" yaml:"multi,omitempty"`
	// Hidden fields cannot be asked for; the registry's "exposable", turned round.
	Hidden bool `json:"hidden,omitempty" yaml:"hidden,omitempty"`
	// Date marks a field of time: DATE fields, and NUMBER fields that are years.
	Date bool `json:"date,omitempty" yaml:"date,omitempty"`
	// Aliases are other names people write.
	Aliases []string `json:"aliases,omitempty" yaml:"aliases,omitempty"`
}

// Type is the type of the field's values.
func (f Field) Type() Type {
	switch {
	case f.DataType == DataDate:
		return TypeDate
	case f.DataType == DataNumber && f.Date:
		return TypeYear
	case f.DataType == DataNumber:
		return TypeNumber
	case f.DataType == DataBool:
		return TypeBool
	}
	return TypeText
}

// ranges reports whether the field has an order.
func (f Field) ranges() bool {
	return f.DataType == DataDate || f.DataType == DataNumber || f.DataType == DataKeyword
}

// FieldDict is the dictionary of unified fields.
type FieldDict struct {
	fields []Field
	byName map[string]int // keys and aliases, lower case
}

var fieldKey = regexp.MustCompile(`^[a-z][a-z0-9_]{0,63}$`)

// Words of the text form that cannot name a field.
var reserved = []string{"and", "or", "not", "to", "has", "cs"}

// NewFieldDict builds a dictionary, refusing names that clash.
func NewFieldDict(fields []Field) (*FieldDict, error) {
	d := &FieldDict{fields: slices.Clone(fields), byName: make(map[string]int)}
	types := []DataType{DataText, DataKeyword, DataDate, DataNumber, DataBool, DataToken}
	var problems Problems
	for i, f := range d.fields {
		at := Place{Path: fmt.Sprintf("fields[%d]", i)}
		if !slices.Contains(types, f.DataType) {
			problems.add(at, fmt.Sprintf("known are %v", types), "data type %s is not known", quoted(string(f.DataType)))
		}
		if f.Date && f.DataType != DataDate && f.DataType != DataNumber {
			problems.add(at, "", "a %s field cannot be a date", f.DataType)
		}
		for _, name := range append([]string{f.Key}, f.Aliases...) {
			switch _, known := d.byName[name]; {
			case !fieldKey.MatchString(name):
				problems.add(at, "use lower-case letters, digits and _", "%s cannot name a field", quoted(name))
			case slices.Contains(reserved, name):
				problems.add(at, "", "%s is a word of the query language", name)
			case known:
				problems.add(at, "", "%s names two fields", name)
			}
			d.byName[name] = i
		}
	}
	return d, problems.Err()
}

// Lookup finds a field by key or alias, in any case.
func (d *FieldDict) Lookup(name string) (Field, bool) {
	i, ok := d.byName[strings.ToLower(name)]
	if !ok {
		return Field{}, false
	}
	return d.fields[i], true
}

// Fields are all fields in their order.
func (d *FieldDict) Fields() []Field { return slices.Clone(d.fields) }

// names people can write.
func (d *FieldDict) names() []string {
	var names []string
	for name, i := range d.byName {
		if !d.fields[i].Hidden {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// keys of the fields people can write.
func (d *FieldDict) keys() []string {
	var keys []string
	for _, f := range d.fields {
		if !f.Hidden {
			keys = append(keys, f.Key)
		}
	}
	return keys
}

// Default is the built-in dictionary.
func Default() *FieldDict {
	d, err := NewFieldDict([]Field{
		{Key: "ti", Name: "Title", DataType: DataText, Aliases: []string{"title"}},
		{Key: "ab", Name: "Abstract", DataType: DataText, Aliases: []string{"abstract"}},
		{Key: "tiab", Name: "Title or abstract", DataType: DataText, Aliases: []string{"title_abstract"}},
		{Key: "au", Name: "Author", DataType: DataText, Multi: true, Aliases: []string{"author", "authors"}},
		{Key: "af", Name: "Affiliation", DataType: DataText, Multi: true, Aliases: []string{"affiliation", "aff"}},
		{Key: "jo", Name: "Journal", DataType: DataText, Aliases: []string{"journal"}},
		{Key: "issn", Name: "ISSN", DataType: DataKeyword, Multi: true},
		{Key: "doi", Name: "DOI", DataType: DataKeyword},
		{Key: "pmid", Name: "PubMed id", DataType: DataKeyword},
		{Key: "pmcid", Name: "PMC id", DataType: DataKeyword, Aliases: []string{"pmc"}},
		{Key: "orcid", Name: "ORCID of an author", DataType: DataKeyword, Multi: true},
		{Key: "year", Name: "Year of publication", DataType: DataNumber, Date: true},
		{Key: "pubdate", Name: "Date of publication", DataType: DataDate, Date: true, Aliases: []string{"published", "publication_date"}},
		{Key: "created", Name: "Made by the source", DataType: DataDate, Date: true},
		{Key: "updated", Name: "Changed by the source", DataType: DataDate, Date: true},
		{Key: "type", Name: "Type of publication", DataType: DataKeyword, Multi: true},
		{Key: "lang", Name: "Language", DataType: DataKeyword, Multi: true, Aliases: []string{"language"}},
		{Key: "kw", Name: "Keywords", DataType: DataText, Multi: true, Aliases: []string{"keyword", "keywords"}},
		{Key: "mesh", Name: "MeSH heading", DataType: DataKeyword, Multi: true},
		{Key: "funder", Name: "Funder", DataType: DataKeyword, Multi: true},
		{Key: "licence", Name: "Licence", DataType: DataKeyword, Multi: true, Aliases: []string{"license"}},
		{Key: "oa", Name: "Open access", DataType: DataBool, Aliases: []string{"open_access"}},
		{Key: FieldFull, Name: "All fields", DataType: DataText, Aliases: []string{"all", "any"}},
		{Key: "id", Name: "The source's own id", DataType: DataKeyword},
		{Key: FieldToken, Name: "The source's own language", DataType: DataToken, Hidden: true},
	})
	if err != nil { // constants
		panic(err)
	}
	return d
}
