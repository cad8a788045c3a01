// Package reparse reads items in quarantine again, as the source's description is now.
//
// It promises that such an item becomes a record as any other does: an UPDATE is
// planned for the ids that can be read now, and its tasks are worked on and committed
// as those of every plan are, by whoever takes them. Only the questions differ: they
// are answered here with the bytes that were kept, and no source is asked.
package reparse

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/source"
)

// Upstream asks a source, and makes requests without sending them.
type Upstream interface {
	Ask(ctx context.Context, s *source.Spec, c source.Call) (source.Answer, error)
	Render(s *source.Spec, c source.Call) (source.Rendered, error)
}

// Items takes items apart that were kept as they came.
type Items interface {
	Item(spec *source.Spec, p source.Purpose, raw []byte) (harvest.Item, error)
}

// Store keeps items in quarantine.
type Store interface {
	// KeptItems hands items to f one by one, in the order in which they were put aside.
	KeptItems(ctx context.Context, p harvest.KeptPick, f func(harvest.KeptItem) error) error
}

// Reader is an upstream that answers what is asked of quarantine itself.
type Reader struct {
	Upstream
	store Store
	items Items
}

// New returns a Reader that passes all other questions on.
func New(up Upstream, store Store, items Items) *Reader {
	return &Reader{Upstream: up, store: store, items: items}
}

// Ask answers a plan's question for ids with their items in quarantine, and passes
// every other question on. An item that still cannot be read stays where it is, and so
// does one that turns out to be another record than the one asked for.
func (r *Reader) Ask(ctx context.Context, spec *source.Spec, call source.Call) (source.Answer, error) {
	if call.BaseURL != source.Kept {
		return r.Upstream.Ask(ctx, spec, call)
	}
	made := rendered(spec, call)
	ans := source.Answer{Page: new(harvest.Page), Asked: true, Request: made.Line, IDs: call.IDs, RequestSHA256: made.SHA256}
	if len(call.IDs) == 0 {
		return ans, nil // no ids would mean all that there is
	}
	pick := harvest.KeptPick{Provenance: spec.Source, RecordType: spec.RecordType, IDs: call.IDs}
	err := r.store.KeptItems(ctx, pick, func(k harvest.KeptItem) error {
		it, why := Read(r.items, spec, k)
		if why == nil && slices.Contains(call.IDs, it.ID) {
			ans.Page.Items = append(ans.Page.Items, it)
		}
		return nil
	})
	return ans, err
}

// Render makes the line that stands for a question to quarantine, and passes every other
// question on.
func (r *Reader) Render(spec *source.Spec, call source.Call) (source.Rendered, error) {
	if call.BaseURL != source.Kept {
		return r.Upstream.Render(spec, call)
	}
	return rendered(spec, call), nil
}

func rendered(spec *source.Spec, call source.Call) source.Rendered {
	request := fmt.Sprintf("%s %s %s", source.Kept, spec.Source, strings.Join(call.IDs, " "))
	digest := sha256.Sum256([]byte(request))
	return source.Rendered{Line: request, SHA256: hex.EncodeToString(digest[:])}
}

// Read reads an item in quarantine by a description of [source.Spec.FromKept], or says
// why it still cannot be stored.
func Read(items Items, spec *source.Spec, k harvest.KeptItem) (harvest.Item, *harvest.Problem) {
	it, err := items.Item(spec, source.ForDetail, k.Raw)
	if err != nil {
		return it, &harvest.Problem{Code: harvest.CodeUnreadable, Detail: err.Error()}
	}
	it.ObservedAt = k.ObservedAt
	return it, it.Problem
}
