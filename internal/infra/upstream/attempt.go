package upstream

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/papertrace/patra/internal/domain/credential"
	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/pace"
	"github.com/papertrace/patra/internal/domain/source"
	"github.com/papertrace/patra/internal/domain/trace"
)

// attempt is one try at a call.
type attempt struct {
	*compiledSpec
	*message
	call    source.Call
	decoder Decoder
	answer  *source.Answer
	// key the request goes with; nil: it goes without.
	key *credential.Key
	// secret is what is sent for the key: its own, or a token got for it; also
	// is what else goes beside it.
	secret credential.Secret
	also   []credential.Secret
	// secrets of the question this is a try at.
	secrets *secrets
	// hops is how many redirects led here, from home; away: one of them to
	// another host.
	hops int
	// room is the memory that its body has taken; nil for a small one.
	room *room
	home *url.URL
	away bool
}

// rate is what the provider allows this request.
func (a *attempt) rate() source.Rate {
	endpoint, key := "", ""
	if e := a.spec.Endpoint(a.call.Purpose); e != nil {
		endpoint = e.Name
	}
	if a.key != nil {
		key = a.key.Credential.Name
	}
	return a.spec.Allowed(a.key != nil).For(endpoint, key).On(harvest.Operation(a.spec.Operation), a.call.Purpose)
}

// asked names the endpoint that a call goes to.
func asked(spec *source.Spec, call source.Call) harvest.Partition {
	p := harvest.Partition{Provenance: spec.Source, Operation: harvest.Operation(spec.Operation)}
	if e := spec.Endpoint(call.Purpose); e != nil {
		p.Endpoint = e.Name
	}
	return p
}

// Allowed is what the provider allows a call, as it would be made now.
func (c *Client) Allowed(ctx context.Context, spec *source.Spec, call source.Call) source.Rate {
	_, keyed := c.keyFor(ctx, spec, call)
	return spec.Allowed(keyed)
}

// keyFor is the name of the key that a call would be made with now, if it would be with
// one that has a rate of its own.
func (c *Client) keyFor(ctx context.Context, spec *source.Spec, call source.Call) (name string, keyed bool) {
	if spec.Auth == nil || spec.Auth.Rate == nil || c.cfg.Credentials == nil {
		return "", false
	}
	if _, lent := source.SplitBase(call.BaseURL); call.BaseURL != "" && !lent {
		return "", false
	}
	key, keyed, err := c.cfg.Credentials.Pick(ctx, spec, call.Purpose, destinations(spec, call), nil)
	if err != nil || !keyed {
		return "", false
	}
	return key.Credential.Name, true
}

// Estimate tells how many such calls may go out within a horizon, as they would be made now.
func (c *Client) Estimate(ctx context.Context, spec *source.Spec, call source.Call, horizon time.Duration) (pace.Advice, error) {
	name, keyed := c.keyFor(ctx, spec, call)
	endpoint := ""
	cost := 1
	if e := spec.Endpoint(call.Purpose); e != nil {
		endpoint = e.Name
		cost = e.Cost
	}
	rate := spec.Allowed(keyed).For(endpoint, name).On(harvest.Operation(spec.Operation), call.Purpose)
	return c.gate.Estimate(ctx, rate, cost, horizon)
}

// cost of the request in units of the limits, 0 for 1.
func (a *attempt) cost() int {
	if e := a.spec.Endpoint(a.call.Purpose); e != nil {
		return e.Cost
	}
	return 0
}

// trouble is why a try gave no page.
type trouble struct {
	harvest.Fault
	cause error // free of secrets
	// unsent: no request went out, so nothing was used up.
	unsent bool
	// beside: the trouble is that of another request than the one for the page, such as
	// one for a token, so that nothing of the walk was used up.
	beside bool
}

// err is the trouble as an error, nil if there is none.
func (t *trouble) err() error {
	if t == nil {
		return nil
	}
	return t.Fault
}

// received is a reply as far as it came.
type received struct {
	status int
	header http.Header
	body   []byte
}

