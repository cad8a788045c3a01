// Package decode takes a reply apart: bytes in, items and fields out, by the
// paths a source declares.
//
// All paths of an endpoint are compiled once into a trie; one walk over the
// bytes, JSON or XML, follows it and notes where the wanted values lie. Only
// those are unescaped, cleaned and written as the standard record. No map or
// tree of the page is ever built, an item's Raw points into the reply. JSON is
// checked before it is walked, and jsontext says what is wrong with it if that
// fails; of a large page the items are taken apart by a few goroutines while the
// rest is still being checked, and Page returns when all of them have ended.
//
// It promises
//   - never to take an error body for an empty page: what must be there and is
//     not gives a [ShapeError] (R24), together with the signals found;
//   - to refuse what only hurts, with a [LimitError]: deep nesting, endless
//     strings, document type declarations with content (R50);
//   - that one bad item spoils only itself, whatever is in it, as long as there is no
//     doubt where it ends: it carries a Problem (R32, R84);
//   - the same output for the same bytes, and no panic for any.
//
// In the answer to a list of ids a null among the items says that there is none
// and is left out. An item that says it was deleted is a tombstone: it needs an
// id and a date, but no fields. Paths that begin with header: are not looked for.
//
// What a shape or a problem means for the walk, and whether a page was the
// last one, is left to the caller; so are transport, charset and compression:
// a body is UTF-8 here.
//
// # Paths
//
// JSON: $.message.items, message.items, ['a.b'], [0], [*] for every element,
// * for every key, [?(@.type=='print')] or [type=print] for elements by a
// value, != for the opposite; $ or . is the value itself. An array is entered
// only where the path says so; a number after a dot, as in messages.0.total, is
// a position in an array and a key in an object.
//
// XML: MedlineCitation/Article, PMID/@Version, Id[@Type='doi'][@Valid!=N],
// [@Type] for the presence of an attribute, [1] for a position, * for any
// name, . for the element itself. Names match by local name; a prefix in a path
// must match, as a namespace if the source binds it to one, else as it is. An attribute that is missing is unequal to every value.
// A path of the reply begins with the root's name.
package decode
