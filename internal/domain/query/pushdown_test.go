package query

import (
	"hash/fnv"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// halfDeaf is a source that knows most fields, each by a rule that finds as told.
func halfDeaf(t interface{ Fatal(...any) }, finds map[string]Finds) *Renderer {
	d := Dialect{Source: "deaf", Params: []ParamMap{{StdKey: KeyQuery, Name: "q"}}, Rules: []Rule{
		{Op: OpAnd, Joiner: " AND ", WrapGroup: true},
		{Op: OpOr, Joiner: " OR ", WrapGroup: true},
		{Op: OpNot, Template: "NOT ${items}"},
	}}
	for _, field := range sortedKeys(finds) {
		f := finds[field]
		if f == "" {
			continue
		}
		c := Capability{Field: field}
		add := func(r Rule) {
			r.Field = field
			r.Finds = f
			d.Rules = append(d.Rules, r)
			c.Ops = append(c.Ops, r.Op)
		}
		switch field {
		case "year":
			add(Rule{Op: OpRange, Template: "year:${default(from, '*')}-${default(to, '*')}"})
		case "type":
			c.TermMatches = []Match{MatchExact}
			add(Rule{Op: OpTerm, Template: "type:${quote(value)}", Values: map[string]string{"a": "own-a"}})
			add(Rule{Op: OpIn, ItemTemplate: "type:${quote(value)}", Joiner: " OR ", WrapGroup: true})
		default:
			c.TermMatches = []Match{MatchWords, MatchPhrase}
			add(Rule{Op: OpTerm, Template: field + ":${quote(value)}"})
		}
		d.Capabilities = append(d.Capabilities, c)
	}
	r, err := NewRenderer(d, Default())
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// found is what a source that is asked for e finds: the truth, but for conditions whose
// rule finds more or less, by a die that is thrown once for a condition and a record.
func found(e Expr, d contents, finds map[string]Finds, seed string) bool {
	switch e := e.(type) {
	case And:
		for _, k := range e.Of {
			if !found(k, d, finds, seed) {
				return false
			}
		}
		return true
	case Or:
		for _, k := range e.Of {
			if found(k, d, finds, seed) {
				return true
			}
		}
		return false
	case Not:
		return !found(e.Of, d, finds, seed)
	case All:
		return true
	}
	h := fnv.New32a()
	h.Write([]byte(seed))
	h.Write(JSON(e))
	lucky := h.Sum32()%2 == 0
	holds := Evaluate(e, d) == True
	switch finds[fieldOf(e)] {
	case FindsSuperset, FindsRanked:
		return holds || lucky
	case FindsSubset:
		return holds && lucky
	}
	return holds
}

// askable is an expression without text of a source's own language and without NOT of
// everything, which no source is asked for.
func askable(e Expr) bool {
	if n, ok := e.(Not); ok && n.Of.Op() == OpAll || e.Op() == OpToken {
		return false
	}
	for _, k := range kids(e) {
		if !askable(k) {
			return false
		}
	}
	return true
}

// What is kept of what a source finds is what was asked for, whatever the source can
// be asked for and in whichever direction it is wrong.
func TestSplit_WhatIsKeptIsWhatWasAskedFor(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := Canonical(anyExpr(3).Draw(t, "expr"))
		if !askable(e) {
			t.Skip("nobody is asked for that")
		}
		finds := map[string]Finds{}
		for _, field := range []string{"ti", "ab", "full", "type", "year"} {
			finds[field] = rapid.SampledFrom(append([]Finds{""}, findsKinds...)).Draw(t, field)
		}
		r := halfDeaf(t, finds)
		p, problems := r.Split(e)
		if len(problems) > 0 {
			t.Fatalf("%s: %v", JSON(e), problems)
		}
		if more := r.Check(p.Sent); len(more) > 0 {
			t.Fatalf("%s of %s cannot be sent: %v", JSON(p.Sent), JSON(e), more)
		}
		for range 4 {
			d := anyRecord().Draw(t, "record")
			for field, c := range d { // a record that can tell of everything
				c.Kept = true
				c.Shown = ShownAlways
				d[field] = c
			}
			seed := rapid.StringN(1, 3, 3).Draw(t, "seed")
			verdict := Evaluate(e, d)
			kept := found(p.Sent, d, finds, seed) && Evaluate(p.Rest, d) != False
			if verdict == True && !kept || verdict == False && kept {
				t.Fatalf("%s is %s, kept: %t\nsent %s\nrest %s", JSON(e), verdict, kept, JSON(p.Sent), JSON(p.Rest))
			}
			if p.Rest.Op() == OpAll && p.Finds != FindsExact {
				t.Fatalf("%s is sent as %s and left to the source", JSON(e), p.Finds)
			}
		}
	})
}

