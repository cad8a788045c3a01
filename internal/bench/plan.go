package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/papertrace/patra/internal/app/registry"
	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/infra/sourcefile"
	"github.com/papertrace/patra/internal/infra/sqlstore"
	"github.com/papertrace/patra/internal/node"
)

// hourly is a source that does not count: every hour is a slice, and every
// slice one page without records.
const hourly = `
source: hourly
baseUrl: https://hourly.example.org
zone: UTC
recordType: work
identity: TEXT
window: {key: updated, filters: {from: updated, to: updated}, precision: SECOND, bound: OPEN, updatedAt: PATH, safetyLag: 10m, step: PT1H, minStep: PT1H, maxOpen: 1000000}
pagination: {type: TOKEN, pageSize: 100, end: [NO_TOKEN]}
endpoints:
  items:
    usage: SEARCH
    path: /items
    format: JSON
    query: {from: "${iso(window.from)}", to: "${iso(window.to)}", token: "${page.token}", size: "${page.size}"}
    response: {items: items, id: id, updatedAt: [{path: updated, key: updated}], nextToken: next}
mapping:
  fields: {title: title}
`

// nobody answers every question with no records.
type nobody struct{}

func (nobody) RoundTrip(r *http.Request) (*http.Response, error) {
	const body = `{"items":[],"next":null}`
	h := http.Header{"Content-Type": {"application/json"}, "Date": {time.Now().UTC().Format(http.TimeFormat)}}
	return &http.Response{StatusCode: http.StatusOK, Header: h, Body: io.NopCloser(strings.NewReader(body)), ContentLength: int64(len(body)), Request: r}, nil
}

// planUnderTest plans as many hours as there are to be records, and for the
// source "hourly" also works on them.
func planUnderTest(ctx context.Context, j job, m *meter) (f figures, err error) {
	p, err := sourcefile.Parse("hourly.yaml", []byte(hourly))
	if err != nil {
		return f, err
	}
	reg := registry.NewStatic(map[string]registry.Pack{"hourly": unlimited{p}}, nil)
	dsn := j.db
	if !strings.Contains(dsn, "://") {
		dsn = "sqlite:" + dsn
	}
	if err := migrate(ctx, dsn); err != nil {
		return f, err
	}
	store, err := sqlstore.Open(ctx, dsn, sqlstore.Options{})
	if err != nil {
		return f, err
	}
	n := node.Assemble(node.Config{}, store, reg, nobody{})
	defer func() { err = errors.Join(err, n.Close()) }()
	now := time.Now().UTC().Truncate(time.Hour)
	t := harvest.Trigger{Provenance: "hourly", Operation: harvest.Harvest, Kind: harvest.TriggerManual, From: now.Add(-time.Duration(j.Records) * time.Hour), To: now}
	work := j.Source == "work"
	if !work {
		if err := m.start(); err != nil {
			return f, err
		}
	}
	planned, err := n.Planner.Plan(ctx, t)
	if err != nil {
		return f, err
	}
	if work {
		// What is measured is the work on the slices, not their planning.
		if err := m.start(); err != nil {
			return f, err
		}
		rep, err := n.Control.Harvest(ctx, control.HarvestRequest{Source: "hourly"})
		if err != nil {
			return f, err
		}
		f.Requests = rep.Requests.Sent
	}
	if err := m.stop(&f); err != nil {
		return f, err
	}
	sum, err := store.Summary(ctx, planned.Plan.ID)
	if err != nil {
		return f, err
	}
	f.Records = sum.Slices.Open + sum.Slices.Done
	if f.Records < int64(j.Records)-2 || work && sum.Slices.Open > 0 {
		return f, fmt.Errorf("%+v of %d slices", sum.Slices, j.Records)
	}
	findings, err := store.Verify(ctx)
	if err == nil && len(findings) > 0 {
		err = fmt.Errorf("store breaks %d invariants, the first: %+v", len(findings), findings[0])
	}
	return f, err
}

// migrate makes the tables of an empty database.
func migrate(ctx context.Context, dsn string) error {
	s, err := sqlstore.Connect(ctx, dsn, sqlstore.Options{})
	if err != nil {
		return err
	}
	_, err = s.Migrate(ctx)
	return errors.Join(err, s.Close())
}
