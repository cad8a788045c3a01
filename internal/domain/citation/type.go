package citation

import (
	"strings"
	"unicode"
)

// Type is what kind of publication it is: one closed list for all sources.
type Type string

// Types.
const (
	Article       Type = "journal-article"
	Review        Type = "review"
	ClinicalTrial Type = "clinical-trial" // a paper about one
	Editorial     Type = "editorial"
	Letter        Type = "letter"
	Notice        Type = "notice" // of a retraction or a correction
	Preprint      Type = "preprint"
	Book          Type = "book"
	Chapter       Type = "book-chapter"
	Proceedings   Type = "proceedings-article"
	Dataset       Type = "dataset"
	Software      Type = "software"
	Thesis        Type = "thesis"
	Report        Type = "report"
	Registration  Type = "registry-record" // a study as its register knows it
	Other         Type = "other"
)

// wordsOfTypes are what sources call them, by letters and digits in lower case.
var wordsOfTypes = map[Type]string{
	Article: `article journalarticle researcharticle art originalarticle casereport casereports comparativestudy multicenterstudy observationalstudy
		evaluationstudy validationstudy study datapaper casestudy briefreport shortreport rapidcommunication methodsarticle`,
	Review: `review reviewarticle systematicreview metaanalysis scopingreview`,
	ClinicalTrial: `clinicaltrial randomizedcontrolledtrial controlledclinicaltrial clinicaltrialphasei clinicaltrialphaseii clinicaltrialphaseiii
		clinicaltrialphaseiv pragmaticclinicaltrial equivalencetrial adaptiveclinicaltrial`,
	Editorial:    `editorial news comment commentary perspective viewpoint opinion essay`,
	Letter:       `letter lettersandcomments correspondence`,
	Notice:       `retraction retractionofpublication publishederratum erratum correction corrigendum expressionofconcern retractionnotice`,
	Preprint:     `preprint postedcontent workingpaper undefined`,
	Book:         `book monograph editedbook referencebook bookset ouv douv textbook`,
	Chapter:      `bookchapter bookpart booksection booktrack couv chapter section referenceentry`,
	Proceedings:  `proceedingsarticle conferencepaper conference conferenceproceeding comm poster presentation proceedings congress inproceedings`,
	Dataset:      `dataset collection`,
	Software:     `software computationalnotebook`,
	Thesis:       `dissertation thesis these hdr mem academicdissertation thesisdissertation`,
	Report:       `report reportcomponent reportseries technicalreport standard deliverable projectdeliverable technicalnote`,
	Registration: `interventional observational expandedaccess registryrecord`,
}

var typesByWord = func() map[string]Type {
	out := map[string]Type{}
	for t, words := range wordsOfTypes {
		for word := range strings.FieldsSeq(words) {
			out[word] = t
		}
	}
	return out
}()

// typeOf is the type that a source means by a word. One that names none, as DOAJ,
// or by a word that says little, as "Text", is told by what the record has.
func typeOf(word string, c *Citation) Type {
	key := strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return unicode.ToLower(r)
		}
		return -1
	}, word)
	t, known := typesByWord[key]
	switch {
	case c.Retracts != "":
		return Notice
	case known:
		return t
	case c.Container != "" && (len(c.ISSN) > 0 || c.Volume != "" || c.PMID != ""):
		return Article
	}
	return Other
}

// InJournal reports whether it is a part of a journal.
func (t Type) InJournal() bool {
	switch t {
	case Article, Review, ClinicalTrial, Editorial, Letter, Notice:
		return true
	}
	return false
}
