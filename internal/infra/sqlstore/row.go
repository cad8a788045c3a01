package sqlstore

import "strings"

// col is a column to be written and its value, side by side: in a long list of names
// above a long list of values nobody sees that two have changed places.
type col struct {
	name  string
	value any
}

// insertInto inserts one row and returns its id.
func (x *tx) insertInto(table string, cols []col) (int64, error) {
	names := make([]string, len(cols))
	values := make([]any, len(cols))
	for i, c := range cols {
		names[i] = c.name
		values[i] = c.value
	}
	return x.insert(`INSERT INTO `+table+` (`+strings.Join(names, ", ")+`) VALUES (`+list(len(cols))+`)`, values...)
}

// assign is the list of assignments of an UPDATE, with the values it binds followed
// by those of its conditions.
func assign(cols []col, conditions ...any) (string, []any) {
	var b strings.Builder
	values := make([]any, 0, len(cols)+len(conditions))
	for i, c := range cols {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(c.name + "=?")
		values = append(values, c.value)
	}
	return b.String(), append(values, conditions...)
}
