package decode

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// step is one part of a path.
type step struct {
	kind   stepKind
	prefix string // XML: namespace prefix, if the path gives one that stands for none
	space  int32  // XML: number of the namespace its prefix stands for, from 1
	name   string // key, element or attribute; "" means any
	index  int
	// numeric: JSON, a key written as a number after a dot; in an array it is
	// the element at index.
	numeric bool
	tests   []test
}

type stepKind uint8

const (
	stepName  stepKind = iota // JSON key or XML element; name "" is any
	stepEach                  // JSON: every element that passes the tests
	stepIndex                 // JSON: element by position, from 0
	stepAttr                  // XML: attribute, always last
)

// test is a condition on a JSON element or an XML element.
type test struct {
	kind   testKind
	prefix string   // XML attribute
	space  int32    // XML attribute
	keys   []string // JSON: way to the value; XML: the attribute's name
	value  string
	pos    int // XML: position, from 1
	cnt    int // XML: which counter of the parent's node; set by the trie
}

type testKind uint8

const (
	testEqual testKind = iota
	testUnequal
	testPresent
	testPos
)

func (s step) equal(o step) bool {
	return s.kind == o.kind && s.prefix == o.prefix && s.space == o.space && s.name == o.name && s.index == o.index && s.numeric == o.numeric &&
		slices.EqualFunc(s.tests, o.tests, test.equal)
}

func (t test) equal(o test) bool {
	return t.kind == o.kind && t.prefix == o.prefix && t.space == o.space && slices.Equal(t.keys, o.keys) && t.value == o.value && t.pos == o.pos
}

// maxSteps bounds a path; a reply may not be deeper anyway.
const maxSteps = maxDepth

var errEmptyPath = errors.New("path is empty")

// parseJSONPath reads a path such as $.a.b[0].c[*] or a[type=print].d.
func parseJSONPath(path string) ([]step, error) {
	rest := path
	switch {
	case path == "":
		return nil, errEmptyPath
	case path == "$" || path == ".":
		return nil, nil
	case strings.HasPrefix(path, "$.") || strings.HasPrefix(path, "$["):
		rest = path[1:]
	case path[0] == '[':
	default:
		rest = "." + path
	}
	var steps []step
	for rest != "" {
		var s step
		var err error
		switch rest[0] {
		case '.':
			n := strings.IndexAny(rest[1:], ".[]")
			if n < 0 {
				n = len(rest) - 1
			}
			name := rest[1 : 1+n]
			if name == "" {
				return nil, fmt.Errorf("%q: a key is missing before %q", path, rest[1:])
			}
			rest = rest[1+n:]
			s = step{kind: stepName, name: name}
			if name == "*" {
				s.name = ""
			} else if n, err := strconv.ParseUint(name, 10, 31); err == nil && strconv.FormatUint(n, 10) == name {
				s.numeric, s.index = true, int(n)
			}
		case '[':
			var inner string
			inner, rest, err = bracket(rest)
			if err == nil {
				s, err = jsonBracket(inner)
			}
		default:
			err = fmt.Errorf("unexpected %q", rest)
		}
		if err != nil {
			return nil, fmt.Errorf("%q: %w", path, err)
		}
		steps = append(steps, s)
		if len(steps) > maxSteps {
			return nil, fmt.Errorf("path of more than %d steps", maxSteps)
		}
	}
	return steps, nil
}

// bracket cuts "[...]" off s, with quotes respected.
func bracket(s string) (inner, rest string, err error) {
	var quote byte
	for i := 1; i < len(s); i++ {
		switch c := s[i]; {
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '\'' || c == '"':
			quote = c
		case c == ']':
			return s[1:i], s[i+1:], nil
		}
	}
	return "", "", fmt.Errorf("%q is not closed", s)
}

func jsonBracket(in string) (step, error) {
	in = strings.TrimSpace(in)
	if in == "" {
		return step{}, errors.New("empty brackets")
	}
	if in == "*" {
		return step{kind: stepEach}, nil
	}
	if key, ok := unquote(in); ok {
		if key == "" {
			return step{}, errors.New("empty key")
		}
		return step{kind: stepName, name: key}, nil
	}
	if in[0] >= '0' && in[0] <= '9' {
		if n, err := strconv.ParseUint(in, 10, 31); err == nil {
			return step{kind: stepIndex, index: int(n)}, nil
		}
	}
	if cond, ok := strings.CutPrefix(in, "?"); ok {
		cond = strings.TrimSpace(cond)
		if !strings.HasPrefix(cond, "(") || !strings.HasSuffix(cond, ")") {
			return step{}, fmt.Errorf("condition %q is not in parentheses", in)
		}
		cond = strings.TrimSpace(cond[1 : len(cond)-1])
		way, ok := strings.CutPrefix(cond, "@.")
		if !ok {
			return step{}, fmt.Errorf("condition %q: @. is missing at its beginning", in)
		}
		t, err := condition(way, true)
		return step{kind: stepEach, tests: []test{t}}, err
	}
	if !strings.Contains(in, "=") {
		return step{}, fmt.Errorf("[%s] is no index, key or condition", in)
	}
	t, err := condition(in, false)
	return step{kind: stepEach, tests: []test{t}}, err
}

