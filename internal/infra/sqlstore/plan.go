package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/papertrace/patra/internal/domain/harvest"
)

// Frontier tells where the next window of a namespace begins (R4).
func (s *Store) Frontier(ctx context.Context, ns harvest.Namespace) (harvest.Frontier, error) {
	f, err := frontier(func(q string, args ...any) scanner { return s.r.QueryRowContext(ctx, q, args...) }, ns, "")
	if err != nil {
		return f, fmt.Errorf("read frontier of %s %s: %w", ns.Provenance, ns, err)
	}
	return f, nil
}

func frontier(row func(string, ...any) scanner, ns harvest.Namespace, lock string) (harvest.Frontier, error) {
	var f harvest.Frontier
	var w, since ts
	var init string
	err := row(`SELECT id, normalized_instant, init_value, created_at FROM ing_cursor
		WHERE provenance_code=? AND operation_code=? AND cursor_key=? AND namespace_scope_code=? AND namespace_key=?`+lock,
		ns.Provenance, ns.Operation, ns.CursorKey, ns.Scope, ns.Key).Scan(&f.Cursor, &w, &init, &since)
	if errors.Is(err, sql.ErrNoRows) {
		return f, nil
	}
	if err != nil {
		return f, err
	}
	f.Known = true
	f.Since = since.time()
	f.Watermark, err = w.cursorMark(ns.Operation)
	if err != nil {
		return f, err
	}
	f.At = f.Watermark
	f.Init, err = parseMark(ns.Operation, init)
	if err != nil {
		return f, fmt.Errorf("where the cursor began: %w", err)
	}
	agg, further := "MAX(window_to)", harvest.Forward
	if ns.Operation.Direction() == harvest.Backward {
		agg, further = "MIN(window_from)", harvest.Backward
	}
	var edge ts
	if err := row(`SELECT `+agg+` FROM ing_plan
		WHERE cursor_id=? AND `+isNoneOf("status_code", harvest.PlansVoid), f.Cursor).Scan(&edge); err != nil {
		return f, err
	}
	last := edge.mark(ns.Operation)
	f.Live = !last.IsZero()
	if f.Live && further.Further(f.At, last) {
		f.At = last
	}
	return f, nil
}

// SavePlan saves trigger, plan, slices and tasks at once. A live plan with the
// same key is returned instead, marked Existing; nothing but the trace of an
// outside scheduler's trigger is written then. If that trigger was answered
// already, nothing is saved and the error is [harvest.ErrAnswered]; if the
// namespace's frontier is no longer where the draft saw it, likewise and
// [harvest.ErrFrontierMoved].
func (s *Store) SavePlan(ctx context.Context, d harvest.Draft) (harvest.PlanHead, error) {
	head := harvest.PlanHead{Key: d.PlanKey(), Span: d.Span, Operation: d.Namespace.Operation}
	if err := s.warmPlan(ctx, d.Slices.Len); err != nil {
		return head, err
	}
	err := s.write(ctx, "save plan", func(x *tx) error {
		cur, err := x.lockCursor(d)
		if err != nil {
			return err
		}
		row, err := x.trigger(d.Trigger)
		if err != nil {
			return err
		}
		if row.triggered.Answered() {
			return harvest.ErrAnswered
		}
		found, err := x.planByKey(head.Key)
		if err != nil {
			return err
		}
		if found != nil {
			head = *found
			if row.id == 0 && d.Trigger.LogID == "" {
				return nil
			}
			// Its scheduler must not ask again.
			_, err := x.answer(d.Trigger, harvest.TriggerExisting, answerOf{selHash: d.SelHash, selection: d.Selection, plan: head.ID})
			return err
		}
		if cur.Known && cur.At != d.Start() {
			return fmt.Errorf("frontier is at %s, planned from %s: %w", stored(cur.At).value, stored(d.Start()).value, harvest.ErrFrontierMoved)
		}
		if cur.Known {
			return x.insertPlan(d, cur.Cursor, &head)
		}
		cur, err = x.initCursor(d)
		if err != nil {
			return err
		}
		if err := x.insertPlan(d, cur.Cursor, &head); err != nil {
			return err
		}
		return x.recordStart(d, cur.Cursor, head.ID)
	})
	if err != nil {
		return harvest.PlanHead{}, err
	}
	return head, nil
}

func (x *tx) lockCursor(d harvest.Draft) (harvest.Frontier, error) {
	f, err := frontier(x.row, d.Namespace, x.s.d.forUpdate)
	if err != nil {
		return f, fmt.Errorf("lock cursor: %w", err)
	}
	return f, nil
}

