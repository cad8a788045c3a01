package work

import (
	"cmp"
	"slices"
	"strings"
)

// Rule is one of the rules by which records are linked. Its number is its rank: where
// two contradict each other the smaller one holds.
type Rule int

// The rules, by the numbers that docs/works.md has.
const (
	RulePerson     Rule = 1  // a person joined them
	RuleRedirect   Rule = 2  // the source merged one into the other
	RuleOwnDOI     Rule = 3  // both own the DOI
	RuleAlias      Rule = 4  // a registry says that they are identical
	RuleOwnID      Rule = 5  // both own the PMID, the PMCID or the number at arXiv
	RulePubMedDOI  Rule = 6  // PubMed lists the DOI that the other owns
	RuleEuropePMC  Rule = 7  // the id at Europe PMC is the PMID or PMCID
	RuleListed     Rule = 8  // another source lists an identifier
	RuleSecondHand Rule = 9  // only aggregators say so
	RuleStrong     Rule = 10 // title, authors, year and place agree, and one has no DOI
	RuleWeak       Rule = 11 // they are alike
	RuleTwoDOIs    Rule = 12 // all is equal but the DOIs
	RuleFamily     Rule = 13 // related, not the same
	RuleNotice     Rule = 14 // a notice and what it is about
)

// meanings say the rules in words.
var meanings = map[Rule]string{
	RulePerson:     "a person joined them",
	RuleRedirect:   "the source merged one into the other",
	RuleOwnDOI:     "both are the records of one DOI",
	RuleAlias:      "a registry says that they are identical",
	RuleOwnID:      "both are the records of one PMID, PMCID or number at arXiv",
	RulePubMedDOI:  "PubMed lists the DOI of the other",
	RuleEuropePMC:  "the id at Europe PMC is the PMID or PMCID of the other",
	RuleListed:     "both have the identifier, by the word of their sources",
	RuleSecondHand: "only an aggregator says that they share the identifier",
	RuleStrong:     "title, authors, year and place agree, and one has no DOI",
	RuleWeak:       "title, authors and more are alike",
	RuleTwoDOIs:    "everything is the same but an identifier",
	RuleFamily:     "they are related and not the same",
	RuleNotice:     "one is a notice about the other",
}

// Means says the rule in words.
func (r Rule) Means() string { return meanings[r] }

// Polarity is what an edge does.
type Polarity string

// The polarities.
const (
	// Links: both records are of one work.
	Links Polarity = "LINK"
	// Suggests: they may be; a person decides.
	Suggests Polarity = "SUGGEST"
	// Relates: they are of one family and of two works.
	Relates Polarity = "FAMILY"
)

// Edge is what is known of two records.
type Edge struct {
	// From and To are numbers of records. Of a relation From is RELATION To; else From
	// is the record with the smaller key.
	From, To int64
	Rule     Rule
	Polarity Polarity
	Relation Relation
	// Evidence is the identifier that both have, or what else they have in common.
	Evidence string
	// Why says of a suggestion why it is no link.
	Why string
	// Score is of a suggestion how alike the records are in what both of them say, from 0 to
	// 1. What is no suggestion is certain, which is 1.
	Score float64

	from, to Key
}

// compareEdges orders edges by what they say, never by when they came.
func compareEdges(a, b Edge) int {
	return cmp.Or(
		cmp.Compare(a.Rule, b.Rule),
		cmp.Compare(mix(a.Evidence), mix(b.Evidence)),
		strings.Compare(a.Evidence, b.Evidence),
		a.from.Compare(b.from),
		a.to.Compare(b.to),
	)
}

// edgeOf makes an edge between two records, the one with the smaller key first.
func edgeOf(a, b *Record, rule Rule, p Polarity, evidence string) Edge {
	if a.Key.Compare(b.Key) > 0 {
		a, b = b, a
	}
	return directed(a, b, rule, p, evidence)
}

// directed makes an edge from one record to another.
func directed(from, to *Record, rule Rule, p Polarity, evidence string) Edge {
	return Edge{
		From: from.Number, To: to.Number, Rule: rule, Polarity: p, Evidence: evidence, Score: 1,
		from: from.Key, to: to.Key,
	}
}

// compareEnds gives a suggestion that does not come from likeness the score that its records
// have, and says in what they agree.
func (e *Edge) compareEnds(from, to *Record) {
	e.compareEndsBy(from, to, similarity(from.Title, to.Title))
}

