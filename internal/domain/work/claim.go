package work

import (
	"slices"
	"strings"
)

// Relation is how a record is related to another that is not the same work. Read it as:
// the first is RELATION the second.
type Relation string

// The relations.
const (
	PreprintOf   Relation = "preprint-of"
	VersionOf    Relation = "version-of"
	RetractionOf Relation = "retraction-of"
	CorrectionOf Relation = "correction-of"
	NoticeOf     Relation = "notice-of"
	RelatedTo    Relation = "related-to"
)

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
	id, ok := Normal(s, text)
	if s == DOI && registries[c.record.Key.Source] {
		id.Value, ok = NormalDOI(text, true)
		id.Scheme = DOI
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
	doi := Listed
	others := Listed
	switch {
	case registries[key.Source], publishers[key.Source]:
		doi = Own
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
		if strings.HasPrefix(lowerASCII(f.DOI), "10.5281/") {
			doi = Own
		}
	}
	c.add(DOI, f.DOI, doi)
	if d := c.doi(); strings.HasPrefix(d, "10.48550/arxiv.") { // the e-print itself, under its second name
		c.add(ArXiv, d, doi)
	}
	c.add(PMID, f.PMID, others)
	c.add(PMCID, f.PMCID, others)
	c.add(PMCID, f.Other.PMC, others)
	if c.doi() == "" || others == SecondHand {
		// Beside the DOI of an article the number of an e-print names another state of it.
		c.add(ArXiv, f.Other.ArXiv, others)
	}
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
	if c.doi() != "" && c.record.Key.Source == "hal" {
		c.pointTo(RelatedTo, ArXiv, f.Other.ArXiv)
	}
	c.point(RetractionOf, f.Retracts)
	c.point(CorrectionOf, f.Corrects)
	c.point(RelatedTo, f.RetractedBy)
	if stem := VersionStem(c.doi()); stem != "" {
		c.record.Stems = append(c.record.Stems, "doi:"+stem)
	}
	if f.Other.Concept != "" {
		c.record.Stems = append(c.record.Stems, c.record.Key.Source+":"+f.Other.Concept)
	}
	if f.Other.ConceptDOI != "" {
		c.point(VersionOf, f.Other.ConceptDOI)
	}
}

// point takes up a pointer that is a DOI, or a PMID if it is none.
func (c *claimer) point(rel Relation, text string) {
	if text == "" {
		return
	}
	if _, ok := NormalDOI(text, false); ok {
		c.pointTo(rel, DOI, text)
		return
	}
	c.pointTo(rel, PMID, text)
}

func (c *claimer) pointTo(rel Relation, s Scheme, text string) {
	id, ok := Normal(s, text)
	if !ok || slices.ContainsFunc(c.record.Claims, func(have Claim) bool { return have.ID == id }) {
		return // a notice under the DOI of the paper points to itself
	}
	c.record.Pointers = append(c.record.Pointers, Pointer{Relation: rel, To: id})
}
