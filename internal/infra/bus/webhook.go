package bus

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"sync"
	"syscall"
	"time"

	"code.dny.dev/ssrf"
	"github.com/papertrace/patra/internal/app/relay"
	"github.com/papertrace/patra/internal/domain/cloudevent"
	"github.com/papertrace/patra/internal/domain/credential"
)

const (
	// hooksAtOnce is how many calls are under way at a time, and hooksInBatch how many
	// events are taken up together.
	hooksAtOnce  = 8
	hooksInBatch = 64
	// hookWithin bounds one call.
	hookWithin = 15 * time.Second
	// mostRead is how much of an answer is read.
	mostRead = 64 << 10
	// longestBusy bounds how long a webhook may ask to be left alone.
	longestBusy = time.Hour
)

// Headers of a signed call: the time in seconds, and the HMAC-SHA256 of that, a dot and
// the body, keyed by the secret.
const (
	timeHeader      = "Patra-Timestamp"
	signatureHeader = "Patra-Signature"
)

// webhookTarget posts each event to an address.
type webhookTarget struct {
	name    string
	address credential.Secret
	// signs is the secret of the signature; may be empty.
	signs  credential.Secret
	client *http.Client
	agent  string
}

func newWebhook(a *address, cfg Config) (relay.Target, error) {
	if a.url.Host == "" {
		return nil, errors.New("after webhook+ it must go on with https://HOST or http://HOST")
	}
	t := &webhookTarget{name: a.name, agent: "patra/" + cfg.Version}
	open := a.options.Get("private") == "allow"
	t.signs = credential.NewSecret(a.options.Get("secret"))
	a.options.Del("secret")
	a.options.Del("private")
	a.url.RawQuery = a.options.Encode()
	t.address = credential.NewSecret(a.url.String())
	transport := cfg.Transport
	if transport == nil {
		transport = hookTransport(open)
	}
	// A redirect would take an event to whom it was not written for.
	follow := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	t.client = &http.Client{Transport: transport, CheckRedirect: follow}
	return t, nil
}

// hookTransport connects to public addresses only, unless open.
func hookTransport(open bool) *http.Transport {
	d := &net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second}
	if !open {
		d.Control = refusePrivate
	}
	return &http.Transport{
		DialContext: d.DialContext, MaxIdleConnsPerHost: hooksAtOnce, IdleConnTimeout: 30 * time.Second, TLSHandshakeTimeout: 10 * time.Second,
		ForceAttemptHTTP2: true, MaxResponseHeaderBytes: mostRead,
	}
}

var errPrivate = errors.New("its address is not a public one; add private=allow to it if that is meant")

var doorkeeper = ssrf.New(ssrf.WithAnyPort(), ssrf.WithDeniedV4Prefixes(netip.MustParsePrefix("168.63.129.16/32")))

// refusePrivate is a dialer's control function: it sees the address after DNS, and
// refuses those of the own network, of this machine and of clouds' inner services.
func refusePrivate(network, addr string, c syscall.RawConn) error {
	if err := doorkeeper.Safe(network, addr, c); err != nil {
		return errPrivate
	}
	return nil
}

func (t *webhookTarget) Name() string { return t.name }

func (t *webhookTarget) Kind() string { return kindWebhook }

func (t *webhookTarget) Most() int { return hooksInBatch }

// Close implements relay.Target.
func (t *webhookTarget) Close() error {
	t.client.CloseIdleConnections()
	return nil
}

// Publish posts the events, some at a time. When the address does not answer, or asks to
// be left alone, no further call is begun.
func (t *webhookTarget) Publish(ctx context.Context, ms []relay.Message) []error {
	errs := make([]error, len(ms))
	next := make(chan int)
	var stop sync.Once
	stopped := make(chan struct{})
	var all sync.WaitGroup
	for range min(hooksAtOnce, len(ms)) {
		all.Go(func() {
			for i := range next {
				errs[i] = t.post(ctx, ms[i])
				if errs[i] != nil && !errors.Is(errs[i], relay.ErrRefused) && !errors.Is(errs[i], relay.ErrFailed) {
					stop.Do(func() { close(stopped) })
				}
			}
		})
	}
	for i := range ms {
		select {
		case next <- i:
		case <-stopped:
			errs[i] = relay.ErrNotTried
		case <-ctx.Done():
			errs[i] = relay.ErrNotTried
		}
	}
	close(next)
	all.Wait()
	return errs
}

