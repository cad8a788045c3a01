package node

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/infra/sqlstore"
)

// outages keeps what requests that were not answered say of a source. It is for
// people to look at, so the work does not wait for a store that stands still: notes are
// written beside it, and of those that are kept waiting only the newest of a partition.
type outages struct {
	store *sqlstore.Store
	log   *slog.Logger

	mu      sync.Mutex
	due     map[harvest.Partition]func(context.Context) error
	writing bool
	done    sync.WaitGroup
}

const (
	// longestNote is how long a note may take to be written.
	longestNote = 30 * time.Second
	// notePause is how long the work waits for it, so that what the work itself tells
	// of the partition next is not overwritten by what came before.
	notePause = 200 * time.Millisecond
)

func newOutages(store *sqlstore.Store, log *slog.Logger) *outages {
	return &outages{store: store, log: log, due: map[harvest.Partition]func(context.Context) error{}}
}

func (o *outages) unanswered(_ context.Context, p harvest.Partition, u harvest.Unanswered) {
	o.write(p, func(ctx context.Context) error { return o.store.NoteUnanswered(ctx, p, u) })
}

func (o *outages) answered(_ context.Context, p harvest.Partition) {
	o.write(p, func(ctx context.Context) error { return o.store.NoteAnswer(ctx, p) })
}

// write has a note written soon, in place of one of the partition that still waits.
func (o *outages) write(p harvest.Partition, note func(context.Context) error) {
	written := make(chan struct{})
	o.mu.Lock()
	o.due[p] = func(ctx context.Context) error {
		defer close(written)
		return note(ctx)
	}
	if !o.writing {
		o.writing = true
		o.done.Go(o.writeAll)
	}
	o.mu.Unlock()
	pause := time.NewTimer(notePause)
	defer pause.Stop()
	select {
	case <-written:
	case <-pause.C:
	}
}

func (o *outages) writeAll() {
	for {
		p, note := o.next()
		if note == nil {
			return
		}
		ctx, cancel := context.WithTimeout(context.Background(), longestNote)
		if err := note(ctx); err != nil {
			o.log.DebugContext(ctx, "what a source answers was not noted", "partition", p.String(), "err", err)
		}
		cancel()
	}
}

// next takes a note that is due; nil if there is none, and then nobody writes.
func (o *outages) next() (harvest.Partition, func(context.Context) error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for p, note := range o.due {
		delete(o.due, p)
		return p, note
	}
	o.writing = false
	return harvest.Partition{}, nil
}

// wait returns when no note is being written.
func (o *outages) wait() { o.done.Wait() }
