package sqlstore

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/work"
)

// reading reads rows one by one, within a transaction or not.
type reading func(scan func(*sql.Rows) error, query string, args ...any) error

// workOf is the work of a record with its members, in their order.
func workOf(each reading, record int64) (control.WorkMembers, error) {
	w := control.WorkMembers{ID: record}
	err := each(func(r *sql.Rows) error {
		var id int64
		err := r.Scan(&w.ID, &id)
		w.Records = append(w.Records, id)
		return err
	}, `SELECT m.work_id, m.record_id FROM ing_work_member o JOIN ing_work_member m ON m.work_id=o.work_id
		WHERE o.record_id=? ORDER BY m.record_id`, record)
	if err != nil {
		return w, fmt.Errorf("work of record %d: %w", record, err)
	}
	if len(w.Records) == 0 {
		w.Records = []int64{record}
	}
	return w, nil
}

// WorkOf is the work of a record with its members.
func (s *Store) WorkOf(ctx context.Context, record int64) (control.WorkMembers, error) {
	var id int64
	err := s.r.QueryRowContext(ctx, `SELECT id FROM ing_record WHERE id=?`, record).Scan(&id)
	if errors.Is(err, sql.ErrNoRows) {
		return control.WorkMembers{}, harvest.ErrNotFound
	}
	if err != nil {
		return control.WorkMembers{}, fmt.Errorf("work of record %d: %w", record, err)
	}
	return workOf(s.reading(ctx), record)
}

// reading reads outside of a transaction.
func (s *Store) reading(ctx context.Context) reading {
	return func(scan func(*sql.Rows) error, q string, args ...any) error { return s.each(ctx, scan, q, args...) }
}

// RecordsSought reads the records that are found under sorted keys, some of them at most.
// One that was not linked yet is not found.
func (s *Store) RecordsSought(ctx context.Context, keys []work.LookupKey, most int) ([]control.RecordRow, error) {
	v := recordView{s: s, ctx: ctx, rows: []control.RecordRow{}}
	var p workPosition
	var text string
	err := s.r.QueryRowContext(ctx, `SELECT value FROM ing_meta WHERE name=?`, linkPosition).Scan(&text)
	if errors.Is(err, sql.ErrNoRows) {
		return v.rows, nil
	}
	if err == nil {
		err = json.Unmarshal([]byte(text), &p)
	}
	if err != nil {
		return nil, fmt.Errorf("position of linking: %w", err)
	}
	all := func(work.LookupKey) bool { return false }
	found, err := s.reading(ctx).find(p.Runs, nil, question{keys: keys}, all)
	if err != nil {
		return nil, err
	}
	numbers := make([]int64, len(found))
	for i, e := range found {
		numbers[i] = e.record
	}
	slices.Sort(numbers)
	numbers = slices.Compact(numbers)
	numbers = numbers[:min(len(numbers), most)]
	for part := range chunks(numbers, keysPerRead) {
		err := s.each(ctx, func(r *sql.Rows) error {
			row, err := scanRecordRow(r)
			v.rows = append(v.rows, row)
			return err
		}, `SELECT `+recordRowCols+` FROM ing_record WHERE id IN (`+list(len(part))+`) ORDER BY id`, anys(part)...)
		if err != nil {
			return nil, fmt.Errorf("read records that were looked for: %w", err)
		}
	}
	if err := v.readTitles(); err != nil {
		return nil, fmt.Errorf("read records that were looked for: %w", err)
	}
	return v.rows, nil
}

// Works lists works of several records behind one, in the order of their numbers.
func (s *Store) Works(ctx context.Context, after int64, limit int) ([]control.WorkMembers, error) {
	out := []control.WorkMembers{}
	err := s.each(ctx, func(r *sql.Rows) error {
		var in, id int64
		if err := r.Scan(&in, &id); err != nil {
			return err
		}
		if len(out) == 0 || out[len(out)-1].ID != in {
			out = append(out, control.WorkMembers{ID: in})
		}
		w := &out[len(out)-1]
		w.Records = append(w.Records, id)
		return nil
	}, `SELECT m.work_id, m.record_id FROM ing_work_member m
		JOIN (SELECT DISTINCT work_id FROM ing_work_member WHERE work_id > ? ORDER BY work_id LIMIT ?) w ON w.work_id=m.work_id
		ORDER BY m.work_id, m.record_id`, after, limit)
	if err != nil {
		return nil, fmt.Errorf("list works: %w", err)
	}
	return out, nil
}

