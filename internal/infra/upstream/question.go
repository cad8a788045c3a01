package upstream

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/papertrace/patra/internal/domain/credential"
	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/source"
	"github.com/papertrace/patra/internal/domain/trace"
)

// question is one call to a source, made ready, with what became of the tries at
// it so far.
type question struct {
	client *Client
	spec   *source.Spec
	call   source.Call
	answer source.Answer

	// How each try is made.
	compiled *compiledSpec
	message  *message
	decoder  Decoder
	secrets  *secrets

	// usedKeys were refused, or have to wait. soonestKey is the trouble of the
	// one among them that has to wait the least.
	usedKeys   []int64
	soonestKey *trouble

	// lastSent is the trouble of the last try of which a request went out.
	lastSent *trouble
	// faultOnce: a fault was met that is transient the first time only.
	faultOnce bool
	// repeated: a try was announced to be made again.
	repeated bool

	// untold tries were not answered, the first of them was sent at failedAt, and
	// nobody was told to remember them yet.
	untold   int
	failedAt time.Time
}

// Ask puts one question to a source, repeating it as the source's retry rules
// and the fault allow. The error always wraps a [harvest.Fault]; the answer then
// still tells request and traffic.
//
// In the middle of a stateful walk nothing is repeated: the page may have been
// used up, so every fault there asks for a new walk, or a new cut (R22, R63).
// The exceptions are a permit not given, since then nothing was sent, and a key
// refused, since then nothing was served.
func (c *Client) Ask(ctx context.Context, spec *source.Spec, call source.Call) (source.Answer, error) {
	q := &question{client: c, spec: spec, call: call, secrets: &secrets{shared: c.cfg.Redactor, knowing: c.cfg.Knowing}}
	err := q.prepare()
	if err == nil {
		err = q.ask(trace.WithCorrelation(ctx, call.Correlation))
	}
	if err != nil {
		return q.answer, fmt.Errorf("ask %s for %s: %w", spec.Source, call.Purpose, err)
	}
	return q.answer, nil
}

// Render makes the request of a call as Ask would send it, and sends nothing.
func (c *Client) Render(spec *source.Spec, call source.Call) (source.Rendered, error) {
	q := &question{client: c, spec: spec, call: call, secrets: &secrets{shared: c.cfg.Redactor, knowing: c.cfg.Knowing}}
	if err := q.prepare(); err != nil {
		return source.Rendered{}, fmt.Errorf("render the request to %s for %s: %w", spec.Source, call.Purpose, err)
	}
	return source.Rendered{Line: q.answer.Request, Body: q.message.shownBody(), SHA256: q.answer.RequestSHA256}, nil
}

// prepare renders the request and finds the decoder of its reply.
func (q *question) prepare() error {
	c := q.client
	var err error
	q.compiled, err = c.compiled.get(q.spec)
	if err != nil {
		return q.broken(harvest.CodeBadSpec, err)
	}
	q.message, err = c.render(q.compiled, q.call)
	if errors.Is(err, errHostile) {
		return q.broken(harvest.CodeHostile, err)
	}
	if err != nil {
		return q.broken(harvest.CodeBadRequest, err)
	}
	dec, err := c.decoders.For(q.spec, q.call.Purpose)
	if err != nil {
		return q.broken(harvest.CodeBadSpec, err)
	}
	maxBody := int64(cmp.Or(q.spec.HTTP.MaxBody, defaultMaxBody))
	q.decoder, err = c.hooks.before(dec, q.spec.Endpoint(q.call.Purpose), maxBody)
	if err != nil {
		return faultWith(hookFailed(), err)
	}
	q.answer.Request = q.message.String()
	q.answer.RequestSHA256 = q.message.digest()
	q.answer.IDs = q.call.IDs
	return nil
}

// broken is the error of a question that cannot be put at all.
func (q *question) broken(code harvest.Code, err error) error {
	f := harvest.Fault{Level: harvest.Rejected, Reaction: harvest.GiveUp, Code: code}
	return faultWith(f, scrub(err, q.client.cfg.Redactor))
}

// faultWith is the error of a fault and its cause, if there is one. A cause that
// tells the same fault already is not told it twice.
func faultWith(f harvest.Fault, cause error) error {
	if cause == nil {
		return f
	}
	if own, ok := harvest.FaultOf(cause); ok && own == f {
		return cause
	}
	return fmt.Errorf("%w: %w", f, cause)
}

