package telemetry

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"html"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/papertrace/patra/internal/domain/credential"
)

// shortest is the length of the shortest text that is looked for.
const shortest = credential.MinPart

// maxLive bounds what a redactor keeps in mind; what was used longest ago is
// forgotten first.
const maxLive = 64

// Redactor takes secrets out of texts, in every form in which an upstream or a
// library may write them back: plain, URL-encoded, as base64 or hex, and as
// escaped in JSON, XML and Go. It is safe for concurrent use. The zero value
// knows no secret; nil changes nothing.
//
// A process has one that learns every secret it uses, for what it says itself:
// log lines, errors, messages. What an upstream said is searched with one that
// knows the secrets of that request alone ([NewRedactor]): another source's
// token must not be able to change a record.
type Redactor struct {
	mu    sync.Mutex
	live  []known // guarded by mu; by last use, longest ago first
	forms atomic.Pointer[matcher]
}

// known is a secret and how it may be written.
type known struct {
	text  string
	forms []string
}

// NewRedactor returns a redactor that knows the given secrets.
func NewRedactor(secrets ...credential.Secret) *Redactor {
	r := new(Redactor)
	for _, s := range secrets {
		for _, p := range s.Parts() {
			r.remember(p.Reveal())
		}
	}
	r.ready()
	return r
}

// Learn adds a secret, or each of several, or notes that it is used again.
func (r *Redactor) Learn(s credential.Secret) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	fresh := false
	for _, p := range s.Parts() {
		fresh = r.remember(p.Reveal()) || fresh
	}
	if fresh {
		r.ready()
	}
}

// remember puts a secret at the end of those in mind and reports whether it was
// not among them. Stars around it are left out: with them the mask that is put
// in place of one secret could become part of another.
func (r *Redactor) remember(v string) (fresh bool) {
	v = strings.Trim(v, "*")
	if len(v) < shortest || strings.Contains(v, credential.Hidden) {
		return false
	}
	k := known{text: v}
	at := slices.IndexFunc(r.live, func(o known) bool { return o.text == v })
	switch {
	case at >= 0:
		k = r.live[at]
	case len(r.live) >= maxLive:
		at = 0
	}
	if at >= 0 {
		r.live = slices.Delete(r.live, at, at+1)
	}
	if k.forms == nil {
		k.forms, fresh = forms(v), true
	}
	r.live = append(r.live, k)
	return fresh
}

// ready makes what is in mind the set that texts are searched for.
func (r *Redactor) ready() {
	if len(r.live) > 0 {
		r.forms.Store(newMatcher(r.live))
	}
}

// Text returns s without the secrets.
func (r *Redactor) Text(s string) string {
	if r == nil || r.forms.Load() == nil {
		return s
	}
	b, _ := r.Bytes(context.Background(), []byte(s)) // which does not end
	return string(b)
}

// Bytes returns b without the secrets, or an error if the context ends before
// that is done. It works in place, since b may be as large as a reply can be,
// and what is put in is shorter than what is taken out: what b held before is
// gone.
func (r *Redactor) Bytes(ctx context.Context, b []byte) ([]byte, error) {
	if r == nil {
		return b, nil
	}
	m := r.forms.Load()
	if m == nil {
		return b, nil
	}
	return m.cut(ctx, b)
}

// matcher finds any of many texts in one pass, looking at one place in six: by
// three letters it knows how far off the next match must be (Wu and Manber).
// Replies are megabytes, and there are dozens of forms.
type matcher struct {
	forms [256][]string // by their first byte
	shift [1 << 13]uint8
}

const (
	block = 3
	// head is how much of a form must be there for it to be found. What follows
	// is cut as far as it agrees, so that no text, however made, is compared
	// with a long form at every place.
	head = 64
	// stride is how far a text is searched between two looks at the context.
	stride = 256 << 10
)

func newMatcher(live []known) *matcher {
	m := new(matcher)
	for i := range m.shift {
		m.shift[i] = shortest - block + 1
	}
	for _, k := range live {
		for _, f := range k.forms {
			m.forms[f[0]] = append(m.forms[f[0]], f)
			for end := block; end <= shortest; end++ {
				k := key(f[end-3], f[end-2], f[end-1])
				m.shift[k] = min(m.shift[k], uint8(shortest-end))
			}
		}
	}
	for i := range m.forms {
		slices.Sort(m.forms[i])
		m.forms[i] = slices.Compact(m.forms[i])
	}
	return m
}

func key(a, b, c byte) int {
	return int((uint32(a)*0x9e3779b1 ^ uint32(b)*0x85ebca6b ^ uint32(c)*0xc2b2ae35) >> 19)
}

