package template

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/expr-lang/expr"
)

// function is an entry of the table. The types are for the compiler to check
// arguments by, and the call may rely on one of them holding: but a value that is
// absent is nil whatever its type, and what is nil stays nil.
type function struct {
	call  func(args ...any) (any, error)
	types []any
}

// functions are all that an expression can call.
var functions = makeFunctions()

// functionOptions are what is the same for every expression.
var functionOptions = makeOptions()

// FunctionNames are the names of the functions, sorted.
func FunctionNames() []string { return slices.Sorted(maps.Keys(functions)) }

// Encoders are the names of those functions that encode a value for a place.
func Encoders() []string { return slices.Sorted(maps.Keys(encoders)) }

func makeOptions() []expr.Option {
	options := []expr.Option{expr.DisableAllBuiltins(), expr.DisableIfOperator(), expr.MaxNodes(maxNodes), expr.Optimize(false)}
	for name, f := range functions {
		call := func(args ...any) (any, error) {
			if len(args) > 0 && args[0] == nil && name != "coalesce" && name != "default" {
				return nil, nil
			}
			return f.call(args...)
		}
		options = append(options, expr.Function(name, call, f.types...))
	}
	return options
}

func makeFunctions() map[string]function {
	table := map[string]function{
		// date(t, layout) writes an instant by Go's layout, in its zone.
		"date": {
			func(a ...any) (any, error) { return writeInstant(a[0], a[1]) },
			[]any{new(func(Instant, string) string)},
		},
		// iso(t) writes an instant as RFC 3339 does, with as many digits of a fraction as
		// it has: the end of a window that includes itself has one in milliseconds.
		"iso": {
			func(a ...any) (any, error) { return writeInstant(a[0], time.RFC3339Nano) },
			[]any{new(func(Instant) string)},
		},
		// epoch and epochms are seconds and milliseconds since 1970.
		"epoch": {
			func(a ...any) (any, error) { return onInstant(a[0], func(t time.Time) any { return t.Unix() }) },
			[]any{new(func(Instant) int64)},
		},
		"epochms": {
			func(a ...any) (any, error) { return onInstant(a[0], func(t time.Time) any { return t.UnixMilli() }) },
			[]any{new(func(Instant) int64)},
		},
		// time(x) reads an instant from a text that RFC 3339 writes.
		"time": {readInstant, []any{new(func(string) Instant)}},
		"join": {joinList, []any{new(func([]string, string) string)}},
		// json(list) is a list of texts as JSON writes it, for bodies.
		"json": {writeJSON, []any{new(func([]string) jsonList)}},
		// cut(x, prefix) is a text, or each of a list, less what it begins with, such
		// as the address that ids are given under; capital letters are as good as small.
		"cut": {cutPrefix, []any{new(func(string, string) string), new(func([]string, string) []string), new(func(Raw, string) Raw)}},
		"lower": {
			func(a ...any) (any, error) { return onText(a[0], strings.ToLower) },
			[]any{new(func(string) string), new(func(Raw) Raw)},
		},
		"upper": {
			func(a ...any) (any, error) { return onText(a[0], strings.ToUpper) },
			[]any{new(func(string) string), new(func(Raw) Raw)},
		},
		// text(x) is a number as text, to be put together with others.
		"text": {coalesce, []any{new(func(any) string)}},
		// path(x) is x in a path with its slashes kept, such as a DOI.
		"path": {keepSlashes, []any{new(func(string) segments)}},
		// coalesce(a, b, ...) is the first that is not empty, default the same for two.
		"coalesce": {coalesce, []any{new(func(...any) string)}},
		"default":  {coalesce, []any{new(func(any, any) string)}},
	}
	for name, encode := range encoders {
		table[name] = encoderFunction(name, encode)
	}
	for name, start := range starts {
		table["exclusive_"+name] = exclusive(start)
	}
	return table
}

func wrongType(v any) error {
	return fmt.Errorf("%s cannot be given to this function", goTypes.Replace(fmt.Sprintf("%T", v)))
}

// onText changes a text, or a text that was asked for.
func onText(v any, change func(string) string) (any, error) {
	switch v := v.(type) {
	case string:
		return change(v), nil
	case Raw:
		return Raw{change(v.text)}, nil
	}
	return nil, wrongType(v)
}

func onInstant(v any, read func(time.Time) any) (any, error) {
	t, is := v.(Instant)
	if !is {
		return nil, wrongType(v)
	}
	return read(t.at), nil
}

