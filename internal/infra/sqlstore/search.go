package sqlstore

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/source"
)

const searchCols = `s.id, s.search_name, s.version_no, s.query_text, s.begins_at, s.superseded_at, s.removed_at, s.created_at`

// inForce is the condition that a version s of a search is the one that is run.
const inForce = `s.superseded_at IS NULL AND s.removed_at IS NULL`

func scanSearch(r scanner) (v control.SavedSearch, err error) {
	var begins, superseded, removed, created ts
	err = r.Scan(&v.ID, &v.Name, &v.Version, &v.Query, &begins, &superseded, &removed, &created)
	v.Begins = begins.time()
	v.SupersededAt = superseded.time()
	v.RemovedAt = removed.time()
	v.CreatedAt = created.time()
	return v, err
}

// Searches lists the versions in force of saved searches behind a name.
func (s *Store) Searches(ctx context.Context, after string, limit int) ([]control.SavedSearch, error) {
	return s.searches(ctx, `s.search_name>? AND `+inForce+` ORDER BY s.search_name LIMIT ?`, after, limit)
}

// Search is the version in force of a search.
func (s *Store) Search(ctx context.Context, name string) (control.SavedSearch, error) {
	found, err := s.searches(ctx, `s.search_name=? AND `+inForce, name)
	if err != nil || len(found) == 0 {
		return control.SavedSearch{}, errors.Join(err, fmt.Errorf("search %s: %w", name, harvest.ErrNotFound))
	}
	return found[0], nil
}

// SearchVersions lists all versions that a search has had, the newest first.
func (s *Store) SearchVersions(ctx context.Context, name string) ([]control.SavedSearch, error) {
	return s.searches(ctx, `s.search_name=? ORDER BY s.version_no DESC`, name)
}

func (s *Store) searches(ctx context.Context, where string, args ...any) ([]control.SavedSearch, error) {
	out := []control.SavedSearch{}
	at := map[int64]int{}
	err := s.each(ctx, func(r *sql.Rows) error {
		v, err := scanSearch(r)
		at[v.ID] = len(out)
		out = append(out, v)
		return err
	}, `SELECT `+searchCols+` FROM ing_search s WHERE `+where, args...)
	if err != nil || len(out) == 0 {
		return out, err
	}
	ids := make([]any, len(out))
	for i, v := range out {
		ids[i] = v.ID
	}
	err = s.each(ctx, func(r *sql.Rows) error {
		var id int64
		var src control.SearchedSource
		err := r.Scan(&id, &src.Source, &src.Selection)
		v := &out[at[id]]
		v.Sources = append(v.Sources, src)
		return err
	}, `SELECT search_id, provenance_code, selection_id FROM ing_search_source WHERE search_id IN (`+list(len(ids))+`) ORDER BY search_id, ordinal`, ids...)
	if err != nil {
		return nil, fmt.Errorf("read sources of searches: %w", err)
	}
	return out, nil
}

// SaveSearch writes a version of a search behind those there are. Its selections are made
// as far as they are new, so that membership is known to be whole from now on. Schedules that
// ask for what the search no longer does end with it.
func (s *Store) SaveSearch(ctx context.Context, v control.SavedSearch, schedules []string, a source.Audit) (control.SavedSearch, error) {
	err := s.write(ctx, "save search", func(x *tx) error {
		err := x.row(`SELECT COALESCE(MAX(version_no), 0)+1 FROM ing_search WHERE search_name=?`, v.Name).Scan(&v.Version)
		if err != nil {
			return err
		}
		if _, err := x.exec(`UPDATE ing_search SET superseded_at=? WHERE search_name=? AND superseded_at IS NULL`, ts(x.now), v.Name); err != nil {
			return err
		}
		v.CreatedAt = x.now
		v.ID, err = x.insertInto("ing_search", []col{
			{"search_name", v.Name},
			{"version_no", v.Version},
			{"query_text", v.Query},
			{"begins_at", ts(v.Begins)},
			{"superseded_at", nil},
			{"removed_at", nil},
			{"created_at", ts(x.now)},
		})
		if err != nil {
			return fmt.Errorf("insert search: %w", x.orLostRace(err))
		}
		for i := range v.Sources {
			src := &v.Sources[i]
			src.Selection, err = x.ensureSelection(src.Source, src.Hash, src.Text)
			if err != nil {
				return err
			}
			if _, err := x.insertInto("ing_search_source", []col{
				{"search_id", v.ID},
				{"ordinal", i + 1},
				{"provenance_code", src.Source},
				{"selection_id", src.Selection},
			}); err != nil {
				return fmt.Errorf("insert source of search: %w", err)
			}
		}
		if err := x.endSchedules(schedules, a); err != nil {
			return err
		}
		after := map[string]any{"version": v.Version, "query": v.Query, "sources": v.Sources}
		if !v.Begins.IsZero() {
			after["from"] = harvest.FormatInstant(v.Begins)
		}
		return x.audit(a, after)
	})
	return v, err
}

