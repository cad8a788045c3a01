package registry

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/papertrace/patra/internal/domain/source"
)

// Schedules lists the operations that have a schedule in force now. Sources
// whose description cannot be read are left out and named in the error; the
// others are listed all the same.
func (l *Registry) Schedules(ctx context.Context) ([]source.Scheduled, error) {
	loaded, err := l.store.LoadSchedules(ctx)
	errs := []error{err}
	if err != nil && loaded == nil {
		return nil, err
	}
	byCode := make(map[string]source.Contents, len(loaded))
	for _, c := range loaded {
		byCode[c.Provenance.Code] = c
	}
	for code, p := range l.packs {
		c, is := byCode[code]
		if is && !p.isNewerThan(c) || !is && !p.Definition.Scheduled() {
			continue
		}
		c, err := l.Contents(ctx, code) // its file is to be applied first
		if err != nil {
			errs = append(errs, fmt.Errorf("schedule of %s: %w", code, err))
			delete(byCode, code)
			continue
		}
		byCode[code] = c
	}
	var out []source.Scheduled
	for _, code := range slices.Sorted(maps.Keys(byCode)) {
		c := byCode[code]
		found, err := c.Schedules(c.ReadAt)
		if err != nil {
			errs = append(errs, fmt.Errorf("schedule of %s: %w", code, err))
		}
		out = append(out, found...)
	}
	return out, errors.Join(errs...)
}
