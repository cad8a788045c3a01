package registry

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/papertrace/patra/internal/domain/source"
)

// Schedules lists the operations that have a schedule in force now. Sources
// whose description cannot be read are left out and named in the error; the
// others are listed all the same.
func (l *Registry) Schedules(ctx context.Context) ([]source.Scheduled, error) {
	codes, err := l.store.ScheduledSources(ctx)
	if err != nil {
		return nil, err
	}
	for code, p := range l.packs { // those not applied yet
		if p.Definition.Scheduled() && !slices.Contains(codes, code) {
			codes = append(codes, code)
		}
	}
	slices.Sort(codes)
	var out []source.Scheduled
	var errs []error
	for _, code := range codes {
		c, err := l.Contents(ctx, code)
		if err != nil {
			errs = append(errs, fmt.Errorf("schedule of %s: %w", code, err))
			continue
		}
		found, err := c.Schedules(c.ReadAt)
		if err != nil {
			errs = append(errs, fmt.Errorf("schedule of %s: %w", code, err))
		}
		out = append(out, found...)
	}
	return out, errors.Join(errs...)
}