// cut puts the mask in place of every match, from left to right. One pass is
// enough: no form begins or ends with a star or holds the mask, so none can
// arise from what is put in and what stands beside it.
func (m *matcher) cut(ctx context.Context, b []byte) ([]byte, error) {
	out := b[:0]
	done := 0
	look := 0
	for i := shortest - 1; i < len(b); {
		if i >= look {
			if ctx.Err() != nil {
				return nil, context.Cause(ctx)
			}
			look = i + stride
		}
		if s := m.shift[key(b[i-2], b[i-1], b[i])]; s > 0 {
			i += int(s)
			continue
		}
		at := i - (shortest - 1)
		n := m.match(b[at:])
		if n == 0 {
			i++
			continue
		}
		out = append(append(out, b[done:at]...), credential.Hidden...)
		done = at + n
		i = done + shortest - 1
	}
	if done == 0 {
		return b, nil
	}
	return append(out, b[done:]...), nil
}

// match is how much of the beginning of b is one of the forms, 0 for nothing.
func (m *matcher) match(b []byte) (longest int) {
	for _, f := range m.forms[b[0]] {
		n := min(len(f), head)
		if len(b) < n || string(b[:n]) != f[:n] {
			continue
		}
		for n < len(f) && n < len(b) && f[n] == b[n] {
			n++
		}
		longest = max(longest, n)
	}
	return longest
}

// forms lists how v may be written.
func forms(v string) []string {
	out := []string{v}
	add := func(s string) {
		if len(s) >= shortest {
			out = append(out, s)
		}
	}
	once := []string{url.QueryEscape(v), url.PathEscape(v), strings.ReplaceAll(url.QueryEscape(v), "+", "%20"), everyByte(v, "%%%02X")}
	for _, s := range once {
		for _, s := range []string{s, url.QueryEscape(s)} { // a URL may stand in another
			for _, s := range []string{s, lowerEscapes(s)} {
				add(s)
				// And in a document, of which only the text is kept.
				add(strings.ReplaceAll(s, "&", `\u0026`))
				add(html.EscapeString(s))
				add(strings.ReplaceAll(s, "&", "&amp;"))
			}
		}
	}
	add(hex.EncodeToString([]byte(v)))
	add(strings.ToUpper(hex.EncodeToString([]byte(v))))
	for _, enc := range []*base64.Encoding{base64.StdEncoding, base64.URLEncoding} {
		for _, s := range base64Within(enc, v) {
			add(s)
			add(url.QueryEscape(s))
			add(lowerEscapes(url.QueryEscape(s)))
			add(strings.ReplaceAll(s, "/", `\/`))
		}
	}
	for _, s := range jsonForms(v) {
		add(s)
		add(strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s)) // quoted once more
	}
	add(html.EscapeString(v))
	add(strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;", "'", "&apos;").Replace(v))
	return out
}

// jsonForms are the inside of v as a JSON or Go string, by the habits of
// several writers.
func jsonForms(v string) []string {
	var plain bytes.Buffer
	enc := json.NewEncoder(&plain)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(v) // a string
	inside := func(s string) string { return strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(s), `"`), `"`) }
	escaped, _ := json.Marshal(v)
	slashed := strings.ReplaceAll(inside(plain.String()), "/", `\/`)
	units := strings.Builder{}
	for _, r := range v {
		if r < 0x10000 {
			fmt.Fprintf(&units, `\u%04x`, r)
		}
	}
	return []string{
		inside(plain.String()), inside(string(escaped)), slashed, inside(strconv.Quote(v)), inside(strconv.QuoteToASCII(v)),
		units.String(), upperUnits(units.String()), everyByte(v, `\x%02x`),
	}
}

// upperUnits writes \u002f as \u002F.
func upperUnits(s string) string { return strings.ReplaceAll(strings.ToUpper(s), `\U`, `\u`) }

// base64Within are the letters by which v can be known inside a longer text in
// base64, for each of the three ways in which it may fall into groups, and
// those of v alone.
func base64Within(enc *base64.Encoding, v string) []string {
	out := []string{enc.EncodeToString([]byte(v))}
	raw := enc.WithPadding(base64.NoPadding)
	for lead := range 3 {
		s := raw.EncodeToString(append(make([]byte, lead), v...))
		first := (lead*8 + 5) / 6 // letters that hold bits of what stands before
		last := len(s)
		if (lead+len(v))%3 != 0 { // and the one that is filled up by what follows
			last--
		}
		if first < last {
			out = append(out, s[first:last])
		}
	}
	return out
}

func everyByte(v, format string) string {
	var b strings.Builder
	for _, c := range []byte(v) {
		fmt.Fprintf(&b, format, c)
	}
	return b.String()
}

// lowerEscapes writes %2F as %2f.
func lowerEscapes(s string) string {
	b := []byte(s)
	for i := 0; i+2 < len(b); i++ {
		if b[i] == '%' {
			copy(b[i+1:i+3], bytes.ToLower(b[i+1:i+3]))
		}
	}
	return string(b)
}
