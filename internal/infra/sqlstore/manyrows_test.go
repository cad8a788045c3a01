package sqlstore

import (
	"database/sql"
	"path/filepath"
	"reflect"
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

// TestR89_EachVersionSaysHowItsBodyIsPacked: rows of one insert may be packed in different
// ways, as a body is that is too long for the dictionary.
func TestR89_EachVersionSaysHowItsBodyIsPacked(t *testing.T) {
	s, err := Open(t.Context(), "sqlite:"+filepath.Join(t.TempDir(), "p.db"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	bodies := []packedBody{
		{bytes: []byte("a"), codec: codecS2, dictionary: 1},
		{bytes: []byte("b"), codec: codecZstd},
		{bytes: []byte("c"), codec: codecS2, dictionary: 2},
	}
	var cs []change
	for i := range bodies {
		cs = append(cs, change{
			rec: &harvest.Record{Status: harvest.RecordActive}, body: &bodies[i], effect: harvest.Inserted,
			id: int64(i + 1), revision: 1, observedAt: "2026-01-01 00:00:00.000000",
		})
	}
	if err := s.write(t.Context(), "insert versions", func(x *tx) error { return x.insertVersions(cs, 1, nil) }); err != nil {
		t.Fatal(err)
	}
	var got []packedBody
	err = s.each(t.Context(), func(r *sql.Rows) error {
		var b packedBody
		var dictionary sql.NullInt64
		err := r.Scan(&b.bytes, &b.codec, &dictionary)
		b.dictionary = dictionary.Int64
		got = append(got, b)
		return err
	}, `SELECT raw, codec_code, dictionary_id FROM ing_record_version ORDER BY record_id`)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, bodies) {
		t.Errorf("stored %v, want %v", got, bodies)
	}
}