// ask makes tries until one is answered or none may follow. A try that fails for
// its key alone is made at once with the next one, and is not counted: the keys
// of a source are few, and each is tried once.
func (q *question) ask(ctx context.Context) error {
	defer q.announceEnd()
	for n := 1; ; {
		key, err := q.pickKey(ctx)
		if err != nil {
			return err
		}
		t := q.try(ctx, key)
		if t == nil {
			q.tellAnswered()
			return nil
		}
		if q.leavesKey(ctx, key, t) {
			continue
		}
		if err := q.waitToRepeat(ctx, n, t); err != nil {
			return err
		}
		n++
	}
}

// pickKey finds the key of the next try; nil: it goes without. If every key has
// been used, what is told is the shortest wait among them, where one has to wait.
func (q *question) pickKey(ctx context.Context) (*credential.Key, error) {
	key, err := q.client.pick(ctx, q.spec, q.call, q.message, q.usedKeys, q.secrets)
	if q.soonestKey != nil && (err != nil || key == nil) {
		return nil, faultWith(q.soonestKey.Fault, q.soonestKey.cause)
	}
	if err != nil {
		f, _ := harvest.FaultOf(err)
		return nil, faultWith(f, err)
	}
	return key, nil
}

// try makes one try with the key. The memory that its reply takes is given back,
// unless the caller wants to hold on to the reply: then it says when it is done.
func (q *question) try(ctx context.Context, key *credential.Key) *trouble {
	c := q.client
	room := &room{of: &c.bodies}
	t := c.tryWithKey(ctx, &attempt{
		compiledSpec: q.compiled, message: q.message, call: q.call, decoder: q.decoder,
		answer: &q.answer, key: key, secrets: q.secrets, room: room,
	})
	c.reportKey(ctx, key, q.answer, t)
	if t == nil && q.call.Held {
		q.answer.Done = room.free
		return nil
	}
	room.free()
	return t
}

// leavesKey reports whether the trouble is that of the key, so that the next one
// is to be tried at once; if there is none, nor a way without, picking says so.
// A refused key has used nothing up, also in the middle of a walk. One that has
// to wait is left where each key has limits of its own: another may be free.
func (q *question) leavesKey(ctx context.Context, key *credential.Key, t *trouble) bool {
	switch {
	case key == nil:
		return false
	case t.Code == harvest.CodeAuthRefused:
		q.client.cfg.Logger.DebugContext(ctx, "key refused", "source", q.spec.Source, "correlation", q.call.Correlation, "credential", key.Credential.Name, "status", t.Status)
		q.countRepeat()
	case t.unsent && t.RetryAfter > 0 && keyLimits(q.spec):
		if q.soonestKey == nil || t.RetryAfter < q.soonestKey.RetryAfter {
			q.soonestKey = t
		}
	default:
		return false
	}
	q.usedKeys = append(q.usedKeys, key.Credential.ID)
	return true
}

// waitToRepeat waits until the question may be asked again after its nth try
// failed. An error says that it may not be, and why.
func (q *question) waitToRepeat(ctx context.Context, n int, t *trouble) error {
	if err := q.hiddenByRate(t); err != nil {
		return err
	}
	if !t.unsent {
		q.lastSent = t
	}
	c := q.client
	f := q.faultOf(t)
	backoff := q.spec.Retry.Backoff()
	wait := backoff.Wait(n, f.RetryAfter, c.cfg.Rand)
	c.cfg.Logger.DebugContext(ctx, "request failed",
		"source", q.spec.Source, "correlation", q.call.Correlation, "attempt", n, "fault", f.Code, "status", f.Status, "wait", wait)

	attempts := cmp.Or(q.spec.Retry.Attempts, 5)
	if f.Reaction != harvest.Retry || t.unsent || n >= attempts || ctx.Err() != nil {
		q.tellUnanswered(ctx, t, f.RetryAfter, true)
		return faultWith(f, t.cause)
	}
	if wait > c.cfg.MaxWait {
		f.RetryAfter = wait // for the caller to sit out
		q.tellUnanswered(ctx, t, wait, true)
		return faultWith(f, t.cause)
	}
	q.tellUnanswered(ctx, t, wait, false)
	q.repeated = true
	c.observe(Try{Source: q.spec.Source, No: n, Of: attempts, Code: f.Code, Until: time.Now().Add(wait)})
	if !sleep(ctx, wait) {
		return faultWith(cancelled(), context.Cause(ctx))
	}
	q.countRepeat()
	return nil
}

