package patratest_test

import (
	"testing"

	"github.com/papertrace/patra/internal/patratest"
)

// TestPool_ADatabaseBeginsAnew: a database that another test has done with is empty,
// and its first row has the first id.
func TestPool_ADatabaseBeginsAnew(t *testing.T) {
	for _, e := range patratest.Servers() {
		for _, life := range []string{"first", "second", "third"} {
			t.Run(e.Name+"/"+life, func(t *testing.T) {
				db := patratest.Raw(t, e.DSN(t))
				res, err := db.Exec(`INSERT INTO sys_audit (actor, action_code, object, created_at) VALUES ('a', 'b', 'c', '2024-01-01 00:00:00')`)
				if err != nil {
					t.Fatal(err)
				}
				id, err := res.LastInsertId()
				if err != nil || id != 1 {
					t.Errorf("the first id is %d (%v)", id, err)
				}
				var rows int
				if err := db.QueryRow(`SELECT COUNT(*) FROM sys_audit`).Scan(&rows); err != nil || rows != 1 {
					t.Errorf("%d rows (%v)", rows, err)
				}
			})
		}
	}
}
