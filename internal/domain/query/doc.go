// Package query holds search expressions: what of a source is wanted, said once
// and in the same words for every source.
//
// An [Expr] is a tree of AND, OR and NOT over TERM, IN, RANGE, EXISTS, TOKEN and
// ALL on the unified field keys of a [FieldDict]. People write it as text
// ([Parse], [Format]), programs as JSON ([ParseJSON], [JSON]). [Canonical] is the
// one form of all expressions that mean the same by its rules, and [Hash] names
// it. A [Dialect] says what a source can search and how that is written there:
// [Check] holds an expression against the capabilities, a [Renderer] writes it as
// query text and parameters.
//
// Promises:
//   - Parse(Format(Parse(s))) is Parse(s), places apart, and equal expressions
//     have equal hashes whatever the order of their children.
//   - Every mistake is a [Problem] with its place: offset, line and column in a
//     text, a path in JSON. All that can be found are reported at once.
//   - A value never leaves its place in rendered text: each is encoded for the
//     syntax it stands in, or refused. CR, LF, NUL and all other control
//     characters are refused where values enter.
//   - Work is bounded by [MaxText], [MaxDepth], [MaxNodes] and [MaxRendered].
//
// Time windows are never part of a selection (R7): a plan's slice puts its own
// range beside the [Selection] when it renders.
//
// Bytes are kept as given, but for runs of white space inside a value, which
// become one blank: the standard library has no Unicode normalisation, so NFC
// and NFD spellings of a word are different words here, and so are different cases.
//
// # Text form
//
//	query      = or ;
//	or         = and { "OR" and } ;
//	and        = not { [ "AND" ] not } ;
//	not        = "NOT" not | primary ;
//	primary    = "(" or ")" | "*" | clause | token | value ;
//	clause     = field ":" ( "(" or ")"            (* the field goes to each part *)
//	                       | list | range | "*"    (* "*": the field exists *)
//	                       | [ "=" ] value )
//	           | field compare value
//	           | "has" ":" field ;
//	list       = "(" value "," [ value { "," value } [ "," ] ] ")" [ "cs" ] ;
//	range      = [ value ] ".." [ value ]
//	           | ( "[" | "{" ) bound "TO" bound ( "]" | "}" ) ;
//	bound      = value | "*" ;
//	compare    = "=" | ">" | ">=" | "<" | "<=" ;
//	token      = "@" source ":" string ;
//	value      = ( word | string ) [ "*" ] [ "cs" ] ;   (* "cs" after a string only *)
//	string     = '"' { character | "\" character } '"' ;
//	word       = characters other than blanks, ( ) [ ] { } " , : < > = * ? ^ ~ | and ".." ;
//
// Operators and TO are read in any case and written in capitals; to search for
// such a word, quote it or put a backslash before it. OR binds weakest, then AND,
// then NOT; operands side by side are ANDed. In a word a backslash takes the next
// character as it is; after "field:" a word may hold colons.
//
// A word on a TEXT field matches as WORDS, a string as PHRASE, "=" makes it EXACT,
// a star at the end PREFIX. KEYWORD and BOOL fields always match EXACT. On NUMBER
// and DATE fields a value is the range of all it can mean: pubdate:2020-05 is the
// month. A word without field searches "full".
package query
