package control

import (
	"context"
	"fmt"

	"github.com/papertrace/patra/internal/app/keyring"
	"github.com/papertrace/patra/internal/app/sourcecheck"
	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/source"
)

// CheckKeys hands out the keys of one check and notes which. One that was refused is
// not replaced by the next, nor is its health noted: a check looks and does not
// touch.
type CheckKeys struct {
	Keys    *keyring.Ring
	Subject *sourcecheck.Subject
}

// Pick hands out a key, once.
func (o *CheckKeys) Pick(ctx context.Context, spec *source.Spec, p source.Purpose, to []string, tried []int64) (source.Key, bool, error) {
	if len(tried) > 0 {
		f := harvest.Fault{Level: harvest.Fatal, Reaction: harvest.GiveUp, Code: harvest.CodeAuthRefused}
		return source.Key{}, false, fmt.Errorf("credential %s: %w", o.Subject.Refused, f)
	}
	k, ok, err := o.Keys.Pick(ctx, spec, p, to, nil)
	if ok {
		o.Subject.Used = k.Credential.Name
	}
	return k, ok, err
}

// Report notes that a key was refused.
func (o *CheckKeys) Report(_ context.Context, k source.Key, out source.KeyOutcome) {
	if out == source.KeyRefused {
		o.Subject.Refused = k.Credential.Name
	}
}