// try passes the gate, sends the request once and fills in the answer. A
// redirect that may be followed is, by a request that passes the gate too.
func (c *Client) try(ctx context.Context, a *attempt) *trouble {
	sending, release, err := c.passGate(ctx, a, a.cost())
	if err != nil {
		t := gateRefusal(ctx, err)
		t.unsent, t.Lost = a.hops == 0, a.hops > 0
		return t
	}
	got, err := c.send(sending, a)
	release(got.status != 0 || !unconnected(err))
	a.keep(got, err)
	a.count(got)
	if err == nil {
		if next := a.follow(got); next != nil {
			c.report(ctx, a, got, a.delay(got))
			return c.try(ctx, next)
		}
	}
	a.answer.UpstreamAt = time.Time{}
	if at, err := http.ParseTime(got.header.Get("Date")); err == nil {
		a.answer.UpstreamAt = at.UTC()
	}

	var t *trouble
	if err != nil {
		a.answer.BodyBytes = oversize(got, err)
		t = a.explainLoss(ctx, got, err)
	} else {
		a.answer.BodyBytes = int64(len(got.body))
		t = a.takeInHand(ctx)
		if t == nil {
			_, span := c.cfg.Trace.Begin(ctx, trace.Decode)
			t = a.judge(ctx, got)
			span.Fail(t.err())
			span.End()
		}
	}
	if t != nil && a.away && t.Code == harvest.CodeAuthRefused {
		t.Level, t.Code = harvest.Rejected, harvest.CodeRedirectRefused // no key was sent there
	}
	if t != nil && t.Code == harvest.CodeAuthRefused {
		a.answer.Asked = false
	}
	if t == nil {
		c.read.Store(a.spec.Source, true)
	} else if t.Code == harvest.CodeUnreadable && !c.everRead(ctx, a.spec.Source) {
		t.Level = harvest.Fatal
	}
	c.report(ctx, a, got, t)
	return t
}

// takeInHand tells who asked that a whole reply is here.
func (a *attempt) takeInHand(ctx context.Context) *trouble {
	if a.call.InHand == nil {
		return nil
	}
	err := a.call.InHand(ctx)
	if err == nil {
		return nil
	}
	f := harvest.Fault{Level: harvest.Transient, Reaction: harvest.GiveUp, Code: harvest.CodeNotMarked, Lost: true}
	return &trouble{Fault: f, cause: err}
}

// unreadable is the fault of a reply of a kind that cannot be read however often it comes.
func unreadable(status int) harvest.Fault {
	return harvest.Fault{Level: harvest.Rejected, Reaction: harvest.GiveUp, Code: harvest.CodeUnreadable, Status: status}
}

// everRead reports whether anything of a source has been read before. Where that
// cannot be told it has: one reply is then given up, not the source.
func (c *Client) everRead(ctx context.Context, code string) bool {
	if _, read := c.read.Load(code); read {
		return true
	}
	if c.cfg.Known == nil {
		return false
	}
	known, err := c.cfg.Known(ctx, code)
	if err != nil {
		c.cfg.Logger.WarnContext(ctx, "it cannot be told whether the source was ever read", "source", code, "err", err)
	}
	return known || err != nil
}

// passGate waits at the gate. A permit that comes when the source is to be left
// alone is given back. That is asked before the wait, when it may take its time,
// and after it, when it must not: a permit is to be used at once.
func (c *Client) passGate(ctx context.Context, a *attempt, cost int) (sending context.Context, release func(sent bool), err error) {
	if rest, is := c.resting(ctx, a, false); is {
		return nil, nil, rest.Fault()
	}
	_, permit := c.cfg.Trace.Begin(ctx, trace.Permit)
	sending, release, pass, err := c.acquire(ctx, a, cost)
	permit.Fail(err)
	permit.End()
	a.answer.Traffic.WaitGate += pass.Waited
	a.notePass(pass, cost, err)
	if err != nil {
		return nil, nil, err
	}
	if rest, is := c.resting(ctx, a, true); is {
		release(false)
		return nil, nil, rest.Fault()
	}
	return sending, release, nil
}

// acquire waits for a permit: where the plan is bound further than its source, first for
// one of its own, since the source's permit is to be used at once.
func (c *Client) acquire(
	ctx context.Context, a *attempt, cost int,
) (sending context.Context, release func(sent bool), pass pace.Pass, err error) {
	if a.spec.Bound == nil {
		return c.acquireOfSource(ctx, a, cost)
	}
	own := a.spec.Bound.Rate(a.spec.Source, a.call.Plan)
	bounded, releaseOwn, ownPass, err := c.gate.Acquire(ctx, own, 1, c.patience(own, 1))
	if err != nil {
		return nil, nil, ownPass, err
	}
	sending, releaseSource, pass, err := c.acquireOfSource(bounded, a, cost)
	pass.Waited += ownPass.Waited
	if err != nil {
		releaseOwn(false)
		return nil, nil, pass, err
	}
	return sending, func(sent bool) {
		releaseSource(sent)
		releaseOwn(sent)
	}, pass, nil
}

