package upstream

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/pace"
	"github.com/papertrace/patra/internal/domain/source"
)

// oversize is how large a reply is that is larger than allowed, as far as it was
// read or by its own word; 0 of any other.
func oversize(got received, err error) int64 {
	if !errors.Is(err, errTooLong) {
		return 0
	}
	announced, _ := strconv.ParseInt(got.header.Get("Content-Length"), 10, 64)
	return max(int64(len(got.body)), announced, 1)
}

// explainLoss says what an exchange without a whole reply means.
func (a *attempt) explainLoss(ctx context.Context, got received, err error) *trouble {
	f := harvest.Fault{Level: harvest.Transient, Reaction: harvest.Retry, Code: harvest.CodeNetwork, Status: got.status, Lost: true}
	if ctx.Err() != nil {
		f.Code = cancelled().Code
		return &trouble{Fault: f, cause: context.Cause(ctx)}
	}
	timeout, isNet := errors.AsType[net.Error](err)
	ended, isFault := harvest.FaultOf(err)
	switch {
	case isFault: // the permit did not last as long as the request
		f.Code = ended.Code
	case errors.Is(err, errHook):
		return &trouble{Fault: hookFailed(), cause: scrub(err, a.secrets), unsent: true}
	case errors.Is(err, errProxy):
		f.Code, f.Lost = harvest.CodeProxy, false
	case errors.Is(err, errBlocked):
		f = harvest.Fault{Level: harvest.Rejected, Reaction: harvest.GiveUp, Code: harvest.CodeAddress}
	case errors.Is(err, errTooLong), errors.Is(err, errRatio), errors.Is(err, errHugeHead):
		f.Level = harvest.Rejected
		f.Reaction = harvest.GiveUp
		f.Code = harvest.CodeTooLarge
		if a.call.Purpose == source.ForSearch && errors.Is(err, errTooLong) {
			f.Reaction = harvest.CutSlice // a smaller window may have a page that fits
		}
	case errors.Is(err, errEncoding):
		f = unreadable(got.status)
		f.Lost = true
	case uncertified(err):
		f.Reaction = harvest.GiveUp
		f.Code = harvest.CodeCertificate
		f.Lost = false
	case undialled(err):
		f.Code, f.Lost = harvest.CodeConnect, false
	case errors.Is(err, errSlow), errors.Is(err, errStall), isNet && timeout.Timeout():
		f.Code = harvest.CodeTimeout
	case got.status != 0 && !isNet: // cut off, or not what its header says
		f.Code = harvest.CodeBadReply
	}
	return &trouble{Fault: f, cause: scrub(err, a.secrets)}
}

// judge says what a whole reply means, and decodes it if it may be good: first
// the source's rules on status and head, then, once decoded, those on signals,
// then the table.
func (a *attempt) judge(ctx context.Context, got received) *trouble {
	at := a.answer.UpstreamAt // its clock against its own dates
	if at.IsZero() {
		at = time.Now()
	}
	r := source.Reply{
		Purpose: a.call.Purpose, Status: got.status, Type: got.header.Get("Content-Type"),
		Head: got.body[:min(len(got.body), source.HeadSize)],
	}
	r.RetryAfter, _ = pace.ParseRetryAfter(got.header.Get("Retry-After"), at)
	bad := func(v harvest.Fault, cause error) *trouble {
		if v.Reaction == harvest.NoItems {
			a.answer.Page = emptyPage(a.call)
			return nil
		}
		// A refusal used nothing up; whatever else came may have.
		v.Lost = v.Status < 400 || v.Status >= 500
		return &trouble{Fault: v, cause: cause}
	}

	if v, is := a.rules.Ruled(r); is {
		return bad(v, nil)
	}
	if got.status != http.StatusOK {
		if a.rules.NeedsSignals(r) {
			if page, err := a.decoder.PageContext(ctx, got.body); page != nil {
				if v, is := a.rules.Signalled(r, page.Signals); is {
					return bad(v, a.signs(page, err))
				}
			}
		}
		v, _ := a.rules.Default(r)
		return bad(v, nil)
	}
	if v, is := a.rules.Default(r); is {
		return bad(v, nil)
	}
	page, err := a.decoder.PageContext(ctx, got.body)
	if ctx.Err() != nil {
		return a.explainLoss(ctx, got, err)
	}
	if page != nil {
		if v, is := a.rules.Signalled(r, page.Signals); is {
			return bad(v, a.signs(page, err))
		}
	}
	if err == nil {
		err = completePage(page, &a.endpoints[a.call.Purpose].Response, got.header)
	}
	if err != nil {
		return bad(misshapen(err), scrub(err, a.secrets))
	}
	removeKeys(a.spec.Auth, page)
	a.answer.Page = page
	return nil
}

// signs is what a reply said at the places where a source tells that something
// went wrong, such as the words of a query that it does not know.
func (a *attempt) signs(page *harvest.Page, err error) error {
	if err != nil {
		return scrub(err, a.secrets)
	}
	var said []string
	for _, name := range slices.Sorted(maps.Keys(page.Signals)) {
		text := strings.Join(strings.Fields(page.Signals[name]), " ")
		said = append(said, fmt.Sprintf("%s: %.200q", name, text))
	}
	return scrub(errors.New(strings.Join(said, "; ")), a.secrets)
}