// initCursor is the Planner's only write to a cursor (R2), which [tx.recordStart] tells.
func (x *tx) initCursor(d harvest.Draft) (harvest.Frontier, error) {
	ns := d.Namespace
	at := stored(d.Start())
	id, err := x.insert(`INSERT INTO ing_cursor (provenance_code, operation_code, cursor_key, namespace_scope_code, namespace_key,
		direction_code,
		cursor_type_code, cursor_value, normalized_instant, normalized_numeric, init_value, version, created_at, updated_at)
		VALUES (?,?,?,?,?,?,?,?,?,?,?,0,?,?)`,
		ns.Provenance, ns.Operation, ns.CursorKey, ns.Scope, ns.Key, ns.Operation.Direction(), at.kind, at.value, at.instant,
		at.number, at.value, ts(x.now), ts(x.now))
	if err != nil {
		return harvest.Frontier{}, fmt.Errorf("create cursor: %w", x.orLostRace(err))
	}
	return harvest.Frontier{Known: true, At: d.Start(), Watermark: d.Start(), Cursor: harvest.CursorID(id)}, nil
}

// recordStart tells where a cursor began, and by which trigger: that of its first plan. It
// does not name the plan, since a plan is archived when no move names it.
func (x *tx) recordStart(d harvest.Draft, id harvest.CursorID, plan harvest.PlanID) error {
	ns := d.Namespace
	at := stored(d.Start())
	remarks, err := moveRemarks{Reason: string(ns.Operation)}.text()
	if err != nil {
		return err
	}
	_, err = x.exec(`INSERT INTO ing_cursor_event (cursor_id, provenance_code, operation_code, cursor_key, namespace_scope_code,
		namespace_key, direction_code, schedule_instance_id,
		kind_code, prev_value, new_value, prev_instant, new_instant, idempotent_key, record_remarks, event_time)
		SELECT ?,?,?,?,?,?,?,p.schedule_instance_id,'INIT',NULL,?,NULL,?,?,?,? FROM ing_plan p WHERE p.id=?`,
		id, ns.Provenance, ns.Operation, ns.CursorKey, ns.Scope, ns.Key, ns.Operation.Direction(), at.value, at.instant,
		eventKey(id, at.value), remarks, ts(x.now), plan)
	if err != nil {
		return fmt.Errorf("record the cursor's start: %w", err)
	}
	return nil
}

func (x *tx) planByKey(key string) (*harvest.PlanHead, error) {
	var h harvest.PlanHead
	var from, to ts
	err := x.row(`SELECT id, plan_key, status_code, operation_code, window_from, window_to FROM ing_plan
		WHERE plan_key=? AND `+isNoneOf("status_code", harvest.PlansVoid), key).Scan(&h.ID, &h.Key, &h.Status, &h.Operation, &from, &to)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("look for plan: %w", err)
	}
	h.Span = spanOf(h.Operation, from, to)
	h.Existing = true
	return &h, nil
}

func (x *tx) insertPlan(d harvest.Draft, cur harvest.CursorID, head *harvest.PlanHead) error {
	ns := d.Namespace
	if err := x.ensureSourceRow(ns.Provenance); err != nil {
		return fmt.Errorf("note source: %w", err)
	}
	if err := x.ensureEndpointRow(harvest.EndpointOf{Provenance: ns.Provenance, Endpoint: d.Endpoint}); err != nil {
		return fmt.Errorf("note endpoint: %w", err)
	}
	if err := x.boundWalks(ns.Provenance, d.MaxWalks); err != nil {
		return err
	}
	inst, err := x.answer(d.Trigger, harvest.TriggerPlanned, answerOf{selHash: d.SelHash, selection: d.Selection, remarks: d.Remarks})
	if err != nil {
		return fmt.Errorf("record trigger: %w", err)
	}
	selection, err := x.selectionOf(d)
	if err != nil {
		return err
	}
	// A plan is written when it is cut: DRAFT and SLICING last as long as this
	// transaction, PARTIAL if a budget ended the cutting early.
	status := harvest.PlanReady
	if !ns.Operation.Remainder(d.Span, d.SlicedTo).Empty() {
		status = harvest.PlanPartial
	}
	id, err := x.insertInto("ing_plan", []col{
		{"schedule_instance_id", inst},
		{"plan_key", head.Key},
		{"provenance_code", ns.Provenance},
		{"endpoint_name", d.Endpoint},
		{"operation_code", ns.Operation},
		{"cursor_id", cur},
		{"namespace_scope_code", ns.Scope},
		{"namespace_key", ns.Key},
		{"activity_id", d.Trigger.Activity},
		{"window_from", stored(d.Span.From).instant},
		{"window_to", stored(d.Span.To).instant},
		{"sliced_to", stored(d.SlicedTo).instant},
		{"group_digits", groupDigitsOf(d.Span)},
		{"slice_strategy_code", d.Strategy},
		{"slice_params", d.SliceParams},
		{"expr_proto_hash", d.SelHash},
		{"expr_proto_snapshot", d.Selection},
		{"selection_id", nullID(int64(selection))},
		{"provenance_config_hash", d.ConfigHash},
		{"spec_version", d.SpecVersion},
		{"spec_fingerprint", d.Fingerprint},
		{"spec_snapshot", string(d.Snapshot)},
		{"base_url", null(d.Trigger.BaseURL)},
		{"watches_cursor_id", nullID(int64(d.Trigger.Watches))},
		{"status_code", status},
		{"record_remarks", null(d.Remarks)},
		{"created_at", ts(x.now)},
		{"updated_at", ts(x.now)},
	})
	if err != nil {
		return fmt.Errorf("insert plan: %w", err)
	}
	head.ID, head.Status = harvest.PlanID(id), status
	if _, err := x.exec(`UPDATE ing_schedule_instance SET plan_id=? WHERE id=?`, id, inst); err != nil {
		return fmt.Errorf("link trigger: %w", err)
	}
	p := planRef{
		id: head.ID, instance: inst, cursor: cur, provenance: ns.Provenance, endpoint: d.Endpoint, operation: ns.Operation,
		specVersion: d.SpecVersion, pagingType: d.PagingType, pageSize: d.PageSize, priority: d.Trigger.Priority,
		scheduledAt: d.Trigger.Pacing.From(x.now),
	}
	if len(d.Candidates) > 0 {
		if err := x.insertCandidates(head.ID, d.Span.From.Ordinal(), d.Candidates); err != nil {
			return err
		}
		if err := x.takeSignals(head.ID, ns.Provenance); err != nil {
			return err
		}
	}
	return x.insertSlices(p, d.Slices, 0)
}

