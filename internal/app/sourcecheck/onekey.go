package sourcecheck

import (
	"context"
	"fmt"

	"github.com/papertrace/patra/internal/domain/credential"
	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/source"
)

// Keys hand out the key for a request, and are told how it fared.
type Keys interface {
	Pick(ctx context.Context, spec *source.Spec, p source.Purpose, to []string, tried []int64) (credential.Key, bool, error)
	Report(ctx context.Context, k credential.Key, out credential.Outcome)
}

// OneKey hands out keys for a check and notes which. One that was refused is not
// replaced by the next, nor is its health noted: a check looks and does not touch.
type OneKey struct {
	Keys    Keys
	Subject *Subject
}

// Pick implements [Keys].
func (o *OneKey) Pick(ctx context.Context, spec *source.Spec, p source.Purpose, to []string, tried []int64) (credential.Key, bool, error) {
	if len(tried) > 0 {
		f := harvest.Fault{Level: harvest.Fatal, Reaction: harvest.GiveUp, Code: harvest.CodeAuthRefused}
		return credential.Key{}, false, fmt.Errorf("credential %s: %w", o.Subject.Refused, f)
	}
	k, ok, err := o.Keys.Pick(ctx, spec, p, to, nil)
	if ok {
		o.Subject.Used = k.Credential.Name
	}
	return k, ok, err
}

// Report implements [Keys].
func (o *OneKey) Report(_ context.Context, k credential.Key, out credential.Outcome) {
	if out == credential.Refused {
		o.Subject.Refused = k.Credential.Name
	}
}
