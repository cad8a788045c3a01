package sqlstore_test

import (
	"testing"

	"github.com/papertrace/patra/internal/domain/source"
	"github.com/papertrace/patra/internal/infra/sqlstore"
	"github.com/papertrace/patra/internal/patratest"
)

// TestDictionary_TablesSayWhatTheCompilerKnows: seeded when the schema is
// migrated, once, also if that is done again.
func TestDictionary_TablesSayWhatTheCompilerKnows(t *testing.T) {
	patratest.EachEngine(t, func(t *testing.T, e patratest.Engine) {
		dsn := e.DSN(t)
		s := patratest.Open(t, dsn, sqlstore.Options{})
		for again := range 2 {
			if again > 0 {
				if _, err := s.Migrate(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			types := 0
			items := 0
			aliases := 0
			for _, d := range source.Dictionary() {
				types++
				items += len(d.Items)
				for _, it := range d.Items {
					aliases += len(it.Aliases)
				}
			}
			db := patratest.Raw(t, dsn)
			for table, want := range map[string]int{"sys_dict_type": types, "sys_dict_item": items, "sys_dict_item_alias": aliases} {
				got := 0
				if err := db.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM "+table).Scan(&got); err != nil || got != want {
					t.Errorf("%s has %d rows, want %d: %v", table, got, want, err)
				}
			}
			var code string
			if err := db.QueryRowContext(t.Context(), "SELECT item_code FROM sys_dict_item_alias WHERE type_code='paging_type' AND alias_code='CURSOR'").Scan(&code); err != nil || code != "TOKEN" {
				t.Errorf("CURSOR is %q: %v", code, err)
			}
		}
	})
}
