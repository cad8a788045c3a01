package sqlstore

import (
	"strconv"
	"strings"
)

// manyRows is an insert of rows that have the same values in some columns.
type manyRows struct {
	table string
	same  string // the columns in which all rows have the same values
	own   string // the others
}

// sql is the statement for so many rows, in a transaction that ends if it fails.
func (m manyRows) sql(d *dialect, rows int) string {
	cols := m.same + ", " + m.own
	values := marks(rows, columns(cols))
	if d.numbersMarks {
		values = numberedMarks(rows, columns(m.same), columns(m.own))
	}
	return d.insertMany + " INTO " + m.table + " (" + cols + ") VALUES " + values
}

// numberedMarks returns "(?1,?2,?,?),(?1,?2,?,?)": the first values are bound once for all
// rows, and a mark without a number has the one after the highest before it.
func numberedMarks(rows, same, own int) string {
	var one strings.Builder
	one.WriteString("(")
	for i := range same {
		one.WriteString("?" + strconv.Itoa(i+1) + ",")
	}
	one.WriteString(list(own) + ")")
	return strings.TrimSuffix(strings.Repeat(one.String()+",", rows), ",")
}

// rowValues are what is bound to such a statement.
type rowValues struct {
	same   []any
	values []any
	again  bool // the same values stand before those of every row
}

// valuesOf begins the values of so many rows.
func (m manyRows) valuesOf(d *dialect, rows int, same ...any) *rowValues {
	v := &rowValues{same: same, again: !d.numbersMarks}
	v.values = make([]any, 0, len(same)+rows*(len(same)+columns(m.own)))
	if !v.again {
		v.values = append(v.values, same...)
	}
	return v
}

// add adds the values that a row has for itself.
func (v *rowValues) add(own ...any) {
	if v.again {
		v.values = append(v.values, v.same...)
	}
	v.values = append(v.values, own...)
}