func (t *webhookTarget) post(ctx context.Context, m relay.Message) error {
	if isOver(ctx) {
		return relay.ErrNotTried
	}
	within, cancel := context.WithTimeout(ctx, hookWithin)
	defer cancel()
	req, err := http.NewRequestWithContext(within, http.MethodPost, t.address.Reveal(), bytes.NewReader(m.Body))
	if err != nil {
		return withoutAddress(err)
	}
	req.Header.Set("Content-Type", cloudevent.MediaType)
	req.Header.Set("User-Agent", t.agent)
	req.Header.Set("Idempotency-Key", m.EventID)
	t.sign(req, m.Body, time.Now())
	resp, err := t.client.Do(req)
	if err != nil && ctx.Err() != nil {
		return relay.ErrNotTried
	}
	if err != nil {
		return withoutAddress(err)
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(resp.Body, mostRead))
	if err != nil {
		return fmt.Errorf("read the answer: %w", withoutAddress(err))
	}
	return judge(resp, answer, time.Now())
}

// sign adds the time and the signature, if there is a secret.
func (t *webhookTarget) sign(req *http.Request, body []byte, now time.Time) {
	secret := t.signs.Reveal()
	if secret == "" {
		return
	}
	at := strconv.FormatInt(now.Unix(), 10)
	req.Header.Set(timeHeader, at)
	req.Header.Set(signatureHeader, "sha256="+signature(secret, at, body))
}

func signature(secret, at string, body []byte) string {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(at + ".")) //nolint:errcheck // it never fails
	mac.Write(body)             //nolint:errcheck // likewise
	return hex.EncodeToString(mac.Sum(nil))
}

// judge says what an answer means: a success, a refusal of this event, a failure that may
// be about it, or a target that takes nothing: one that is busy, or that does not know us.
func judge(resp *http.Response, answer []byte, now time.Time) error {
	code := resp.StatusCode
	err := fmt.Errorf("answered %d: %s", code, excerpt(answer))
	switch {
	case code >= 200 && code <= 299:
		return nil
	case code == http.StatusTooManyRequests || code == http.StatusServiceUnavailable:
		return &relay.BusyError{For: retryAfter(resp.Header.Get("Retry-After"), now), Err: err}
	case code == http.StatusUnauthorized, code == http.StatusForbidden, code == http.StatusNotFound, code == http.StatusMethodNotAllowed,
		code == http.StatusProxyAuthRequired, code == http.StatusRequestTimeout, code == http.StatusGone, code < 400,
		code == http.StatusBadGateway, code == http.StatusGatewayTimeout:
		return err
	case code < 500:
		return fmt.Errorf("%w: %w", relay.ErrRefused, err)
	}
	return fmt.Errorf("%w: %w", relay.ErrFailed, err)
}

// retryAfter reads for how long a server wants to be left alone, in seconds or until a
// date; 0 if it does not say.
func retryAfter(text string, now time.Time) time.Duration {
	if seconds, err := strconv.ParseInt(text, 10, 32); err == nil && seconds > 0 {
		return min(time.Duration(seconds)*time.Second, longestBusy)
	}
	if at, err := http.ParseTime(text); err == nil {
		return max(0, min(at.Sub(now), longestBusy))
	}
	return 0
}

// withoutAddress is the error without the address that was asked, which may hold secrets.
func withoutAddress(err error) error {
	if e, is := errors.AsType[*url.Error](err); is {
		return fmt.Errorf("%s: %w", e.Op, withoutAddress(e.Err))
	}
	return err
}

// excerpt is the beginning of an answer. It is longer than what is kept of it, since secrets are
// taken out in between, and one that is cut is not known.
func excerpt(b []byte) string {
	const most = 4 << 10
	return string(bytes.ToValidUTF8(b[:min(len(b), most)], []byte("?")))
}
