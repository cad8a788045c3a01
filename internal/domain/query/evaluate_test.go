package query

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"
)

// contents is a record of these fields; what it does not name is not kept.
type contents map[string]Content

func (c contents) Content(field string) Content { return c[field] }

func has(values ...string) Content { return Content{Values: values, Kept: true} }

var paper = contents{
	"ti": has("Insulin-resistance in Müller cells: a COVID‑19 follow-up"), "ab": has(), "au": has("Müller Jan", "Jan Müller", "Müller J"),
	FieldFamily: has("Müller"),
	"jo":        has("Nature Medicine", "Nat Med"), "doi": has("10.1000/AbC"), "issn": has("1234-567x"), "pmid": has("123456"), "pmcid": has("PMC77"),
	"year": has("2020-05"), "pubdate": has("2020-05"), "updated": has("2024-05-01T12:00:00.000000Z"),
	"type": has("Journal Article", "Review"), "lang": has("eng"), "kw": has("beta cell", "mass"), "mesh": has("Insulin Resistance"),
	"orcid": {Kept: true, Shown: ShownSometimes}, "full": {Values: []string{"Insulin-resistance"}, Kept: true, Shown: ShownPartly},
}

func TestEvaluate_MeansTheSameForEverySource(t *testing.T) {
	for _, one := range []struct {
		text string
		want Verdict
	}{
		{`ti:insulin`, True},
		{`ti:INSULIN`, True},
		{`ti:insul`, False},
		{`ti:insul*`, True},
		{`ti:"insulin resistance"`, True},
		{`ti:"resistance insulin"`, False},
		{`ti:"insulin res"*`, True},
		{`ti:(resistance insulin)`, True},
		{`ti:muller`, True},
		{"ti:\"mu\u0308ller\"", True},
		{`ti:"Müller"cs`, True},
		{`ti:"müller"cs`, False},
		{`ti:covid-19`, True},
		{`ti:"19 covid"`, False},
		{`ti="insulin resistance in muller cells a covid 19 follow up"`, True},
		{`ti="insulin resistance"`, False},
		{`ti:"+++"`, Unknown},
		{`tiab:insulin`, True},
		{`tiab:glucose`, False},
		{`ab:insulin`, False},
		{`NOT ab:insulin`, True},
		{`has:ab`, False},
		{`au:"Muller J"`, True},
		{`au:muller`, True},
		{`au:jan`, False},
		{`au:"jan muller"`, True},
		{`jo:nature`, True},
		{`kw:"beta mass"`, False},
		{`doi:"https://doi.org/10.1000/abc"`, True},
		{`issn:1234567X`, True},
		{`pmcid:77`, True},
		{`pmid:100000..200000`, True},
		{`pmid:20..30`, False},
		{`type:review`, True},
		{`type:(journal-article, letter)`, True},
		{`type:rev*`, True},
		{`lang:en`, True},
		{`lang:fr`, False},
		{`mesh:"insulin resistance"`, True},
		{`mesh:insulin`, False},
		{`year:2020`, True},
		{`year:..2019`, False},
		{`pubdate:2020`, True},
		{`pubdate:2020-05-10..`, Unknown},
		{`pubdate:2020-06..`, False},
		{`NOT pubdate:2020-05-10..`, Unknown},
		{`updated:2024-05-01`, True},
		{`funder:nih`, Unknown},
		{`ti:insulin OR funder:nih`, True},
		{`ti:insulin AND funder:nih`, Unknown},
		{`ti:glucose AND funder:nih`, False},
		{`has:orcid`, Unknown},
		{`orcid:0000-0001`, Unknown},
		{`full:insulin`, True},
		{`full:glucose`, Unknown},
		{`@pubmed:"x"`, Unknown},
		{`*`, True},
	} {
		e, err := Parse(one.text, Default())
		if err != nil {
			t.Fatalf("%s: %v", one.text, err)
		}
		if got := Evaluate(e, paper); got != one.want {
			t.Errorf("%s is %s, want %s", one.text, got, one.want)
		}
	}
}

// anyRecord is a record of few words, so that conditions on it often hold, with fields
// that are kept or not and shown as may be.
func anyRecord() *rapid.Generator[contents] {
	return rapid.Custom(func(t *rapid.T) contents {
		c := contents{}
		for _, field := range []string{"ti", "ab", "full", "doi", "type", "year", "updated"} {
			one := Content{Kept: rapid.Bool().Draw(t, "kept"), Shown: rapid.SampledFrom(shownKinds).Draw(t, "shown")}
			value := anyText()
			switch field {
			case "year":
				value = rapid.Custom(func(t *rapid.T) string { return fmt.Sprint(rapid.IntRange(1000, 9000).Draw(t, "year")) })
			case "updated":
				value = rapid.SampledFrom([]string{"1970", "2000-02", "2031-05-06", "2024-05-01T12:00:00.000000Z", "soon"})
			}
			if one.Kept {
				one.Values = rapid.SliceOfN(value, 0, 3).Draw(t, "values")
			}
			c[field] = one
		}
		return c
	})
}

func TestEvaluate_TheCanonicalFormMeansTheSame(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := anyExpr(3).Draw(t, "expr")
		d := anyRecord().Draw(t, "record")
		if got, want := Evaluate(Canonical(e), d), Evaluate(e, d); got != want {
			t.Fatalf("%s is %s, its canonical form %s", JSON(e), want, got)
		}
	})
}

func TestEvaluate_DeMorganHoldsInThreeValues(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := anyExpr(2).Draw(t, "a"), anyExpr(2).Draw(t, "b")
		d := anyRecord().Draw(t, "record")
		notAnd := Evaluate(Not{Of: And{Of: []Expr{a, b}}}, d)
		orNot := Evaluate(Or{Of: []Expr{Not{Of: a}, Not{Of: b}}}, d)
		if notAnd != orNot {
			t.Fatalf("NOT (a AND b) is %s, NOT a OR NOT b %s, with a %s, b %s", notAnd, orNot, JSON(a), JSON(b))
		}
	})
}

func FuzzFolded(f *testing.F) {
	f.Add("Müller")
	f.Add("e\u0301 ﬃ Ｗｉｄｅ İ ẞ")
	f.Fuzz(func(t *testing.T, s string) {
		if once := folded(s); folded(once) != once {
			t.Errorf("%q is folded to %q, and that to %q", s, once, folded(once))
		}
	})
}
