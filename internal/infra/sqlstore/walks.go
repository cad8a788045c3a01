package sqlstore

import (
	"database/sql"
	"fmt"

	"github.com/papertrace/patra/internal/domain/harvest"
)

// inHand counts the tasks that are being worked on, at sources that bound their
// number. More walks than requests may be in flight gain nothing, and each of them is
// lost by a crash.
//
// What this owner holds counts for the whole source, what others hold only for the
// same operation: others take their next task in the instant they have done one, and
// an operation that only this process works on must not wait for them for days.
type inHand struct {
	most   map[string]int // by source; a source that is not there has no bound
	mine   map[string]int // by source
	others map[sourceOperation]int
}

// sourceOperation is what the tasks of other owners are counted by.
type sourceOperation struct {
	provenance string
	operation  harvest.Operation
}

// readInHand counts what is in hand. The owner of a task renews its lease when a third
// of it is over. So a lease of which less than half is left counts no longer: its owner
// has probably died, and is not waited for until the lease runs out.
func (x *tx) readInHand(r harvest.LeaseRequest, most map[string]int) (*inHand, error) {
	h := &inHand{most: most, mine: map[string]int{}, others: map[sourceOperation]int{}}
	if len(h.most) == 0 {
		return h, nil
	}
	err := x.each(func(rows *sql.Rows) error {
		var at sourceOperation
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

// hasRoom reports whether one more task of a partition may be taken.
func (h *inHand) hasRoom(p harvest.Partition) bool {
	most, bounded := h.most[p.Provenance]
	return !bounded || h.mine[p.Provenance]+h.others[sourceOperation{p.Provenance, p.Operation}] < most
}

// countTaken counts a task that this owner took.
func (h *inHand) countTaken(p harvest.Partition) { h.mine[p.Provenance]++ }

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