// compareEndsBy is compareEnds where it is known how alike the titles are.
func (e *Edge) compareEndsBy(from, to *Record, titles float64) {
	f := placesOf(from, to)
	f.compareTitles(from, to, titles)
	e.Score = f.score()
	words := f.words()
	if words == "" {
		words = "nothing to compare"
	}
	e.Why += "; " + words
}

// agree reports whether two records may be of one text by title or author: alike in one
// of them, or nothing to compare.
func agree(a, b *Record) bool {
	agreed, _ := agreeing(a, b)
	return agreed
}

// agreeing is agree, and says how alike the titles of two records are that do not.
func agreeing(a, b *Record) (agreed bool, titles float64) {
	named := len(a.Authors) > 0 && len(b.Authors) > 0
	// Names are compared first: that is the cheaper question.
	if named && sharedAuthors(a, b) > 0 {
		return true, 0
	}
	titles = similarity(a.Title, b.Title)
	titled := a.Title != "" && b.Title != ""
	return titles >= 0.6 || !titled && !named, titles
}

// sharedAuthors is how many family names both have.
func sharedAuthors(a, b *Record) int {
	n := 0
	for i, name := range a.Authors {
		if containsBefore(a.Authors, i, name) {
			continue
		}
		if slices.Contains(b.Authors, name) {
			n++
		}
	}
	return n
}

func containsBefore(list []string, i int, s string) bool {
	return slices.Contains(list[:i], s)
}

// ruleOf is the rule that an identifier of two records comes under.
func ruleOf(a, b *Record, x, y Claim) Rule {
	switch {
	case x.Strength == SecondHand || y.Strength == SecondHand:
		return RuleSecondHand
	case x.Strength == Alias || y.Strength == Alias:
		return RuleAlias
	case x.Strength == Own && y.Strength == Own:
		switch {
		case x.Scheme == DOI:
			return RuleOwnDOI
		case a.Key.Source == "europepmc" || b.Key.Source == "europepmc":
			return RuleEuropePMC
		}
		return RuleOwnID
	case x.Scheme == DOI && (a.Key.Source == "pubmed" && y.Strength == Own || b.Key.Source == "pubmed" && x.Strength == Own):
		return RulePubMedDOI
	}
	return RuleListed
}

// identityEdge is what an identifier that two records share says of them; none if
// nothing. healthy tells whether the value may be believed.
func identityEdge(a, b *Record, x, y Claim, healthy bool) (Edge, bool) {
	rule := ruleOf(a, b, x, y)
	e := edgeOf(a, b, rule, Links, x.ID.String())
	if a.Dead || b.Dead {
		return e, false
	}
	// Whoever tells how it is related to the other is not the same, whatever they share:
	// a letter and its reply, a review and its update stand under one DOI.
	if _, related := pointed(a, b); related {
		return e, false
	}
	if !compatible(a.Class, b.Class) {
		return familyUnderOneID(a, b, x.ID.String())
	}
	fits := agree(a, b)
	switch {
	case !healthy && !fits:
		return e, false
	case !healthy:
		e.Polarity = Suggests
		e.Why = "several records of one source have this identifier, or records that do not agree"
	case rule == RuleSecondHand:
		e.Polarity = Suggests
		e.Why = "only aggregators say so"
	case !fits:
		e.Polarity = Suggests
		e.Why = "titles and authors differ"
	case rule == RuleAlias && !isOneText(a, b):
		e.Polarity = Suggests
		e.Why = "titles or authors differ"
	}
	return e, true
}

// isOneText reports whether two records have one title and an author in common: what is
// called identical has been what belongs together, or a version, often enough.
func isOneText(a, b *Record) bool {
	return similarity(a.Title, b.Title) >= 0.9 && !tellApart(a.Title, b.Title) && sharedAuthors(a, b) > 0
}

// familyUnderOneID: records of different classes that have one identifier are related.
func familyUnderOneID(a, b *Record, evidence string) (Edge, bool) {
	for range 2 {
		switch {
		case a.Class == Notice && b.Class != Container:
			e := directed(a, b, RuleNotice, Relates, evidence)
			e.Relation = NoticeOf
			return e, true
		case a.Class == Preprint && b.Class == Article:
			e := directed(a, b, RuleFamily, Relates, evidence)
			e.Relation = PreprintOf
			return e, true
		}
		a, b = b, a
	}
	return Edge{}, false
}
