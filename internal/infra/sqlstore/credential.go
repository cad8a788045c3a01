package sqlstore

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/papertrace/patra/internal/domain/credential"
	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/source"
)

// A credential may name its endpoint, or the row of it. What it has been through is runtime
// state, in a table that whoever asks sources may write; no row there: it was never refused.
// So is where it may be sent if its own row does not say it.
const credentialCols = `c.id, p.provenance_code, c.credential_name,
	COALESCE(c.endpoint_name, (SELECT e.endpoint_name FROM reg_prov_endpoint_def e WHERE e.id=c.endpoint_id)), c.scope_code, c.task_type_key, c.secret_kind_code,
	c.secret_ref, c.secret_sealed, c.secret_mac,
	c.is_default_preferred, c.weight, c.lifecycle_status_code, c.effective_from, c.effective_to, c.supersedes_id,
	COALESCE(h.refused_count, 0), h.refused_until, COALESCE(c.origins_json, h.origins_json)`

const fromCredentials = ` FROM reg_prov_credential c JOIN reg_provenance p ON p.id=c.provenance_id
	LEFT JOIN ing_credential_state h ON h.credential_id=c.id`

func scanCredential(r *sql.Rows) (credential.Credential, error) {
	var c credential.Credential
	var endpoint, ref, mac, origins sql.NullString
	var task string
	var from, to, rest ts
	var sup sql.NullInt64
	err := r.Scan(&c.ID, &c.Pool, &c.Name, &endpoint, &c.Scope, &task, &c.Secret.Kind, &ref, &c.Secret.Sealed, &mac,
		&c.Preferred, &c.Weight, &c.Status, &from, &to, &sup, &c.Refused, &rest, &origins)
	c.Endpoint = endpoint.String
	c.Secret.Ref = ref.String
	c.Secret.MAC = mac.String
	c.From = from.time()
	c.To = to.time()
	c.Supersedes = sup.Int64
	c.RefusedUntil = rest.time()
	if task != taskAll {
		c.Task = harvest.Operation(task)
	}
	if err == nil && origins.Valid {
		err = json.Unmarshal([]byte(origins.String), &c.Origins)
	}
	return c, err
}

// Credentials reads all credentials of a source, or of every one if pool is
// empty, with the store's time as it was before.
func (s *Store) Credentials(ctx context.Context, pool string) ([]credential.Credential, time.Time, error) {
	now, err := s.Now(ctx)
	if err != nil {
		return nil, now, err
	}
	var out []credential.Credential
	err = s.each(ctx, func(r *sql.Rows) error {
		c, err := scanCredential(r)
		out = append(out, c)
		return err
	}, `SELECT `+credentialCols+fromCredentials+`
		WHERE (?='' OR p.provenance_code=?) AND c.deleted=0 ORDER BY c.id`, pool, pool)
	if err != nil {
		return nil, now, fmt.Errorf("read credentials: %w", err)
	}
	return out, now, nil
}

// ChangeCredentials changes the credentials of a source in one transaction:
// decide is given them as they are, locked, and returns what is to become of
// them. An audit line is written with the changes; it holds references only.
// Nothing to change, nothing written.
func (s *Store) ChangeCredentials(
	ctx context.Context, pool string, a source.Audit, decide func([]credential.Credential, time.Time) ([]credential.Change, error),
) error {
	return s.write(ctx, "change credentials of "+pool, func(x *tx) error {
		var prov int64
		err := x.row(`SELECT id FROM reg_provenance WHERE provenance_code=?`+x.s.d.forUpdate, pool).Scan(&prov)
		if errors.Is(err, sql.ErrNoRows) {
			return harvest.ErrNotFound
		}
		if err != nil {
			return err
		}
		var all []credential.Credential
		if err := x.each(func(r *sql.Rows) error {
			c, err := scanCredential(r)
			all = append(all, c)
			return err
		}, `SELECT `+credentialCols+fromCredentials+` WHERE c.provenance_id=? AND c.deleted=0 ORDER BY c.id`, prov); err != nil {
			return err
		}
		changes, err := decide(all, x.now)
		if err != nil || len(changes) == 0 {
			return err
		}
		for i := range changes {
			if err := x.changeCredential(prov, &changes[i], a.Actor); err != nil {
				return err
			}
		}
		return x.audit(a, changes)
	})
}

func (x *tx) changeCredential(prov int64, ch *credential.Change, actor string) error {
	var err error
	switch {
	case ch.Add != nil:
		ch.Add.ID, err = x.insertCredential(prov, *ch.Add, actor)
	case ch.Close != 0:
		_, err = x.exec(`UPDATE reg_prov_credential SET effective_to=?, updated_at=? WHERE id=?`, ts(x.now), ts(x.now), ch.Close)
	case ch.Disable != 0:
		_, err = x.exec(`UPDATE reg_prov_credential SET lifecycle_status_code=?, updated_at=?
			WHERE id=?`, credential.Disabled, ts(x.now), ch.Disable)
	case ch.Reseal != 0:
		_, err = x.exec(`UPDATE reg_prov_credential SET secret_sealed=?, secret_mac=?, updated_at=?
			WHERE id=?`, ch.Secret.Sealed, null(ch.Secret.MAC), ts(x.now), ch.Reseal)
	case ch.Allow != nil:
		err = x.allow(prov, *ch.Allow, actor)
	case ch.Withdraw != nil:
		_, err = x.exec(`DELETE FROM reg_prov_grant
			WHERE provenance_id=? AND kind_code=? AND granted=?`, prov, ch.Withdraw.Kind, ch.Withdraw.Value)
	}
	return err
}

