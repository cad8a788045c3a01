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

const (
	// taskAll is the task key of a SOURCE row.
	taskAll = "ALL"
	// bySQL stands where a row was written by somebody who did not say who.
	bySQL = "(sql)"
)

// LoadSource reads everything the registry knows of a source, all of it from
// one snapshot and with one reading of the clock (R46). A source that is not
// there is [harvest.ErrNotFound].
func (s *Store) LoadSource(ctx context.Context, code string) (source.Contents, error) {
	var c source.Contents
	err := s.snapshot(ctx, "load source", func(t *sql.Tx) (err error) {
		x := &tx{ctx: ctx, s: s, sql: t}
		x.now, err = x.clock()
		if err != nil {
			return err
		}
		c, err = x.loadSource(code, "")
		return err
	})
	if err != nil {
		return c, fmt.Errorf("load source %s: %w", code, err)
	}
	return c, nil
}

// SourceChange is the number of the line of the audit that the last change of a source
// has left, and the store's time. Changes of one source wait for each other, so the
// later one has the greater number; lines about other things than its rows do not, and
// are passed over.
func (s *Store) SourceChange(ctx context.Context, code string) (change int64, now time.Time, err error) {
	now, err = s.Now(ctx)
	if err != nil {
		return 0, now, err
	}
	err = s.r.QueryRowContext(ctx, `SELECT id FROM sys_audit WHERE object=? AND `+isOneOf("action_code", source.ChangeActions)+` ORDER BY id DESC LIMIT 1`,
		"source/"+code).Scan(&change)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return 0, now, fmt.Errorf("look for changes of %s: %w", code, err)
	}
	return change, now, nil
}

// Sources lists the sources of the registry.
func (s *Store) Sources(ctx context.Context) ([]source.Provenance, error) {
	var out []source.Provenance
	err := s.each(ctx, func(r *sql.Rows) error {
		p, err := scanProvenance(r.Scan)
		out = append(out, p)
		return err
	}, `SELECT `+provenanceCols+` FROM reg_provenance ORDER BY provenance_code`)
	if err != nil {
		return nil, fmt.Errorf("list sources: %w", err)
	}
	return out, nil
}

// LoadSchedules reads the sources that have a row of the schedule, in force or not,
// with nothing but those rows: processes that serve ask for them every few seconds. A
// source that cannot be read is left out and named in the error.
func (s *Store) LoadSchedules(ctx context.Context) ([]source.Contents, error) {
	var out []source.Contents
	err := s.snapshot(ctx, "load schedules", func(t *sql.Tx) (err error) {
		x := &tx{ctx: ctx, s: s, sql: t}
		out = nil
		x.now, err = x.clock()
		if err != nil {
			return err
		}
		var found []source.Provenance
		err = x.each(func(r *sql.Rows) error {
			p, err := scanProvenance(r.Scan)
			found = append(found, p)
			return err
		}, `SELECT `+provenanceCols+` FROM reg_provenance p WHERE EXISTS (SELECT 1 FROM reg_prov_schedule_cfg c WHERE c.provenance_id = p.id)
			ORDER BY p.provenance_code`)
		if err != nil {
			return err
		}
		var errs []error
		for _, p := range found {
			rows, err := x.loadDimension(source.DimSchedule, p.ID)
			if err != nil {
				errs = append(errs, fmt.Errorf("schedule of %s: %w", p.Code, err))
				continue
			}
			out = append(out, source.Contents{Provenance: p, Rows: rows, ReadAt: x.now})
		}
		return errors.Join(errs...)
	})
	if err != nil {
		return out, fmt.Errorf("load schedules: %w", err)
	}
	return out, nil
}

const provenanceCols = `id, provenance_code, provenance_name, homepage, base_url_default, timezone_default, record_type, identity_code,
	origin_code, origin_hash`

func scanProvenance(scan func(...any) error) (source.Provenance, error) {
	var p source.Provenance
	var name, home, base, zone, rt, ident, hash sql.NullString
	err := scan(&p.ID, &p.Code, &name, &home, &base, &zone, &rt, &ident, &p.Origin, &hash)
	p.Name = name.String
	p.Homepage = home.String
	p.BaseURL = base.String
	p.Zone = zone.String
	p.RecordType = rt.String
	p.Identity = ident.String
	p.OriginHash = hash.String
	return p, err
}

