package sqlstore

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/papertrace/patra/internal/domain/harvest"
)

// SliceWork reads what was done for slices: the newest runs and pages of each, the newest
// first. A slice without a task is not among them. It is asked of all slices together, for
// what a server needs most of its time for is to be asked.
func (s *Store) SliceWork(ctx context.Context, ids []harvest.SliceID, most int) (map[harvest.SliceID]control.SliceWork, error) {
	l := &workLook{s: s, ctx: ctx, most: most, done: map[harvest.TaskID]*control.SliceWork{}}
	of := map[harvest.SliceID]harvest.TaskID{}
	for part := range chunks(ids, keysPerRead) {
		if err := l.readTasks(part, of); err != nil {
			return nil, fmt.Errorf("read tasks of slices: %w", err)
		}
	}
	if err := l.readRuns(); err != nil {
		return nil, fmt.Errorf("read runs of slices: %w", err)
	}
	if err := l.readPages(); err != nil {
		return nil, fmt.Errorf("read pages of slices: %w", err)
	}
	out := make(map[harvest.SliceID]control.SliceWork, len(of))
	for slice, task := range of {
		out[slice] = *l.done[task]
	}
	return out, nil
}

// workLook is one look at what was done for tasks.
type workLook struct {
	s    *Store
	ctx  context.Context
	most int
	done map[harvest.TaskID]*control.SliceWork
	// Tasks whose rows are read together, and those that have so many that each is asked
	// for its newest.
	fewRuns, manyRuns, fewPages, manyPages []any
}

// readTasks finds the tasks of slices, and which of them have more runs or pages than are
// shown.
func (l *workLook) readTasks(slices []harvest.SliceID, of map[harvest.SliceID]harvest.TaskID) error {
	return l.s.each(l.ctx, func(r *sql.Rows) error {
		var slice harvest.SliceID
		w := &control.SliceWork{Runs: []control.RunRow{}, Batches: []control.BatchRow{}}
		var manyRuns, manyPages bool
		if err := r.Scan(&w.TaskID, &slice, &manyRuns, &manyPages); err != nil {
			return err
		}
		of[slice] = w.TaskID
		l.done[w.TaskID] = w
		sortTask(w.TaskID, manyRuns, &l.fewRuns, &l.manyRuns)
		sortTask(w.TaskID, manyPages, &l.fewPages, &l.manyPages)
		return nil
	}, `SELECT t.id, t.slice_id, (SELECT r.id FROM ing_task_run r WHERE r.task_id=t.id LIMIT 1 OFFSET ?) IS NOT NULL,
		(SELECT b.id FROM ing_task_run_batch b WHERE b.task_id=t.id LIMIT 1 OFFSET ?) IS NOT NULL
		FROM ing_task t WHERE t.slice_id IN (`+list(len(slices))+`)`, append([]any{l.most, l.most}, anys(slices)...)...)
}

// sortTask puts a task among those that have many rows, or few.
func sortTask(task harvest.TaskID, hasMany bool, few, many *[]any) {
	if hasMany {
		*many = append(*many, task)
	} else {
		*few = append(*few, task)
	}
}

func (l *workLook) readRuns() error {
	return l.newest(l.fewRuns, l.manyRuns, `SELECT task_id, id, attempt_no, status_code, error_code, error, started_at, finished_at FROM ing_task_run`,
		`ORDER BY task_id, attempt_no DESC`, func(r *sql.Rows) error {
			var task harvest.TaskID
			var v control.RunRow
			var code, text sql.NullString
			var began, ended ts
			if err := r.Scan(&task, &v.ID, &v.Attempt, &v.Status, &code, &text, &began, &ended); err != nil {
				return err
			}
			v.Code = code.String
			v.Error = text.String
			v.StartedAt = began.time()
			v.FinishedAt = ended.time()
			w := l.done[task]
			w.Runs = append(w.Runs, v)
			return nil
		})
}

func (l *workLook) readPages() error {
	return l.newest(l.fewPages, l.manyPages, `SELECT task_id, id, run_id, batch_no, phase, ordinal, status_code, items, sent, retried, http_status, error_code, error,
		opened_at, committed_at FROM ing_task_run_batch`, `ORDER BY task_id, id DESC`, func(r *sql.Rows) error {
		var task harvest.TaskID
		var v control.BatchRow
		var code, text sql.NullString
		var http sql.NullInt64
		var opened, ended ts
		if err := r.Scan(&task, &v.ID, &v.Run, &v.No, &v.Phase, &v.Ordinal, &v.Status, &v.Items, &v.Sent, &v.Retried, &http, &code, &text, &opened, &ended); err != nil {
			return err
		}
		v.HTTP = http.Int64
		v.Code = code.String
		v.Error = text.String
		v.Opened = opened.time()
		v.Ended = ended.time()
		w := l.done[task]
		w.Batches = append(w.Batches, v)
		return nil
	})
}

// newest reads rows of tasks: all of those that have few, and of each other the newest
// and one more, which says that there are more.
func (l *workLook) newest(few, many []any, selected, order string, scan func(*sql.Rows) error) error {
	for part := range chunks(few, keysPerRead) {
		if err := l.s.each(l.ctx, scan, selected+` WHERE task_id IN (`+list(len(part))+`) `+order, part...); err != nil {
			return err
		}
	}
	for _, task := range many {
		if err := l.s.each(l.ctx, scan, selected+` WHERE task_id=? `+order+` LIMIT ?`, task, l.most+1); err != nil {
			return err
		}
	}
	return nil
}
