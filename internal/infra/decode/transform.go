package decode

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// transforms sets what is done to a value of p (P26, P27). Path says that there
// is one place, in JSON, which an inverted index needs.
func (p *pick) transforms(names []string, path bool) error {
	for i, name := range names {
		word, arg, _ := strings.Cut(name, ":")
		if word == "split" {
			if arg == "" || p.split != nil {
				return errors.New("split needs a text to cut at, and goes once")
			}
			p.split = []byte(arg)
			continue
		}
		if name == "inverted_index" {
			p.inverted = true
			if i > 0 || !path {
				return errors.New("inverted_index comes first and takes one place in JSON")
			}
			continue
		}
		c, err := newTransform(name)
		if err != nil {
			return err
		}
		if p.split != nil {
			p.after = append(p.after, c)
		} else {
			p.clean = append(p.clean, c)
		}
	}
	return nil
}

// newTransform makes a transform of its name and, behind a colon, its argument.
func newTransform(name string) (cleaner, error) {
	if c, ok := cleaners[name]; ok {
		return c, nil
	}
	word, arg, ok := strings.Cut(name, ":")
	create, known := map[string]func(string) (cleaner, error){"regex": newRegex, "prefix": newPrefix, "lead": newLead, "map": newTable}[word]
	switch {
	case !known:
		return nil, fmt.Errorf("no transform %q", name)
	case !ok || arg == "":
		return nil, fmt.Errorf("%s: nothing stands behind the colon", word)
	case len(arg) > maxArgument:
		return nil, fmt.Errorf("%s: an argument of more than %d bytes", word, maxArgument)
	}
	return create(arg)
}

// Bounds on what a transform is given and makes: patterns take time by the
// product of both lengths.
const (
	maxArgument = 4 << 10
	maxMatched  = 64 << 10
	maxPlaces   = 100_000
)

// newRegex keeps the first group that took part in the match, or all of the
// match if there are no groups. What does not match, or is too long to be tried,
// leaves nothing.
func newRegex(pattern string) (cleaner, error) {
	re, err := regexp.Compile(pattern)
	if err != nil {
		return nil, fmt.Errorf("regex: %w", err)
	}
	return func(_ *arena, v []byte) []byte {
		if len(v) > maxMatched {
			return nil
		}
		m := re.FindSubmatchIndex(v)
		if len(m) > 2 {
			m = m[2:]
		}
		for ; len(m) > 0; m = m[2:] {
			if m[0] >= 0 {
				return v[m[0]:m[1]:m[1]]
			}
		}
		return nil
	}, nil
}

// newPrefix cuts a text off where a value begins with it.
func newPrefix(prefix string) (cleaner, error) {
	return func(_ *arena, v []byte) []byte { return bytes.TrimPrefix(v, []byte(prefix)) }, nil
}

// newLead puts a text before every value, such as the address that an id belongs to.
func newLead(text string) (cleaner, error) {
	return func(a *arena, v []byte) []byte {
		from := len(a.buf)
		a.buf = append(append(a.buf, text...), v...)
		return a.take(from)
	}, nil
}

// newTable reads a=b;c=d: a value found on the left becomes what is on the
// right, nothing if that is empty; all others stay as they are, or become what
// *=x gives.
func newTable(table string) (cleaner, error) {
	to := make(map[string][]byte)
	var rest []byte
	others := false
	for pair := range strings.SplitSeq(table, ";") {
		from, value, ok := strings.Cut(pair, "=")
		_, twice := to[from]
		switch {
		case !ok || from == "":
			return nil, fmt.Errorf("map: %q is not value=replacement", pair)
		case twice || from == "*" && others:
			return nil, fmt.Errorf("map: %q stands there twice", from)
		case from == "*":
			rest, others = []byte(value), true
		default:
			to[from] = []byte(value)
		}
	}
	return func(_ *arena, v []byte) []byte {
		x, ok := to[string(bytes.TrimSpace(v))]
		switch {
		case ok:
			return x
		case others:
			return rest
		}
		return v
	}, nil
}

// inverted makes a text of a JSON object that gives the places of every word,
// {"word":[0,7],...}; of two words in one place the last counts. Places beyond
// maxPlaces are left out; nothing is left of what would be too long for a string
// or is no such object.
func (w *walk) inverted(s span) []byte {
	b := w.body
	if b[s.start] != '{' {
		return nil
	}
	places, size := w.spans[:0], 0
	defer func() { w.spans = places[:0] }()
	for i := skipSpace(b, int(s.start)+1); b[i] != '}'; {
		end := w.skipString(i)
		if end < 0 {
			return nil
		}
		word := span{int32(i), int32(end)}
		i = skipSpace(b, skipSpace(b, end)+1)
		end = w.skip(i, 0)
		if end < 0 {
			return nil
		}
		if b[i] == '[' {
			w.elements(span{int32(i), int32(end)}, func(v []byte) bool {
				n, ok := small(v)
				if !ok || n >= maxPlaces {
					return true
				}
				if n >= len(places) {
					places = slices.Grow(places, n+1-len(places))
					clear(places[len(places) : n+1])
					places = places[:n+1]
				}
				size += int(word.end-word.start) - int(places[n].end-places[n].start)
				places[n] = word
				return size <= maxString
			})
		}
		if size > maxString {
			return nil
		}
		i = skipSpace(b, end)
		if b[i] == ',' {
			i = skipSpace(b, i+1)
		}
	}
	from := len(w.text.buf)
	for _, word := range places {
		if word.end == 0 {
			continue
		}
		if len(w.text.buf) > from {
			w.text.buf = append(w.text.buf, ' ')
		}
		w.text.buf, _ = jsontext.AppendUnquote(w.text.buf, w.bytes(word))
	}
	return w.text.take(from)
}
