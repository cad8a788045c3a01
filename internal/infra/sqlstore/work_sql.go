package sqlstore

import (
	"fmt"
	"iter"
	"slices"
)

// Statements of linking have lists of numbers and rows of values in them, thousands a step.
// They come in few lengths, so that each is parsed once and remembered.

// listLengths are the lengths of lists of numbers, the longest first.
var listLengths = []int{keysPerRead, 64, 8, 1}

// inLists parts numbers into the arguments of lists. A list that would be too short has its
// last number several times: it is asked for once all the same.
func inLists(ids []int64) iter.Seq[[]any] {
	return func(yield func([]any) bool) {
		for part := range chunks(ids, keysPerRead) {
			length := keysPerRead
			for _, n := range listLengths {
				if n >= len(part) {
					length = n
				}
			}
			args := make([]any, length)
			for i := range args {
				args[i] = part[min(i, len(part)-1)]
			}
			if !yield(args) {
				return
			}
		}
	}
}

// mostRowsPerInsert bounds the rows of one insert of linking.
const mostRowsPerInsert = 250

// insertEach inserts rows, several at a time, into the columns of a table. bind appends the
// values of a row, as many as there are columns. Where it fails the transaction must end.
func insertEach[T any](x *tx, into string, rows []T, bind func(args []any, row T) []any) error {
	head := x.s.d.insertMany + " " + into
	cols := columns(into)
	most := min(mostRowsPerInsert, (longestRemembered-len(head)-len(" VALUES "))/len(marks(1, cols)+","))
	lengths := slices.DeleteFunc([]int{most, 32, 4, 1}, func(n int) bool { return n > most })
	args := make([]any, 0, cols*min(most, len(rows)))
	for len(rows) > 0 {
		n := lengths[slices.IndexFunc(lengths, func(n int) bool { return n <= len(rows) })]
		args = args[:0]
		for _, row := range rows[:n] {
			args = bind(args, row)
		}
		if _, err := x.exec(head+` VALUES `+marks(n, cols), args...); err != nil {
			return fmt.Errorf("link records: %w", err)
		}
		rows = rows[n:]
	}
	return nil
}

// insertRows inserts rows, several at a time, into the columns of a table.
func (x *tx) insertRows(into string, rows [][]any) error {
	return insertEach(x, into, rows, func(args []any, row []any) []any { return append(args, row...) })
}
