package template

import (
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"time"
	"unicode"
	"unicode/utf8"
)

// Kind says what a value is to the place where it is written.
type Kind string

// The kinds of values. KindUnknown is what can only be told when an expression
// is run, such as one of two sides that differ.
const (
	KindUnknown Kind = ""
	KindText    Kind = "text"
	KindNumber  Kind = "number"  // and true and false: JSON writes it without quotes
	KindJSON    Kind = "json"    // a list as JSON writes it
	KindPath    Kind = "path"    // text whose slashes part a path
	KindInstant Kind = "instant" // written by RFC 3339 where nothing else is said
	KindList    Kind = "list"    // cannot be written, only handed to a function
	KindRaw     Kind = "raw"     // cannot be written before it is encoded
	KindEncoded Kind = "encoded"
	KindPlain   Kind = "plain" // encoded for a parameter that holds nothing else
	KindBlank   Kind = "blank" // the name of what is filled in later
)

// Value is what an expression gave.
type Value struct {
	Kind Kind
	Text string
}

// IsText reports whether the value is a text to a format that knows others.
func (v Value) IsText() bool { return v.Kind != KindNumber && v.Kind != KindJSON }

// Instant is a point in time, in the zone it is written in. To an expression it
// is opaque: it has no methods or fields, and can only be handed to functions.
type Instant struct{ at time.Time }

// At is the instant t.
func At(t time.Time) Instant { return Instant{t} }

// Raw is a text that somebody asked for, and that may hold anything. Expressions
// can neither compare it nor put it together with other text; encoders make
// text of it that stays within its place.
type Raw struct{ text string }

// Asked is the text as somebody asked for it.
func Asked(text string) Raw { return Raw{text} }

// Encoded is what an encoder has made, or several of such joined. It can only be
// written: whatever else was done to it could undo the encoding.
type Encoded struct{ text string }

// Safe is a text that was encoded before.
func Safe(text string) Encoded { return Encoded{text} }

// plainText fills a parameter of its own and needs no encoding but the transport's.
type plainText struct{ text string }

// segments is a text whose slashes part a path.
type segments struct{ text string }

// jsonList is a list as JSON writes it.
type jsonList struct{ text string }

var kinds = map[reflect.Type]Kind{
	reflect.TypeFor[string]():    KindText,
	reflect.TypeFor[bool]():      KindNumber,
	reflect.TypeFor[int]():       KindNumber,
	reflect.TypeFor[int64]():     KindNumber,
	reflect.TypeFor[float64]():   KindNumber,
	reflect.TypeFor[[]string]():  KindList,
	reflect.TypeFor[jsonList]():  KindJSON,
	reflect.TypeFor[segments]():  KindPath,
	reflect.TypeFor[Instant]():   KindInstant,
	reflect.TypeFor[Raw]():       KindRaw,
	reflect.TypeFor[Encoded]():   KindEncoded,
	reflect.TypeFor[plainText](): KindPlain,
}

var errRaw = errors.New("the value is not encoded for its place: write one of quote(value), filter(value) and the other encoders")

// valueOf is the result of an expression. Nothing at all is an empty text.
func valueOf(result any) (Value, error) {
	text, err := textOf(result)
	if err != nil {
		return Value{}, err
	}
	if len(text) > MaxRendered {
		return Value{}, fmt.Errorf("gives more than %d bytes", MaxRendered)
	}
	kind := KindText
	if result != nil {
		kind = kinds[reflect.TypeOf(result)]
	}
	return Value{Kind: kind, Text: text}, nil
}

// textOf writes a value the way it goes into a request.
func textOf(v any) (string, error) {
	switch v := v.(type) {
	case nil:
		return "", nil
	case string:
		return v, nil
	case Encoded:
		return v.text, nil
	case plainText:
		return v.text, nil
	case segments:
		return v.text, nil
	case jsonList:
		return v.text, nil
	case bool:
		return strconv.FormatBool(v), nil
	case int:
		return strconv.Itoa(v), nil
	case int64:
		return strconv.FormatInt(v, 10), nil
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64), nil
	case Instant:
		return v.at.Format(time.RFC3339Nano), nil
	case Raw:
		return "", errRaw
	}
	return "", errors.New("it has no text of its own: use date(), iso() or join()")
}

// Clean refuses what may not be in a value that somebody asks for.
func Clean(s string) error {
	if !utf8.ValidString(s) {
		return errors.New("is not valid UTF-8")
	}
	for _, r := range s {
		if IsControl(r) {
			return fmt.Errorf("holds the control character U+%04X", r)
		}
	}
	return nil
}

// IsControl is true of control characters and of line and paragraph separators.
func IsControl(r rune) bool { return unicode.IsControl(r) || r == '\u2028' || r == '\u2029' }