// WorkRecords reads records by their numbers.
func (s *Store) WorkRecords(ctx context.Context, numbers []int64) ([]control.WorkRecord, error) {
	out := []control.WorkRecord{}
	for part := range chunks(numbers, keysPerRead) {
		err := s.each(ctx, func(r *sql.Rows) error {
			var v control.WorkRecord
			var body storedBody
			dest := []any{&v.Number, &v.Source, &v.Type, &v.ID, &v.Status, &v.Revision}
			err := r.Scan(append(dest, body.dest()...)...)
			if err != nil {
				return err
			}
			v.Fields, err = s.openFields(ctx, body)
			out = append(out, v)
			return err
		}, `SELECT r.id, r.provenance_code, r.record_type, r.ext_id, r.status_code, r.revision, `+bodyCols+`
			FROM ing_record r JOIN ing_record_version v ON v.record_id=r.id AND v.revision=r.revision
			WHERE r.id IN (`+list(len(part))+`) ORDER BY r.id`, anys(part)...)
		if err != nil {
			return nil, fmt.Errorf("read records of works: %w", err)
		}
	}
	return out, nil
}

const linkSelect = `SELECT e.id, e.polarity_code, e.rule_no, e.relation_name, e.evidence, e.why, e.score, e.found_at,
	a.id, COALESCE(ma.work_id, a.id), a.provenance_code, a.ext_id, b.id, COALESCE(mb.work_id, b.id), b.provenance_code, b.ext_id
	FROM ing_work_edge e JOIN ing_record a ON a.id=e.from_record JOIN ing_record b ON b.id=e.to_record
	LEFT JOIN ing_work_member ma ON ma.record_id=a.id LEFT JOIN ing_work_member mb ON mb.record_id=b.id `

func scanLink(r *sql.Rows) (control.WorkLink, error) {
	var l control.WorkLink
	var score int
	var found ts
	err := r.Scan(&l.ID, &l.Polarity, &l.Rule, &l.Relation, &l.Evidence, &l.Why, &score, &found,
		&l.From.Number, &l.From.Work, &l.From.Source, &l.From.ID, &l.To.Number, &l.To.Work, &l.To.Source, &l.To.ID)
	l.Score = float64(score) / 1000
	l.FoundAt = control.Time(found.time())
	return l, err
}

// linksShown is how many edges of a work are read at most.
const linksShown = 1000

// WorkLinks reads the edges at records.
func (s *Store) WorkLinks(ctx context.Context, numbers []int64) ([]control.WorkLink, error) {
	out, err := s.memberLinks(ctx, numbers)
	if err != nil {
		return nil, err
	}
	seen := map[int64]bool{}
	for _, end := range []string{"from_record", "to_record"} {
		err := s.each(ctx, func(r *sql.Rows) error {
			l, err := scanLink(r)
			if err == nil && !seen[l.ID] {
				seen[l.ID] = true
				out = append(out, l)
			}
			return err
		}, linkSelect+`WHERE e.`+end+` IN (`+list(len(numbers))+`) ORDER BY e.rule_no, e.id LIMIT ?`, append(anys(numbers), linksShown)...)
		if err != nil {
			return nil, fmt.Errorf("read links: %w", err)
		}
	}
	return out, s.nameLinks(ctx, out)
}

// memberLinks reads the links of records with others of their works, the strongest rule
// first.
func (s *Store) memberLinks(ctx context.Context, numbers []int64) ([]control.WorkLink, error) {
	out := []control.WorkLink{}
	asked := make(map[int64]bool, len(numbers))
	for _, id := range numbers {
		asked[id] = true
	}
	err := s.each(ctx, func(r *sql.Rows) error {
		var record, in int64
		var since ts
		var packed sql.RawBytes
		if err := r.Scan(&record, &in, &since, &packed); err != nil {
			return err
		}
		links, err := unpackLinks(packed)
		for _, p := range links {
			from, to := p.ends(record)
			if !asked[from] && !asked[to] {
				continue
			}
			out = append(out, control.WorkLink{
				From: control.RecordName{Number: from, Work: in}, To: control.RecordName{Number: to, Work: in},
				Polarity: string(work.Links), Rule: int(p.rule), Evidence: p.evidence, Score: 1, FoundAt: control.Time(since.time()),
			})
		}
		return err
	}, `SELECT m.record_id, m.work_id, m.since, m.links FROM ing_work_member m WHERE m.work_id IN
		(SELECT o.work_id FROM ing_work_member o WHERE o.record_id IN (`+list(len(numbers))+`)) ORDER BY m.record_id`, anys(numbers)...)
	if err != nil {
		return nil, fmt.Errorf("read links: %w", err)
	}
	slices.SortStableFunc(out, func(a, b control.WorkLink) int { return a.Rule - b.Rule })
	return out[:min(len(out), linksShown)], nil
}

