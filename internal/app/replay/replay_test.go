package replay_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/papertrace/patra/internal/app/registry"
	"github.com/papertrace/patra/internal/app/replay"
	"github.com/papertrace/patra/internal/domain/source"
	"github.com/papertrace/patra/internal/infra/sqlstore"
	"github.com/papertrace/patra/internal/node"
	"github.com/papertrace/patra/internal/patratest"
	"github.com/papertrace/patra/internal/sim"
)

// bench is a harvested store, and the requests that its oracle has got.
type bench struct {
	*patratest.Rig
	t        *testing.T
	dsn      string
	requests atomic.Int64
}

// small makes pages of two items.
func small(s *source.Spec) {
	patratest.Fast(s)
	s.Paging.Size = 2
	s.Batching.IDs = 5
}

// newBench harvests sources of the oracle in small pages.
func newBench(t *testing.T, e patratest.Engine, records int, tweak func(*source.Spec), bend func(string, []byte) []byte, codes ...string) *bench {
	t.Helper()
	b := &bench{t: t, dsn: e.SpareDSN(t)}
	packs := map[string]registry.Pack{}
	for _, code := range codes {
		packs[code] = patratest.ShippedPack(t, code, tweak)
	}
	b.Rig = patratest.NewRig(t, patratest.RigConfig{
		DSN: b.dsn, Packs: packs, Bend: bend, Node: node.Config{Workers: 4},
		Sim: sim.Config{
			Sources: codes, Records: records, Seed: 5, LimitRPS: -1,
			OnRequest: func(*http.Request) { b.requests.Add(1) },
		},
	})
	for _, code := range codes {
		b.MustHarvest(code)
	}
	return b
}

// pages are the ids of all pages that are stored.
func (b *bench) pages() (ids []string) {
	b.t.Helper()
	rows, err := patratest.Raw(b.t, b.dsn).QueryContext(b.t.Context(), `SELECT id FROM ing_task_run_batch WHERE status_code='SUCCEEDED' ORDER BY id`)
	if err != nil {
		b.t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var id string
		if err := rows.Scan(&id); err != nil {
			b.t.Fatal(err)
		}
		ids = append(ids, id)
	}
	return ids
}

// checksum is that of every row of every table, but of the gate: a probe passes it.
func (b *bench) checksum() string {
	b.t.Helper()
	db := patratest.Raw(b.t, b.dsn)
	sum := sha256.New()
	for _, table := range []string{
		"ing_plan", "ing_plan_slice", "ing_task", "ing_task_run", "ing_task_run_batch", "ing_record", "ing_record_version", "ing_outbox",
		"ing_quarantine", "ing_cursor", "ing_cursor_event", "ing_schedule_instance", "ing_bad_id", "ing_signal", "ing_source_state", "ing_breaker", "sys_audit",
	} {
		rows, err := db.QueryContext(b.t.Context(), `SELECT * FROM `+table) //nolint:gosec // a name of the list above
		if err != nil {
			b.t.Fatalf("%s: %v", table, err)
		}
		columns, err := rows.Columns()
		if err != nil {
			b.t.Fatal(err)
		}
		for rows.Next() {
			values := make([]any, len(columns))
			for i := range values {
				values[i] = new(any)
			}
			if err := rows.Scan(values...); err != nil {
				b.t.Fatal(err)
			}
			for _, v := range values {
				fmt.Fprintf(sum, "%s %v|", table, *v.(*any))
			}
		}
		if err := rows.Err(); err != nil {
			b.t.Fatal(err)
		}
		_ = rows.Close()
	}
	return fmt.Sprintf("%x", sum.Sum(nil))
}

// reader is the operator's room over a store that is opened for reading, with packs of
// its own and nobody to ask.
func (b *bench) reader(packs map[string]registry.Pack) *control.Control {
	b.t.Helper()
	store, err := sqlstore.Open(b.t.Context(), b.dsn, sqlstore.Options{ReadOnly: true})
	if err != nil {
		b.t.Fatal(err)
	}
	n := node.Assemble(node.Config{}, store, registry.NewStatic(packs, nil), nobody{b.t})
	b.t.Cleanup(func() {
		if err := n.Close(); err != nil {
			b.t.Error(err)
		}
	})
	return n.Control
}

// nobody is a network in which a request is a failure of the test.
type nobody struct{ t *testing.T }

// RoundTrip implements http.RoundTripper.
func (n nobody) RoundTrip(r *http.Request) (*http.Response, error) {
	n.t.Errorf("%s was sent", r.URL)
	return nil, context.Canceled
}

// verdict replays a page and fails the test unless the verdict is this one.
func verdict(t *testing.T, want replay.Verdict) func(control.ReplayReport, error) control.ReplayReport {
	return func(r control.ReplayReport, err error) control.ReplayReport {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		if r.Verdict != want || r.Effect != "nothing written, cursor not moved" {
			t.Errorf("page %s: %s, want %s: %+v", r.Batch, r.Verdict, want, r)
		}
		return r
	}
}

