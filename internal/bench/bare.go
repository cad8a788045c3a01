package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/klauspost/compress/zstd"
	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/source"
	"github.com/papertrace/patra/internal/infra/decode"
	"github.com/papertrace/patra/internal/infra/gate"
	"github.com/papertrace/patra/internal/infra/upstream"
)

// bare is the loop somebody would write who only wants the records: window by
// window and page by page, each page inserted in one transaction. It knows no
// plan, lease, fence, cursor, version, event or proof, and when it is killed
// it has to begin again.
type bare struct {
	spec    *source.Spec
	client  *upstream.Client
	base    string
	db      *sql.DB
	insert  *sql.Stmt // of rowsPerInsert rows
	encoder *zstd.Encoder
	buf     []byte
	figures figures
}

// rowsPerInsert is the store's.
const rowsPerInsert = 50

const insertInto = `INSERT INTO record (source, id, updated_at, raw_sha256, raw, fields) VALUES `

func bareLoop(ctx context.Context, j job, m *meter) (f figures, err error) {
	b, err := newBare(ctx, j)
	if err != nil {
		return f, err
	}
	defer func() { err = errors.Join(err, b.db.Close()) }()
	defer b.client.Close()
	// It is told the windows the planner would cut, for nothing.
	windows, err := b.windows(ctx)
	if err != nil {
		return f, err
	}
	if err := m.start(); err != nil {
		return f, err
	}
	for _, w := range windows {
		walk := b.pages
		if b.spec.TwoPhase() {
			walk = b.details
		}
		if err := walk(ctx, w); err != nil {
			return f, fmt.Errorf("window %s: %w", w, err)
		}
	}
	if err := m.stop(&b.figures); err != nil {
		return f, err
	}
	return b.figures, b.figures.check(ctx, j, "record")
}

func newBare(ctx context.Context, j job) (*bare, error) {
	reg, err := unlimitedPacks(j.Source)
	if err != nil {
		return nil, err
	}
	con, err := reg.Contract(ctx, j.Source, harvest.Harvest)
	if err != nil {
		return nil, err
	}
	b := &bare{spec: con.Spec, base: j.base}
	dec, err := newDecoders(con.Spec)
	if err != nil {
		return nil, err
	}
	b.client = upstream.New(upstream.Config{}, gate.New(gate.Config{}, nil), dec)
	b.encoder, err = zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1))
	if err != nil {
		return nil, err
	}
	b.db, err = sql.Open("sqlite", "file:"+j.db+"?_txlock=immediate&_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)&_pragma=cache_size(-32768)&_pragma=wal_autocheckpoint(2000)")
	if err != nil {
		return nil, err
	}
	b.db.SetMaxOpenConns(1)
	_, err = b.db.ExecContext(ctx, `CREATE TABLE record (source TEXT NOT NULL, id TEXT NOT NULL, updated_at TEXT NOT NULL, raw_sha256 BLOB NOT NULL, raw BLOB NOT NULL, fields TEXT NOT NULL, UNIQUE (source, id)) STRICT`)
	if err == nil {
		b.insert, err = b.db.PrepareContext(ctx, insertInto+marks(rowsPerInsert))
	}
	if err != nil {
		return nil, errors.Join(err, b.db.Close())
	}
	return b, nil
}

// decoders are those of one spec.
type decoders map[source.Purpose]*decode.Decoder

