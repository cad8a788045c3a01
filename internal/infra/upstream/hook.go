package upstream

import (
	"bytes"
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/textproto"
	"net/url"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/papertrace/patra/internal/domain/credential"
	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/source"
)

// Hooks are for the rare source that no declaration can describe: Go code,
// compiled in, called by the name a pack gives. One is added by writing it and
// naming it in shipped.

// Signer signs requests (auth.type CUSTOM).
type Signer interface {
	// Check says what is wrong with the options a pack gives.
	Check(options map[string]string) error
	// Sign puts a signature on the request. It may add headers and parameters
	// and change the body, but not where the request goes. It must not put the
	// secret into an error, and tells by Signing.Made what of the signature is
	// to stay out of what is kept.
	Sign(r *Signing) error
}

// Signing is a request about to leave.
type Signing struct {
	Method  string
	URL     *url.URL
	Header  http.Header
	Body    string
	Secret  credential.Secret
	Options map[string]string
	At      time.Time
	// Made is what the hook made of the secret.
	Made []credential.Secret
}

// Rewriter turns the body of a reply into what is decoded. Fault rules on the
// body have seen it as it came; signals are read from what is returned here. A
// body it does not know it returns as it is, for the decoder to complain of.
type Rewriter func(body []byte) ([]byte, error)

// hooks are known by name.
type hooks struct {
	signers   map[string]Signer
	rewriters map[string]Rewriter
}

var shipped = hooks{
	signers:   map[string]Signer{"hmac-sha256": hmacSHA256{}},
	rewriters: map[string]Rewriter{"jsonp": unwrapJSONP, "strip-prefix": stripPrefix},
}

// errHook is a hook that is not there, refused to work or broke down.
var errHook = errors.New("hook failed")

func hookFailed() harvest.Fault {
	return harvest.Fault{Level: harvest.Fatal, Reaction: harvest.GiveUp, Code: harvest.CodeHook}
}

// check finds hooks of a spec that are not there, and options they do not take.
func (h hooks) check(spec *source.Spec) (bad source.Violations) {
	if a := spec.Auth; a != nil && a.Type == source.AuthCustom {
		if s := h.signers[a.Hook]; s == nil {
			bad = append(bad, unknownHook("auth.hook", a.Hook, slices.Sorted(maps.Keys(h.signers))))
		} else if err := s.Check(a.Options); err != nil {
			bad = append(bad, source.Violation{Path: "auth.options", Text: err.Error()})
		}
	}
	for _, p := range source.Purposes() {
		if e := spec.Endpoint(p); e != nil && e.Hook != "" && h.rewriters[e.Hook] == nil {
			bad = append(bad, unknownHook("endpoints."+e.Name+".hook", e.Hook, slices.Sorted(maps.Keys(h.rewriters))))
		}
	}
	return bad
}

func unknownHook(path, name string, known []string) source.Violation {
	return source.Violation{Path: path, Text: fmt.Sprintf("%s is not a hook of this build%s", name, source.Suggest(name, known))}
}

// guarded calls a hook; if it panics that is an error. Of what it panics with
// only the runtime's own words are told: the rest may hold anything.
func guarded(name string, call func() error) (err error) {
	defer func() {
		switch p := recover().(type) {
		case nil:
		case runtime.Error:
			err = fmt.Errorf("%w: %s panicked: %w", errHook, name, p)
		default:
			err = fmt.Errorf("%w: %s panicked with a %T", errHook, name, p)
		}
	}()
	return call()
}

// sign lets the hook of a source sign a request, and returns the body and what
// it made of the secret.
func (h hooks) sign(req *http.Request, body string, a *source.Auth, secret credential.Secret) (string, []credential.Secret, error) {
	hook := h.signers[a.Hook]
	if hook == nil {
		return "", nil, fmt.Errorf("%w: %s is not one of this build", errHook, a.Hook)
	}
	u := *req.URL
	s := &Signing{Method: req.Method, URL: &u, Header: req.Header, Body: body, Secret: secret, Options: a.Options, At: time.Now()}
	err := guarded(a.Hook, func() error { return hook.Sign(s) })
	switch {
	case errors.Is(err, errHook):
		return "", nil, err
	case err != nil:
		return "", nil, fmt.Errorf("%w: %s: %w", errHook, a.Hook, err)
	case s.URL == nil || s.URL.Scheme != req.URL.Scheme || s.URL.Host != req.URL.Host || s.URL.User != nil || s.Header == nil:
		return "", nil, fmt.Errorf("%w: %s changed where the request goes", errHook, a.Hook)
	}
	req.URL, req.Header = s.URL, s.Header
	return s.Body, s.Made, nil
}

// before puts the hook of an endpoint, if it has one, before its decoder.
func (h hooks) before(dec Decoder, e *source.Endpoint, limit int64) (Decoder, error) {
	if e == nil || e.Hook == "" {
		return dec, nil
	}
	hook := h.rewriters[e.Hook]
	if hook == nil {
		return nil, fmt.Errorf("%w: %s is not one of this build", errHook, e.Hook)
	}
	return &rewriting{Decoder: dec, name: e.Hook, hook: hook, limit: limit}, nil
}

// rewriting is a decoder with a hook before it.
type rewriting struct {
	Decoder
	name  string
	hook  Rewriter
	limit int64
}

