package sqlstore_test

import (
	"crypto/sha256"
	"fmt"
	"strings"

	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/source"
)

// pageOf commits the one page of a plan for a query, of a backfill of everything if there is none.
func (l *Lab) pageOf(query string, set func(b *harvest.Batch)) {
	l.Helper()
	n := int(l.Int(`SELECT COUNT(*) FROM ing_plan`))
	d := selected(query, n, n+1)
	if query == "" {
		d = Draft(harvest.ActivityNamespace(prov, harvest.Backfill, "updated", fmt.Sprintf("again-%d", n)), n, n+1)
	}
	l.pageOfPlan(d, set)
}

// pageOfPlan commits the one page of a plan.
func (l *Lab) pageOfPlan(d harvest.Draft, set func(b *harvest.Batch)) {
	l.Helper()
	l.Save(d)
	j := l.LeaseOne()
	b := Last(l.Open(j, l.Start(j)))
	set(&b)
	l.Commit(j, b)
}

// unread are, of each query, how many items in quarantine and ids without details its
// selection has met and not read.
func (l *Lab) unread(queries ...string) string {
	l.Helper()
	var out []string
	for _, query := range queries {
		id := l.Int(`SELECT COALESCE(MAX(id), 0) FROM ing_selection WHERE query_text=?`, query)
		n, err := l.Store.Unread(l.ctx(), harvest.SelectionID(id), 10)
		if err != nil {
			l.Fatal(err)
		}
		out = append(out, fmt.Sprintf("%s %d+%d", query, n.Quarantined, n.BadIDs))
	}
	return strings.Join(out, ", ")
}

// bad is an item that cannot be read but for its id.
func bad(id string) harvest.Quarantined {
	raw := []byte("? " + id)
	return harvest.Quarantined{ID: id, Problem: harvest.Problem{Code: harvest.ProblemBadDate}, Raw: raw, RawSHA256: sha256.Sum256(raw)}
}

// readLaterJoins: what a search named and could not read joins its selection by whatever page
// reads it, new or held before, and the selection counts it as read.
func readLaterJoins(l *Lab) {
	l.pageOf("ti:a", func(b *harvest.Batch) {
		b.Records = []harvest.Record{Rec("held", hour(0), hour(9), "x")}
		b.Quarantined = []harvest.Quarantined{bad("q"), bad("still")}
		b.Missing = []string{"m"}
		b.Unread = []string{"m"}
	})
	l.pageOf("ti:b", func(b *harvest.Batch) { b.Quarantined = []harvest.Quarantined{bad("held")} })
	if got := l.unread("ti:a", "ti:b"); got != "ti:a 2+1, ti:b 1+0" {
		l.Errorf("unread: %s", got)
	}
	l.pageOf("", func(b *harvest.Batch) {
		b.Records = []harvest.Record{Rec("q", hour(0), hour(9), "x"), Rec("m", hour(0), hour(9), "x"), Rec("held", hour(0), hour(9), "x"), Rec("other", hour(0), hour(9), "x")}
		b.Mended = []string{"m"}
	})
	if a, b := l.members("ti:a"), l.members("ti:b"); a != "held 0-0, m 2-2, q 2-2" || b != "held 2-2" {
		l.Errorf("members: %s and %s", a, b)
	}
	if got := l.unread("ti:a", "ti:b"); got != "ti:a 1+0, ti:b 0+0" {
		l.Errorf("unread after they were read: %s", got)
	}
	l.MustVerify()
}

// selectedByWords is a plan for a query of which the source decides nothing: only records with
// a word in their title are kept.
func selectedByWords(query, word string) harvest.Draft {
	d := selected(query, 0, 1)
	d.Snapshot = []byte(`{"specVersion":1,"provenanceCode":"` + prov + `","mapping":{"fields":[{"name":"title"}]},"query":{"rest":"{\"op\":\"TERM\",\"field\":\"ti\",\"match\":\"PHRASE\",\"text\":\"` + word + `\"}"}}`)
	d.Fingerprint = source.FingerprintBytes(d.Snapshot)
	return d
}

// readLaterIsFiltered: what is read later joins only the selections whose own filter keeps it;
// the others have read it all the same.
func readLaterIsFiltered(l *Lab) {
	for _, word := range []string{"heart", "liver"} {
		l.pageOfPlan(selectedByWords("ti:"+word, word), func(b *harvest.Batch) {
			b.Quarantined = []harvest.Quarantined{bad("q")}
			b.Missing = []string{"m"}
			b.Unread = []string{"m"}
		})
	}
	l.pageOf("", func(b *harvest.Batch) {
		b.Records = []harvest.Record{Rec("q", hour(0), hour(9), "of the heart"), Rec("m", hour(0), hour(9), "of the liver")}
		b.Mended = []string{"m"}
	})
	if a, b := l.members("ti:heart"), l.members("ti:liver"); a != "q 2-2" || b != "m 2-2" {
		l.Errorf("members: %s and %s", a, b)
	}
	if got := l.unread("ti:heart", "ti:liver"); got != "ti:heart 0+0, ti:liver 0+0" {
		l.Errorf("unread: %s", got)
	}
	l.MustVerify()
}

// notReadYetIsNotLost: an id whose details came and could not be read is in quarantine for the
// selections that named it, and one that another query has left out stays on the list for them.
func notReadYetIsNotLost(l *Lab) {
	l.pageOf("ti:a", func(b *harvest.Batch) {
		b.Missing = []string{"m", "n"}
		b.Unread = []string{"m", "n"}
	})
	l.pageOf("ti:b", func(b *harvest.Batch) {
		b.Unread = []string{"n"}
		b.Quarantined = []harvest.Quarantined{bad("m")}
		b.Mended = []string{"m"}
	})
	l.pageOf("ti:b", func(b *harvest.Batch) {
		b.Filtered = []string{"n"}
		b.Mended = []string{"n"}
	})
	if got := l.unread("ti:a", "ti:b"); got != "ti:a 1+1, ti:b 1+0" {
		l.Errorf("unread: %s", got)
	}
	l.MustVerify()
	l.pageOf("", func(b *harvest.Batch) {
		b.Records = []harvest.Record{Rec("m", hour(0), hour(9), "x"), Rec("n", hour(0), hour(9), "x")}
		b.Mended = []string{"n"}
	})
	if a, b := l.members("ti:a"), l.members("ti:b"); a != "m 3-3, n 3-3" || b != "m 3-3" {
		l.Errorf("members: %s and %s", a, b)
	}
	if n := l.Int(`SELECT COUNT(*) FROM ing_bad_id`); n != 0 {
		l.Errorf("%d ids on the list", n)
	}
	l.MustVerify()
}

// aDamagedSelectionHoldsNobody: records whose selection cannot be read are stored all the same,
// and it goes on waiting for them.
func aDamagedSelectionHoldsNobody(l *Lab) {
	l.pageOf("ti:a", func(b *harvest.Batch) { b.Quarantined = []harvest.Quarantined{bad("q")} })
	l.Exec(`UPDATE ing_plan SET spec_snapshot='{'`)
	l.pageOf("", func(b *harvest.Batch) { b.Records = []harvest.Record{Rec("q", hour(0), hour(9), "x")} })
	if got := l.unread("ti:a"); got != "ti:a 1+0" || l.members("ti:a") != "" {
		l.Errorf("unread: %s, members: %s", got, l.members("ti:a"))
	}
	if n := l.Int(`SELECT COUNT(*) FROM ing_record`); n != 1 {
		l.Errorf("%d records", n)
	}
}
