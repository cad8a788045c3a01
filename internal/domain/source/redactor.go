package source

import (
	"bytes"
	"cmp"
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
)

// MinSecret is the length below which a text is no secret: taking it out of
// replies and messages would spoil what has nothing to do with it.
const MinSecret = 8

// maxLive bounds what a redactor keeps in mind; the oldest are forgotten.
const maxLive = 64

// Redactor takes live secrets out of texts, in every form in which an upstream
// or a library may write them back: plain, URL-encoded, as base64 or hex, and
// as escaped in JSON, XML and Go. It is safe for concurrent use. The zero value
// knows no secret; nil changes nothing.
type Redactor struct {
	mu    sync.Mutex
	live  []string // guarded by mu; oldest first
	forms atomic.Pointer[matcher]
}

// Learn adds a secret, or each of several.
func (r *Redactor) Learn(s Secret) {
	if r == nil {
		return
	}
	for _, p := range s.Parts() {
		r.learn(p.Reveal())
	}
}

func (r *Redactor) learn(v string) {
	if len(v) < MinSecret {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if slices.Contains(r.live, v) {
		return
	}
	if len(r.live) >= maxLive {
		r.live = slices.Clone(r.live[1:])
	}
	r.live = append(r.live, v)
	r.forms.Store(newMatcher(r.live))
}

// Text returns s without live secrets.
func (r *Redactor) Text(s string) string {
	if r == nil || r.forms.Load() == nil {
		return s
	}
	return string(r.Bytes([]byte(s)))
}

// Bytes returns b without live secrets. It works in place, since b may be as
// large as a reply can be, and what is put in is shorter than what is taken out:
// what b held before is gone.
func (r *Redactor) Bytes(b []byte) []byte {
	if r == nil {
		return b
	}
	m := r.forms.Load()
	if m == nil {
		return b
	}
	// Every round makes the text shorter, so this comes to an end; one is not
	// enough if what stood around a secret forms another with what is left.
	for {
		at, n := m.find(b)
		if n == 0 {
			return b
		}
		out, rest := b[:0], b
		for ; n > 0; at, n = m.find(rest) {
			out = append(append(out, rest[:at]...), hidden...)
			rest = rest[at+n:]
		}
		b = append(out, rest...)
	}
}

// matcher finds any of many texts in one pass, looking at one place in six: by
// three letters it knows how far off the next match must be (Wu and Manber).
// Replies are megabytes, and there are dozens of forms.
type matcher struct {
	forms []string // longest first
	shift [1 << 13]uint8
}

const block = 3

func newMatcher(live []string) *matcher {
	m := new(matcher)
	for _, v := range live {
		m.forms = append(m.forms, forms(v)...)
	}
	slices.SortFunc(m.forms, func(a, b string) int { return cmp.Or(cmp.Compare(len(b), len(a)), strings.Compare(a, b)) })
	m.forms = slices.Compact(m.forms)
	for i := range m.shift {
		m.shift[i] = MinSecret - block + 1
	}
	for _, f := range m.forms {
		for end := block; end <= MinSecret; end++ {
			k := key(f[end-3], f[end-2], f[end-1])
			m.shift[k] = min(m.shift[k], uint8(MinSecret-end))
		}
	}
	return m
}

func key(a, b, c byte) int {
	return int((uint32(a)*0x9e3779b1 ^ uint32(b)*0x85ebca6b ^ uint32(c)*0xc2b2ae35) >> 19)
}

// find returns the first match and its length, 0 if there is none.
func (m *matcher) find(b []byte) (at, n int) {
	for i := MinSecret - 1; i < len(b); {
		if s := m.shift[key(b[i-2], b[i-1], b[i])]; s > 0 {
			i += int(s)
			continue
		}
		at = i - (MinSecret - 1)
		for _, f := range m.forms {
			if b[at] == f[0] && len(b)-at >= len(f) && string(b[at:at+len(f)]) == f {
				return at, len(f)
			}
		}
		i++
	}
	return 0, 0
}

// forms lists how v may be written.
func forms(v string) []string {
	out := []string{v}
	add := func(s string) {
		if len(s) >= MinSecret {
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
