package query_test

import (
	"fmt"
	"log"

	"github.com/papertrace/patra/internal/domain/query"
)

// What people write is read into one tree; its canonical form and hash do not
// depend on the order of its parts.
func ExampleParse() {
	dict := query.Default()
	one, err := query.Parse(`tiab:"insulin resistance" and (lang:eng OR lang:fre)`, dict)
	if err != nil {
		log.Fatal(err)
	}
	other, err := query.Parse(`(lang:fre OR lang:eng) AND tiab:"insulin resistance"`, dict)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(query.Format(one, dict))
	fmt.Println(query.Hash(one) == query.Hash(other))
	// Output:
	// tiab:"insulin resistance" AND (lang:eng OR lang:fre)
	// true
}

// A mistake is told with its place.
func ExampleParse_mistake() {
	_, err := query.Parse(`title:asthma AND`, query.Default())
	fmt.Println(err)
	// Output: query: line 1, column 17: the query ends where something is still to come
}

// A dialect says what a source can search, and how that is written there.
func ExampleRenderer() {
	r, err := query.NewRenderer(query.Dialect{
		Source:       "demo",
		Capabilities: []query.Capability{{Field: "ti", Ops: []query.Op{query.OpTerm}, TermMatches: []query.Match{query.MatchWords}}},
		Rules: []query.Rule{
			{Field: "ti", Op: query.OpTerm, Match: query.MatchWords, Template: "${entrez_word(value)}[ti]"},
			{Op: query.OpOr, Joiner: " OR ", WrapGroup: true},
		},
		Params: []query.ParamMap{{StdKey: query.KeyQuery, Name: "term"}},
	}, query.Default())
	if err != nil {
		log.Fatal(err)
	}
	e, err := query.Parse("ti:asthma OR ti:copd", query.Default())
	if err != nil {
		log.Fatal(err)
	}
	out, err := r.Render(e)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(out.Query)
	// Output: asthma[ti] OR copd[ti]
}
