package work

import (
	"regexp"
	"slices"
	"strings"

	"github.com/papertrace/patra/internal/domain/doi"
)

// Relation is how a record is related to another that is not the same work. Read it as:
// the first is RELATION the second.
type Relation string

// The relations.
const (
	PreprintOf    Relation = "preprint-of"
	VersionOf     Relation = "version-of"
	RetractionOf  Relation = "retraction-of"
	CorrectionOf  Relation = "correction-of"
	NoticeOf      Relation = "notice-of"
	CommentOn     Relation = "comment-on"
	ReviewOf      Relation = "review-of"
	TranslationOf Relation = "translation-of"
	SupplementTo  Relation = "supplement-to"
	PartOf        Relation = "part-of"
	RelatedTo     Relation = "related-to"
)

// isNotice reports whether one of two is a notice about the other.
func (r Relation) isNotice() bool { return r == RetractionOf || r == CorrectionOf || r == NoticeOf }

// registries are sources whose records are what they know of DOIs that are registered
// there.
var registries = map[string]bool{"crossref": true, "datacite": true, "unpaywall": true}

// publishers are sources that keep records under DOIs of their own.
var publishers = map[string]bool{"plos": true, "biorxiv": true, "medrxiv": true}

// aggregators have the identifiers of others from others.
var aggregators = map[string]bool{"openalex": true, "semanticscholar": true, "core": true}

// claimer finds out which identifiers of a record are its own, which its source only
// says it has, and which belong to something else.
type claimer struct {
	record *Record
	fields *fields
}

func (c *claimer) add(s Scheme, text string, strength Strength) {
	if text == "" {
		return
	}
	var id ID
	var ok bool
	if s == DOI && registries[c.record.Key.Source] {
		id.Value, ok = NormalDOI(text, true)
		id.Scheme = DOI
	} else {
		id, ok = Normal(s, text)
	}
	if !ok || s == DOI && strings.HasPrefix(id.Value, "10.5555/") { // the prefix of tests
		return
	}
	if slices.ContainsFunc(c.record.Claims, func(have Claim) bool { return have.ID == id }) {
		return
	}
	c.record.Claims = append(c.record.Claims, Claim{ID: id, Strength: strength})
}

// doi is the one that the record has by its source's word.
func (c *claimer) doi() string { return c.record.said(DOI).Value }

// claim takes up the identifiers of the record itself.
func (c *claimer) claim() {
	key := c.record.Key
	f := c.fields
	own := Listed
	others := Listed
	switch {
	case registries[key.Source], publishers[key.Source]:
		own = Own
	case aggregators[key.Source]:
		others = SecondHand
	}
	switch key.Source {
	case "pubmed":
		c.add(PMID, key.ID, Own)
	case "pmc":
		c.add(PMCID, key.ID, Own)
	case "openalex":
		c.add(OpenAlex, key.ID, Own)
	case "clinicaltrials":
		c.add(NCT, key.ID, Own)
	case "europepmc":
		c.claimEuropePMC()
	case "arxiv":
		c.claimArXiv(key.ID)
		return // the DOI beside it is that of the article
	case "zenodo":
		if strings.HasPrefix(doi.Lower(f.DOI), "10.5281/") {
			own = Own
		}
	}
	c.add(DOI, f.DOI, own)
	if d := c.doi(); strings.HasPrefix(d, "10.48550/arxiv.") { // the e-print itself, under its second name
		c.add(ArXiv, d, own)
	}
	c.add(PMID, f.PMID, others)
	c.add(PMCID, f.PMCID, others)
	c.add(PMCID, f.Other.PMC, others)
	if c.doi() == "" || others == SecondHand {
		// Beside the DOI of an article the number of an e-print names another state of it.
		c.add(ArXiv, f.Other.ArXiv, others)
	}
	if !c.isVersion(f.Other.IdenticalTo) {
		c.add(DOI, f.Other.IdenticalTo, Alias)
	}
}

// isVersion reports whether a DOI is that of a version of the record, or of what the
// record is a version of. The newest version is called the same as the DOI that stands
// for all of them, until there is a newer one.
func (c *claimer) isVersion(text string) bool {
	other, ok := NormalDOI(text, true)
	if !ok {
		return false
	}
	own := c.doi()
	stem := VersionStem(other)
	return stem != "" && (stem == own || stem == VersionStem(own)) || VersionStem(own) == other
}

