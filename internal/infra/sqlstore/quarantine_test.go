package sqlstore_test

import (
	"crypto/sha256"

	"github.com/papertrace/patra/internal/domain/harvest"
)

// asideOnce: an item that comes again with every walk, or twice on one page, is
// put aside once for each cause. Its row says which page brought it last, and
// every page accounts for what it brought.
func asideOnce(l *Lab) {
	aside := func(code harvest.Code) harvest.Quarantined {
		raw := []byte("null")
		return harvest.Quarantined{Problem: harvest.Problem{Code: code}, Raw: raw, RawSHA256: sha256.Sum256(raw)}
	}
	rows := func() int64 { return l.Int(`SELECT COUNT(*) FROM ing_quarantine`) }
	l.Plan(0, 3)
	var last harvest.BatchID
	for range 2 {
		j := l.LeaseOne()
		b := Last(l.Open(j, l.Start(j)))
		b.Quarantined = []harvest.Quarantined{aside(harvest.ProblemBadDate), aside(harvest.ProblemBadDate)}
		if c := l.Commit(j, b); c.Counts.Quarantined != 2 {
			l.Errorf("the page accounts for %d of its 2 items", c.Counts.Quarantined)
		}
		last = b.ID
		if n := rows(); n != 1 {
			l.Errorf("%d rows for one item and cause", n)
		}
	}
	if n := l.Int(`SELECT batch_id FROM ing_quarantine`); n != int64(last) {
		l.Errorf("brought last by batch %d, want %d", n, last)
	}
	j := l.LeaseOne()
	b := Last(l.Open(j, l.Start(j)))
	b.Quarantined = []harvest.Quarantined{aside(harvest.ProblemTooLarge)}
	l.Commit(j, b)
	if n := rows(); n != 2 {
		l.Errorf("%d rows for one item and two causes", n)
	}
	l.MustVerify()
}
