package sqlstore

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/papertrace/patra/internal/app/control"
)

// maxFindings bounds what one invariant reports; a broken store would
// otherwise list every row.
const maxFindings = 100

// verifier collects the findings of one invariant after the other.
type verifier struct {
	ctx context.Context
	s   *Store
	tx  *sql.Tx
	// The invariant that is being checked, and how many findings it has so far.
	invariant string
	rule      string
	found     int

	findings []control.Finding
}

// Verify is the integrity check: invariants I1 to I10, which docs/rulings.md explains, and
// rows that belong to nothing. It only reads, all of it from one snapshot where the
// database can give one.
//
// The codes I1 to I10 are how its contract with the outside names the invariants. Only
// --json shows them; people read the rule in words.
func (s *Store) Verify(ctx context.Context) ([]control.Finding, error) {
	t, err := s.patient(s.r.DB).BeginTx(ctx, &s.d.snapshot)
	if err != nil {
		return nil, fmt.Errorf("verify: %w", err)
	}
	defer t.Rollback() //nolint:errcheck // nothing was written
	v := &verifier{ctx: ctx, s: s, tx: t}
	for _, c := range []struct {
		name, rule string
		check      func() error
	}{
		{"I1", "the moves of a cursor form one chain", v.checkChains},
		{"I2", "all that a watermark has passed is proven, or a gap that was accepted", v.checkCoverage},
		{"I3", "the slices of a plan tile its window", v.checkTiling},
		{"I4", "a slice has one task, and what is written carries the fence of its owner", v.checkFences},
		{"I5", "the pages of a walk follow each other without a hole", v.checkOrdinals},
		{"I6", "a slice is done if its end is proven, and only then", v.checkProofs},
		{"I7", "a record has one row, and a version and an event for each revision", v.checkRevisions},
		{"I8", "every item of a page is accounted for", v.checkAccounts},
		{"I9", "only harvests move the cursor of a harvest", v.checkLineage},
		{"I10", "a plan's description is the one it was made with", v.checkFingerprints},
		{"WORKS", "a record is of one work, and works are what their links make them", v.checkWorks},
		{"ORPHANS", "every row belongs to one that exists", v.checkOrphans},
	} {
		v.invariant = c.name
		v.rule = c.rule
		v.found = 0
		if err := c.check(); err != nil {
			return nil, fmt.Errorf("verify that %s: %w", c.rule, err)
		}
	}
	return v.findings, nil
}

// report keeps a finding, if the invariant does not have too many already.
func (v *verifier) report(object, format string, args ...any) {
	v.found++
	if v.found > maxFindings {
		return
	}
	v.findings = append(v.findings, control.Finding{
		Invariant: v.invariant,
		Rule:      v.rule,
		Object:    object,
		Detail:    fmt.Sprintf(format, args...),
	})
}

// each reads rows of the snapshot one by one.
func (v *verifier) each(scan func(*sql.Rows) error, q string, args ...any) error {
	rows, err := v.tx.QueryContext(v.ctx, q, args...)
	return eachRow(rows, err, scan)
}

// reportRows reports every row of a query that should find none: its id, and what is
// wrong with it.
func (v *verifier) reportRows(what, q string) error {
	return v.each(func(r *sql.Rows) error {
		var id, detail string
		if err := r.Scan(&id, &detail); err != nil {
			return err
		}
		v.report(what+" "+id, "%s", detail)
		return nil
	}, q)
}