// acquireOfSource waits for a permit of the source: in turn, or behind everybody else.
func (c *Client) acquireOfSource(
	ctx context.Context, a *attempt, cost int,
) (sending context.Context, release func(sent bool), pass pace.Pass, err error) {
	rate := a.rate()
	patience := c.patience(rate, cost)
	if !a.call.Yields {
		return c.gate.Acquire(ctx, rate, cost, patience)
	}
	// A permit for now is one that nobody has waited for: who waits has taken the next.
	const now = 100 * time.Millisecond
	begun := time.Now()
	for {
		sending, release, pass, err = c.gate.Acquire(ctx, rate, cost, rate.Jitter.D()+now)
		f, _ := harvest.FaultOf(err)
		again := max(f.RetryAfter, now)
		if f.Code != harvest.CodeRate || time.Since(begun)+again > patience || !sleep(ctx, again) {
			pass.Waited = time.Since(begun)
			return sending, release, pass, err
		}
	}
}

// resting tells whether the source of a try is to be left alone now, and until when.
func (c *Client) resting(ctx context.Context, a *attempt, atOnce bool) (harvest.Rest, bool) {
	if c.cfg.Resting == nil {
		return harvest.Rest{}, false
	}
	return c.cfg.Resting(ctx, a.spec.Source, harvest.Operation(a.spec.Operation), atOnce)
}

// ordinaryTurns is how many requests may stand before one at the gate without
// anything being wrong: those of a few walks and of whoever counts.
const ordinaryTurns = 4

// patience is the longest wait for a permit that is sat out. A source that may be
// asked once in ten seconds lets each of a few wait longer than others would:
// that is its pace, and no reason to give a task back and take it again.
func (c *Client) patience(r source.Rate, cost int) time.Duration {
	if r.QPS <= 0 {
		return c.cfg.MaxWait
	}
	turn := time.Duration(float64(max(cost, 1)) / r.QPS * float64(time.Second))
	return max(c.cfg.MaxWait, ordinaryTurns*turn)
}

// count adds a reply to the account.
func (a *attempt) count(got received) {
	switch {
	case got.status == http.StatusTooManyRequests:
		a.answer.Traffic.HTTP429++
	case got.status >= 500:
		a.answer.Traffic.HTTP5xx++
	}
}

// gateRefusal is what the gate's refusal means.
func gateRefusal(ctx context.Context, err error) *trouble {
	t := &trouble{unsent: true, cause: err}
	if ctx.Err() != nil {
		t.Fault, t.cause = cancelled(), context.Cause(ctx)
		return t
	}
	var ok bool
	t.Fault, ok = harvest.FaultOf(err)
	if !ok {
		t.Fault = harvest.Fault{Level: harvest.Transient, Reaction: harvest.Retry, Code: harvest.CodeGateLost}
	}
	return t
}

// Causes by which a request of ours is ended.
var (
	errSlow  = errors.New("took longer than allowed")
	errStall = errors.New("nothing came for too long")
)

// send puts the key into the request and does the exchange. With an error,
// what is known of the reply is returned too.
func (c *Client) send(ctx context.Context, a *attempt) (got received, err error) {
	req := a.request()
	body := a.body
	if a.key != nil {
		body, err = c.authorise(req, body, a)
		if err != nil {
			return got, err
		}
	} else if body, err = fillIn(body, "", "", req.Header.Get("Content-Type")); err != nil {
		return got, err
	}
	a.answer.Asked = true
	got, err = c.exchange(ctx, a, req, body, int64(cmp.Or(a.spec.HTTP.MaxBody, defaultMaxBody)))
	got, late := a.secrets.reply(ctx, got) // some write the key back; nobody beyond here sees it
	if late != nil {
		got.body = nil
	}
	return got, cmp.Or(err, late)
}

