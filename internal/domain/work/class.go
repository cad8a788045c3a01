package work

import (
	"regexp"
	"strings"

	"github.com/papertrace/patra/internal/domain/doi"
)

// Class is the state of publication that a record is of. Records of different classes
// are never one work; one of unknown class may be of any.
type Class string

// The classes.
const (
	Unknown   Class = ""
	Article   Class = "article"
	Preprint  Class = "preprint"
	Dataset   Class = "dataset"
	Container Class = "container" // a book, a journal, an issue: what holds texts
	Notice    Class = "notice"    // an erratum, a retraction, an expression of concern
	Thesis    Class = "thesis"
	Trial     Class = "trial"
	Review    Class = "review" // a referee's report
)

// classes are what sources call them, in small letters.
var classes = map[string]Class{}

func init() {
	for class, words := range map[Class]string{
		Article: "journal-article|journal article|article|journalarticle|research-article|research article|review|review-article|review article|letter|editorial|" +
			"proceedings-article|conferencepaper|conference paper|conference|book-chapter|bookchapter|chapter|report|art|comm|couv|case reports|clinical trial|" +
			"comment|news|historical article|meta-analysis|systematic review|randomized controlled trial|observational study|comparative study|" +
			"clinical trial, phase i|clinical trial, phase ii|clinical trial, phase iii|english abstract|multicenter study|evaluation study|case-report|brief-report|" +
			"retracted article|retracted publication|corrected and republished article|reference-entry|conference-paper|proceedings|lecture|poster|" +
			"biography|guideline|practice guideline|validation study|introductory journal article|clinicaltrial|metaanalysis|casereport|lettersandcomments",
		Preprint:  "preprint|posted-content|working-paper|undefined|ppr",
		Dataset:   "dataset|data set|software|image|figure|component|model|workflow|interactiveresource|audiovisual|sound|video|physicalobject|collection|supplementary-materials|database|datapaper-dataset|img",
		Container: "journal|journal-issue|journal-volume|book|book-series|book-set|monograph|edited-book|reference-book|report-series|proceedings-series|ouv|douv|standard-series|book-track",
		Notice: "erratum|published erratum|corrigendum|correction|retraction|retraction of publication|expression of concern|expression-of-concern|" +
			"addendum|retraction notice|partial retraction|paratext-erratum|partial_retraction",
		Thesis: "dissertation|thesis|these|hdr|doctoral thesis|academic dissertation",
		Review: "peer-review|peer review|peerreview|referee-report",
	} {
		for w := range strings.SplitSeq(words, "|") {
			classes[w] = class
		}
	}
	// Whole proceedings hold papers, though some sources mean one of them.
	classes["proceedings"] = Unknown
}

// noticeTitle is how titles of notices begin. A word alone does not do: there are
// papers on the correction of scoliosis and the retraction of clots.
var noticeTitle = regexp.MustCompile(`^(?i)\W*(?:(?:erratum|corrigendum|errata|(?:author|publisher|editorial|publisher's|author's) correction|` +
	`retraction (?:note|notice)|notice of retraction|editorial expression of concern|expression of concern)\b|` +
	`(?:correction|retraction|addendum|withdrawal)(?: to| of| for)?\s*[:\x{201c}"'\[])`)

// noticeBegins are the first three letters of the words above. Few titles begin so, and
// the others need not be held against the expression.
var noticeBegins = map[string]bool{
	"err": true, "cor": true, "aut": true, "pub": true, "edi": true, "ret": true, "not": true, "exp": true, "add": true, "wit": true,
}

// isNoticeTitle reports whether a title is that of a notice.
func isNoticeTitle(title string) bool {
	for i := range len(title) {
		if c := title[i] | 0x20; title[i] == '_' || c >= 'a' && c <= 'z' || title[i] >= '0' && title[i] <= '9' {
			if len(title) < i+3 {
				return false
			}
			begin := [3]byte{title[i] | 0x20, title[i+1] | 0x20, title[i+2] | 0x20}
			return noticeBegins[string(begin[:])] && noticeTitle.MatchString(title)
		}
	}
	return false
}

// classOf tells the class of a record by what its source calls it, its DOI and its title.
func classOf(source, kind, id, title string) Class {
	kind = doi.Lower(strings.TrimSpace(kind))
	class := classes[kind]
	switch {
	case source == "clinicaltrials":
		return Trial
	case class == Notice || isNoticeTitle(title):
		return Notice
	case source == "arxiv", source == "biorxiv", source == "medrxiv":
		return Preprint
	case isPreprintDOI(id) && (class == Unknown || class == Article):
		return Preprint // SSRN, for one, calls its papers articles
	case kind == "undefined" && source != "hal":
		return Unknown
	}
	return class
}

// compatible reports whether records of two classes may be of one work.
func compatible(a, b Class) bool { return a == b || a == Unknown || b == Unknown }