// allow gives others something of a source. Another may have done so since it was
// looked for: it is allowed then. The source's row, which is locked, lets one at a
// time change what it allows.
func (x *tx) allow(prov int64, g credential.Grant, actor string) error {
	var there int
	err := x.row(`SELECT COUNT(*) FROM reg_prov_grant
		WHERE provenance_id=? AND kind_code=? AND granted=?`, prov, g.Kind, g.Value).Scan(&there)
	if err != nil || there > 0 {
		return err
	}
	_, err = x.insert(`INSERT INTO reg_prov_grant (provenance_id, kind_code, granted, created_by, created_at) VALUES `+marks(1, 5),
		prov, g.Kind, g.Value, actor, ts(x.now))
	return err
}

func (x *tx) insertCredential(prov int64, c credential.Credential, actor string) (int64, error) {
	var sealed any
	if len(c.Secret.Sealed) > 0 {
		sealed = c.Secret.Sealed
	}
	origins, err := originsJSON(c.Origins)
	if err != nil {
		return 0, err
	}
	return x.insert(`INSERT INTO reg_prov_credential (provenance_id, scope_code, task_type, endpoint_name, credential_name,
		secret_kind_code, secret_ref, secret_sealed, secret_mac,
		is_default_preferred, weight, lifecycle_status_code, effective_from, effective_to, supersedes_id, origins_json, created_by,
		created_at, updated_at)
		VALUES `+marks(1, 19),
		prov, c.Scope, null(string(c.Task)), null(c.Endpoint), c.Name, c.Secret.Kind, null(c.Secret.Ref), sealed, null(c.Secret.MAC),
		c.Preferred, c.Weight, c.Status, ts(c.From), ts(c.To), nullID(c.Supersedes), origins, actor, ts(x.now), ts(x.now))
}

// originsJSON is a list as it is stored; NULL for a row that is not bound yet.
func originsJSON(list []string) (any, error) {
	if list == nil {
		return nil, nil
	}
	b, err := json.Marshal(list)
	return string(b), err
}

// Grants reads what others may do with a source's credentials and rate limit.
func (s *Store) Grants(ctx context.Context, code string) ([]credential.Grant, error) {
	var out []credential.Grant
	err := s.each(ctx, func(r *sql.Rows) error {
		var g credential.Grant
		err := r.Scan(&g.Kind, &g.Value)
		out = append(out, g)
		return err
	}, `SELECT g.kind_code, g.granted FROM reg_prov_grant g JOIN reg_provenance p ON p.id=g.provenance_id WHERE p.provenance_code=?
		ORDER BY g.kind_code, g.granted`, code)
	if err != nil {
		return nil, fmt.Errorf("read what %s allows others: %w", code, err)
	}
	return out, nil
}

// RateOwner is the source that first counted its requests under a name that is
// no source's own; empty if there is none.
func (s *Store) RateOwner(ctx context.Context, key string) (string, error) {
	owner := ""
	err := s.each(ctx, func(r *sql.Rows) error { return r.Scan(&owner) },
		`SELECT p.provenance_code FROM reg_prov_rate_limit_cfg r JOIN reg_provenance p ON p.id=r.provenance_id WHERE r.bucket_key=?
			ORDER BY r.id LIMIT 1`, key)
	if err != nil {
		return "", fmt.Errorf("read whose the rate limit %s is: %w", key, err)
	}
	return owner, nil
}

// BindCredential says where a credential may be sent of which nobody has said it, and writes
// an audit line. It reports whether it did: if another was first, theirs stands.
func (s *Store) BindCredential(ctx context.Context, id int64, origins []string, a source.Audit) (bound bool, err error) {
	list, err := originsJSON(origins)
	if err != nil {
		return false, err
	}
	err = s.write(ctx, "bind credential", func(x *tx) error {
		if err := x.knowCredential(id); err != nil {
			return err
		}
		n, err := x.exec(`UPDATE ing_credential_state SET origins_json=?, updated_at=? WHERE credential_id=? AND origins_json IS NULL`, list, ts(x.now), id)
		bound = n > 0
		if err != nil || !bound {
			return err
		}
		return x.audit(a, map[string]any{"bind": id, "origins": origins})
	})
	return bound, err
}

// knowCredential makes the row of what a credential has been through, if there is none.
func (x *tx) knowCredential(id int64) error {
	_, err := x.exec(x.s.d.insertIgnore+` INTO ing_credential_state (credential_id, updated_at) VALUES (?,?)`, id, ts(x.now))
	return err
}

// NoteRefusal keeps the health of a credential: how often it was refused in a
// row, and how long it rests from now. If another has noted something since it
// was read, theirs stands.
func (s *Store) NoteRefusal(ctx context.Context, id int64, was, refused int, rest time.Duration) error {
	return s.write(ctx, "note refusal", func(x *tx) error {
		var until ts
		if refused > 0 {
			until = ts(x.now.Add(rest))
		}
		if was == 0 {
			if err := x.knowCredential(id); err != nil {
				return err
			}
		}
		n, err := x.exec(`UPDATE ing_credential_state SET refused_count=?, refused_until=?, updated_at=?
			WHERE credential_id=? AND refused_count=?`, refused, until, ts(x.now), id, was)
		if err != nil || n == 0 {
			return err
		}
		action := "CREDENTIAL_REFUSED"
		if refused == 0 {
			action = "CREDENTIAL_ACCEPTED"
		}
		after := map[string]any{"refused": refused, "until": until.text()}
		return x.audit(source.Audit{Actor: "patra", Action: action, Object: fmt.Sprintf("credential/%d", id)}, after)
	})
}