func TestSplit_HasADirection(t *testing.T) {
	finds := map[string]Finds{"ti": FindsSuperset, "ab": FindsExact, "type": FindsExact, "year": FindsSubset, "kw": FindsRanked}
	r := halfDeaf(t, finds)
	for _, one := range []struct{ text, sent, rest string }{
		{`ab:x`, `ab:x`, `*`},
		{`ti:x`, `ti:x`, `ti:x`},
		{`NOT ab:x`, `NOT ab:x`, `*`},
		{`NOT ti:x`, `*`, `NOT ti:x`},
		{`year:2020`, `*`, `year:2020`},
		{`NOT year:2020`, `NOT year:2020`, `NOT year:2020`},
		{`ab:x au:y`, `ab:x`, `au:y`},
		{`ab:x OR au:y`, `*`, `ab:x OR au:y`},
		{`NOT (ab:x OR au:y)`, `NOT ab:x`, `NOT (ab:x OR au:y)`},
		{`NOT (ab:x au:y)`, `*`, `NOT (ab:x AND au:y)`},
		{`(ti:x OR ab:y) NOT (ti:z OR type:a)`, `NOT type:a AND (ab:y OR ti:x)`, `NOT (ti:z OR type:(a, own-a)) AND (ab:y OR ti:x)`},
		{`ab:"x y"cs`, `ab:"x y"`, `ab:"x y"cs`},
		{`ab:"x"`, `ab:x`, `*`},
		{`kw:x ab:y`, `ab:y AND kw:x`, `kw:x`},
	} {
		e, err := Parse(one.text, Default())
		if err != nil {
			t.Fatal(err)
		}
		p, problems := r.Split(e)
		if len(problems) > 0 {
			t.Fatalf("%s: %v", one.text, problems)
		}
		if sent, rest := Format(p.Sent, Default()), Format(p.Rest, Default()); sent != one.sent || rest != one.rest {
			t.Errorf("%s\n  sent %s, want %s\n  rest %s, want %s", one.text, sent, one.sent, rest, one.rest)
		}
	}
}

func TestSplit_AsksForAccentsBothWays(t *testing.T) {
	r := halfDeaf(t, map[string]Finds{"ti": FindsExact})
	r.capabilities[0].Accents = true
	r.capabilities[0].TermMatches = []Match{MatchWords, MatchPhrase, MatchPrefix}
	for text, want := range map[string]string{
		`ti:Müller`:           `ti:Müller OR ti:muller`,
		`ti:Muller`:           `ti:Muller`,
		`ti:"Müller cell"`:    `ti:"Müller cell" OR ti:"muller cell"`,
		`ti:"beta-cell gra"*`: `ti:gra* AND ti:beta AND ti:cell`,
	} {
		e, err := Parse(text, Default())
		if err != nil {
			t.Fatal(err)
		}
		p, problems := r.Split(e)
		if got := Format(p.Sent, Default()); len(problems) > 0 || got != want {
			t.Errorf("%s is sent as %s, want %s (%v)", text, got, want, problems)
		}
	}
}

func TestSplit_RefusesWhatNobodyUnderstands(t *testing.T) {
	r := halfDeaf(t, map[string]Finds{"ab": FindsExact})
	for text, want := range map[string]string{
		`@pubmed:"x[tiab]"`: "deaf does not understand the language of pubmed",
		`NOT *`:             "NOT of everything finds nothing",
	} {
		e, err := Parse(text, Default())
		if err != nil {
			t.Fatal(err)
		}
		if _, problems := r.Split(e); !strings.Contains(problems.Error(), want) {
			t.Errorf("%s: %v, want %q", text, problems, want)
		}
	}
}

// TestSplit_WritesIdentifiersAsSourcesDo: a source knows one spelling of an identifier, and finds nothing for the others.
func TestSplit_WritesIdentifiersAsSourcesDo(t *testing.T) {
	for text, want := range map[string]string{
		`doi:"https://doi.org/10.1000/AbC"`:        `doi:10.1000/abc`,
		`doi:10.1000/AbC`:                          `doi:10.1000/AbC`,
		`issn:(14321238, 0140-6736, 2049363x)`:     `issn:(0140-6736, 1432-1238, 2049-363X)`,
		`orcid:"https://orcid.org/0000-0002-182x"`: `orcid:0000-0002-182X`,
		`NOT pmcid:9000001`:                        `NOT pmcid:PMC9000001`,
		`pmcid:pmc12`:                              `pmcid:PMC12`,
		`ti:14321238`:                              `ti:14321238`,
	} {
		e, err := Parse(text, Default())
		if err != nil {
			t.Fatal(err)
		}
		if got := Format(Canonical(sendable(e)), Default()); got != want {
			t.Errorf("%s is sent as %s, not %s", text, got, want)
		}
	}
}