// Spec returns the snapshot a plan carries.
func (s *Store) Spec(ctx context.Context, id harvest.PlanID) ([]byte, error) {
	var b []byte
	err := s.r.QueryRowContext(ctx, `SELECT spec_snapshot FROM ing_plan WHERE id=?`, id).Scan(&b)
	if errors.Is(err, sql.ErrNoRows) {
		err = harvest.ErrNotFound
	}
	if err != nil {
		return nil, fmt.Errorf("read spec of plan %d: %w", id, err)
	}
	return b, nil
}

// OpenPlans lists the plans of a namespace that still have work nobody must decide on.
func (s *Store) OpenPlans(ctx context.Context, ns harvest.Namespace) ([]harvest.PlanHead, error) {
	var out []harvest.PlanHead
	err := s.each(ctx, func(r *sql.Rows) error {
		var h harvest.PlanHead
		var from, to ts
		if err := r.Scan(&h.ID, &h.Key, &h.Status, &h.Operation, &from, &to); err != nil {
			return err
		}
		h.Span = spanOf(h.Operation, from, to)
		h.Existing = true
		out = append(out, h)
		return nil
	}, `SELECT p.id, p.plan_key, p.status_code, p.operation_code, p.window_from, p.window_to
		FROM ing_plan p JOIN ing_cursor c ON c.id = p.cursor_id
		WHERE c.provenance_code=? AND c.operation_code=? AND c.cursor_key=? AND c.namespace_scope_code=? AND c.namespace_key=?
		AND `+isOneOf("p.status_code", harvest.PlansOpen)+` ORDER BY p.id`,
		ns.Provenance, ns.Operation, ns.CursorKey, ns.Scope, ns.Key)
	if err != nil {
		return nil, fmt.Errorf("list open plans: %w", err)
	}
	return out, nil
}

// SetBaseURL records on the open plans of a namespace that their requests go
// to another host from now on.
func (s *Store) SetBaseURL(ctx context.Context, ns harvest.Namespace, base string) error {
	return s.write(ctx, "record base URL", func(x *tx) error {
		_, err := x.exec(`UPDATE ing_plan SET base_url=?, updated_at=? WHERE `+isOneOf("status_code", harvest.PlansOpen)+` AND cursor_id IN
			(SELECT id FROM ing_cursor
			WHERE provenance_code=? AND operation_code=? AND cursor_key=? AND namespace_scope_code=? AND namespace_key=?)`,
			null(base), ts(x.now), ns.Provenance, ns.Operation, ns.CursorKey, ns.Scope, ns.Key)
		return err
	})
}

// RequeueDue queues again the failed slices of every source whose rest is over
// (R4), and returns how many.
func (s *Store) RequeueDue(ctx context.Context) (n int64, err error) {
	err = s.write(ctx, "queue failed slices again", func(x *tx) error {
		n, err = x.requeue(`t.scheduled_at <= ?`, ts(x.now))
		return err
	})
	return n, err
}

// RequeueFailed queues again the failed slices of a source and operation whose
// rest is over (R4), and returns how many. It is asked for by a person who runs the
// command again: one taken for poison begins anew then, without its rest, since
// that person may have mended what killed those who had it.
func (s *Store) RequeueFailed(ctx context.Context, provenance string, op harvest.Operation) (n int64, err error) {
	err = s.write(ctx, "queue failed slices again", func(x *tx) error {
		n, err = x.requeue(`(t.scheduled_at <= ? OR t.error_code=?) AND t.provenance_code=?
			AND t.operation_code=?`, ts(x.now), harvest.CodePoison, provenance, op)
		return err
	})
	return n, err
}
