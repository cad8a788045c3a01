package decode

import "fmt"

// ShapeKind says in what way a reply is not what was asked for.
type ShapeKind string

// The kinds of wrong shape.
const (
	// ShapeSyntax: not JSON, not XML, or broken.
	ShapeSyntax ShapeKind = "syntax"
	// ShapeCut: good as far as it goes, but the end is missing.
	ShapeCut ShapeKind = "cut"
	// ShapeSchema: well-formed, but what must be there is not (R24).
	ShapeSchema ShapeKind = "schema"
	// ShapeForeign: what cannot be read however often it is asked for, such as
	// another encoding, or more than one document.
	ShapeForeign ShapeKind = "foreign"
)

// foreign names a way of writing that the first bytes of a reply give away and
// that is not read here; empty if they do not.
func foreign(body []byte) string {
	if len(body) < 2 {
		return ""
	}
	switch [2]byte(body) {
	case [2]byte{0xFE, 0xFF}, [2]byte{0xFF, 0xFE}, [2]byte{0, '{'}, [2]byte{'{', 0}, [2]byte{0, '['}, [2]byte{'[', 0}, [2]byte{0, '<'}, [2]byte{'<', 0}:
		return "text in UTF-16 or UTF-32"
	case [2]byte{0x1F, 0x8B}:
		return "packed once more than its header says"
	}
	return ""
}

// ShapeError reports a reply that cannot be read as a page.
type ShapeError struct {
	Kind   ShapeKind
	Path   string // the path that is missing, for ShapeSchema
	Offset int64  // where, for the others
	Detail string
	Err    error // of the parser, if there is one
}

func (e *ShapeError) Error() string {
	if e.Kind == ShapeSchema {
		return fmt.Sprintf("reply has another shape: %s: %s", e.Path, e.Detail)
	}
	if e.Kind == ShapeForeign {
		return fmt.Sprintf("reply cannot be read from byte %d on: %s", e.Offset, e.Detail)
	}
	if e.Kind == ShapeCut {
		return fmt.Sprintf("reply is cut off at byte %d: %s", e.Offset, e.Detail)
	}
	return fmt.Sprintf("reply is malformed at byte %d: %s", e.Offset, e.Detail)
}

func (e *ShapeError) Unwrap() error { return e.Err }

// Limits on a reply (R50). They are far above what real sources send.
const (
	maxDepth  = 128
	maxString = 4 << 20 // bytes of one JSON string or one run of XML text
	maxBody   = 1 << 30 // offsets are 32 bits
	maxItems  = 1 << 15
	maxValues = 1 << 19 // wanted values of one item, and of the reply around the items
	maxID     = 500
	maxSignal = 4 << 10
	maxSpaces = 256 // prefixes bound at one place
)

// LimitError reports a reply that was refused unread.
type LimitError struct {
	Limit  string // depth, string, dtd, size, items, values or namespaces
	Offset int64
}

func (e *LimitError) Error() string {
	return fmt.Sprintf("reply breaks the limit on %s at byte %d", e.Limit, e.Offset)
}

// Refused tells callers that asking again will not help (R50).
func (e *LimitError) Refused() bool { return true }

// Unreadable tells callers that the reply is of a kind that is never read, so that
// asking again does not help.
func (e *ShapeError) Unreadable() bool { return e.Kind == ShapeForeign }

// Schema tells callers that the reply is whole but of another shape.
func (e *ShapeError) Schema() bool { return e.Kind == ShapeSchema }