// TestR55_AThousandPagesReplayedChangeNothing: pages of one phase and of two, as JSON
// and as XML, come out as they were recorded. The store is opened for reading and nobody
// is asked; the store's contents are what they were.
func TestR55_AThousandPagesReplayedChangeNothing(t *testing.T) {
	patratest.Long(t, "a thousand pages")
	t.Parallel()
	b := newBench(t, patratest.SQLite, 1250, small, nil, "crossref", "pubmed")
	pages := b.pages()
	if len(pages) < 1000 {
		t.Fatalf("only %d pages", len(pages))
	}
	before := b.checksum()
	asked := b.requests.Load()
	ctl := b.reader(map[string]registry.Pack{
		"crossref": patratest.ShippedPack(t, "crossref", small), "pubmed": patratest.ShippedPack(t, "pubmed", small),
	})
	same := verdict(t, replay.Same)
	mapped := 0
	for _, id := range pages {
		r := same(ctl.ReplayBatch(t.Context(), id, false))
		mapped += len(r.Comparisons)
		if t.Failed() {
			break
		}
	}
	if mapped < 3*len(pages) {
		t.Errorf("%d things were compared on %d pages", mapped, len(pages))
	}
	if after := b.checksum(); after != before {
		t.Error("the store is not what it was")
	}
	if n := b.requests.Load() - asked; n != 0 {
		t.Errorf("%d requests were sent", n)
	}
}

// TestR55_VerdictsOfAReplay on every engine: an altered source is SOURCE CHANGED, if it is
// asked; an altered mapping PARSER CHANGED; a file that was cut NOT REPRODUCED. Nothing of
// it writes.
func TestR55_VerdictsOfAReplay(t *testing.T) {
	patratest.EachKind(t, func(t *testing.T, e patratest.Engine) {
		b := newBench(t, e, 40, small, nil, "crossref", "pubmed")
		ctl := b.Node.Control
		for _, id := range b.pages() {
			verdict(t, replay.Same)(ctl.ReplayBatch(t.Context(), id, false))
		}
		before := b.checksum()
		t.Run("mapping", func(t *testing.T) { b.alterMapping(t) })
		t.Run("bytes", func(t *testing.T) { b.alterBytes(t) })
		if after := b.checksum(); after != before {
			t.Error("the store is not what it was")
		}
		t.Run("file", func(t *testing.T) { b.cutFile(t) })
		t.Run("source", func(t *testing.T) { b.alterSource(t) })
	})
}

// pageOf is a page that has stored something of a source.
func (b *bench) pageOf(code string) (batch, record string) {
	b.t.Helper()
	err := patratest.Raw(b.t, b.dsn).QueryRowContext(b.t.Context(), `SELECT v.batch_id, r.ext_id FROM ing_record_version v JOIN ing_record r ON r.id=v.record_id
		WHERE r.provenance_code=? ORDER BY v.id LIMIT 1`, code).Scan(&batch, &record)
	if err != nil {
		b.t.Fatal(err)
	}
	return batch, record
}

func (b *bench) alterMapping(t *testing.T) {
	page, _ := b.pageOf("crossref")
	other := func(s *source.Spec) {
		small(s)
		for i := range s.Mapping.Fields {
			if f := &s.Mapping.Fields[i]; f.Name == "title" {
				f.From = []source.Pick{{Path: "publisher"}}
			}
		}
	}
	ctl := b.reader(map[string]registry.Pack{"crossref": patratest.ShippedPack(t, "crossref", other)})
	r := verdict(t, replay.ParserChanged)(ctl.ReplayBatch(t.Context(), page, false))
	if len(r.Differences) == 0 || r.Differences[0].What != "field title" || r.Differences[0].By != "current mapping" {
		t.Errorf("differences %+v", r.Differences)
	}
}

// alterBytes changes kept bytes in a copy: what is not what came reproduces nothing.
func (b *bench) alterBytes(t *testing.T) {
	page, _ := b.pageOf("pubmed")
	ref, err := replay.ParseRef(page)
	if err != nil {
		t.Fatal(err)
	}
	for name, alter := range map[string]func(*replay.Box){
		"bytes":   func(box *replay.Box) { box.Items[0].SetRaw([]byte("<PubmedArticle/>")) },
		"item":    func(box *replay.Box) { box.Items = box.Items[1:] },
		"request": func(box *replay.Box) { box.Request.SHA256 = strings.Repeat("0", 64) },
		"snapshot": func(box *replay.Box) {
			box.Frozen.Spec = bytes.Replace(box.Frozen.Spec, []byte("pubmed"), []byte("pubned"), 1)
		},
		"nothing": func(box *replay.Box) { box.Frozen = nil },
	} {
		box, err := b.Node.Store.BlackBox(t.Context(), ref, 0, true)
		if err != nil {
			t.Fatal(err)
		}
		alter(box)
		box.Export = &replay.Exports{Unmasked: true, ExpiresAt: box.Request.OpenedAt.AddDate(100, 0, 0)}
		var file bytes.Buffer
		if err := box.Write(&file); err != nil {
			t.Fatal(err)
		}
		t.Log(name)
		verdict(t, replay.NotReproduced)(b.Node.Control.ReplayFile(t.Context(), "box", &file, false))
	}
}

