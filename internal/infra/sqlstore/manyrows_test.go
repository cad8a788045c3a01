package sqlstore

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/papertrace/patra/internal/domain/harvest"
)

func TestManyRows_SameValuesAreBoundOnceWhereMarksHaveNumbers(t *testing.T) {
	rows := manyRows{table: "t", same: "a, b", own: "c, d, e"}
	for _, c := range []struct {
		d      *dialect
		sql    string
		values []any
	}{
		{sqliteDialect, "INSERT OR FAIL INTO t (a, b, c, d, e) VALUES (?1,?2,?,?,?),(?1,?2,?,?,?)", []any{"A", "B", 1, 2, 3, 4, 5, 6}},
		{mysqlDialect, "INSERT INTO t (a, b, c, d, e) VALUES (?,?,?,?,?),(?,?,?,?,?)", []any{"A", "B", 1, 2, 3, "A", "B", 4, 5, 6}},
	} {
		if got := rows.sql(c.d, 2); got != c.sql {
			t.Errorf("%s: %s, want %s", c.d.name, got, c.sql)
		}
		v := rows.valuesOf(c.d, 2, "A", "B")
		v.add(1, 2, 3)
		v.add(4, 5, 6)
		if diff := cmp.Diff(c.values, v.values); diff != "" {
			t.Errorf("%s: bound is other than expected:\n%s", c.d.name, diff)
		}
	}
}

func TestMappedAlike_CutsWhereTheMappingChanges(t *testing.T) {
	var cs []change
	for _, mapping := range []string{"1", "1", "2", "1", "1"} {
		cs = append(cs, change{rec: &harvest.Record{MappingVersion: mapping}})
	}
	var sizes []int
	for part := range mappedAlike(chunks(cs, 4)) {
		sizes = append(sizes, len(part))
	}
	if want := []int{2, 1, 1, 1}; !slices.Equal(sizes, want) {
		t.Errorf("parts of %d rows, want %d", sizes, want)
	}
}
