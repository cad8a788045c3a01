package sqlstore_test

import (
	"fmt"
	"slices"
	"strings"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/papertrace/patra/internal/app/relay"
	"github.com/papertrace/patra/internal/domain/source"
)

// damagedBody: a version whose body cannot be unpacked stops nothing. It is parked at once, with
// the reason; the next revision of its record is sent in its place, those of others as if
// nothing were. One that was packed by a newer patra is tried again, and sent once it can be read.
func damagedBody(l *Lab) {
	l.tell()
	c := newConsumer()
	c.most = 100
	fivePages(l)
	const of = `WHERE revision=%d AND record_id=(SELECT r.id FROM ing_record r WHERE r.ext_id='%s')`
	l.Exec(`UPDATE ing_record_version SET raw=x'6A756E6B' ` + fmt.Sprintf(of, 2, "x"))
	l.Exec(`UPDATE ing_record_version SET raw=x'6A756E6B' ` + fmt.Sprintf(of, 1, "y"))
	packed := l.Text(`SELECT codec_code FROM ing_record_version ` + fmt.Sprintf(of, 1, "z1"))
	l.Exec(`UPDATE ing_record_version SET codec_code='LATER' ` + fmt.Sprintf(of, 1, "z1"))
	l.drain(c)
	l.drain(c) // what waited behind
	if got := fmt.Sprint(c.order); got != "map[x:[1 3 4] z0:[1] z2:[1] z3:[1] z4:[1]]" {
		l.Errorf("beside the damaged ones: %s", got)
	}
	list, err := l.Store.OutboxMessages(l.ctx(), control.OutboxQuery{}, 0, 10)
	if err != nil || len(list) != 2 {
		l.Fatalf("held: %+v, %v", list, err)
	}
	slices.SortFunc(list, func(a, b control.OutboxMessage) int { return strings.Compare(a.Record, b.Record) })
	if m := list[0]; m.Record != "y" || m.State != control.MessageParked || !strings.Contains(m.Error, "damaged") {
		l.Errorf("the damaged one: %+v", m)
	}
	if m := list[1]; m.Record != "z1" || m.State != control.MessageWaiting || m.RetryAt == nil || !strings.Contains(m.Error, "LATER") {
		l.Errorf("the newer one: %+v", m)
	}
	l.Exec(`UPDATE ing_record_version SET codec_code='` + packed + `' ` + fmt.Sprintf(of, 1, "z1"))
	l.Exec(`UPDATE ing_outbox_held SET next_at=created_at`)
	by := source.Audit{Actor: "lab", Action: "OUTBOX_RETRY", Object: "outbox"}
	if _, err := l.Store.RetryOutbox(l.ctx(), control.OutboxRetry{ID: list[0].ID}, by); err != nil {
		l.Error(err)
	}
	l.drain(c)
	if !slices.Equal(c.order["z1"], []int64{1}) || len(c.order["y"]) != 0 {
		l.Errorf("after the upgrade: %v", c.order)
	}
	if m, err := l.Store.OutboxMessage(l.ctx(), list[0].ID); err != nil || m.State != control.MessageParked || m.Attempts >= relay.Tries {
		l.Errorf("a damaged one that was tried again: %+v, %v", m, err)
	}
}
