package sqlstore

import (
	"database/sql"
	"fmt"

	"github.com/papertrace/patra/internal/domain/harvest"
)

// inHand is what is being worked on, at sources that bound it. More walks than
// requests may be in flight gain nothing, and each of them is lost by a crash.
//
// What this owner holds counts for the whole source, what others hold only for the
// operation: they take their next task in the instant they have done one, and an
// operation that a process works on alone must not wait for them for days.
type inHand struct {
	most   map[string]int // by source; none: no bound
	mine   map[string]int // by source
	others map[place]int
}

// place is where tasks of others count.
type place struct {
	provenance string
	operation  harvest.Operation
}

// inHand reads what is in hand. The owner of a task renews its lease when a third
// of it is over: one of which less than half is left counts no longer, so that
// those who died are not waited for until their leases run out.
func (x *tx) inHand(r harvest.LeaseRequest) (*inHand, error) {
	h := &inHand{most: map[string]int{}, mine: map[string]int{}, others: map[place]int{}}
	err := x.each(func(rows *sql.Rows) error {
		var code string
		var most int
		err := rows.Scan(&code, &most)
		h.most[code] = most
		return err
	}, `SELECT provenance_code, max_walks FROM ing_source_state WHERE max_walks > 0`)
	if err != nil {
		return nil, fmt.Errorf("read how many tasks may be in hand: %w", err)
	}
	if len(h.most) == 0 {
		return h, nil
	}
	err = x.each(func(rows *sql.Rows) error {
		var at place
		var owner string
		var n int
		if err := rows.Scan(&at.provenance, &at.operation, &owner, &n); err != nil {
			return err
		}
		switch {
		case owner == r.Owner:
			h.mine[at.provenance] += n
		case r.Gone == nil || !r.Gone(owner):
			h.others[at] += n
		}
		return nil
	}, `SELECT t.provenance_code, t.operation_code, t.lease_owner, COUNT(*) FROM ing_task t`+x.s.d.taskIndex+`
		WHERE `+isOneOf("t.status_code", harvest.TasksInHand)+` AND t.leased_until > ? AND t.lease_owner IS NOT NULL
		GROUP BY t.provenance_code, t.operation_code, t.lease_owner`, ts(x.now.Add(r.TTL/2)))
	if err != nil {
		return nil, fmt.Errorf("read what is in hand: %w", err)
	}
	return h, nil
}

// room reports whether one more task of a partition may be taken.
func (h *inHand) room(p harvest.Partition) bool {
	most, bounded := h.most[p.Provenance]
	return !bounded || h.mine[p.Provenance]+h.others[place{p.Provenance, p.Operation}] < most
}

// took counts a task that was taken.
func (h *inHand) took(p harvest.Partition) { h.mine[p.Provenance]++ }

// boundWalks keeps how many tasks of a source may be in hand. The row is written
// only if that has changed: every page that is committed locks it.
func (x *tx) boundWalks(prov string, most int) error {
	var was int
	if err := x.row(`SELECT max_walks FROM ing_source_state WHERE provenance_code=?`, prov).Scan(&was); err != nil {
		return fmt.Errorf("read the bound on walks: %w", err)
	}
	if was == most {
		return nil
	}
	if _, err := x.exec(`UPDATE ing_source_state SET max_walks=?, updated_at=?
		WHERE provenance_code=?`, most, ts(x.now), prov); err != nil {
		return fmt.Errorf("keep the bound on walks: %w", err)
	}
	return nil
}