// misshapen is what a 200 that cannot be read means.
func misshapen(err error) harvest.Fault {
	if errors.Is(err, errHook) {
		return hookFailed()
	}
	v := harvest.Fault{Level: harvest.Transient, Reaction: harvest.Retry, Code: harvest.CodeBadReply, Status: http.StatusOK}
	if s, ok := errors.AsType[interface {
		error
		Schema() bool
	}](err); ok && s.Schema() {
		v.Code, v.Once = harvest.CodeSchemaDrift, true
	}
	if s, ok := errors.AsType[interface {
		error
		Unreadable() bool
	}](err); ok && s.Unreadable() {
		return unreadable(http.StatusOK)
	}
	if s, ok := errors.AsType[interface {
		error
		Refused() bool
	}](err); ok && s.Refused() {
		v.Level = harvest.Rejected
		v.Reaction = harvest.GiveUp
		v.Code = harvest.CodeTooLarge
	}
	return v
}

// report tells the gate what came of the request.
func (c *Client) report(ctx context.Context, a *attempt, got received, t *trouble) {
	if got.status == 0 && !unanswered(t) {
		return
	}
	o := pace.Outcome{Kind: pace.Fine}
	o.Allowed, o.Per = allowance(got.header, a.rate().LimitHeaders)
	at, err := http.ParseTime(got.header.Get("Date"))
	if err != nil {
		at = time.Now()
	}
	budget := readBudget(got.header, a.rate().Budget, at)
	o.Empty = budget.emptyFor()
	o.Left = int64(budget.left)
	o.ResetIn = budget.resetIn
	if t == nil && a.rate().Heeds(got.status) {
		// No complaint, so silence is all that follows.
		after, _ := pace.ParseRetryAfter(got.header.Get("Retry-After"), at)
		o.Empty = max(o.Empty, after)
	}
	if t != nil {
		o.RetryAfter = t.RetryAfter
		switch {
		case t.Throttled():
			o.Kind = pace.Throttled
		case got.status >= 500 && t.Level == harvest.Transient, t.RetryAfter > 0, unanswered(t):
			o.Kind = pace.Unwell
		}
	}
	lowered := c.gate.Report(ctx, a.rate(), o)
	a.noteReport(got, budget, lowered, o, at)
}

// unanswered reports whether the upstream was asked and gave no whole reply: it
// cannot be reached, says nothing, or breaks off.
func unanswered(t *trouble) bool {
	return t != nil && !t.unsent && (t.Code == harvest.CodeNetwork || t.Code == harvest.CodeTimeout || t.Code == harvest.CodeConnect)
}

// allowance reads the provider's own statement of its limit: a number, and
// beside a header named ...-limit perhaps one named ...-interval ("1s", or
// seconds). Without that it is per second. What would be less than one in a
// month is a slip of somebody's, not a limit: it is left out, as no number is.
func allowance(h http.Header, names []string) (n float64, per time.Duration) {
	for _, name := range names {
		v, err := strconv.ParseFloat(strings.TrimSpace(h.Get(name)), 64)
		if err != nil || !(v > 0) || math.IsInf(v, 0) {
			continue
		}
		span := time.Second
		if stem, ok := cutSuffixFold(name, "limit"); ok {
			text := strings.TrimSpace(h.Get(stem + "interval"))
			if s, err := strconv.ParseFloat(text, 64); err == nil && s >= 1e-3 && s < 1e6 {
				span = time.Duration(s * float64(time.Second))
			} else if d, err := time.ParseDuration(text); err == nil && d >= time.Millisecond {
				span = d
			}
		}
		if v/span.Seconds() < leastRate {
			continue
		}
		if n == 0 || v/span.Seconds() < n/per.Seconds() { // several: the strictest
			n, per = v, span
		}
	}
	return n, per
}

// toldBudget is what a reply's headers say of the provider's own account; resetIn is 0 if
// they say nothing.
type toldBudget struct {
	left    float64
	resetIn time.Duration
}

// readBudget reads from the headers what is left, and in how long it is filled again.
func readBudget(h http.Header, b *source.BudgetConfig, at time.Time) toldBudget {
	if b == nil {
		return toldBudget{}
	}
	left, reset, ok := pace.ParseBudget(h.Get(b.Remaining), h.Get(b.Reset), b.Unit, at)
	if !ok {
		return toldBudget{}
	}
	return toldBudget{left: max(0, left), resetIn: reset}
}

// emptyFor is for how long the budget is used up: 0 if something is left of it.
func (b toldBudget) emptyFor() time.Duration {
	if b.left > 0 {
		return 0
	}
	return b.resetIn
}

// leastRate is one request in 31 days.
const leastRate = 1.0 / (31 * 24 * 60 * 60)

func cutSuffixFold(s, suffix string) (string, bool) {
	if len(s) < len(suffix) || !strings.EqualFold(s[len(s)-len(suffix):], suffix) {
		return s, false
	}
	return s[:len(s)-len(suffix)], true
}