func writeInstant(v, layout any) (any, error) {
	text, is := layout.(string)
	if !is {
		return nil, wrongType(layout)
	}
	return onInstant(v, func(t time.Time) any { return t.Format(text) })
}

func readInstant(args ...any) (any, error) {
	text, is := args[0].(string)
	if !is {
		return nil, wrongType(args[0])
	}
	t, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		return nil, fmt.Errorf("%s is not an instant such as 2024-05-01T00:00:00Z", quoted(text))
	}
	return Instant{t}, nil
}

// starts give the beginning of the year, month ... that t lies in.
var starts = map[string]func(time.Time) time.Time{
	"year":   func(t time.Time) time.Time { return time.Date(t.Year(), 1, 1, 0, 0, 0, 0, t.Location()) },
	"month":  func(t time.Time) time.Time { return time.Date(t.Year(), t.Month(), 1, 0, 0, 0, 0, t.Location()) },
	"day":    func(t time.Time) time.Time { return time.Date(t.Year(), t.Month(), t.Day(), 0, 0, 0, 0, t.Location()) },
	"hour":   func(t time.Time) time.Time { return t.Truncate(time.Hour) },
	"minute": func(t time.Time) time.Time { return t.Truncate(time.Minute) },
	"second": func(t time.Time) time.Time { return t.Truncate(time.Second) },
}

// exclusive turns an end that is out of a range into the last day, second ... in it.
func exclusive(start func(time.Time) time.Time) function {
	return function{
		func(a ...any) (any, error) {
			return onInstant(a[0], func(t time.Time) any { return Instant{start(t.Add(-time.Microsecond))} })
		},
		[]any{new(func(Instant) Instant)},
	}
}

// encoderFunction makes a function of an encoder. What it makes can only be written.
func encoderFunction(name string, encode func(string) (string, error)) function {
	run := func(v any) (string, error) {
		switch v := v.(type) {
		case string:
			return encode(v)
		case Raw:
			return encode(v.text)
		}
		return "", wrongType(v)
	}
	if name == encoderPlain {
		return function{
			func(a ...any) (any, error) {
				text, err := run(a[0])
				return plainText{text}, err
			},
			[]any{new(func(Raw) plainText), new(func(string) plainText)},
		}
	}
	return function{
		func(a ...any) (any, error) {
			text, err := run(a[0])
			return Encoded{text}, err
		},
		[]any{new(func(Raw) Encoded), new(func(string) Encoded)},
	}
}

func cutPrefix(args ...any) (any, error) {
	prefix, is := args[1].(string)
	if !is {
		return nil, wrongType(args[1])
	}
	cut := func(s string) string {
		if len(s) >= len(prefix) && strings.EqualFold(s[:len(prefix)], prefix) {
			return s[len(prefix):]
		}
		return s
	}
	list, isList := args[0].([]string)
	if !isList {
		return onText(args[0], cut)
	}
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = cut(s)
	}
	return out, nil
}

// coalesce is the first argument that is not empty. What can only be written
// stays so: as text it could be put together with others.
func coalesce(args ...any) (any, error) {
	for _, a := range args {
		switch v := a.(type) {
		case Encoded, plainText, Raw:
			return v, nil
		}
		s, err := textOf(a)
		if s != "" || err != nil {
			return s, err
		}
	}
	return "", nil
}

func joinList(args ...any) (any, error) {
	list, isList := args[0].([]string)
	sep, isText := args[1].(string)
	if !isList || !isText {
		return nil, wrongType(args[0])
	}
	n := 0
	for _, s := range list {
		n += len(s) + len(sep)
	}
	if n > MaxRendered {
		return nil, fmt.Errorf("join gives more than %d bytes", MaxRendered)
	}
	return strings.Join(list, sep), nil
}

func writeJSON(args ...any) (any, error) {
	list, is := args[0].([]string)
	if !is {
		return nil, wrongType(args[0])
	}
	if slices.ContainsFunc(list, func(s string) bool { return !utf8.ValidString(s) }) {
		return nil, errors.New("a text of the list is no UTF-8")
	}
	b, err := json.Marshal(list)
	return jsonList{string(b)}, err
}

func keepSlashes(args ...any) (any, error) {
	text, is := args[0].(string)
	if !is {
		return nil, wrongType(args[0])
	}
	return segments{text}, nil
}