func (b *bench) cutFile(t *testing.T) {
	page, _ := b.pageOf("pubmed")
	box, done, err := b.Node.Control.ExportBlackBox(t.Context(), control.BoxOrder{By: control.By{Actor: "t", Reason: "to be cut"}, Batch: page})
	if err != nil {
		t.Fatal(err)
	}
	if done.AuditID == 0 || done.ExpiresAt.Sub(done.At) != replay.Lifetime {
		t.Errorf("taken out as %+v", done)
	}
	var file bytes.Buffer
	if err := box.Write(&file); err != nil {
		t.Fatal(err)
	}
	verdict(t, replay.Same)(b.Node.Control.ReplayFile(t.Context(), "box", bytes.NewReader(file.Bytes()), false))
	verdict(t, replay.NotReproduced)(b.Node.Control.ReplayFile(t.Context(), "box", bytes.NewReader(file.Bytes()[:file.Len()*2/3]), false))
}

func (b *bench) alterSource(t *testing.T) {
	for _, code := range []string{"crossref", "pubmed"} {
		page, record := b.pageOf(code)
		before := b.checksum()
		asked := b.requests.Load()
		verdict(t, replay.Same)(b.Node.Control.ReplayBatch(t.Context(), page, true))
		if n := b.requests.Load() - asked; n != 1 {
			t.Errorf("%s: a probe sent %d requests", code, n)
		}
		if err := b.Sim.Touch(code, record); err != nil {
			t.Fatal(err)
		}
		verdict(t, replay.SourceChanged)(b.Node.Control.ReplayBatch(t.Context(), page, true))
		if after := b.checksum(); after != before {
			t.Errorf("%s: a probe has written", code)
		}
	}
}

// TestR77_BlackBoxesHoldNoAddress: addresses that authors left in their records, and that
// of the operator, are masked in what is shown and taken out, and the file can be replayed
// all the same. Whoever wants them says so, and the audit knows.
func TestR77_BlackBoxesHoldNoAddress(t *testing.T) {
	t.Parallel()
	plant := func(_ string, body []byte) []byte {
		body = bytes.ReplaceAll(body, []byte(`"title":["`), []byte(`"title":["Write to jane.doe@uni.example.org. `))
		return bytes.ReplaceAll(body, []byte(`<Affiliation>`), []byte(`<Affiliation>jane.doe@uni.example.org `))
	}
	b := newBench(t, patratest.SQLite, 12, small, plant, "crossref", "pubmed")
	ctl := b.Node.Control
	masked := 0
	for _, id := range b.pages() {
		shown, err := ctl.BlackBox(t.Context(), id, 50)
		if err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal(shown)
		if err != nil {
			t.Fatal(err)
		}
		box, _, err := ctl.ExportBlackBox(t.Context(), control.BoxOrder{By: control.By{Actor: "t", Reason: "r"}, Batch: id})
		if err != nil {
			t.Fatal(err)
		}
		var file bytes.Buffer
		if err := box.Write(&file); err != nil {
			t.Fatal(err)
		}
		lines, err := newReader(t).DecodeAll(file.Bytes(), nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, said := range [][]byte{text, lines} {
			if bytes.Contains(said, []byte("example.org")) || bytes.Contains(said, []byte("jane.doe")) {
				t.Fatalf("an address is in the black box of %s: %s", box.Batch, said)
			}
		}
		masked += bytes.Count(lines, []byte("***@***"))
		verdict(t, replay.Same)(ctl.ReplayFile(t.Context(), "box", &file, false))
	}
	if masked < 24 {
		t.Errorf("%d addresses were masked: too little to look at", masked)
	}
	page, _ := b.pageOf("crossref")
	box, done, err := ctl.ExportBlackBox(t.Context(), control.BoxOrder{By: control.By{Actor: "t", Reason: "asked by the author"}, Batch: page, Unmasked: true})
	if err != nil || !strings.Contains(box.Items[0].Raw, "jane.doe@uni.example.org") {
		t.Fatalf("%v: %+v", err, box.Items)
	}
	list, err := ctl.Audit(t.Context(), control.AuditQuery{Limit: 1})
	if err != nil || len(list.Audit) != 1 || list.Audit[0].ID != done.AuditID || !strings.Contains(list.Audit[0].After, `"unmasked":true`) {
		t.Errorf("the audit says %+v: %v", list.Audit, err)
	}
}