// condition reads key=value, key!=value, and in the long form key=='value' or
// key alone.
func condition(s string, long bool) (test, error) {
	way, value, found := strings.Cut(s, "=")
	t := test{kind: testEqual}
	switch {
	case !found && long:
		t.kind = testPresent
	case strings.HasSuffix(way, "!"):
		t.kind, way = testUnequal, way[:len(way)-1]
	case long && !strings.HasPrefix(value, "="):
		return t, fmt.Errorf("condition %q: want == or !=", s)
	}
	if t.kind == testEqual && strings.HasPrefix(value, "=") {
		value = value[1:]
	}
	if t.kind != testPresent {
		value = strings.TrimSpace(value)
		if v, ok := unquote(value); ok {
			value = v
		} else if value == "" || strings.ContainsAny(value, `'"`) {
			return t, fmt.Errorf("condition %q: the value is missing or badly quoted", s)
		}
		t.value = value
	}
	t.keys = strings.Split(strings.TrimSpace(way), ".")
	for _, k := range t.keys {
		if k == "" || strings.ContainsAny(k, "'\"()&|<>! ") {
			return t, fmt.Errorf("condition %q: bad key", s)
		}
	}
	return t, nil
}

func unquote(s string) (string, bool) {
	if len(s) < 2 || s[0] != '\'' && s[0] != '"' || s[len(s)-1] != s[0] {
		return "", false
	}
	in := s[1 : len(s)-1]
	return in, strings.IndexByte(in, s[0]) < 0
}

// parseXMLPath reads a path such as A/B[@c='d'][1]/@e.
func parseXMLPath(path string) ([]step, error) {
	switch path {
	case "":
		return nil, errEmptyPath
	case ".":
		return nil, nil
	}
	var steps []step
	rest := strings.TrimPrefix(path, "/")
	for more := true; more; {
		n := strings.IndexAny(rest, "/[")
		if n < 0 {
			n = len(rest)
		}
		var s step
		name := rest[:n]
		rest = rest[n:]
		if a, ok := strings.CutPrefix(name, "@"); ok {
			s.kind, name = stepAttr, a
		}
		var err error
		if name != "*" || s.kind == stepAttr {
			s.prefix, s.name, err = xmlName(name)
		}
		for err == nil && strings.HasPrefix(rest, "[") {
			var inner string
			var t test
			inner, rest, err = bracket(rest)
			if err == nil {
				t, err = xmlTest(inner)
				s.tests = append(s.tests, t)
			}
		}
		more = rest != ""
		if err == nil && more {
			if rest[0] != '/' {
				err = fmt.Errorf("unexpected %q", rest)
			} else if s.kind == stepAttr {
				err = errors.New("nothing may follow an attribute")
			}
			rest = rest[1:]
		}
		if err == nil && s.kind == stepAttr && s.tests != nil {
			err = errors.New("an attribute takes no conditions")
		}
		if err != nil {
			return nil, fmt.Errorf("%q: %w", path, err)
		}
		steps = append(steps, s)
		if len(steps) > maxSteps {
			return nil, fmt.Errorf("path of more than %d steps", maxSteps)
		}
	}
	return steps, nil
}

// bind puts the numbers of namespaces in the place of prefixes that stand for them.
func bind(steps []step, space func(prefix string) int32) {
	for i := range steps {
		s := &steps[i]
		s.space = space(s.prefix)
		if s.space != 0 {
			s.prefix = ""
		}
		for k := range s.tests {
			t := &s.tests[k]
			t.space = space(t.prefix)
			if t.space != 0 {
				t.prefix = ""
			}
		}
	}
}

func xmlName(s string) (prefix, name string, err error) {
	prefix, name, ok := strings.Cut(s, ":")
	if !ok {
		prefix, name = "", s
	}
	for _, part := range []string{prefix, name} {
		for i := range len(part) {
			if c := part[i]; !nameByte[c] || c == ':' || i == 0 && !nameStart(c) {
				return "", "", fmt.Errorf("%q is no name", s)
			}
		}
	}
	if name == "" || ok && prefix == "" {
		return "", "", fmt.Errorf("%q is no name", s)
	}
	return prefix, name, nil
}

func xmlTest(in string) (test, error) {
	in = strings.TrimSpace(in)
	if n, err := strconv.ParseUint(in, 10, 31); err == nil {
		if n == 0 {
			return test{}, errors.New("positions count from 1")
		}
		return test{kind: testPos, pos: int(n)}, nil
	}
	way, ok := strings.CutPrefix(in, "@")
	if !ok {
		return test{}, fmt.Errorf("[%s] is no position and no condition on an attribute", in)
	}
	t := test{kind: testPresent}
	name, value, found := strings.Cut(way, "=")
	if found {
		t.kind = testEqual
		if n, ok := strings.CutSuffix(name, "!"); ok {
			t.kind, name = testUnequal, n
		}
		value = strings.TrimSpace(value)
		if v, ok := unquote(value); ok {
			value = v
		} else if value == "" || strings.ContainsAny(value, `'"`) {
			return t, fmt.Errorf("[%s]: the value is missing or badly quoted", in)
		}
		t.value = value
	}
	prefix, name, err := xmlName(strings.TrimSpace(name))
	t.prefix, t.keys = prefix, []string{name}
	return t, err
}

// nameByte are the bytes an XML name may consist of, UTF-8 taken on trust.
var nameByte = func() (t [256]bool) {
	for c := range t {
		t[c] = c >= 0x80 || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' ||
			c == '_' || c == ':' || c == '-' || c == '.'
	}
	return t
}()

func nameStart(c byte) bool {
	return c >= 0x80 || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' || c == ':'
}