func (r *rewriting) PageContext(ctx context.Context, body []byte) (*harvest.Page, error) {
	err := guarded(r.name, func() (err error) {
		body, err = r.hook(body)
		return err
	})
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s: %w", r.name, err)
	case int64(len(body)) > r.limit:
		return nil, overgrown{r.name}
	}
	return r.Decoder.PageContext(ctx, body)
}

// overgrown is a body that became too large by rewriting.
type overgrown struct{ hook string }

func (e overgrown) Error() string { return e.hook + ": " + errTooLong.Error() }

// Refused: it breaks a limit.
func (overgrown) Refused() bool { return true }

// hmacSHA256 signs with an HMAC over parts of the request, one per line: by
// default its method, its escaped path, its query in the order of names and the
// timestamp that is sent along. Options:
//
//	header     that carries the signature (X-Signature)
//	timestamp  header that carries the time in Unix seconds (X-Timestamp)
//	cover      what is signed: method,path,query,timestamp; also body, as hex SHA-256
//	encoding   hex (default) or base64
//	prefix     put before the signature
//	id         header that carries the part of the credential before its first
//	           colon; the key is then the part after
type hmacSHA256 struct{}

var hmacOptions = []string{"cover", "encoding", "header", "id", "prefix", "timestamp"}

var hmacParts = map[string]func(r *Signing, stamp string) string{
	"method":    func(r *Signing, _ string) string { return r.Method },
	"path":      func(r *Signing, _ string) string { return r.URL.EscapedPath() },
	"query":     func(r *Signing, _ string) string { return r.URL.Query().Encode() },
	"timestamp": func(_ *Signing, stamp string) string { return stamp },
	"body": func(r *Signing, _ string) string {
		sum := sha256.Sum256([]byte(r.Body))
		return hex.EncodeToString(sum[:])
	},
}

func hmacCover(o map[string]string) []string {
	if o["cover"] == "" {
		return []string{"method", "path", "query", "timestamp"}
	}
	return strings.FieldsFunc(o["cover"], func(r rune) bool { return r == ',' || r == ' ' })
}

func (hmacSHA256) Check(o map[string]string) error {
	for _, k := range slices.Sorted(maps.Keys(o)) {
		if !slices.Contains(hmacOptions, k) {
			return fmt.Errorf("%s is not an option of hmac-sha256%s", k, source.Suggest(k, hmacOptions))
		}
	}
	for _, k := range []string{"header", "timestamp", "id"} {
		name := textproto.CanonicalMIMEHeaderKey(o[k])
		if name != "" && (!isHeaderName(name) || name != "Authorization" && slices.Contains(notSettable, name)) {
			return fmt.Errorf("%s: %q is not a header that can be set", k, o[k])
		}
	}
	for _, p := range hmacCover(o) {
		if hmacParts[p] == nil {
			return fmt.Errorf("cover: %s is not a part of a request%s", p, source.Suggest(p, slices.Sorted(maps.Keys(hmacParts))))
		}
	}
	if !slices.Contains([]string{"", "hex", "base64"}, o["encoding"]) {
		return fmt.Errorf("encoding: %s is neither hex nor base64", o["encoding"])
	}
	if strings.ContainsFunc(o["prefix"], func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return errors.New("prefix: holds a control character")
	}
	return nil
}

func (hmacSHA256) Sign(r *Signing) error {
	o, key := r.Options, r.Secret.Reveal()
	if o["id"] != "" {
		id, rest, ok := strings.Cut(key, ":")
		if !ok {
			return errors.New("the credential is not of the form id:key")
		}
		r.Header.Set(o["id"], id)
		key = rest
	}
	stamp := strconv.FormatInt(r.At.Unix(), 10)
	var lines []string
	for _, name := range hmacCover(o) {
		part := hmacParts[name]
		if part == nil {
			return fmt.Errorf("%s cannot be covered", name)
		}
		lines = append(lines, part(r, stamp))
	}
	mac := hmac.New(sha256.New, []byte(key))
	mac.Write([]byte(strings.Join(lines, "\n")))
	text := hex.EncodeToString(mac.Sum(nil))
	if o["encoding"] == "base64" {
		text = base64.StdEncoding.EncodeToString(mac.Sum(nil))
	}
	r.Header.Set(cmp.Or(o["timestamp"], "X-Timestamp"), stamp)
	r.Header.Set(cmp.Or(o["header"], "X-Signature"), o["prefix"]+text)
	r.Made = append(r.Made, credential.NewSecret(key), credential.NewSecret(text))
	return nil
}

var jsonp = regexp.MustCompile(`^(?:/\*\*/)?\s*(?:typeof [\w$.]+ === 'function' && )?[A-Za-z_$][\w$.\[\]]*\s*\(`)

// unwrapJSONP takes the argument out of callback(...);
func unwrapJSONP(body []byte) ([]byte, error) {
	text := bytes.TrimSpace(body)
	front := jsonp.Find(text)
	back := bytes.TrimRight(text, "; \t\r\n")
	if front == nil || !bytes.HasSuffix(back, []byte(")")) || len(back) <= len(front) {
		return body, nil
	}
	return back[len(front) : len(back)-1], nil
}

// stripPrefix cuts what some put before JSON so that it is no script.
func stripPrefix(body []byte) ([]byte, error) {
	for _, guard := range []string{")]}',", ")]}'", "while(1);", "for(;;);", "{}&&"} {
		if rest, ok := bytes.CutPrefix(body, []byte(guard)); ok {
			return bytes.TrimLeft(rest, "\r\n"), nil
		}
	}
	return body, nil
}
