package keyring

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/source"
)

// Contracts knows the contract of a source in force now. For a source that is not
// described the error is a [harvest.ErrNotFound].
type Contracts interface {
	Select(ctx context.Context, code string, op harvest.Operation, query string) (source.Contract, error)
	Through(ctx context.Context, code string, op harvest.Operation, endpoint, query string) (source.Contract, error)
}

// OriginsOf tells where a source is asked by any of its operations.
func OriginsOf(contracts Contracts) Origins {
	return func(ctx context.Context, code string) ([]string, error) {
		var out []string
		var errs []error
		for _, op := range []harvest.Operation{harvest.Harvest, harvest.Backfill, harvest.Update} {
			con, err := contracts.Select(ctx, code, op, "")
			if err != nil {
				errs = append(errs, err)
				continue
			}
			out = append(out, con.Spec.Origins()...)
		}
		if errors.Is(errors.Join(errs...), harvest.ErrNotFound) {
			return nil, fmt.Errorf("%w: %w", errs[0], harvest.ErrNotFound)
		}
		if len(out) == 0 {
			return nil, errs[0]
		}
		slices.Sort(out)
		return slices.Compact(out), nil
	}
}

// Keyed are contracts that can be kept with the credentials there are. It refuses
// that of a source which needs a credential and has none, or which takes another's
// credentials or rate limit without being allowed to, before anything is planned.
type Keyed struct {
	contracts Contracts
	keys      *Ring
}

// Keyed holds contracts against the ring.
func (r *Ring) Keyed(contracts Contracts) *Keyed { return &Keyed{contracts: contracts, keys: r} }

// Select returns a contract that can be kept. With a key a source may give larger
// pages; that is frozen with the plan, as all of the contract (P18, R26).
func (k *Keyed) Select(ctx context.Context, code string, op harvest.Operation, query string) (source.Contract, error) {
	return k.Through(ctx, code, op, "", query)
}

// Through is Select for an operation that goes through an endpoint which was named.
func (k *Keyed) Through(ctx context.Context, code string, op harvest.Operation, endpoint, query string) (source.Contract, error) {
	con, err := k.contracts.Through(ctx, code, op, endpoint, query)
	if err != nil {
		return con, err
	}
	with, err := k.keys.Check(ctx, con.Spec)
	if err != nil {
		return con, fmt.Errorf("source %s: %w", code, err)
	}
	if with && con.Spec.Auth.PageSize > 0 {
		s := *con.Spec
		s.Paging.Size = s.Auth.PageSize
		con.Spec = &s
	}
	return con, nil
}