// blip is how long a question may go unanswered before that is worth remembering.
const blip = 5 * time.Second

// tellUnanswered has it remembered that the source does not answer, unless this try
// may soon be mended by the next. What never left, or was broken off here, says
// nothing of the source.
func (q *question) tellUnanswered(ctx context.Context, t *trouble, wait time.Duration, last bool) {
	c := q.client
	if c.cfg.Outages == nil || t.unsent || t.Waits() || ctx.Err() != nil {
		return
	}
	now := time.Now()
	if q.failedAt.IsZero() {
		q.failedAt = now.Add(-q.answer.Traffic.Network) // it took that long to find out
	}
	q.untold++
	if !last && q.untold == 1 && wait < blip && q.answer.Traffic.Network < blip {
		return
	}
	u := harvest.Unanswered{Code: t.Code, Text: faultWith(t.Fault, t.cause).Error(), Requests: q.untold, For: now.Sub(q.failedAt), RetryIn: wait}
	q.untold = 0
	p := q.partition()
	c.failing.Store(p, true)
	c.notes.write(p, func(ctx context.Context) error { return c.cfg.Outages.NoteUnanswered(ctx, p, u) })
}

// tellAnswered has it forgotten that the source did not answer, if this process has
// told so.
func (q *question) tellAnswered() {
	c := q.client
	p := q.partition()
	_, failed := c.failing.LoadAndDelete(p)
	if failed {
		c.notes.write(p, func(ctx context.Context) error { return c.cfg.Outages.NoteAnswer(ctx, p) })
	}
}

func (q *question) partition() harvest.Partition {
	return harvest.Partition{Provenance: q.spec.Source, Endpoint: q.spec.Search.Name, Operation: harvest.Operation(q.spec.Operation)}
}

// hiddenByRate is what the upstream said to the try before, where the gate has no
// permit for a repetition soon: what is wrong is that and not the wait.
func (q *question) hiddenByRate(t *trouble) error {
	before := q.lastSent
	if t.Code != harvest.CodeRate || before == nil || before.Throttled() {
		return nil
	}
	before.RetryAfter = max(before.RetryAfter, t.RetryAfter)
	return faultWith(before.Fault, before.cause)
}

// faultOf is what a trouble means for the question: one that may happen once is
// fatal when it comes again, and in the middle of a walk whose place the server
// holds a page that may have been used up wants a new walk.
func (q *question) faultOf(t *trouble) harvest.Fault {
	f := t.Fault
	if t.Once && q.faultOnce {
		f = t.Escalated()
	}
	q.faultOnce = q.faultOnce || t.Once
	usedUp := !t.unsent && !t.beside
	if midWalk(q.spec, q.call) && usedUp && f.Reaction != harvest.CutSlice {
		f.Reaction = harvest.RestartWalk
	}
	return f
}

// countRepeat counts that the question is asked once more.
func (q *question) countRepeat() {
	q.answer.Traffic.Retried++
	if q.client.cfg.Repeats != nil {
		q.client.cfg.Repeats(asked(q.spec, q.call))
	}
}

// announceEnd tells who looks on that no more tries are made, if any was announced.
func (q *question) announceEnd() {
	if q.repeated {
		q.client.observe(Try{Source: q.spec.Source})
	}
}

// keyLimits reports whether each key of a source has limits of its own.
func keyLimits(spec *source.Spec) bool { return spec.Allowed(true).Scope == source.RatePerKey }

// midWalk reports whether the call goes on with a walk whose position the
// server holds.
func midWalk(spec *source.Spec, call source.Call) bool {
	return call.Purpose == source.ForSearch && spec.Paging.ServerHolds(call.Position)
}

func cancelled() harvest.Fault {
	return harvest.Fault{Level: harvest.Transient, Reaction: harvest.Retry, Code: harvest.CodeCancelled}
}

func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