// RemoveSearch ends a search and its schedules. Its versions and runs, its records and the
// cursors of its selections stay.
func (s *Store) RemoveSearch(ctx context.Context, name string, schedules []string, a source.Audit) error {
	return s.write(ctx, "remove search", func(x *tx) error {
		n, err := x.exec(`UPDATE ing_search SET removed_at=? WHERE search_name=? AND superseded_at IS NULL AND removed_at IS NULL`, ts(x.now), name)
		if err != nil {
			return err
		}
		if n == 0 {
			return fmt.Errorf("search %s: %w", name, harvest.ErrNotFound)
		}
		if err := x.endSchedules(schedules, a); err != nil {
			return err
		}
		return x.audit(a, map[string]bool{"removed": true})
	})
}

// endSchedules removes the schedules of a search, each with a line of the audit that has the
// actor and the reason of the change they end with. One that is gone already has none.
func (x *tx) endSchedules(names []string, a source.Audit) error {
	for _, name := range names {
		a.Action = "SCHEDULE_REMOVE"
		a.Object = "schedule/" + name
		err := x.removeSchedule(name, a)
		if err != nil && !errors.Is(err, harvest.ErrNotFound) {
			return err
		}
	}
	return nil
}

// BeginSearchRun notes that a version of a search is run. A run of it that was not ended
// has lost its process, or loses its place now: whatever it has read is kept.
func (s *Store) BeginSearchRun(ctx context.Context, v control.SavedSearch, program string, a source.Audit) (run control.SearchRun, err error) {
	err = s.write(ctx, "begin search run", func(x *tx) error {
		run = control.SearchRun{Search: v.ID, Status: control.SearchRunning, Program: program, StartedAt: x.now}
		if err := x.row(`SELECT COALESCE(MAX(run_no), 0)+1 FROM ing_search_run WHERE search_id=?`, v.ID).Scan(&run.No); err != nil {
			return err
		}
		if _, err := x.exec(`UPDATE ing_search_run SET status_code='PARTIAL', ended_at=? WHERE search_id=? AND status_code='RUNNING'`,
			ts(x.now), v.ID); err != nil {
			return err
		}
		var err error
		run.ID, err = x.insertInto("ing_search_run", []col{
			{"search_id", v.ID},
			{"run_no", run.No},
			{"status_code", run.Status},
			{"program_version", clip(program, 255)},
			{"started_at", ts(x.now)},
			{"ended_at", nil},
		})
		if err != nil {
			return fmt.Errorf("insert run: %w", x.orLostRace(err))
		}
		return x.audit(a, map[string]any{"version": v.Version, "run": run.No})
	})
	return run, err
}

// EndSearchRun notes what came of a run. What its selections have seen is counted in the
// same transaction by which it ends, so that each record is new in one run.
func (s *Store) EndSearchRun(ctx context.Context, run control.SearchRun, outcomes []control.SearchOutcome) (control.SearchRun, error) {
	err := s.write(ctx, "end search run", func(x *tx) error {
		n, err := x.exec(`UPDATE ing_search_run SET status_code=?, ended_at=? WHERE id=? AND status_code='RUNNING'`, run.Status, ts(x.now), run.ID)
		if err != nil {
			return err
		}
		if n == 0 {
			return control.ErrRunGivenUp
		}
		run.EndedAt = x.now
		run.Outcomes = nil
		for _, o := range outcomes {
			o, err = x.endOutcome(run, o)
			if err != nil {
				return err
			}
			run.Outcomes = append(run.Outcomes, o)
		}
		return nil
	})
	return run, err
}

