package upstream

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/papertrace/patra/internal/domain/harvest"
)

// Outages remembers, for people to look at, which partitions are not answered.
type Outages interface {
	// NoteUnanswered keeps what became of requests that were not answered.
	NoteUnanswered(ctx context.Context, p harvest.Partition, u harvest.Unanswered) error
	// NoteAnswer forgets the outage of a partition that has answered.
	NoteAnswer(ctx context.Context, p harvest.Partition) error
}

const (
	// longestNote is how long a note may take to be written.
	longestNote = 30 * time.Second
	// notePause is how long a question waits for its note, so that what the worker itself
	// tells of the partition next is not overwritten by what came before.
	notePause = 200 * time.Millisecond
)

// outageNotes writes notes about outages beside the work, which does not wait for a
// store that stands still. Of the notes that are kept waiting, only the newest of a
// partition is written.
type outageNotes struct {
	log *slog.Logger

	mu      sync.Mutex
	due     map[harvest.Partition]writeNote // guarded by mu
	writing bool                            // guarded by mu
	writers sync.WaitGroup
}

// writeNote writes one note.
type writeNote func(context.Context) error

// write has a note written soon, in place of one of the partition that still waits.
func (n *outageNotes) write(p harvest.Partition, note writeNote) {
	written := make(chan struct{})
	n.add(p, func(ctx context.Context) error {
		defer close(written)
		return note(ctx)
	})
	pause := time.NewTimer(notePause)
	defer pause.Stop()
	select {
	case <-written:
	case <-pause.C:
	}
}

// add puts a note among those that are due, and begins to write them if nobody does.
func (n *outageNotes) add(p harvest.Partition, note writeNote) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.due == nil {
		n.due = map[harvest.Partition]writeNote{}
	}
	n.due[p] = note
	if !n.writing {
		n.writing = true
		n.writers.Go(n.writeAll)
	}
}

func (n *outageNotes) writeAll() {
	for {
		p, note := n.next()
		if note == nil {
			return
		}
		ctx, cancel := context.WithTimeout(context.Background(), longestNote)
		if err := note(ctx); err != nil {
			n.log.DebugContext(ctx, "what a source answers was not noted", "partition", p.String(), "err", err)
		}
		cancel()
	}
}

// next takes a note that is due; nil if there is none, and then nobody writes.
func (n *outageNotes) next() (harvest.Partition, writeNote) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for p, note := range n.due {
		delete(n.due, p)
		return p, note
	}
	n.writing = false
	return harvest.Partition{}, nil
}

// wait returns when no note is being written.
func (n *outageNotes) wait() { n.writers.Wait() }
