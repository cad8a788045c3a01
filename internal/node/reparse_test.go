package node_test

import (
	"database/sql"
	"fmt"
	"strings"
	"testing"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/papertrace/patra/internal/app/registry"
	"github.com/papertrace/patra/internal/app/replay"
	"github.com/papertrace/patra/internal/infra/sqlstore"
	"github.com/papertrace/patra/internal/patratest"
	"github.com/papertrace/patra/internal/sim"
)

// TestQuarantine_ReparseStoresWhatCanBeReadNow: items that a mapping had refused become
// records when another one reads them, by a plan whose pages are committed as all are,
// as old as they are, and without a request; what was not chosen stays. It is shown
// before it is done, and the audit says who wanted it.
func TestQuarantine_ReparseStoresWhatCanBeReadNow(t *testing.T) {
	patratest.EachKind(t, func(t *testing.T, e patratest.Engine) {
		t.Parallel()
		reparseAfterHarvest(t, e.SpareDSN(t), "crossref") // one phase
		if e == patratest.SQLite {
			reparseAfterHarvest(t, e.SpareDSN(t), "pubmed") // two
		}
	})
}

// putAside puts the first records of a store back to where a stricter mapping would have
// left them, and beside them an item of which only the hash was kept.
func putAside(t *testing.T, s *sqlstore.Store, db *sql.DB, most int) {
	t.Helper()
	rows, err := db.Query(`SELECT id FROM ing_record ORDER BY id LIMIT ?`, most)
	if err != nil {
		t.Fatal(err)
	}
	var ids []int64
	for rows.Next() {
		var id int64
		if err := rows.Scan(&id); err != nil {
			t.Fatal(err)
		}
		ids = append(ids, id)
	}
	if err := rows.Close(); err != nil {
		t.Fatal(err)
	}
	for n, id := range ids {
		raw, err := s.RecordRaw(t.Context(), id, 1)
		if err != nil {
			t.Fatal(err)
		}
		if n == 0 {
			mustExec(t, db, `INSERT INTO ing_quarantine (batch_id, provenance_code, record_type, ext_id, code, raw, raw_sha256, created_at, seen_at)
				SELECT v.batch_id, r.provenance_code, r.record_type, r.ext_id, 'too_large', x'', v.content_hash, v.created_at, v.created_at
				FROM ing_record r JOIN ing_record_version v ON v.record_id=r.id WHERE r.id=?`, id)
		}
		mustExec(t, db, `INSERT INTO ing_quarantine (batch_id, provenance_code, record_type, ext_id, code, path, raw, raw_sha256, created_at, seen_at)
			SELECT v.batch_id, r.provenance_code, r.record_type, NULL, 'no_id', 'id', ?, v.raw_sha256, v.created_at, v.created_at
			FROM ing_record r JOIN ing_record_version v ON v.record_id=r.id WHERE r.id=?`, patratest.PackItem(t, raw), id)
		mustExec(t, db, `DELETE FROM ing_outbox WHERE record_id=?`, id)
		mustExec(t, db, `DELETE FROM ing_record_version WHERE record_id=?`, id)
		mustExec(t, db, `DELETE FROM ing_record WHERE id=?`, id)
	}
}

func mustExec(t *testing.T, db *sql.DB, q string, args ...any) {
	t.Helper()
	if _, err := db.Exec(q, args...); err != nil {
		t.Fatal(err)
	}
}

func reparseAfterHarvest(t *testing.T, dsn, code string) {
	oracle, err := sim.New(sim.Config{Records: 40, Seed: 6, LimitRPS: -1, Sources: []string{code}})
	if err != nil {
		t.Fatal(err)
	}
	pack := patratest.ShippedPack(t, code, patratest.Fast)
	r := patratest.NewRig(t, patratest.RigConfig{DSN: dsn, Oracle: oracle, Packs: map[string]registry.Pack{code: pack}})
	rep := r.MustHarvest(code)
	db := patratest.Raw(t, dsn)
	putAside(t, r.Node.Store, db, 3)
	moves := count(t, db, `SELECT COUNT(*) FROM ing_cursor_event`)
	ctl := r.Node.Control
	items, err := ctl.Quarantine(t.Context(), control.QuarantineQuery{Source: code, Limit: 10})
	if err != nil || len(items.Items) != 4 {
		t.Fatalf("%+v %v", items, err)
	}
	hashOnly := items.Items[3].ID
	order := control.ReparseOrder{
		By:               control.By{Actor: "me", Reason: "mapping mended"},
		QuarantineChoice: control.QuarantineChoice{Items: []int64{items.Items[0].ID, items.Items[1].ID, hashOnly}},
	}
	seen, err := ctl.PreviewReparse(t.Context(), order)
	if err != nil || len(seen.Passes) != 2 || len(seen.Fails) != 1 || seen.Passes[0].Record == "" || seen.Token == "" {
		t.Fatalf("%+v %v", seen, err)
	}
	if f := seen.Fails[0]; f.Item != hashOnly || !strings.Contains(f.Detail, "not kept") {
		t.Errorf("of an item without bytes: %+v", f)
	}
	order.Token = seen.Token
	done, err := ctl.Reparse(t.Context(), order)
	if err != nil || done.Records.Inserted != 2 || done.Status != "COMPLETED" || done.Requests.Sent != 0 {
		t.Fatalf("%+v %v", done, err)
	}
	patratest.MustVerify(t, r.Node.Store)
	for _, p := range seen.Passes {
		v, err := ctl.Record(t.Context(), code, p.Record)
		if err != nil || v.Origin.Operation != "UPDATE" || v.Origin.Batch == 0 {
			t.Errorf("%+v %v", v, err)
		}
		again, err := ctl.ReplayBatch(t.Context(), fmt.Sprintf("%d", v.Origin.Batch), true)
		if err != nil || again.Verdict != replay.Same || again.Requests != 0 {
			t.Errorf("the page that brought it, replayed: %+v %v", again, err)
		}
	}
	left, err := ctl.Quarantine(t.Context(), control.QuarantineQuery{Source: code, Limit: 10})
	if err != nil || len(left.Items) != 2 || left.Items[0].ID != items.Items[2].ID || left.Items[1].ID != hashOnly {
		t.Errorf("%+v %v", left, err)
	}
	if n := count(t, db, `SELECT COUNT(*) FROM ing_record r JOIN ing_task_run_batch b ON b.operation_code='UPDATE'
		WHERE r.observed_at>=b.opened_at`); n != 0 {
		t.Errorf("%d records say that they were asked for now", n)
	}
	if n := count(t, db, `SELECT COUNT(*) FROM ing_cursor_event WHERE operation_code<>'UPDATE'`); n != moves {
		t.Errorf("the cursor of the harvest has moved: %d events, %d before", n, moves)
	}
	lines, err := ctl.Audit(t.Context(), control.AuditQuery{Object: "source/" + code, Limit: 1})
	if err != nil || len(lines.Audit) != 1 || lines.Audit[0].Action != "QUARANTINE_REPARSE" {
		t.Errorf("%+v %v", lines, err)
	}
	// The rest follows, and then nothing is missing.
	order = control.ReparseOrder{By: control.By{Actor: "me", Reason: "the rest"}, QuarantineChoice: control.QuarantineChoice{Source: code}}
	if _, err := ctl.Reparse(t.Context(), order); err != nil {
		t.Fatal(err)
	}
	r.MustBeExact(code, rep)
}

func count(t *testing.T, db *sql.DB, q string) (n int) {
	t.Helper()
	if err := db.QueryRow(q).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}
