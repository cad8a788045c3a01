package node_test

import (
	"fmt"
	"testing"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/papertrace/patra/internal/patratest"
	"github.com/papertrace/patra/internal/sim"
)

// TestQuarantine_RefetchAsksTheSourceByID: the records of items in quarantine are asked
// for again by their ids, once, as a refresh does it; it is told beforehand what that
// takes, and the audit says who wanted it. Without an id nobody can be asked.
func TestQuarantine_RefetchAsksTheSourceByID(t *testing.T) {
	r := patratest.NewRig(t, patratest.RigConfig{DSN: patratest.SQLite.SpareDSN(t), Sim: sim.Config{Records: 20, Seed: 6, LimitRPS: -1}})
	r.MustHarvest("pubmed")
	db := patratest.Raw(t, r.Node.Store.DSN())
	const aside = `INSERT INTO ing_quarantine (batch_id, provenance_code, record_type, ext_id, code, raw, raw_sha256, created_at, seen_at)
		SELECT v.batch_id, r.provenance_code, r.record_type, %s, 'bad_date', ?, v.raw_sha256, v.created_at, v.created_at
		FROM ing_record r JOIN ing_record_version v ON v.record_id=r.id ORDER BY r.id LIMIT 1 OFFSET %s`
	for _, row := range [][2]string{{"r.ext_id", "0"}, {"r.ext_id", "1"}, {"NULL", "2"}} {
		if _, err := db.Exec(fmt.Sprintf(aside, row[0], row[1]), patratest.PackItem(t, []byte("<a/>"))); err != nil {
			t.Fatal(err)
		}
	}
	ctl := r.Node.Control
	o := control.RefetchOrder{
		By: control.By{Actor: "me", Reason: "mended upstream"}, QuarantineChoice: control.QuarantineChoice{Source: "pubmed"}, BaseURL: r.BaseOf("pubmed"),
	}
	seen, err := ctl.PreviewRefetch(t.Context(), o)
	if err != nil || len(seen.Items) != 2 || len(seen.Nameless) != 1 || seen.Refresh.Records != 2 || seen.Token == "" {
		t.Fatalf("%+v %v", seen, err)
	}
	o.Token = seen.Token
	rep, err := ctl.Refetch(t.Context(), o)
	if err != nil || rep.Records.Unchanged != 2 || rep.Requests.Sent == 0 || rep.Status != "COMPLETED" {
		t.Fatalf("%+v %v", rep, err)
	}
	lines, err := ctl.Audit(t.Context(), control.AuditQuery{Object: "source/pubmed", Limit: 1})
	if err != nil || len(lines.Audit) != 1 || lines.Audit[0].Action != "QUARANTINE_REFETCH" || lines.Audit[0].Reason != "mended upstream" {
		t.Errorf("%+v %v", lines, err)
	}
	list, err := ctl.Quarantine(t.Context(), control.QuarantineQuery{Source: "pubmed", Limit: 10})
	if err != nil || len(list.Items) != 3 || !list.Items[1].ReadSince || !list.Items[2].ReadSince || list.Items[0].ReadSince {
		t.Errorf("%+v %v", list, err)
	}
	o.QuarantineChoice = control.QuarantineChoice{Items: []int64{list.Items[0].ID}}
	o.Token = ""
	if _, err := ctl.Refetch(t.Context(), o); err == nil {
		t.Error("what has no id was asked for")
	}
	o.QuarantineChoice = control.QuarantineChoice{Items: []int64{1 << 40}}
	if _, err := ctl.Refetch(t.Context(), o); err == nil {
		t.Error("what is not there was asked for")
	}
}
