package sqlstore

import (
	"database/sql"
	"fmt"

	"github.com/papertrace/patra/internal/domain/harvest"
)

// cursorHead is a cursor as it is checked. Where it began and where it stands are kept
// both as they are stored and as what that text means.
type cursorHead struct {
	id                  harvest.CursorID
	op                  harvest.Operation
	name                string
	dir                 harvest.Direction
	init, at            harvest.Mark
	initValue, nowValue string
}

// cursors reads all cursors.
func (v *verifier) cursors() ([]cursorHead, error) {
	var out []cursorHead
	err := v.each(func(r *sql.Rows) error {
		var c cursorHead
		var prov, scope, key string
		var at ts
		if err := r.Scan(&c.id, &prov, &c.op, &scope, &key, &c.dir, &c.initValue, &c.nowValue, &at); err != nil {
			return err
		}
		c.name = fmt.Sprintf("cursor %d (%s %s/%s)", c.id, prov, scope, key)
		c.at = at.mark(c.op)
		var err error
		c.init, err = parseMark(c.op, c.initValue)
		if err != nil {
			v.report(c.name, "init value %q cannot be read", c.initValue)
		}
		out = append(out, c)
		return nil
	}, `SELECT id, provenance_code, operation_code, namespace_scope_code, namespace_key, direction_code, init_value, cursor_value,
		normalized_instant
		FROM ing_cursor ORDER BY id`)
	return out, err
}

// checkChains reports cursors whose events do not form one chain: each goes on where the
// one before ended, and further, and the last ends at the cursor's value.
func (v *verifier) checkChains() error {
	cs, err := v.cursors()
	if err != nil {
		return err
	}
	for _, c := range cs {
		last := ""
		lastAt := harvest.Mark{}
		n := 0
		err := v.each(func(r *sql.Rows) error {
			var id int64
			var kind string
			var prev sql.NullString
			var next string
			var instant ts
			if err := r.Scan(&id, &kind, &prev, &next, &instant); err != nil {
				return err
			}
			at := instant.mark(c.op)
			switch {
			case n == 0 && (prev.Valid || kind == "ADVANCE"):
				v.report(c.name, "first event %d is not a beginning", id)
			case n > 0 && prev.String != last:
				v.report(c.name, "event %d goes on from %q, the one before ended at %q", id, prev.String, last)
			case n > 0 && !lastAt.IsZero() && !at.IsZero() && !c.dir.Further(lastAt, at):
				v.report(c.name, "event %d moves from %s to %s, not %s", id, last, next, c.dir)
			}
			if next != stored(at).value {
				v.report(c.name, "event %d says %s and %s", id, next, stored(at).value)
			}
			last = next
			lastAt = at
			n++
			return nil
		}, `SELECT id, kind_code, prev_value, new_value, new_instant FROM ing_cursor_event WHERE cursor_id=? ORDER BY id`, c.id)
		if err != nil {
			return err
		}
		if last != c.nowValue || lastAt != c.at {
			v.report(c.name, "value is %s, the last event says %s", c.nowValue, last)
		}
	}
	return nil
}

// checkCoverage reports cursors that are not at the end of the unbroken run of slices,
// from where they began, that are done or were accepted as gaps.
func (v *verifier) checkCoverage() error {
	cs, err := v.cursors()
	if err != nil {
		return err
	}
	for _, c := range cs {
		if c.init.IsZero() || c.at.IsZero() {
			continue // it was reported that the one or the other cannot be read
		}
		order := "1, 2"
		if c.dir == harvest.Backward {
			order = "2 DESC, 1 DESC"
		}
		var rerr error
		reach := harvest.LowWatermark(c.init, c.dir, func(yield func(harvest.Covered) bool) {
			rows, err := v.tx.QueryContext(v.ctx, `SELECT s.window_from, s.window_to, s.status_code, s.gap_accepted
				FROM ing_plan_slice s WHERE s.cursor_id=? AND s.status_code<>'RESLICED'`+notCoveredByOthers+notFolded+`
				UNION ALL SELECT v.window_from, v.window_to, 'DONE', 0 FROM ing_coverage v WHERE v.cursor_id=?
				ORDER BY `+order, c.id, c.id)
			if err != nil {
				rerr = err
				return
			}
			rerr = eachUntil(rows, func() (bool, error) {
				slice, err := scanCovered(rows, c.op)
				if err != nil {
					return false, err
				}
				return yield(slice), nil
			})
		})
		if rerr != nil {
			return rerr
		}
		if c.dir.Further(reach, c.at) {
			v.report(c.name, "watermark %s lies past what is proven, %s", stored(c.at).value, stored(reach).value)
		}
		if c.dir.Further(c.at, reach) {
			v.report(c.name, "watermark %s lags behind what is proven, %s", stored(c.at).value, stored(reach).value)
		}
	}
	return nil
}

// checkLineage reports moves of a HARVEST cursor by a plan that is none.
func (v *verifier) checkLineage() error {
	return v.reportRows("event", `SELECT e.id, CONCAT('moves a HARVEST cursor by a plan of ', p.operation_code)
		FROM ing_cursor_event e JOIN ing_plan p ON p.id=e.plan_id
		WHERE e.operation_code='HARVEST' AND p.operation_code<>'HARVEST'`)
}
