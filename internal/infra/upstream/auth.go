package upstream

import (
	"context"
	"encoding/base64"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/papertrace/patra/internal/domain/credential"
	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/source"
)

// Credentials hands out keys, one per request, so that a change of them acts at
// once (R47).
type Credentials interface {
	// Pick returns the key for a request, leaving out those already tried and
	// those that may not be sent to all of the origins; false if it is to go
	// without. An error wraps a [harvest.Fault]: there is no key where one is
	// needed.
	Pick(ctx context.Context, spec *source.Spec, p source.Purpose, to []string, tried []int64) (credential.Key, bool, error)
	// Report tells what the upstream made of a key.
	Report(ctx context.Context, k credential.Key, o credential.Outcome)
}

// pick finds the key of a try; nil: it goes without.
func (c *Client) pick(
	ctx context.Context, spec *source.Spec, call source.Call, m *message, tried []int64, own *secrets,
) (*credential.Key, error) {
	if spec.Auth == nil {
		return nil, nil
	}
	var code harvest.Code
	why := ""
	base, lent := source.SplitBase(call.BaseURL)
	switch {
	case c.cfg.Credentials == nil:
		code = harvest.CodeNoCredential
	case base != "" && !lent:
		// Whatever listens there is not whom the key is for.
		code, why = harvest.CodeWithheld, ", and "+source.Origin(base)+", which stands in for it, is sent none without --with-credentials"
	case m.url.Scheme != "https" && !spec.HTTP.AllowHTTP && !loopback(m.url.Hostname()):
		code = harvest.CodeAuthInPlain // for everybody on the way to read
	default:
		k, ok, err := c.cfg.Credentials.Pick(ctx, spec, call.Purpose, destinations(spec, call), tried)
		if err != nil || !ok {
			return nil, err
		}
		own.add(partsOf(spec.Auth, k.Secret)...)
		return &k, nil
	}
	if spec.Anonymous(call.Purpose) {
		return nil, nil
	}
	f := harvest.Fault{Level: harvest.Fatal, Reaction: harvest.GiveUp, Code: code}
	return nil, fmt.Errorf("%s is not to be asked without a credential%s: %w", spec.Source, why, f)
}

// destinations are the origins that a key of the call must be for: where the
// source is and where its tokens are got. A base URL that stands in for the
// source was named by who may name it; an address for tokens was not.
func destinations(spec *source.Spec, call source.Call) []string {
	to := spec.Origins()
	if call.BaseURL != "" {
		return to[1:]
	}
	return to
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// reportKey tells the keyring what the upstream made of the key of a try.
func (c *Client) reportKey(ctx context.Context, k *credential.Key, a source.Answer, t *trouble) {
	switch {
	case k == nil || t != nil && t.unsent:
	case t != nil && t.Code == harvest.CodeAuthRefused:
		c.cfg.Credentials.Report(ctx, *k, credential.Refused)
	case t == nil || a.Status == http.StatusOK:
		c.cfg.Credentials.Report(ctx, *k, credential.Accepted)
	}
}

// authorise puts a key, a token got for it or a signature made with it into a
// request: the last thing that is done to it, when its digest has long been
// taken (R48). It returns the body.
func (c *Client) authorise(req *http.Request, body string, a *attempt) (string, error) {
	var err error
	auth, secret := a.spec.Auth, a.secret.Reveal()
	for i, p := range auth.Also[:min(len(auth.Also), len(a.also))] { // first: a signature may cover them
		body, err = putValue(req, body, p, p.Prefix+a.also[i].Reveal())
		if err != nil {
			return "", err
		}
	}
	value := auth.Prefix + secret
	switch auth.Type {
	case source.AuthCustom:
		body, made, err := c.hooks.sign(req, body, auth, a.secret)
		a.secrets.add(made...)
		return body, err
	case source.AuthBearer:
		value = "Bearer " + secret
	case source.AuthBasic:
		value = "Basic " + base64.StdEncoding.EncodeToString([]byte(secret))
	}
	return putValue(req, body, source.AuthPlace{In: auth.In, Name: auth.Name}, value)
}

// putValue puts a value where the source wants it, and returns the body.
func putValue(req *http.Request, body string, p source.AuthPlace, value string) (string, error) {
	pair := url.QueryEscape(p.Name) + "=" + url.QueryEscape(value)
	switch p.In {
	case source.InHeader:
		req.Header.Set(p.Name, value)
	case source.InQuery:
		u := *req.URL
		u.RawQuery = appendPair(u.RawQuery, pair)
		req.URL = &u
	case source.InBody:
		if strings.Contains(body, blank(p.Name)) {
			return fillIn(body, p.Name, value, req.Header.Get("Content-Type"))
		}
		body = appendPair(body, pair)
	}
	return body, nil
}

// appendPair adds a pair to others as they are: nothing else of the request changes.
func appendPair(pairs, pair string) string {
	if pairs == "" {
		return pair
	}
	return pairs + "&" + pair
}

// removeKeys takes the parameters of credentials out of what a reply hands on for the
// next request, so that they are not kept with the position (R48). The next
// request gets its own.
func removeKeys(a *source.Auth, p *harvest.Page) {
	if a == nil {
		return
	}
	p.URL, p.Token = withoutKeys(a, p.URL), withoutKeys(a, p.Token)
	for k, v := range p.Held {
		p.Held[k] = withoutKeys(a, v)
	}
}

// withoutKeys is a URL, or a query alone, less the parameters of credentials.
func withoutKeys(a *source.Auth, s string) string {
	for _, p := range a.Places() {
		if p.In != source.InHeader && p.Name != "" {
			s = withoutPair(p.Name, s)
		}
	}
	return s
}

func withoutPair(key, s string) string {
	if !strings.Contains(s, "=") {
		return s
	}
	front, query, is := strings.Cut(s, "?")
	if !is {
		front, query = "", s
	}
	pairs := strings.Split(query, "&")
	left := slices.DeleteFunc(slices.Clone(pairs), func(p string) bool {
		name, _, ok := strings.Cut(p, "=")
		plain, err := url.QueryUnescape(name)
		return ok && err == nil && strings.EqualFold(plain, key)
	})
	switch {
	case len(left) == len(pairs):
		return s
	case !is:
		return strings.Join(left, "&")
	case len(left) == 0:
		return front
	}
	return front + "?" + strings.Join(left, "&")
}
