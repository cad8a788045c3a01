package query

// Limits of an expression, however it is written.
const (
	// MaxText is the longest text form, in bytes. It holds for expressions read
	// from JSON too, as they can be written as text.
	MaxText = 32 << 10
	// MaxJSON is the longest JSON form, in bytes: room for all that fits the others.
	MaxJSON = 512 << 10
	// MaxDepth is the deepest nesting: nodes from the root to a leaf.
	MaxDepth = 64
	// MaxNodes counts every node, and every value of an IN.
	MaxNodes = 2000
)

// Op names a kind of node. The strings are those stored (C10).
type Op string

// The kinds of nodes.
const (
	OpAnd    Op = "AND"
	OpOr     Op = "OR"
	OpNot    Op = "NOT"
	OpTerm   Op = "TERM"
	OpIn     Op = "IN"
	OpRange  Op = "RANGE"
	OpExists Op = "EXISTS"
	OpToken  Op = "TOKEN"
	OpAll    Op = "ALL"
)

// Match says how the text of a TERM is held against a field.
type Match string

// The kinds of matches.
const (
	MatchWords  Match = "WORDS"  // the word, wherever it stands; several words: all of them
	MatchPhrase Match = "PHRASE" // the words in this order
	MatchExact  Match = "EXACT"  // the whole value
	MatchPrefix Match = "PREFIX" // what begins so
)

// Type is the type of a value.
type Type string

// The types of values.
const (
	TypeDate   Type = "DATE"   // an instant, written in [InstantLayout]
	TypeYear   Type = "YEAR"   // four digits
	TypeNumber Type = "NUMBER" // a decimal number without exponent
	TypeText   Type = "TEXT"
	TypeBool   Type = "BOOL" // true or false
)

// Expr is one node of an expression: [And], [Or], [Not], [Term], [In], [Range],
// [Exists], [Token] or [All].
type Expr interface {
	// Op is the kind of the node.
	Op() Op
	// Place is where the node was read from.
	Place() Place
}

// And holds where all of its parts hold.
type And struct {
	Of []Expr
	At Place
}

// Or holds where one of its parts holds.
type Or struct {
	Of []Expr
	At Place
}

// Not holds where its part does not.
type Not struct {
	Of Expr
	At Place
}

// Term is a text in a field.
type Term struct {
	Field         string
	Text          string
	Match         Match
	CaseSensitive bool
	At            Place
}

// In holds where a field is exactly one of several values.
type In struct {
	Field         string
	Values        []Value
	CaseSensitive bool
	At            Place
}

// Value is one value of an [In].
type Value struct {
	Text string
	At   Place
}

// Range holds where a field lies between two bounds, one of which may be absent.
//
// In canonical form a DATE range includes its beginning and excludes its end,
// both instants; a YEAR range includes both years.
type Range struct {
	Field string
	Type  Type
	From  Bound
	To    Bound
	At    Place
}

// Bound is one end of a [Range]. Without a value it is absent.
type Bound struct {
	Value string
	Open  bool // the value itself is not in the range
	At    Place
}

// Absent reports whether the range has no end on this side.
func (b Bound) Absent() bool { return b.Value == "" }

// Exists holds where a field has a value.
type Exists struct {
	Field string
	At    Place
}

// Token is text in the source's own language, understood by that source only.
type Token struct {
	Source string
	Text   string
	At     Place
}

// All holds everywhere.
type All struct{ At Place }

// Op implements [Expr].
func (And) Op() Op { return OpAnd }

// Op implements [Expr].
func (Or) Op() Op { return OpOr }

// Op implements [Expr].
func (Not) Op() Op { return OpNot }

// Op implements [Expr].
func (Term) Op() Op { return OpTerm }

// Op implements [Expr].
func (In) Op() Op { return OpIn }

// Op implements [Expr].
func (Range) Op() Op { return OpRange }

// Op implements [Expr].
func (Exists) Op() Op { return OpExists }

// Op implements [Expr].
func (Token) Op() Op { return OpToken }

// Op implements [Expr].
func (All) Op() Op { return OpAll }

// Place implements [Expr].
func (e And) Place() Place { return e.At }

// Place implements [Expr].
func (e Or) Place() Place { return e.At }

// Place implements [Expr].
func (e Not) Place() Place { return e.At }

// Place implements [Expr].
func (e Term) Place() Place { return e.At }

// Place implements [Expr].
func (e In) Place() Place { return e.At }

// Place implements [Expr].
func (e Range) Place() Place { return e.At }

// Place implements [Expr].
func (e Exists) Place() Place { return e.At }

// Place implements [Expr].
func (e Token) Place() Place { return e.At }

// Place implements [Expr].
func (e All) Place() Place { return e.At }

// kids of a node.
func kids(e Expr) []Expr {
	switch e := e.(type) {
	case And:
		return e.Of
	case Or:
		return e.Of
	case Not:
		return []Expr{e.Of}
	}
	return nil
}

// size counts the nodes of e, values of an IN included, and its depth.
func size(e Expr) (nodes, depth int) {
	nodes = 1
	if in, ok := e.(In); ok {
		nodes += len(in.Values)
	}
	for _, k := range kids(e) {
		n, d := size(k)
		nodes += n
		depth = max(depth, d)
	}
	return nodes, depth + 1
}

// fieldOf is the field of a leaf.
func fieldOf(e Expr) string {
	switch e := e.(type) {
	case Term:
		return e.Field
	case In:
		return e.Field
	case Range:
		return e.Field
	case Exists:
		return e.Field
	case Token:
		return FieldToken
	}
	return ""
}
