package sqlstore_test

import (
	"strings"
	"time"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/papertrace/patra/internal/domain/harvest"
)

func columnsThere(l *Lab) {
	for _, c := range []string{
		"ing_task.fence", "ing_task.attempts", "ing_task.renewals", "ing_task.walk_no", "ing_task.priority", "ing_task.scheduled_at",
		"ing_task_run.fence", "ing_task_run.attempt_no",
		"ing_task_run_batch.fence", "ing_task_run_batch.walk_no", "ing_task_run_batch.phase", "ing_task_run_batch.ordinal",
		"ing_record.revision", "ing_outbox.revision", "ing_cursor.version",
	} {
		tab, col, _ := strings.Cut(c, ".")
		notNull := int64(0)
		if l.Store.Dialect() == "sqlite" {
			notNull = l.Int(`SELECT COUNT(*) FROM pragma_table_info(?) WHERE name=? AND "notnull"=1`, tab, col)
		} else {
			notNull = l.Int(`SELECT COUNT(*) FROM information_schema.columns WHERE table_schema=DATABASE() AND table_name=? AND column_name=? AND is_nullable='NO'`, tab, col)
		}
		if notNull != 1 {
			l.Errorf("%s is not there or may be null", c)
		}
	}
}

// microseconds: nanoseconds are cut off, and stored text sorts as time.
func microseconds(l *Lab) {
	l.Plan(0, 3)
	at := time.Date(2024, 2, 29, 23, 59, 59, 123456789, time.FixedZone("", 3600))
	l.Walk(l.LeaseOne(), Rec("a", at, at, "a"), Rec("b", at.Add(211*time.Nanosecond), at, "b"), Rec("c", at.Truncate(time.Second), at, "c"))
	var got []time.Time
	if err := l.Store.Export(l.ctx(), control.ExportQuery{Sources: []string{prov}}, func(e *control.Exported) error {
		got = append(got, e.UpdatedAt)
		return nil
	}); err != nil {
		l.Fatal(err)
	}
	want := time.Date(2024, 2, 29, 22, 59, 59, 123456000, time.UTC)
	if len(got) != 3 || !got[0].Equal(want) || !got[1].Equal(want.Add(time.Microsecond)) || !got[2].Equal(want.Truncate(time.Second)) {
		l.Errorf("came back as %v", got)
	}
	if first := l.Text(`SELECT ext_id FROM ing_record ORDER BY updated_at LIMIT 1`); first != "c" {
		l.Errorf("the whole second sorts after its fractions: %s is first", first)
	}
	// The same version to the microsecond is the same version.
	if c := l.Walk(l.LeaseOne(), Rec("a", at.Add(200*time.Nanosecond), at, "a")); c.Counts != (harvest.Counts{Unchanged: 1}) {
		l.Errorf("%+v", c.Counts)
	}
}
