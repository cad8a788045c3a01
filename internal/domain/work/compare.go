package work

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Suggested is the score from which two records are put before a person.
const Suggested = 0.85

// Compare says how two records that are of two works are related, or whether they may be
// of one after all. It depends on these two alone, and is one edge at most: a relation
// that is told outweighs a likeness.
func Compare(a, b *Record) []Edge {
	if a.Key.Compare(b.Key) > 0 {
		a, b = b, a
	}
	related, found := pointed(a, b)
	if !found {
		related, found = versions(a, b)
	}
	if !found {
		related, found = alike(a, b)
	}
	if !found {
		return nil
	}
	return []Edge{related}
}

// Telling are, of all edges between the records of two works, those that say something:
// their relations, and if there are none the best suggestion.
func Telling(edges []Edge) []Edge {
	slices.SortFunc(edges, func(a, b Edge) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), compareEdges(a, b))
	})
	related := slices.DeleteFunc(slices.Clone(edges), func(e Edge) bool { return e.Polarity != Relates })
	if len(related) > 0 {
		return related
	}
	return edges[:min(1, len(edges))]
}

// pointed is the relation of two records one of which points to the other. If they tell
// several it is one that says more than that they are related.
func pointed(a, b *Record) (best Edge, found bool) {
	for _, pair := range [][2]*Record{{a, b}, {b, a}} {
		from, to := pair[0], pair[1]
		for _, p := range from.Pointers {
			if !slices.ContainsFunc(to.Claims, func(c Claim) bool { return c.ID == p.To && c.isSaid() }) {
				continue
			}
			e := told(from, to, p)
			if !found || best.Relation == RelatedTo && e.Relation != RelatedTo {
				best = e
				found = true
			}
		}
	}
	return best, found
}

// told is the relation that a record tells of to another.
func told(from, to *Record, p Pointer) Edge {
	rel := p.Relation
	if p.Back {
		from, to = to, from
	}
	switch {
	case rel == VersionOf && from.Class == Article && to.Class == Preprint:
		// An article is called a version of its preprint as often as the other way round.
		rel = PreprintOf
		from, to = to, from
	case rel == VersionOf && from.Class == Preprint && to.Class == Article:
		rel = PreprintOf
	case rel == PreprintOf && from.Class == Preprint && to.Class == Preprint:
		rel = VersionOf
	case rel == PreprintOf && to.Class != Article && to.Class != Unknown:
		rel = RelatedTo
	}
	rule := RuleFamily
	if rel.isNotice() {
		rule = RuleNotice
	}
	e := directed(from, to, rule, Relates, p.To.String())
	e.Relation = rel
	// Of these the word of a source was wrong before, or its guess; those of notices were
	// made by hand.
	if rel != PreprintOf && rel != VersionOf {
		return e
	}
	if agreed, titles := agreeing(from, to); !agreed {
		e.Polarity = Suggests
		e.Why = "titles and authors differ"
		e.compareEndsBy(from, to, titles)
	}
	return e
}

// versions are two records with DOIs of versions of one thing.
func versions(a, b *Record) (Edge, bool) {
	for _, s := range a.Stems {
		if slices.Contains(b.Stems, s) {
			e := edgeOf(a, b, RuleFamily, Relates, s)
			e.Relation = VersionOf
			return e, true
		}
	}
	return Edge{}, false
}

// features are how two records compare. What one of them does not say is no evidence,
// for nothing is not equal to nothing.
type features struct {
	titled  bool // both have a title
	title   float64
	main    bool    // only up to the subtitle, which one of them does not have
	named   bool    // both have authors
	authors float64 // 0 where no name is shared
	year    int     // how far apart; -1: not known
	page    verdict
	volume  verdict
	journal verdict
}

type verdict int

const (
	unsaid verdict = iota
	same
	other
)

func verdictOf(a, b string) verdict {
	switch {
	case a == "" || b == "":
		return unsaid
	case a == b:
		return same
	}
	return other
}

// placesOf are the features but for those of titles, which cost most.
func placesOf(a, b *Record) features {
	f := features{year: -1}
	if a.Year > 0 && b.Year > 0 {
		f.year = max(a.Year-b.Year, b.Year-a.Year)
	}
	f.page = verdictOf(a.Page, b.Page)
	f.volume = verdictOf(a.Volume, b.Volume)
	f.journal = sameJournal(a, b)
	f.named = len(a.Authors) > 0 && len(b.Authors) > 0
	f.authors = authorsAgree(a, b)
	return f
}

// compareTitles adds how alike the titles are.
func (f *features) compareTitles(a, b *Record, titles float64) {
	f.titled = a.Title != "" && b.Title != ""
	f.title = titles
	if f.title < mainTitleScore && sameMain(a, b) {
		f.title = mainTitleScore
		f.main = true
	}
}