// claimEuropePMC: an id of Europe PMC means something within its corpus only; that of
// MED is the PMID, that of PMC the PMCID.
func (c *claimer) claimEuropePMC() {
	id := c.record.Key.ID
	switch corpus := strings.ToUpper(c.fields.Other.Corpus); corpus {
	case "":
	case "MED":
		c.add(PMID, id, Own)
	case "PMC":
		c.add(PMCID, id, Own)
	default:
		c.add(EuropePMC, corpus+":"+id, Own)
	}
}

// claimArXiv: an e-print has a number, and a DOI that follows from it.
func (c *claimer) claimArXiv(id string) {
	if c.fields.Other.ArXiv != "" {
		id = c.fields.Other.ArXiv
	}
	c.add(ArXiv, id, Own)
	if n := c.record.Own(ArXiv); !n.IsZero() {
		c.add(DOI, "10.48550/arxiv."+n.Value, Own)
	}
}

// relate takes up what the record is related to.
func (c *claimer) relate() {
	f := c.fields
	if c.record.Key.Source == "arxiv" {
		c.point(PreprintOf, f.DOI)
	}
	for _, p := range []struct {
		relation Relation
		id       string
	}{
		{PreprintOf, f.Other.ArticleDOI},
		{PreprintOf, f.Other.PreprintOf},
		{RetractionOf, f.Retracts},
		{CorrectionOf, f.Corrects},
		{NoticeOf, f.Other.Concerns},
		{VersionOf, f.Other.VersionOf},
		{VersionOf, f.Other.ConceptDOI},
		{CommentOn, f.Other.CommentsOn},
		{ReviewOf, f.Other.Reviews},
		{TranslationOf, f.Other.TranslationOf},
		{SupplementTo, f.Other.SupplementTo},
		{PartOf, f.Other.PartOf},
	} {
		c.point(p.relation, p.id)
	}
	if c.isVersion(f.Other.IdenticalTo) {
		c.point(VersionOf, f.Other.IdenticalTo)
	}
	c.pointBack(RetractionOf, f.RetractedBy)
	c.pointBack(PreprintOf, f.Other.HasPreprint)
	if c.doi() != "" && c.record.Key.Source == "hal" {
		if id, ok := Normal(ArXiv, f.Other.ArXiv); ok {
			c.addPointer(Pointer{Relation: RelatedTo}, id)
		}
	}
	if stem := VersionStem(c.doi()); stem != "" {
		c.record.Stems = append(c.record.Stems, "doi:"+stem)
	}
	if f.Other.Concept != "" {
		c.record.Stems = append(c.record.Stems, c.record.Key.Source+":"+f.Other.Concept)
	}
}

// point takes up that the record is RELATION another, pointBack that the other is
// RELATION this one.
func (c *claimer) point(rel Relation, text string) {
	c.pointTo(Pointer{Relation: rel}, text)
}

func (c *claimer) pointBack(rel Relation, text string) {
	c.pointTo(Pointer{Relation: rel, Back: true}, text)
}

// pointTo takes up a pointer to a DOI, a PMID or an id of Europe PMC, as which the text
// can be read.
func (c *claimer) pointTo(p Pointer, text string) {
	if text == "" {
		return
	}
	for _, s := range []Scheme{DOI, ArXiv, PMID, PMCID, EuropePMC} {
		if s == EuropePMC && preprintAtEuropePMC.MatchString(text) {
			text = "PPR:" + text
		}
		id, ok := Normal(s, text)
		if ok {
			c.addPointer(p, id)
			return
		}
	}
}

// preprintAtEuropePMC is how Europe PMC numbers preprints.
var preprintAtEuropePMC = regexp.MustCompile(`^PPR[0-9]+$`)

func (c *claimer) addPointer(p Pointer, id ID) {
	p.To = id
	if slices.ContainsFunc(c.record.Claims, func(have Claim) bool { return have.ID == id }) {
		return // a notice under the DOI of the paper points to itself
	}
	if !slices.Contains(c.record.Pointers, p) {
		c.record.Pointers = append(c.record.Pointers, p)
	}
}
