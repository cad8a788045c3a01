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
	due, err := l.unapplied(byCode)
	errs = append(errs, err)
	for _, code := range due {
		if l.leavesPacks {
			errs = append(errs, l.leave(code, byCode))
			continue
		}
		c, err := l.Contents(ctx, code) // applies its file
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

// unapplied lists the sources whose file is to be applied before their schedule is
// known: those that have one in the file and none in the store, and those whose file
// has changed.
func (l *Registry) unapplied(loaded map[string]source.Contents) (out []string, err error) {
	scheduled, err := l.packs.Scheduled()
	if err != nil {
		return nil, err
	}
	for _, code := range scheduled {
		if _, is := loaded[code]; !is {
			out = append(out, code)
		}
	}
	for code, c := range loaded {
		p, known, err := l.packs.Pack(code)
		if err != nil {
			return nil, err
		}
		if known && p.isNewerThan(c) {
			out = append(out, code)
		}
	}
	return out, nil
}

// leave tells once of a pack that is not applied. A schedule of a source that was read goes on
// as it is in force; of another there is none.
func (l *Registry) leave(code string, loaded map[string]source.Contents) error {
	pack, _, err := l.packs.Pack(code)
	if err != nil {
		return err
	}
	what := "the pack of a source suggests a schedule and was never applied: nothing begins by itself"
	if _, is := loaded[code]; is {
		what = "the pack of a source has changed and is not applied: the schedule in force holds"
	}
	l.tellOnce(what, code, pack)
	return nil
}
