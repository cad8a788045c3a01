package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/source"
)

// healing are the remedies in the order in which they are told.
var healing = []harvest.Remedy{
	harvest.QueuedAgain, harvest.WalkedAgain, harvest.CutSmaller, harvest.PutAside, harvest.LeftGap, harvest.SourceStopped,
}

const errorGroupCols = `id, level_code, provenance_code, endpoint_name, error_code, field_path, faults, first_at, last_at, state_code,
	state_at, state_by, state_reason, muted_until, sample, batch_id, queued_again, walked_again, cut_smaller, put_aside, left_gap,
	source_stopped`

func scanErrorGroup(r scanner) (control.ErrorGroup, error) {
	g := control.ErrorGroup{Healing: []control.Healed{}}
	var first, last, since, until ts
	var by, reason, sample sql.NullString
	var batch sql.NullInt64
	times := make([]int64, len(healing))
	to := []any{
		&g.ID, &g.Level, &g.Source, &g.Endpoint, &g.Code, &g.Path, &g.Count, &first, &last, &g.State, &since, &by, &reason, &until,
		&sample, &batch,
	}
	for i := range times {
		to = append(to, &times[i])
	}
	err := r.Scan(to...)
	g.First = control.Time(first.time())
	g.Last = control.Time(last.time())
	g.Since = control.Time(since.time())
	g.DecidedBy = by.String
	g.Reason = reason.String
	if !until.time().IsZero() {
		g.MutedUntil = new(control.Time(until.time()))
	}
	g.Sample = sample.String
	g.Batch = harvest.BatchID(batch.Int64)
	for i, n := range times {
		if n > 0 {
			g.Healing = append(g.Healing, control.Healed{Did: healing[i], Times: n})
		}
	}
	return g, err
}

// ErrorGroups reads a page of error groups, the one last seen first.
func (s *Store) ErrorGroups(ctx context.Context, p control.ErrorPage) ([]control.ErrorGroup, error) {
	where := []string{"1=1"}
	var args []any
	add := func(condition string, values ...any) {
		where = append(where, condition)
		args = append(args, values...)
	}
	if p.Source != "" {
		add("provenance_code=?", p.Source)
	}
	if p.Level != "" {
		add("level_code=?", p.Level)
	}
	if p.Code != "" {
		add("error_code=?", p.Code)
	}
	if len(p.States) > 0 {
		add(`CASE WHEN state_code='MUTED' AND muted_until<=? THEN 'OPEN' ELSE state_code END IN (`+quoted(p.States)+`)`, ts(p.Now))
	}
	if !p.Since.IsZero() {
		add("last_at>=?", ts(p.Since))
	}
	if !p.BeforeTime.IsZero() {
		add("(last_at<? OR last_at=? AND id<?)", ts(p.BeforeTime), ts(p.BeforeTime), p.BeforeNumber)
	}
	out := []control.ErrorGroup{}
	err := s.each(ctx, func(r *sql.Rows) error {
		g, err := scanErrorGroup(r)
		out = append(out, g)
		return err
	}, `SELECT `+errorGroupCols+` FROM ing_error_group WHERE `+strings.Join(where, " AND ")+`
		ORDER BY last_at DESC, id DESC LIMIT ?`, append(args, p.Limit)...)
	if err != nil {
		return nil, fmt.Errorf("list error groups: %w", err)
	}
	return out, nil
}

// ErrorGroup reads an error group.
func (s *Store) ErrorGroup(ctx context.Context, id int64) (control.ErrorGroup, error) {
	g, err := scanErrorGroup(s.r.QueryRowContext(ctx, `SELECT `+errorGroupCols+` FROM ing_error_group WHERE id=?`, id))
	if errors.Is(err, sql.ErrNoRows) {
		err = harvest.ErrNotFound
	}
	if err != nil {
		return g, fmt.Errorf("error group %d: %w", id, err)
	}
	return g, nil
}

// ErrorHours reads how often an error group was seen, by the hour.
func (s *Store) ErrorHours(ctx context.Context, id int64, from time.Time) ([]control.ErrorHour, error) {
	out := []control.ErrorHour{}
	err := s.each(ctx, func(r *sql.Rows) error {
		var h control.ErrorHour
		var at ts
		err := r.Scan(&at, &h.Count)
		h.Hour = control.Time(at.time())
		out = append(out, h)
		return err
	}, `SELECT hour_at, SUM(faults) FROM ing_error_hour WHERE group_id=? AND hour_at>=? GROUP BY hour_at ORDER BY hour_at`, id, ts(from))
	if err != nil {
		return nil, fmt.Errorf("hours of error group %d: %w", id, err)
	}
	return out, nil
}

// TopErrors sums up the faults of hours, the most frequent first.
func (s *Store) TopErrors(ctx context.Context, q control.TopQuery) ([]control.TopError, error) {
	var where strings.Builder
	where.WriteString(`h.hour_at>=? AND h.hour_at<?`)
	args := []any{ts(q.From.Truncate(time.Hour)), ts(q.To)}
	for _, c := range []struct{ column, value string }{
		{"g.provenance_code", q.Source}, {"h.operation_code", string(q.Operation)}, {"g.level_code", string(q.Level)},
	} {
		if c.value != "" {
			where.WriteString(` AND ` + c.column + `=?`)
			args = append(args, c.value)
		}
	}
	out := []control.TopError{}
	err := s.each(ctx, func(r *sql.Rows) error {
		var e control.TopError
		var first, last ts
		var sample sql.NullString
		var batch sql.NullInt64
		err := r.Scan(&e.Group, &e.Level, &e.Source, &e.Endpoint, &e.Operation, &e.Code, &e.Path, &e.Count, &first, &last, &sample, &batch)
		e.First = control.Time(first.time())
		e.Last = control.Time(last.time())
		e.Sample = sample.String
		e.Batch = harvest.BatchID(batch.Int64)
		out = append(out, e)
		return err
	}, `SELECT g.id, g.level_code, g.provenance_code, g.endpoint_name, t.operation_code, g.error_code, g.field_path, t.faults, t.first_at,
		t.last_at, g.sample, g.batch_id
		FROM (SELECT h.group_id, h.operation_code, SUM(h.faults) AS faults, MIN(h.first_at) AS first_at, MAX(h.last_at) AS last_at
			FROM ing_error_hour h JOIN ing_error_group g ON g.id=h.group_id WHERE `+where.String()+`
			GROUP BY h.group_id, h.operation_code) t
		JOIN ing_error_group g ON g.id=t.group_id
		ORDER BY t.faults DESC, g.id, t.operation_code LIMIT ?`, append(args, q.Limit)...)
	if err != nil {
		return nil, fmt.Errorf("sum up errors: %w", err)
	}
	return out, nil
}

// DecideError puts an error group into a state that somebody has decided on.
func (s *Store) DecideError(ctx context.Context, d control.ErrorDecision, a source.Audit) error {
	return s.write(ctx, "decide on an error group", func(x *tx) error {
		set, values := assign([]col{
			{"state_code", d.State},
			{"state_at", ts(x.now)},
			{"state_by", a.Actor},
			{"state_reason", null(a.Reason)},
			{"muted_until", ts(d.MutedUntil)},
		}, d.ID)
		n, err := x.exec(`UPDATE ing_error_group SET `+set+` WHERE id=?`, values...)
		if err != nil {
			return err
		}
		if n == 0 {
			return fmt.Errorf("error group %d: %w", d.ID, harvest.ErrNotFound)
		}
		return x.audit(a, d)
	})
}