// endOutcome writes what came of a source in a run.
func (x *tx) endOutcome(run control.SearchRun, o control.SearchOutcome) (control.SearchOutcome, error) {
	var before ts
	err := x.row(`SELECT MAX(r.ended_at) FROM ing_search_run r JOIN ing_search_outcome o ON o.run_id=r.id
		WHERE r.search_id=? AND o.provenance_code=?`, run.Search, o.Source).Scan(&before)
	if err != nil {
		return o, err
	}
	o.Members, err = x.countMembers(control.SelectionPart{Selection: o.Selection, Since: o.Since, Until: x.now})
	if err != nil {
		return o, err
	}
	o.New, err = x.countMembers(control.SelectionPart{Selection: o.Selection, Since: o.Since, After: before.time(), Until: x.now})
	if err != nil {
		return o, err
	}
	facts, err := jsonText(o.Facts)
	if err != nil {
		return o, err
	}
	_, err = x.insertInto("ing_search_outcome", []col{
		{"run_id", run.ID},
		{"provenance_code", o.Source},
		{"status_code", o.Status},
		{"reason", null(o.Reason)},
		{"members", o.Members},
		{"first_seen", o.New},
		{"facts", facts},
	})
	return o, err
}

// countMembers counts the records of a part of a selection.
func (x *tx) countMembers(p control.SelectionPart) (n int64, err error) {
	where, args := seenWithin(p)
	err = x.row(`SELECT COUNT(*) FROM ing_selection_record m WHERE `+where, args...).Scan(&n)
	return n, err
}

// SearchRuns lists the runs of a version of a search, the newest first.
func (s *Store) SearchRuns(ctx context.Context, v control.SavedSearch, limit int) ([]control.SearchRun, error) {
	out := []control.SearchRun{}
	at := map[int64]int{}
	var ids []any
	err := s.each(ctx, func(r *sql.Rows) error {
		run := control.SearchRun{Search: v.ID}
		var started, ended ts
		err := r.Scan(&run.ID, &run.No, &run.Status, &run.Program, &started, &ended)
		run.StartedAt = started.time()
		run.EndedAt = ended.time()
		at[run.ID] = len(out)
		ids = append(ids, run.ID)
		out = append(out, run)
		return err
	}, `SELECT id, run_no, status_code, program_version, started_at, ended_at FROM ing_search_run WHERE search_id=?
		ORDER BY run_no DESC LIMIT ?`, v.ID, limit)
	if err != nil || len(out) == 0 {
		return out, err
	}
	selection := map[string]harvest.SelectionID{}
	for _, src := range v.Sources {
		selection[src.Source] = src.Selection
	}
	err = s.each(ctx, func(r *sql.Rows) error {
		var id int64
		var o control.SearchOutcome
		var reason sql.NullString
		var facts []byte
		if err := r.Scan(&id, &o.Source, &o.Status, &reason, &o.Members, &o.New, &facts); err != nil {
			return err
		}
		o.Reason = reason.String
		o.Selection = selection[o.Source]
		run := &out[at[id]]
		if err := json.Unmarshal(facts, &o.Facts); err != nil {
			return fmt.Errorf("facts of %s in run %d: %w", o.Source, run.No, err)
		}
		run.Outcomes = append(run.Outcomes, o)
		return nil
	}, `SELECT o.run_id, o.provenance_code, o.status_code, o.reason, o.members, o.first_seen, o.facts
		FROM ing_search_outcome o WHERE o.run_id IN (`+list(len(ids))+`) ORDER BY o.run_id, o.provenance_code`, ids...)
	if err != nil {
		return nil, fmt.Errorf("read outcomes of search %s: %w", v.Name, err)
	}
	return out, nil
}
