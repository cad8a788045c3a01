package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/source"
)

// EndpointState tells whether an endpoint of a source is paused or stopped by itself.
func (s *Store) EndpointState(ctx context.Context, at harvest.EndpointOf) (harvest.SourceState, error) {
	st, err := scanEndpointState(s.r.QueryRowContext(ctx, `SELECT paused, stopped, reason, since FROM ing_endpoint_state
		WHERE provenance_code=? AND endpoint_name=?`, at.Provenance, at.Endpoint).Scan)
	if errors.Is(err, sql.ErrNoRows) {
		return harvest.SourceState{}, nil
	}
	if err != nil {
		return st, fmt.Errorf("read state of %s: %w", at, err)
	}
	return st, nil
}

// HeldEndpoints are the endpoints that are paused or stopped by themselves.
func (s *Store) HeldEndpoints(ctx context.Context) (map[harvest.EndpointOf]harvest.SourceState, error) {
	out := map[harvest.EndpointOf]harvest.SourceState{}
	err := s.each(ctx, func(r *sql.Rows) error {
		var at harvest.EndpointOf
		st, err := scanEndpointState(r.Scan, &at.Provenance, &at.Endpoint)
		out[at] = st
		return err
	}, `SELECT provenance_code, endpoint_name, paused, stopped, reason, since FROM ing_endpoint_state WHERE paused=1 OR stopped=1`)
	if err != nil {
		return nil, fmt.Errorf("list held endpoints: %w", err)
	}
	return out, nil
}

func scanEndpointState(scan func(...any) error, more ...any) (harvest.SourceState, error) {
	var st harvest.SourceState
	var reason sql.NullString
	var since ts
	err := scan(append(more, &st.Paused, &st.Stopped, &reason, &since)...)
	st.Reason = reason.String
	st.Since = since.time()
	return st, err
}

// HoldEndpoint pauses an endpoint of a source, or resumes it, with a line of the audit. One
// that is stopped stays so while it is paused.
// When it returns, nothing that passed a guard before is still to be committed.
func (s *Store) HoldEndpoint(ctx context.Context, at harvest.EndpointOf, paused bool, a source.Audit) error {
	return s.write(ctx, "hold endpoint", func(x *tx) error {
		if err := x.ensureEndpointRow(at); err != nil {
			return err
		}
		before := holdState{}
		var reason sql.NullString
		err := x.row(`SELECT paused, stopped, reason FROM ing_endpoint_state WHERE provenance_code=? AND endpoint_name=?`+x.s.d.forUpdate,
			at.Provenance, at.Endpoint).Scan(&before.Paused, &before.Stopped, &reason)
		if err != nil {
			return err
		}
		before.Reason = reason.String
		after := holdState{Paused: paused, Stopped: paused && before.Stopped}
		if paused {
			after.Reason = a.Reason
		}
		_, err = x.exec(`UPDATE ing_endpoint_state SET paused=?, stopped=?, reason=?, since=?, updated_at=? WHERE provenance_code=? AND endpoint_name=?`,
			after.Paused, after.Stopped, null(after.Reason), ts(x.now), ts(x.now), at.Provenance, at.Endpoint)
		if err != nil {
			return err
		}
		if before.Stopped && !after.Stopped {
			if err := x.forgetWalks(at.Provenance); err != nil {
				return err
			}
		}
		_, err = x.auditLine(a, before, after)
		return err
	})
}

// stop marks what a fatal fault concerns as stopped, until a person has looked at it: the
// source, or only the endpoint if one is named, the fault is not about what the source's
// endpoints share, and there are others that were planned for.
func (x *tx) stop(p harvest.Partition, code harvest.Code, text string) error {
	reason := string(code) + ": " + text
	if p.Endpoint == "" || code.StopsSource() {
		return x.stopSource(p.Provenance, reason)
	}
	var others int
	err := x.row(`SELECT COUNT(*) FROM ing_endpoint_state WHERE provenance_code=? AND endpoint_name<>?`, p.Provenance, p.Endpoint).Scan(&others)
	if err != nil {
		return fmt.Errorf("count the endpoints of %s: %w", p.Provenance, err)
	}
	if others == 0 {
		return x.stopSource(p.Provenance, reason)
	}
	if err := x.ensureEndpointRow(p.EndpointOf()); err != nil {
		return err
	}
	_, err = x.exec(`UPDATE ing_endpoint_state SET stopped=1, reason=?, since=?, updated_at=? WHERE provenance_code=? AND endpoint_name=?`,
		null(reason), ts(x.now), ts(x.now), p.Provenance, p.Endpoint)
	return err
}

// ensureEndpointRow makes the row that a guard holds for reading.
func (x *tx) ensureEndpointRow(at harvest.EndpointOf) error {
	_, err := x.exec(x.s.d.insertIgnore+` INTO ing_endpoint_state (provenance_code, endpoint_name, updated_at) VALUES (?,?,?)`,
		at.Provenance, at.Endpoint, ts(x.now))
	return err
}
