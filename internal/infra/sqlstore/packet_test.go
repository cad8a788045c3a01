package sqlstore_test

import (
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	"testing"
	"time"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/patratest"
)

// TestR32_TooLargeIsQuarantined: a server takes a megabyte at once. A page of which
// most items do not fit in one statement together is stored; an item that fits in
// none is quarantined with the reason, and the rest of its page is stored.
func TestR32_TooLargeIsQuarantined(t *testing.T) {
	const packet = 1 << 20
	l := NewLab(t, patratest.StartServer(t, "--max-allowed-packet=1M").Engine())
	item := func(id string, raw, fields int) harvest.Record {
		at := l.Begin().Add(time.Minute)
		r := Rec(id, at, at.Add(time.Hour), id)
		r.Raw = make([]byte, raw)
		rand.Read(r.Raw) // does not get smaller
		r.RawSHA256 = sha256.Sum256(r.Raw)
		r.Version.ContentHash = r.RawSHA256
		text := make([]byte, fields/2)
		rand.Read(text)
		r.Fields = fmt.Appendf(nil, `{"title":"%x"}`, text)
		return r
	}
	quarantined := func(q string) int64 {
		return l.Int(`SELECT COUNT(*) FROM ing_quarantine WHERE code='too_large' AND detail LIKE '%max_allowed_packet%' AND ` + q)
	}
	l.Plan(0, 2)
	j := l.LeaseOne()
	var recs []harvest.Record
	for i := range 60 {
		recs = append(recs, item(fmt.Sprint("large", i), 150_000, 0))
	}
	recs = append(recs, item("both", packet/2, packet*4/10), item("just", packet-70_000, 10))
	recs = append(recs, item("raw", 3*packet, 10), item("fields", 10, 3*packet))
	b := Last(l.Open(j, l.Start(j)), recs...)
	junk := make([]byte, 2*packet)
	rand.Read(junk)
	b.Quarantined = append(b.Quarantined, harvest.Quarantined{ID: "junk", Problem: harvest.Problem{Code: harvest.ProblemBadDate, Detail: "no date"}, Raw: junk, RawSHA256: sha256.Sum256(junk)})
	if c := l.Commit(j, b).Counts; c.Inserted != 62 || c.Quarantined != 3 {
		t.Errorf("%+v: %s", c, l.Text(`SELECT GROUP_CONCAT(CONCAT(ext_id, ' ', detail)) FROM ing_quarantine`))
	}
	if n := quarantined(`ext_id='raw' AND LENGTH(raw)=0`); n != 1 {
		t.Errorf("%d rows of what is too large itself", n)
	}
	if n := quarantined(`ext_id='fields' AND LENGTH(raw)>0`); n != 1 {
		t.Errorf("%d rows of what makes too large fields", n)
	}
	if n := l.Int(`SELECT COUNT(*) FROM ing_quarantine WHERE ext_id='junk' AND code='bad_date' AND LENGTH(raw)=0 AND detail LIKE 'no date (its 2097152 bytes are not kept%'`); n != 1 {
		t.Errorf("%d rows of what was quarantined before", n)
	}
	// A version that grows too large leaves the one that is held.
	j = l.LeaseOne()
	again := item("large0", 2*packet, 0)
	again.Version.UpdatedAt = again.Version.UpdatedAt.Add(time.Minute)
	if c := l.Walk(j, again, item("small", 10, 10)).Counts; c.Inserted != 1 || c.Quarantined != 1 {
		t.Errorf("%+v", c)
	}
	if n := l.Int(`SELECT revision FROM ing_record WHERE ext_id='large0'`); n != 1 {
		t.Errorf("revision %d", n)
	}
	l.MustVerify()
	findings, _, err := l.Store.VerifyBodies(t.Context(), 0, func(control.DeepCheck) {})
	if err != nil || len(findings) > 0 {
		t.Errorf("deep check: %v, %v", findings, err)
	}
}