func (x *tx) loadSource(code, lock string) (source.Contents, error) {
	c := source.Contents{ReadAt: x.now}
	var err error
	c.Provenance, err = scanProvenance(x.row(`SELECT `+provenanceCols+` FROM reg_provenance WHERE provenance_code=?`+lock, code).Scan)
	if errors.Is(err, sql.ErrNoRows) {
		return c, harvest.ErrNotFound
	}
	if err != nil {
		return c, err
	}
	for _, d := range source.Dimensions() {
		rows, err := x.loadDimension(d, c.Provenance.ID)
		if err != nil {
			return c, fmt.Errorf("dimension %s: %w", d, err)
		}
		c.Rows = append(c.Rows, rows...)
	}
	return c, nil
}

func (x *tx) loadDimension(d source.Dimension, provenance int64) ([]source.Row, error) {
	keys, err := source.Keys(d)
	if err != nil {
		return nil, err
	}
	columns := make([]string, len(keys))
	for i, k := range keys {
		columns[i] = column(d, k)
	}
	columns = append(columns, spelledColumns(d)...)
	var out []source.Row
	err = x.each(func(r *sql.Rows) error {
		row := source.Row{Slot: source.Slot{Dimension: d}}
		var task, name string
		var from, to ts
		var sup sql.NullInt64
		var by string
		vals := make([]*string, len(columns))
		dest := []any{&row.ID, &row.Scope, &task, &name, &from, &to, &sup, &by}
		for i := range vals {
			dest = append(dest, &vals[i])
		}
		if err := r.Scan(dest...); err != nil {
			return err
		}
		row.Name = name
		row.From = from.time()
		row.To = to.time()
		row.Supersedes = sup.Int64
		row.BySQL = by == bySQL
		if task != taskAll {
			row.Task = harvest.Operation(task)
		}
		get := make(map[string]*string, len(keys))
		for i, k := range keys {
			get[k] = vals[i]
		}
		if err := readSpelled(d, vals[len(keys):], get); err != nil {
			return fmt.Errorf("row %d: %w", row.ID, err)
		}
		var err error
		row.Body, err = source.FromValues(d, get)
		out = append(out, row)
		return err
	}, `SELECT id, scope_code, task_type_key, `+nameColumn(d)+`, effective_from, effective_to, supersedes_id, created_by, `+strings.Join(columns, ", ")+
		` FROM `+dimensionTable[d]+` WHERE provenance_id=? ORDER BY id`, provenance)
	return out, err
}

// ChangeSource changes what the registry says of a source, in one transaction:
// decide is given the contents as they are, locked, and returns what is to
// become of them. The rows are checked against each other before one is
// written; an audit line is written with them. No changes, no audit line.
func (s *Store) ChangeSource(
	ctx context.Context, p source.Provenance, a source.Audit, decide func(source.Contents) ([]source.Change, error),
) ([]source.Change, error) {
	var done []source.Change
	err := s.write(ctx, "change source "+p.Code, func(x *tx) error {
		done = nil
		c, err := x.loadSource(p.Code, x.s.d.forUpdate)
		fresh := errors.Is(err, harvest.ErrNotFound)
		switch {
		case fresh:
			p.ID, err = x.insert(`INSERT INTO reg_provenance (provenance_code, provenance_name, homepage, base_url_default,
				timezone_default, record_type, identity_code, origin_code, origin_hash, created_at, updated_at)
				VALUES (?,?,?,?,?,?,?,?,?,?,?)`, p.Code, null(p.Name),
				null(p.Homepage), null(p.BaseURL), null(p.Zone), null(p.RecordType), null(p.Identity), p.Origin, null(p.OriginHash),
				ts(x.now), ts(x.now))
			err = x.orLostRace(err)
			c = source.Contents{Provenance: p, ReadAt: x.now}
		case err == nil && p.Origin != "":
			p.ID = c.Provenance.ID
			if p != c.Provenance {
				fresh = true
				_, err = x.exec(`UPDATE reg_provenance SET provenance_name=?, homepage=?, base_url_default=?, timezone_default=?,
					record_type=?, identity_code=?, origin_code=?, origin_hash=?, updated_at=?
					WHERE id=?`,
					null(p.Name), null(p.Homepage), null(p.BaseURL), null(p.Zone), null(p.RecordType), null(p.Identity),
					p.Origin, null(p.OriginHash), ts(x.now), p.ID)
			}
		}
		if err != nil {
			return err
		}
		changes, err := decide(c)
		if err != nil {
			return err
		}
		if len(changes) == 0 && !fresh {
			return nil
		}
		if err := x.applyChanges(c, changes, a); err != nil {
			return err
		}
		done = changes
		return x.audit(a, changes)
	})
	return done, err
}