// exchange sends a request within the source's timeouts and reads at most limit
// bytes of a reply. With an error, what is known of the reply is returned too.
func (c *Client) exchange(ctx context.Context, a *attempt, req *http.Request, body string, limit int64) (got received, err error) {
	start := time.Now()
	asker := ctx
	ctx, span := c.beginCallSpan(ctx, a, req)
	defer func() {
		a.endCallSpan(asker, span, got, err)
		took := time.Since(start)
		a.answer.Traffic.Network += took
		if c.cfg.Exchanged != nil {
			c.cfg.Exchanged(Exchange{Of: asked(a.spec, a.call), RateKey: a.rate().Key, Status: got.status, Took: took})
		}
	}()

	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	total := boundedTimeout(a.spec.HTTP.TotalTimeout, 60*time.Second)
	slow := time.AfterFunc(total, func() { stop(errSlow) })
	defer slow.Stop()
	connect, read := boundedTimeout(a.spec.HTTP.ConnectTimeout, 10*time.Second), boundedTimeout(a.spec.HTTP.ReadTimeout, 30*time.Second)
	// Until the first byte the connection may be under way as well.
	stall := time.AfterFunc(connect+read, func() { stop(errStall) })
	defer stall.Stop()

	// Without a body there is none, not an empty one, of which the transport
	// would have to find out whether it is empty: a busy machine is too slow for
	// that, and the request goes out chunked. One with a body cannot be rewound.
	req.Body = http.NoBody
	if body != "" {
		req.Body = io.NopCloser(strings.NewReader(body))
		req.ContentLength = int64(len(body))
	}
	transport, err := c.routes.get(routeOf(a.open, a.spec.HTTP))
	if err != nil {
		return got, err
	}
	a.answer.Traffic.Sent++
	var way passage
	sending := way.watch(context.WithValue(ctx, connectTimeout{}, connect))
	defer way.done()
	res, err := transport.RoundTrip(req.WithContext(sending))
	if err != nil {
		if way.tooLarge() {
			err = errors.Join(errHugeHead, err)
		}
		return got, because(sending, err)
	}
	defer res.Body.Close()
	stall.Reset(read)
	tick := func() { stall.Reset(read) }
	got.status, got.header = res.StatusCode, res.Header

	var wire int64
	var waited time.Duration // for memory
	if res.StatusCode == http.StatusOK {
		got.body, wire, err = readBody(res, limit, tick, func(size int64) error {
			if a.room == nil {
				return nil
			}
			// While it waits for memory the upstream is not at fault: the clock of the
			// exchange stands still.
			slow.Stop()
			before := time.Now()
			err := a.room.grow(ctx, size, tick)
			waited += time.Since(before)
			if err != nil {
				return err
			}
			slow.Reset(time.Until(start.Add(total + waited)))
			return nil
		})
		if a.room.isLarge() {
			frugality.collect() // what it has outgrown
		}
	} else {
		got.body, wire = readHead(res, tick)
	}
	a.answer.Traffic.Bytes += wire
	return got, because(ctx, err)
}

// request is the message as a request of its own.
func (m *message) request() *http.Request {
	return &http.Request{Method: m.method, URL: m.url, Header: m.header.Clone(), Host: m.url.Host}
}

// boundedTimeout is a timeout of the source, or the default, within two minutes (M4).
func boundedTimeout(d source.Duration, def time.Duration) time.Duration {
	return min(max(cmp.Or(d.D(), def), 0), 120*time.Second)
}

// because is why a request was ended, if we ended it ourselves, in place of the error that
// says only that it was.
func because(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// unconnected reports whether the upstream cannot have seen anything of the
// request: what it has seen, it has counted (R38).
func unconnected(err error) bool {
	return undialled(err) || errors.Is(err, errBlocked) || errors.Is(err, errProxy) || errors.Is(err, errHook)
}

// uncertified reports whether the certificate of the other side was refused: its
// authority is unknown, it is another host's, or it has expired.
func uncertified(err error) bool {
	_, refused := errors.AsType[*tls.CertificateVerificationError](err)
	return refused
}

// undialled reports whether no connection was made, to the source or a proxy.
func undialled(err error) bool {
	op, isOp := errors.AsType[*net.OpError](err)
	_, isDNS := errors.AsType[*net.DNSError](err)
	return isDNS || isOp && (op.Op == "dial" || op.Op == "proxyconnect")
}
