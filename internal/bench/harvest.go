package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/papertrace/patra/internal/app/registry"
	"github.com/papertrace/patra/internal/domain/source"
	"github.com/papertrace/patra/internal/infra/sourcefile"
	"github.com/papertrace/patra/internal/infra/sqlstore"
	"github.com/papertrace/patra/internal/node"
	"github.com/papertrace/patra/sources"
)

// unlimited is a shipped pack whose source has no rate limit.
type unlimited struct{ *sourcefile.Pack }

// Compile implements registry.Pack.
func (p unlimited) Compile(t source.Trigger) (*source.Spec, []source.Warning, error) {
	s, w, err := p.Pack.Compile(t)
	if err == nil {
		s.Rate.QPS = 0
		s.Rate.Limit = 0
		s.Rate.Concurrency = 0
		s.Rate.LimitHeaders = nil
	}
	return s, w, err
}

// packs are shipped packs as they are.
func packs(codes ...string) (*registry.Static, error) {
	return packsAs(func(p *sourcefile.Pack) registry.Pack { return p }, codes)
}

// unlimitedPacks are shipped packs whose sources have no rate limit.
func unlimitedPacks(codes ...string) (*registry.Static, error) {
	return packsAs(func(p *sourcefile.Pack) registry.Pack { return unlimited{p} }, codes)
}

func packsAs(as func(*sourcefile.Pack) registry.Pack, codes []string) (*registry.Static, error) {
	all := map[string]registry.Pack{}
	for _, code := range codes {
		b, err := sources.FS.ReadFile(code + ".yaml")
		if err != nil {
			return nil, err
		}
		p, err := sourcefile.Parse(code+".yaml", b)
		if err != nil {
			return nil, err
		}
		all[code] = as(p)
	}
	return registry.NewStatic(all, map[string]string{"contact": "bench@example.org", "tool": "patra-bench"}), nil
}

// harvestUnderTest is what patra does: everything at its default.
func harvestUnderTest(ctx context.Context, j job, m *meter) (f figures, err error) {
	reg, err := unlimitedPacks(j.Source)
	if err != nil {
		return f, err
	}
	store, err := sqlstore.Open(ctx, "sqlite:"+j.db, sqlstore.Options{})
	if err != nil {
		return f, err
	}
	n := node.Assemble(node.Config{}, store, reg, nil)
	defer func() { err = errors.Join(err, n.Close()) }()
	watch := new(control.Watch)

	if err := m.start(); err != nil {
		return f, err
	}
	rep, err := n.Control.Harvest(ctx, control.HarvestRequest{Source: j.Source, BaseURL: j.base, From: born.Add(-span - margin), Watch: watch})
	if err != nil {
		return f, err
	}
	if err := m.stop(&f); err != nil {
		return f, err
	}

	f.Records = rep.Records.Inserted
	f.Requests = rep.Requests.Sent
	f.Bytes = rep.Bytes
	f.Pages = watch.Progress().Pages
	if rep.Slices.Failed+rep.Slices.Open > 0 || rep.Records.Items() != f.Records {
		return f, fmt.Errorf("harvest is not whole: slices %+v, records %+v", rep.Slices, rep.Records)
	}
	findings, err := store.Verify(ctx)
	if err != nil {
		return f, err
	}
	if len(findings) > 0 {
		return f, fmt.Errorf("store breaks %d invariants, the first: %+v", len(findings), findings[0])
	}
	return f, f.check(ctx, j, "ing_record")
}

// countWorks counts what linking has come to.
func (f *figures) countWorks(ctx context.Context, j job) error {
	db, err := sql.Open("sqlite", "file:"+j.db+"?_pragma=busy_timeout(20000)")
	if err != nil {
		return err
	}
	defer db.Close()
	return db.QueryRowContext(ctx, `SELECT (SELECT COUNT(DISTINCT work_id) FROM ing_work_member),
		(SELECT COUNT(*) FROM ing_work_edge WHERE polarity_code='SUGGEST')`).Scan(&f.Linked.Works, &f.Linked.Suggestions)
}

// check that the table holds each record once, and notes the size of the file.
func (f *figures) check(ctx context.Context, j job, table string) error {
	db, err := sql.Open("sqlite", "file:"+j.db+"?_pragma=busy_timeout(20000)")
	if err != nil {
		return err
	}
	defer db.Close()
	var n int64
	if err := db.QueryRowContext(ctx, "SELECT COUNT(*) FROM "+table).Scan(&n); err != nil {
		return err
	}
	if n != int64(j.Records) || f.Records != n {
		return fmt.Errorf("%d records stored, %d counted, %d upstream", n, f.Records, j.Records)
	}
	err = db.QueryRowContext(ctx, `SELECT (SELECT page_count FROM pragma_page_count()) * (SELECT page_size FROM pragma_page_size())`).Scan(&f.Stored)
	if err != nil {
		return err
	}
	for _, name := range []string{j.db, j.db + "-wal"} {
		if st, err := os.Stat(name); err == nil {
			f.DBMiB += float64(st.Size()) / (1 << 20)
		}
	}
	return nil
}
