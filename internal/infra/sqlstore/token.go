package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/source"
)

const tokenCols = `token_name, role_code, expires_at, revoked_at, created_by, created_at`

func scanToken(r scanner) (t control.TokenRow, err error) {
	var expires, revoked, created ts
	err = r.Scan(&t.Name, &t.Role, &expires, &revoked, &t.CreatedBy, &created)
	t.ExpiresAt = expires.time()
	t.RevokedAt = revoked.time()
	t.CreatedAt = created.time()
	return t, err
}

// SaveToken keeps a token by its hash. A name that stands for a token which is not
// revoked is [control.ErrTokenTaken].
func (s *Store) SaveToken(ctx context.Context, t control.TokenRow, hash string, a source.Audit) (control.TokenRow, error) {
	return s.saveToken(ctx, t, hash, a, false)
}

// TrySaveToken tells what [Store.SaveToken] would keep, and keeps nothing.
func (s *Store) TrySaveToken(ctx context.Context, t control.TokenRow) (control.TokenRow, error) {
	return s.saveToken(ctx, t, "", source.Audit{}, true)
}

func (s *Store) saveToken(ctx context.Context, t control.TokenRow, hash string, a source.Audit, trial bool) (control.TokenRow, error) {
	err := s.change(ctx, "save token", trial, func(x *tx) error {
		_, err := x.tokenInUse(t.Name)
		if err == nil {
			return fmt.Errorf("token %s: %w", t.Name, control.ErrTokenTaken)
		}
		if !errors.Is(err, harvest.ErrNotFound) {
			return err
		}
		_, err = x.insertInto("sys_api_token", []col{
			{"token_name", t.Name},
			{"token_hash", hash},
			{"role_code", t.Role},
			{"expires_at", ts(t.ExpiresAt)},
			{"created_by", t.CreatedBy},
			{"created_at", ts(t.CreatedAt)},
		})
		if err != nil {
			return x.orLostRace(err)
		}
		return x.audit(a, map[string]any{"role": t.Role, "expires_at": t.ExpiresAt})
	})
	return t, err
}

// tokenInUse reads the token of a name that is not revoked.
func (x *tx) tokenInUse(name string) (control.TokenRow, error) {
	t, err := scanToken(x.row(`SELECT `+tokenCols+` FROM sys_api_token WHERE token_name=? AND revoked_at IS NULL`+x.s.d.forUpdate, name))
	if errors.Is(err, sql.ErrNoRows) {
		err = harvest.ErrNotFound
	}
	if err != nil {
		return t, fmt.Errorf("token %s: %w", name, err)
	}
	return t, nil
}

// Tokens lists tokens, the newest first.
func (s *Store) Tokens(ctx context.Context) ([]control.TokenRow, error) {
	out := []control.TokenRow{}
	err := s.each(ctx, func(r *sql.Rows) error {
		t, err := scanToken(r)
		out = append(out, t)
		return err
	}, `SELECT `+tokenCols+` FROM sys_api_token ORDER BY id DESC`)
	if err != nil {
		return nil, fmt.Errorf("list tokens: %w", err)
	}
	return out, nil
}

// TokenOf finds a token by its hash.
func (s *Store) TokenOf(ctx context.Context, hash string) (control.TokenRow, error) {
	t, err := scanToken(s.r.QueryRowContext(ctx, `SELECT `+tokenCols+` FROM sys_api_token WHERE token_hash=?`, hash))
	if errors.Is(err, sql.ErrNoRows) {
		err = harvest.ErrNotFound
	}
	if err != nil {
		return t, fmt.Errorf("find token: %w", err)
	}
	return t, nil
}

// TokensInUse reports whether there are tokens that are not revoked.
func (s *Store) TokensInUse(ctx context.Context) (bool, error) {
	var n int
	err := s.r.QueryRowContext(ctx, `SELECT COUNT(*) FROM sys_api_token WHERE revoked_at IS NULL`).Scan(&n)
	if err != nil {
		return false, fmt.Errorf("count tokens: %w", err)
	}
	return n > 0, nil
}

// RevokeToken ends the token of a name.
func (s *Store) RevokeToken(ctx context.Context, name string, a source.Audit) (control.TokenRow, error) {
	return s.revokeToken(ctx, name, a, false)
}

// TryRevokeToken tells which token [Store.RevokeToken] would end, and ends none.
func (s *Store) TryRevokeToken(ctx context.Context, name string) (control.TokenRow, error) {
	return s.revokeToken(ctx, name, source.Audit{}, true)
}

func (s *Store) revokeToken(ctx context.Context, name string, a source.Audit, trial bool) (out control.TokenRow, err error) {
	err = s.change(ctx, "revoke token", trial, func(x *tx) error {
		out, err = x.tokenInUse(name)
		if err != nil {
			return err
		}
		if trial {
			return nil
		}
		out.RevokedAt = x.now
		_, err := x.exec(`UPDATE sys_api_token SET revoked_at=? WHERE token_name=? AND revoked_at IS NULL`, ts(x.now), name)
		if err != nil {
			return err
		}
		return x.audit(a, map[string]any{"role": out.Role})
	})
	return out, err
}