func (x *tx) applyChanges(c source.Contents, changes []source.Change, a source.Audit) error {
	after, adds := c.After(changes)
	if bad := source.CheckRows(after, adds); len(bad) > 0 {
		return bad
	}
	for i := range changes {
		ch := &changes[i]
		table := dimensionTable[ch.Slot.Dimension]
		switch {
		case ch.Add != nil:
			id, err := x.insertRow(c.Provenance.ID, *ch.Add, a.Actor)
			if err != nil {
				return fmt.Errorf("insert %s: %w", ch.Slot, err)
			}
			ch.Add.ID = id
		case ch.Close != 0:
			if _, err := x.exec(`UPDATE `+table+` SET effective_to=?, updated_at=?
				WHERE id=?`, ts(ch.Until), ts(x.now), ch.Close); err != nil {
				return fmt.Errorf("close %s: %w", ch.Slot, err)
			}
		case ch.Reopen != 0:
			if _, err := x.exec(`UPDATE `+table+` SET effective_to=NULL, updated_at=? WHERE id=?`, ts(x.now), ch.Reopen); err != nil {
				return fmt.Errorf("reopen %s: %w", ch.Slot, err)
			}
		}
	}
	return nil
}

func (x *tx) insertRow(provenance int64, r source.Row, actor string) (int64, error) {
	body, err := source.Values(r.Dimension, r.Body)
	if err != nil {
		return 0, err
	}
	cols := []col{
		{"provenance_id", provenance},
		{"scope_code", r.Scope},
		{"task_type", null(string(r.Task))},
		{"effective_from", ts(r.From)},
		{"effective_to", ts(r.To)},
		{"supersedes_id", nullID(r.Supersedes)},
		{"created_by", actor},
		{"created_at", ts(x.now)},
		{"updated_at", ts(x.now)},
	}
	if r.Dimension.Named() {
		cols = append(cols, col{nameColumns[r.Dimension], r.Name})
	}
	for _, v := range body {
		cols = append(cols, col{column(r.Dimension, v.Key), v.Value})
	}
	cols = append(cols, writeSpelled(r.Dimension, body)...)
	return x.insertInto(dimensionTable[r.Dimension], cols)
}

func (x *tx) audit(a source.Audit, after any) error {
	_, err := x.auditLine(a, nil, after)
	return err
}

// auditLine writes a line of the audit: what was before, if that is known, and what is
// now. It returns the number of the line.
func (x *tx) auditLine(a source.Audit, before, after any) (int64, error) {
	was := ""
	is, err := jsonText(after)
	if err == nil && before != nil {
		was, err = jsonText(before)
	}
	if err != nil {
		return 0, err
	}
	id, err := x.insertInto("sys_audit", []col{
		{"actor", a.Actor},
		{"action_code", a.Action},
		{"object", a.Object},
		{"reason", null(a.Reason)},
		{"before_state", null(was)},
		{"after_state", is},
		{"preview_hash", null(a.Preview)},
		{"created_at", ts(x.now)},
	})
	if err != nil {
		return 0, fmt.Errorf("write audit line: %w", err)
	}
	return id, nil
}

// Audit writes one line about something that changed no row of the registry.
func (s *Store) Audit(ctx context.Context, a source.Audit, after any) error {
	return s.write(ctx, "audit", func(x *tx) error { return x.audit(a, after) })
}

// Audits reads the newest lines about an object, or about everything.
func (s *Store) Audits(ctx context.Context, object string, limit int) ([]control.AuditLine, error) {
	return s.AuditPage(ctx, control.AuditQuery{Object: object, All: true, Limit: limit})
}

// AuditPage reads lines, the newest first: of those that people wrote only, or also
// of what patra did by itself.
func (s *Store) AuditPage(ctx context.Context, q control.AuditQuery) ([]control.AuditLine, error) {
	where := `1=1`
	var args []any
	if q.Object != "" {
		where += ` AND object=?`
		args = append(args, q.Object)
	}
	if q.Before > 0 {
		where += ` AND id<?`
		args = append(args, q.Before)
	}
	if !q.All {
		where += ` AND actor<>'patra'`
	}
	out := []control.AuditLine{}
	err := s.each(ctx, func(r *sql.Rows) error {
		var l control.AuditLine
		var at ts
		var reason, before, after, preview sql.NullString
		err := r.Scan(&l.ID, &at, &l.Actor, &l.Action, &l.Object, &reason, &before, &after, &preview)
		l.At = at.time()
		l.Reason = reason.String
		l.Before = before.String
		l.After = after.String
		l.Preview = preview.String
		out = append(out, l)
		return err
	}, `SELECT id, created_at, actor, action_code, object, reason, before_state, after_state, preview_hash FROM sys_audit WHERE `+where+`
		ORDER BY id DESC LIMIT ?`, append(args, q.Limit)...)
	if err != nil {
		return nil, fmt.Errorf("read audit: %w", err)
	}
	return out, nil
}