// Suggestions lists suggestions behind one, the oldest first.
func (s *Store) Suggestions(ctx context.Context, after int64, limit int) ([]control.WorkLink, error) {
	out := []control.WorkLink{}
	err := s.each(ctx, func(r *sql.Rows) error {
		l, err := scanLink(r)
		out = append(out, l)
		return err
	}, linkSelect+`WHERE e.polarity_code='SUGGEST' AND e.id > ? ORDER BY e.id LIMIT ?`, after, limit)
	if err != nil {
		return nil, fmt.Errorf("list suggestions: %w", err)
	}
	return out, s.nameLinks(ctx, out)
}

// nameLinks adds the names and titles of the records.
func (s *Store) nameLinks(ctx context.Context, links []control.WorkLink) error {
	var numbers []int64
	for _, l := range links {
		numbers = append(numbers, l.From.Number, l.To.Number)
	}
	records, err := s.WorkRecords(ctx, numbers)
	if err != nil {
		return err
	}
	names := make(map[int64]control.RecordName, len(records))
	for _, r := range records {
		var f struct {
			Title string `json:"title"`
		}
		_ = json.Unmarshal(r.Fields, &f) // one without a title has none
		names[r.Number] = control.RecordName{Number: r.Number, Source: r.Source, ID: r.ID, Title: f.Title}
	}
	for i := range links {
		for _, end := range []*control.RecordName{&links[i].From, &links[i].To} {
			in := end.Work
			*end = names[end.Number]
			end.Work = in
		}
	}
	return nil
}

// BadIdentifiers lists identifiers that link nothing, behind one.
func (s *Store) BadIdentifiers(ctx context.Context, after int64, limit int) ([]control.BadIdentifier, error) {
	out := []control.BadIdentifier{}
	err := s.each(ctx, func(r *sql.Rows) error {
		var b control.BadIdentifier
		var found ts
		err := r.Scan(&b.Key, &b.Value, &b.Holders, &b.Why, &found)
		b.FoundAt = control.Time(found.time())
		out = append(out, b)
		return err
	}, `SELECT key_no, value_text, holders, why, found_at FROM ing_work_value WHERE key_no > ? ORDER BY key_no LIMIT ?`, after, limit)
	if err != nil {
		return nil, fmt.Errorf("list identifiers: %w", err)
	}
	return out, nil
}

// WorkDecisions reads what was decided about records, also what was revoked.
func (s *Store) WorkDecisions(ctx context.Context, numbers []int64) ([]control.WorkDecided, error) {
	out := []control.WorkDecided{}
	err := s.each(ctx, func(r *sql.Rows) error {
		var d control.WorkDecided
		var part int
		var record int64
		var at ts
		var revoked sql.NullInt64
		if err := r.Scan(&d.ID, &d.Kind, &d.Actor, &d.Reason, &at, &revoked, &part, &record); err != nil {
			return err
		}
		if len(out) == 0 || out[len(out)-1].ID != d.ID {
			d.At = control.Time(at.time())
			d.RevokedBy = revoked.Int64
			out = append(out, d)
		}
		last := &out[len(out)-1]
		for len(last.Parts) <= part {
			last.Parts = append(last.Parts, []int64{})
		}
		last.Parts[part] = append(last.Parts[part], record)
		return nil
	}, `SELECT d.id, d.kind_code, d.actor, d.reason, d.decided_at, o.id, r.part_no, r.record_id FROM ing_work_decision d
		JOIN ing_work_decision_record r ON r.decision_id=d.id LEFT JOIN ing_work_decision o ON o.revokes_id=d.id
		WHERE d.id IN (SELECT decision_id FROM ing_work_decision_record WHERE record_id IN (`+list(len(numbers))+`))
		ORDER BY d.id, r.part_no, r.record_id`, anys(numbers)...)
	if err != nil {
		return nil, fmt.Errorf("read decisions: %w", err)
	}
	return out, nil
}

// WorkMoves reads from which works records came, the newest first.
func (s *Store) WorkMoves(ctx context.Context, numbers []int64, limit int) ([]control.WorkMove, error) {
	out := []control.WorkMove{}
	err := s.each(ctx, func(r *sql.Rows) error {
		var m control.WorkMove
		var at ts
		err := r.Scan(&m.Record, &m.FromWork, &m.ToWork, &at)
		m.At = control.Time(at.time())
		out = append(out, m)
		return err
	}, `SELECT record_id, from_work, to_work, happened_at FROM ing_work_event WHERE record_id IN (`+list(len(numbers))+`)
		ORDER BY id DESC LIMIT ?`, append(anys(numbers), limit)...)
	if err != nil {
		return nil, fmt.Errorf("read moves: %w", err)
	}
	return out, nil
}