// mainTitleScore is how alike titles are of which one has a subtitle that the other
// lacks.
const mainTitleScore = 0.9

// sameMain reports whether one record has a subtitle and the other none, and their
// titles are equal without it.
func sameMain(a, b *Record) bool {
	if (a.MainLen == 0) == (b.MainLen == 0) {
		return false
	}
	if b.MainLen > 0 {
		a, b = b, a
	}
	return a.Title[:a.MainLen] == b.Title && sayingTitle(b.Title)
}

// authorsAgree is 1 if the first authors are the same, or all of the shorter list are in
// the longer; less the fewer they share.
func authorsAgree(a, b *Record) float64 {
	shorter := min(len(a.Authors), len(b.Authors))
	if shorter == 0 {
		return 0
	}
	shared := float64(sharedAuthors(a, b)) / float64(shorter)
	if a.Authors[0] == b.Authors[0] {
		// The same first name and nobody else of several is somebody of that name.
		if shorter > 2 && shared < 0.5 {
			return 0.5
		}
		return 1
	}
	if shorter >= 2 && shared >= 0.5 {
		return shared
	}
	return 0
}

// sameJournal compares ISSNs, and names where these do not meet: a journal has one for
// print and one for the net.
func sameJournal(a, b *Record) verdict {
	for _, s := range a.ISSN {
		if slices.Contains(b.ISSN, s) {
			return same
		}
	}
	if len(a.Journal) == 0 || len(b.Journal) == 0 {
		return unsaid
	}
	for _, x := range a.Journal {
		for _, y := range b.Journal {
			if x == y || abbreviates(x, y) || abbreviates(y, x) {
				return same
			}
		}
	}
	return other
}

// smallWords are left out of names that are shortened.
var smallWords = newVocabulary("of", "the", "and", "in", "for", "on", "a", "de", "la", "et", "und", "der", "des")

// abbreviates reports whether a name of a journal is a longer one, shortened word by
// word: J Clin Invest, Journal of Clinical Investigation.
func abbreviates(short, long string) bool {
	words := strings.Fields(long)
	i := 0
	for w := range strings.FieldsSeq(short) {
		if smallWords.has(w) {
			continue
		}
		for i < len(words) && smallWords.has(words[i]) && !strings.HasPrefix(words[i], w) {
			i++
		}
		if i == len(words) || !strings.HasPrefix(words[i], w) {
			return false
		}
		i++
	}
	for i < len(words) && smallWords.has(words[i]) {
		i++
	}
	return i > 0 && i == len(words)
}

// score weighs what both records say: the title most, then the authors, the place and the year.
// It is 0 if there is nothing that both say.
func (f features) score() float64 {
	var sum, weight float64
	add := func(w, v float64) {
		sum += w * v
		weight += w
	}
	if f.titled {
		add(2, f.title)
	}
	if f.named {
		add(0.8, f.authors)
	}
	if f.year >= 0 {
		add(0.4, max(0, 1-0.5*float64(f.year)))
	}
	for _, v := range []struct {
		verdict
		weight float64
	}{{f.page, 0.6}, {f.volume, 0.3}, {f.journal, 0.4}} {
		switch v.verdict {
		case same:
			add(v.weight, 1)
		case other:
			add(v.weight, 0)
		}
	}
	if weight == 0 {
		return 0
	}
	return sum / weight
}

// words tell in what two records agree.
func (f features) words() string {
	var list []string
	if f.titled {
		list = append(list, fmt.Sprintf("title %.2f", f.title))
	}
	if f.authors > 0 {
		list = append(list, "authors")
	}
	if f.year == 0 {
		list = append(list, "year")
	}
	for _, v := range []struct {
		verdict
		name string
	}{{f.journal, "journal"}, {f.volume, "volume"}, {f.page, "first page"}} {
		if v.verdict == same {
			list = append(list, v.name)
		}
	}
	return strings.Join(list, ", ")
}

// place reports whether the records stand in one place: volume and first page, or the
// page in one journal.
func (f features) place() bool {
	return f.page == same && (f.volume == same || f.journal == same)
}

// alike suggests that two records are of one work, or are preprint and article.
func alike(a, b *Record) (Edge, bool) {
	// Names are compared first, and titles last: that costs most.
	if authorsAgree(a, b) == 0 || !canCompare(a, b) {
		return Edge{}, false
	}
	f := placesOf(a, b)
	if compatible(a.Class, b.Class) {
		if f.areApart(areTwo(a, b)) {
			return Edge{}, false
		}
	} else if !mayBecome(a, b) {
		return Edge{}, false
	}
	f.compareTitles(a, b, similarity(a.Title, b.Title))
	if f.title < 0.8 || tellApart(a.Title, b.Title) {
		return Edge{}, false
	}
	if compatible(a.Class, b.Class) {
		return double(a, b, f)
	}
	return preprintAndArticle(a, b, f)
}