func newDecoders(spec *source.Spec) (decoders, error) {
	cal, err := spec.Window.Calendar()
	if err != nil {
		return nil, err
	}
	out := decoders{}
	for _, p := range source.Purposes() {
		ep := spec.Endpoint(p)
		if ep == nil {
			continue
		}
		var m *source.Mapping
		if spec.Maps(ep) {
			m = &spec.Mapping
		}
		out[p], err = decode.Compile(ep, spec.ID, m, cal)
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

// For implements upstream.Decoders.
func (d decoders) For(_ *source.Spec, p source.Purpose) (upstream.Decoder, error) { return d[p], nil }

func (b *bare) ask(ctx context.Context, c source.Call) (*harvest.Page, error) {
	c.BaseURL = b.base
	ans, err := b.client.Ask(ctx, b.spec, c)
	b.figures.Requests += int64(ans.Traffic.Sent)
	b.figures.Bytes += ans.Traffic.Bytes
	return ans.Page, err
}

// windows are the slices of the harvest.
func (b *bare) windows(ctx context.Context) ([]harvest.Window, error) {
	cal, err := b.spec.Window.Calendar()
	if err != nil {
		return nil, err
	}
	w := b.spec.Window
	var out []harvest.Window
	err = harvest.Strategies()[harvest.StrategyTime].Slice(ctx, harvest.SliceRequest{
		Span: harvest.Window{From: cal.Floor(born.Add(-span - margin)), To: cal.Floor(born.Add(margin - w.SafetyLag.D()))}.Span(), Calendar: cal,
		Step: w.Step.D(), MinStep: w.MinStep.D(), Target: w.Target, Cap: b.spec.Paging.MaxItems, PageSize: b.spec.Paging.Size,
		Estimate: func(ctx context.Context, at harvest.Part) (harvest.Estimate, error) {
			p, err := b.ask(ctx, source.Call{Purpose: source.ForCount, Window: at.Window()})
			if err != nil {
				return harvest.Estimate{}, err
			}
			return harvest.Estimate{Records: *p.Total, Known: true, By: harvest.ByCount}, nil
		},
	}, func(s harvest.SliceSpec) { out = append(out, s.NominalWindow()) })
	return out, err
}

// pages follows the cursor until a page is empty.
func (b *bare) pages(ctx context.Context, w harvest.Window) error {
	for token := ""; ; {
		p, err := b.ask(ctx, source.Call{Purpose: source.ForSearch, Window: w, Position: harvest.Position{Token: token}})
		if err != nil {
			return err
		}
		if len(p.Items) == 0 {
			return nil
		}
		if err := b.store(ctx, p.Items); err != nil {
			return err
		}
		token = p.Token
	}
}

// details searches once, then asks for the records in batches.
func (b *bare) details(ctx context.Context, w harvest.Window) error {
	found, err := b.ask(ctx, source.Call{Purpose: source.ForSearch, Window: w})
	if err != nil {
		return err
	}
	ids := make([]string, 0, len(found.Items))
	for _, it := range found.Items {
		ids = append(ids, it.ID)
	}
	for n := b.spec.Batching.IDs; len(ids) > 0; {
		some := ids[:min(n, len(ids))]
		ids = ids[len(some):]
		p, err := b.ask(ctx, source.Call{Purpose: source.ForDetail, Window: w, IDs: some})
		if err != nil {
			return err
		}
		if err := b.store(ctx, p.Items); err != nil {
			return err
		}
	}
	return nil
}

// store inserts a page in one transaction.
func (b *bare) store(ctx context.Context, items []harvest.Item) (err error) {
	b.buf = b.buf[:0]
	ends := make([]int, 0, len(items))
	for i := range items {
		b.buf = b.encoder.EncodeAll(items[i].Raw, b.buf)
		ends = append(ends, len(b.buf))
	}
	tx, err := b.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() //nolint:errcheck // nothing to roll back after the commit
	insert := tx.StmtContext(ctx, b.insert)
	args := make([]any, 0, rowsPerInsert*6)
	start := 0
	for i := range items {
		it := &items[i]
		raw, _ := it.Hashes()
		args = append(args, b.spec.Source, it.ID, it.UpdatedAt.Format(time.RFC3339), raw[:], b.buf[start:ends[i]], string(it.Mapped()))
		start = ends[i]
		switch {
		case len(args) == cap(args):
			_, err = insert.ExecContext(ctx, args...)
		case i == len(items)-1:
			_, err = tx.ExecContext(ctx, insertInto+marks(len(args)/6), args...)
		default:
			continue
		}
		if err != nil {
			return err
		}
		args = args[:0]
	}
	b.figures.Pages++
	b.figures.Records += int64(len(items))
	return tx.Commit()
}

func marks(rows int) string {
	return strings.TrimSuffix(strings.Repeat("(?,?,?,?,?,?),", rows), ",")
}
