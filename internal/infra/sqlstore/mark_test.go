package sqlstore_test

import (
	"strings"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/papertrace/patra/internal/domain/harvest"
)

// marksDamaged: the cursor of an UPDATE that stands nowhere, and a slice by time
// among candidates, are told of by whoever reads them. Neither is taken for an
// instant, and nobody falls over it.
func marksDamaged(l *Lab) {
	act := updateDraft("act", 0, 4, []string{"a", "b", "c", "d"})
	for _, c := range []struct {
		what, damage string
		says         string // by the integrity check
		unreadable   bool   // where the activity stands
	}{
		{"a cursor without a place", `UPDATE ing_cursor SET normalized_instant=NULL`, "the last event says 2", true},
		{"an event without a place", `UPDATE ing_cursor_event SET new_instant=NULL WHERE kind_code='ADVANCE'`, "says 2 and", false},
		{"a beginning that is no number", `UPDATE ing_cursor SET init_value='2024-01-01T00:00:00.000000Z'`, "cannot be read", true},
		{"a slice by time", `UPDATE ing_plan_slice SET slice_spec='` + byTime() + `' WHERE slice_no=2`, "are not of one kind", false},
	} {
		Clear(l, l.DB, l.tables)
		l.Save(act)
		l.reread(l.LeaseOne())
		l.MustVerify()
		l.Exec(c.damage)
		found, err := l.Store.Verify(l.ctx())
		if err != nil || !strings.Contains(details(found), c.says) {
			l.Errorf("%s: %+v, %v", c.what, found, err)
		}
		f, err := l.Store.Frontier(l.ctx(), act.Namespace)
		if (err != nil) != c.unreadable {
			l.Errorf("%s: frontier %+v, %v", c.what, f, err)
		}
	}
}

// byTime is the spec of a slice over the first hour, as it is stored.
func byTime() string {
	return `{"strategy":"` + string(harvest.StrategyTime) + `","window":{"from":"2024-01-01T00:00:00Z","to":"2024-01-01T01:00:00Z",` +
		`"boundary":{"from":"CLOSED","to":"OPEN"},"timezone":"UTC","precision":"SECOND"}}`
}

func details(found []control.Finding) string {
	var all []string
	for _, f := range found {
		all = append(all, f.Detail)
	}
	return strings.Join(all, "\n")
}
