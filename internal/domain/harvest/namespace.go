package harvest

import (
	"crypto/sha256"
	"encoding/hex"
	"iter"
	"slices"
	"strings"
)

// Operation is one of the three kinds of collecting.
type Operation string

// The operations.
const (
	Harvest  Operation = "HARVEST"
	Backfill Operation = "BACKFILL"
	Update   Operation = "UPDATE"
)

// ParseOperation reads an operation in any case.
func ParseOperation(s string) (Operation, bool) {
	op := Operation(strings.ToUpper(strings.TrimSpace(s)))
	switch op {
	case Harvest, Backfill, Update:
		return op, true
	}
	return "", false
}

// Priority is that of the operation's tasks where nobody says otherwise: the lower
// the number, the earlier they are taken.
func (o Operation) Priority() int {
	switch o {
	case Harvest:
		return 100
	case Update:
		return 200
	default:
		return 300
	}
}

// Direction is the way a cursor moves.
type Direction string

// The directions. A BACKFILL cursor falls from the upper end of its window.
const (
	Forward  Direction = "FORWARD"
	Backward Direction = "BACKFILL"
)

// Direction of the operation's cursor.
func (o Operation) Direction() Direction {
	if o == Backfill {
		return Backward
	}
	return Forward
}

// Remainder is what is left of a span that was cut as far as a mark, in the direction
// of the operation. It is empty if nothing is left.
func (o Operation) Remainder(s Span, cut Mark) Span {
	if o.Direction() == Backward {
		return Span{From: s.From, To: cut}
	}
	return Span{From: cut, To: s.To}
}

// Scope is what a namespace's cursor is kept for.
type Scope string

// The scopes of a namespace.
const (
	ScopeExpr   Scope = "EXPR"   // an endpoint, a date and a selection
	ScopeCustom Scope = "CUSTOM" // an activity
)

// Namespace names one cursor: operations, selections and activities that must
// not disturb each other have different ones.
type Namespace struct {
	Provenance string
	Operation  Operation
	CursorKey  string
	Scope      Scope
	Key        string
}

func (n Namespace) String() string { return string(n.Scope) + "/" + n.Key }

// HarvestNamespace is the namespace of a HARVEST: endpoint, watermark key and
// selection, nothing else, so that tuning never starts a new cursor (R7).
func HarvestNamespace(provenance, endpoint, watermarkKey, selectionHash string) Namespace {
	return Namespace{
		Provenance: provenance,
		Operation:  Harvest,
		CursorKey:  watermarkKey,
		Scope:      ScopeExpr,
		Key:        HashKey(endpoint, watermarkKey, selectionHash),
	}
}

// ActivityNamespace is the namespace of a BACKFILL or UPDATE: its activity (R8).
func ActivityNamespace(provenance string, op Operation, cursorKey, activity string) Namespace {
	return Namespace{
		Provenance: provenance,
		Operation:  op,
		CursorKey:  cursorKey,
		Scope:      ScopeCustom,
		Key:        activity,
	}
}

// HashKey is the hex SHA-256 of parts, each ended so that no two lists of parts
// run together.
func HashKey(parts ...string) string { return HashKeys(slices.Values(parts)) }

// HashKeys is [HashKey] of parts that come one by one.
func HashKeys(parts iter.Seq[string]) string {
	h := sha256.New()
	for p := range parts {
		h.Write([]byte(p))
		h.Write([]byte{0})
	}
	return hex.EncodeToString(h.Sum(nil))
}
