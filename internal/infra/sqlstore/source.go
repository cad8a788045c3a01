package sqlstore

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/source"
)

// SourceState reads the state of a source.
func (s *Store) SourceState(ctx context.Context, provenance string) (harvest.SourceState, error) {
	st, err := scanSourceState(s.r.QueryRowContext(ctx, `SELECT `+sourceStateCols+` FROM ing_source_state WHERE provenance_code=?`, provenance).Scan)
	if errors.Is(err, sql.ErrNoRows) {
		return st, nil
	}
	if err != nil {
		return st, fmt.Errorf("read state of %s: %w", provenance, err)
	}
	return st, nil
}

// SourceStates reads the states of all sources that have one.
func (s *Store) SourceStates(ctx context.Context) (map[string]harvest.SourceState, error) {
	out := map[string]harvest.SourceState{}
	err := s.each(ctx, func(r *sql.Rows) error {
		var code string
		st, err := scanSourceState(r.Scan, &code)
		out[code] = st
		return err
	}, `SELECT provenance_code, `+sourceStateCols+` FROM ing_source_state`)
	if err != nil {
		return nil, fmt.Errorf("read states of sources: %w", err)
	}
	return out, nil
}

const sourceStateCols = `paused, stopped, reason, since, clock_skew_us`

func scanSourceState(scan func(...any) error, more ...any) (harvest.SourceState, error) {
	var st harvest.SourceState
	var reason sql.NullString
	var since ts
	var skew sql.NullInt64
	err := scan(append(more, &st.Paused, &st.Stopped, &reason, &since, &skew)...)
	st.Reason = reason.String
	st.Since = since.time()
	st.Skew = time.Duration(skew.Int64) * time.Microsecond
	st.Seen = skew.Valid
	return st, err
}

// Held reports whether a source is paused or stopped, and why.
func (s *Store) Held(ctx context.Context, provenance string) (why string, held bool, err error) {
	st, err := s.SourceState(ctx, provenance)
	switch {
	case st.Stopped:
		return "stopped: " + st.Reason, true, err
	case st.Paused:
		return "paused: " + st.Reason, true, err
	}
	return "", false, err
}

// ClockSkew is how far the upstream's clock was ahead of the store's when last seen.
func (s *Store) ClockSkew(ctx context.Context, provenance string) (time.Duration, bool, error) {
	st, err := s.SourceState(ctx, provenance)
	return st.Skew, st.Seen, err
}

// NoteSkew remembers how far the upstream's clock is ahead of the store's.
func (s *Store) NoteSkew(ctx context.Context, provenance string, skew time.Duration) error {
	return s.write(ctx, "note clock skew", func(x *tx) error {
		if err := x.ensureSourceRow(provenance); err != nil {
			return err
		}
		_, err := x.exec(`UPDATE ing_source_state SET clock_skew_us=?, updated_at=?
			WHERE provenance_code=?`, skew.Microseconds(), ts(x.now), provenance)
		return err
	})
}

// HoldSource pauses a source, or with stopped marks it as stopped by a fatal
// fault; with neither it is resumed.
func (s *Store) HoldSource(ctx context.Context, provenance string, paused, stopped bool, reason string) error {
	return s.write(ctx, "hold source", func(x *tx) error { return x.hold(provenance, paused, stopped, reason) })
}

// StopSource marks a source, or the endpoint alone that is to blame, as stopped by a fatal
// fault that no task met, until somebody has looked at it (R65).
func (s *Store) StopSource(ctx context.Context, p harvest.Partition, code harvest.Code, text string) error {
	return s.write(ctx, "stop source", func(x *tx) error {
		if err := x.stop(p, code, text); err != nil {
			return err
		}
		return x.countFault(fault{level: harvest.Fatal, partition: p, code: code, text: text, remedy: harvest.SourceStopped})
	})
}

// Hold is HoldSource by a person: the audit line, whose reason is the state's,
// is written with it.
func (s *Store) Hold(ctx context.Context, provenance string, paused, stopped bool, a source.Audit) error {
	return s.write(ctx, "hold source", func(x *tx) error {
		reason := a.Reason
		if !paused && !stopped {
			reason = ""
		}
		before, err := x.holdState(provenance)
		if err != nil {
			return err
		}
		if err := x.hold(provenance, paused, stopped, reason); err != nil {
			return err
		}
		if !stopped {
			if err := x.forgetWalks(provenance); err != nil {
				return err
			}
		}
		_, err = x.auditLine(a, before, holdState{Paused: paused, Stopped: stopped, Reason: reason})
		return err
	})
}

// holdState is whether a source is held, as the audit tells it.
type holdState struct {
	Paused  bool   `json:"paused"`
	Stopped bool   `json:"stopped"`
	Reason  string `json:"reason,omitempty"`
}