// canCompare reports whether likeness of two records can say anything.
func canCompare(a, b *Record) bool {
	for _, r := range []*Record{a, b} {
		if r.Dead || r.Class == Notice || r.Class == Container || r.Class == Trial || r.Class == Review || len(r.Authors) == 0 {
			return false
		}
	}
	if a.Language != "" && b.Language != "" && a.Language != b.Language {
		return false // a translation
	}
	// A short or common title says something only together with the place.
	placed := a.Page != "" && a.Page == b.Page && (a.Volume != "" && a.Volume == b.Volume || sameJournal(a, b) == same)
	if !sayingTitle(a.Title) || !sayingTitle(b.Title) {
		return placed && a.Title == b.Title && !commonTitles[a.Title] && len(a.Title) >= 8
	}
	return true
}

// areTwo reports whether one authority holds two records apart.
func areTwo(a, b *Record) bool {
	return a.Key.Source == b.Key.Source || differ(a.said(DOI), b.said(DOI)) || differ(a.said(PMID), b.said(PMID)) || differ(a.said(ArXiv), b.said(ArXiv))
}

// areApart reports whether two records are of two works whatever their titles are. Two that one
// authority holds apart are, unless everything is the same.
func (f features) areApart(two bool) bool {
	if two {
		return f.authors < 1 || f.year != 0 || !f.place() || f.volume == other || f.journal == other
	}
	return f.agreeing() == 0 || f.year > 1 || contradict(f)
}

// agreeing is in how many of year, page, volume and journal the records agree.
func (f features) agreeing() int {
	n := 0
	for _, yes := range []bool{f.year == 0 || f.year == 1, f.page == same, f.volume == same, f.journal == same} {
		if yes {
			n++
		}
	}
	return n
}

// double suggests that two records are of one work, if nothing but their titles can tell them
// apart.
func double(a, b *Record, f features) (Edge, bool) {
	if areTwo(a, b) {
		if f.title < 0.98 {
			return Edge{}, false
		}
		e := edgeOf(a, b, RuleTwoDOIs, Suggests, f.words())
		e.Score = f.score()
		e.Why = "each has an identifier of its own"
		return e, true
	}
	// Papers on two towns differ in a word: unless they stand in one place, only slips of
	// the pen may tell the titles apart.
	if f.page != same && !f.main && otherWords(a.Title, b.Title) {
		return Edge{}, false
	}
	// Papers of a series have the title in common: without the subtitle all else must fit.
	if f.main && (f.authors < 1 || f.journal != same) {
		return Edge{}, false
	}
	e := edgeOf(a, b, RuleWeak, Suggests, f.words())
	e.Score = f.score()
	e.Why = "likeness is no proof"
	if f.title >= 0.95 && len(a.Title) >= 40 && f.page != other && f.volume != other && f.journal != other &&
		f.agreeing() >= 2 && (f.journal == same || f.place()) && (a.said(DOI).IsZero() || b.said(DOI).IsZero()) {
		e.Rule = RuleStrong
	}
	return e, e.Score >= Suggested
}

// contradict reports whether the places of two records cannot be one: another journal,
// or in the same journal another page.
func contradict(f features) bool {
	switch {
	case f.journal == other && f.page != same:
		return true
	case f.page == other && f.volume == same:
		return true
	case f.page == other && f.volume == other:
		return true
	}
	return false
}

// mostYearsOn is how many years after a preprint its article may come.
const mostYearsOn = 4

// preprintAndArticle suggests that a preprint became an article: at the earliest in the
// year in which it was posted, at the latest four years on.
func preprintAndArticle(a, b *Record, f features) (Edge, bool) {
	pre, art := inOrder(a, b)
	f.year = -1
	f.journal = unsaid
	f.page = unsaid
	f.volume = unsaid
	e := directed(pre, art, RuleFamily, Suggests, f.words())
	e.Relation = PreprintOf
	e.Score = f.score()
	e.Why = "likeness is no proof"
	return e, e.Score >= Suggested && f.title >= 0.9
}

// inOrder are a preprint and an article, in this order.
func inOrder(a, b *Record) (pre, art *Record) {
	if a.Class == Article {
		return b, a
	}
	return a, b
}

// mayBecome reports whether two records are a preprint and what it may have become, by their
// years.
func mayBecome(a, b *Record) bool {
	pre, art := inOrder(a, b)
	if pre.Class != Preprint || art.Class != Article || shareID(pre, art) {
		return false // what has one identifier is a family already
	}
	return pre.Year <= 0 || art.Year <= 0 || art.Year >= pre.Year && art.Year <= pre.Year+mostYearsOn
}

// shareID reports whether two records have an identifier in common.
func shareID(a, b *Record) bool {
	return slices.ContainsFunc(a.Claims, func(x Claim) bool {
		return slices.ContainsFunc(b.Claims, func(y Claim) bool { return x.ID == y.ID })
	})
}
