package relay

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/papertrace/patra/internal/domain/harvest"
)

// settleWithin bounds the last write of a session that was told to stop.
const settleWithin = 5 * time.Second

// session is the work of one relay for one target under one lease.
type session struct {
	*Relay
	target Target
	lease  Lease
	// renewed is when the last write was begun that renewed the lease: it holds for the
	// whole of its time from then on, by the clock of this process.
	renewed time.Time
	// left: the lease was given back.
	left bool
}

// until is when the lease is not to be trusted any more. A tenth of it is kept for what
// is on its way.
func (w *session) until() time.Time { return w.renewed.Add(w.lease.TTL - w.lease.TTL/10) }

// leave gives the lease back.
func (w *session) leave(ctx context.Context) error {
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleWithin)
	defer cancel()
	err := w.store.Settle(last, w.lease, Outcome{To: -1, Leave: true})
	if errors.Is(err, harvest.ErrLeaseLost) {
		return nil
	}
	return err
}

// round sends a batch and keeps what became of it; more: there may be another.
//
// A crash anywhere in here leaves the place of the target where it was: what it has
// taken of this batch is sent again.
func (w *session) round(ctx context.Context) (more bool, err error) {
	if err := w.renewIfDue(ctx); err != nil {
		return false, err
	}
	most := w.target.Most()
	if w.lease.Failures > 0 {
		most = min(most, probed)
	}
	began := time.Now()
	b, err := w.store.NextRevisions(ctx, w.lease, most)
	if err != nil {
		if ctx.Err() != nil {
			return false, nil
		}
		return false, err
	}
	if b.Empty() {
		return false, nil
	}
	o := w.send(ctx, b)
	if !o.tells(b) {
		return true, nil // told to stop, or paused for too long, before anything was sent
	}
	last := ctx
	if ctx.Err() != nil { // what was taken is kept, whoever says stop
		var cancel context.CancelFunc
		last, cancel = context.WithTimeout(context.WithoutCancel(ctx), settleWithin)
		defer cancel()
	}
	asked := time.Now()
	if err := w.store.Settle(last, w.lease, o); err != nil {
		return false, err
	}
	w.renewed = asked
	w.tell(ctx, o, time.Since(began))
	w.left = o.Leave
	return !o.Leave, nil
}

// tells reports whether there is anything to keep of an outcome.
func (o Outcome) tells(b Batch) bool {
	return o.Sent > 0 || len(o.Refused) > 0 || len(o.Behind) > 0 || o.Out != "" || o.To != b.From || o.Ends
}

// renewIfDue keeps the lease, and finds out whether it was lost. Mostly there is nothing
// to do: what became of a batch is kept by a write that renews it too.
func (w *session) renewIfDue(ctx context.Context) error {
	if time.Since(w.renewed) < w.lease.TTL/3 || ctx.Err() != nil {
		return nil
	}
	asked := time.Now()
	if err := w.store.Settle(ctx, w.lease, Outcome{To: -1}); err != nil {
		return err
	}
	w.renewed = asked
	return nil
}

// send sends a batch in waves of one revision a record, so that whatever order a target
// takes a wave in, those of a record keep theirs. No wave follows one that was not dealt
// with whole.
func (w *session) send(ctx context.Context, b Batch) Outcome {
	d := newDelivery(b, w.lease.Failures)
	for {
		wave := d.nextWave()
		if len(wave) == 0 || ctx.Err() != nil {
			break
		}
		end := w.until()
		if !time.Now().Before(end) {
			break // somebody else may have the target by now
		}
		within, cancel := context.WithDeadline(ctx, end)
		errs := w.target.Publish(within, wave)
		cancel()
		if !d.note(errs, ctx.Err() != nil) {
			break
		}
	}
	o := d.outcome()
	o.Out = w.said(o.Out)
	for i := range o.Refused {
		o.Refused[i].Error = w.said(o.Refused[i].Error)
	}
	return o
}

// tell tells those who watch what became of a batch.
func (w *session) tell(ctx context.Context, o Outcome, took time.Duration) {
	name := w.target.Name()
	kind := w.target.Kind()
	if o.Sent > 0 {
		w.cfg.Observe(kind, Sent, o.Sent)
		w.log.DebugContext(ctx, "events were sent", "target", name, "events", o.Sent, "to", o.To, "took", took)
	}
	for _, f := range o.Refused {
		key := KeyOf(f.Source, f.Type, f.ID)
		if f.Parked {
			w.cfg.Observe(kind, Parked, 1)
			w.log.ErrorContext(ctx, "an event is parked", "target", name, "record", key, "revision", f.Number, "attempt", f.Attempts, "err", f.Error)
			continue
		}
		w.cfg.Observe(kind, Refused, 1)
		w.log.WarnContext(ctx, "an event was refused", "target", name, "record", key, "revision", f.Number, "attempt", f.Attempts, "retry_in", f.Rest, "err", f.Error)
	}
	switch {
	case o.Out != "":
		w.lease.Failures++
		w.cfg.Observe(kind, TargetOut, 1)
		w.log.WarnContext(ctx, "a target of events is out", "target", name, "attempt", w.lease.Failures, "retry_in", o.Rest, "err", o.Out)
	case w.lease.Failures > 0 && o.Sent > 0:
		w.log.InfoContext(ctx, "a target of events answers again", "target", name, "attempt", w.lease.Failures)
		w.lease.Failures = 0
	}
	if o.Ends {
		w.log.InfoContext(ctx, "a target of events has everything that is held", "target", name)
	}
}

// restAfter is how long to wait after so many failures in a row.
func restAfter(failures int) time.Duration {
	return min(firstRest<<min(max(failures-1, 0), 20), longestRest)
}

// said is what a target said, without what nobody is to see, and short enough to be kept. It
// is cut last: a part of a secret would not be known for one.
func (r *Relay) said(text string) string {
	const most = 500
	text = r.cfg.Redact(text)
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + " ..."
	}
	return text
}