// holdState reads whether a source is held; one that nothing is known of is not.
func (x *tx) holdState(provenance string) (st holdState, err error) {
	var reason sql.NullString
	err = x.row(`SELECT paused, stopped, reason FROM ing_source_state WHERE provenance_code=?`, provenance).Scan(&st.Paused, &st.Stopped, &reason)
	if errors.Is(err, sql.ErrNoRows) {
		return st, nil
	}
	st.Reason = reason.String
	return st, err
}

// forgetWalks lets what is queued of a source be walked as if for the first time: the
// walks that failed were of a source that a person has looked at since. Else a slice
// would be cut, and the source stopped for that, before it was asked anything.
func (x *tx) forgetWalks(provenance string) error {
	_, err := x.exec(`UPDATE ing_task SET walks=0, updated_at=? WHERE status_code='QUEUED' AND provenance_code=? AND walks>0`, ts(x.now), provenance)
	if err != nil {
		return fmt.Errorf("forget the walks of %s: %w", provenance, err)
	}
	return nil
}

func (x *tx) hold(provenance string, paused, stopped bool, reason string) error {
	if err := x.ensureSourceRow(provenance); err != nil {
		return err
	}
	_, err := x.exec(`UPDATE ing_source_state SET paused=?, stopped=?, reason=?, since=?, updated_at=? WHERE provenance_code=?`,
		paused, stopped, null(reason), ts(x.now), ts(x.now), provenance)
	return err
}

// UpdateGate changes the state of one rate key under a lock. now is the store's
// clock once the lock is had, asked the process's own just before it was read.
func (s *Store) UpdateGate(ctx context.Context, key string, f func(state []byte, now, asked time.Time) []byte) error {
	return s.write(ctx, "update rate gate", func(x *tx) error { return x.updateGate(key, f) })
}

// ChangeGates changes the states of rate keys for a person, in the order of the keys,
// and leaves an audit line.
func (s *Store) ChangeGates(
	ctx context.Context, keys []string, a source.Audit, after any, f func(key string, state []byte, now time.Time) []byte,
) error {
	keys = slices.Sorted(slices.Values(keys))
	return s.write(ctx, "change rates", func(x *tx) error {
		for _, key := range keys {
			err := x.updateGate(key, func(state []byte, now, _ time.Time) []byte { return f(key, state, now) })
			if err != nil {
				return err
			}
		}
		return x.audit(a, after)
	})
}

func (x *tx) updateGate(key string, f func(state []byte, now, asked time.Time) []byte) error {
	var state []byte
	err := x.row(`SELECT state FROM ing_rate_gate WHERE gate_key=?`+x.s.d.forUpdate, key).Scan(&state)
	fresh := errors.Is(err, sql.ErrNoRows)
	if err != nil && !fresh {
		return err
	}
	// The transaction's own time is from before the wait for the lock.
	asked := time.Now()
	now, err := x.clock()
	if err != nil {
		return err
	}
	next := f(state, now, asked)
	switch {
	case fresh:
		_, err = x.exec(`INSERT INTO ing_rate_gate (gate_key, state, updated_at) VALUES (?,?,?)`, key, string(next), ts(now))
		err = x.orLostRace(err)
	case !bytes.Equal(next, state):
		_, err = x.exec(`UPDATE ing_rate_gate SET state=?, updated_at=? WHERE gate_key=?`, string(next), ts(now), key)
	}
	return err
}

// ReadGates reads the states of rate keys; one that was never used has none.
func (s *Store) ReadGates(ctx context.Context, keys []string) (map[string][]byte, error) {
	out := make(map[string][]byte, len(keys))
	if len(keys) == 0 {
		return out, nil
	}
	args := make([]any, len(keys))
	for i, key := range keys {
		args[i] = key
	}
	err := s.each(ctx, func(r *sql.Rows) error {
		var key string
		var state []byte
		err := r.Scan(&key, &state)
		out[key] = state
		return err
	}, `SELECT gate_key, state FROM ing_rate_gate WHERE gate_key IN (`+list(len(keys))+`)`, args...)
	if err != nil {
		return nil, fmt.Errorf("read rate gates: %w", err)
	}
	return out, nil
}

// ReadGate reads the state of a rate key as it was committed last; nil if there
// is none. It waits for no lock.
func (s *Store) ReadGate(ctx context.Context, key string) ([]byte, error) {
	var state []byte
	err := s.r.QueryRowContext(ctx, `SELECT state FROM ing_rate_gate WHERE gate_key=?`, key).Scan(&state)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read rate gate: %w", err)
	}
	return state, nil
}
