package work

import (
	"regexp"
	"strings"

	"github.com/papertrace/patra/internal/domain/doi"
)

// Scheme is a kind of identifier.
type Scheme string

// The identifiers that link records.
const (
	DOI       Scheme = "doi"
	PMID      Scheme = "pmid"
	PMCID     Scheme = "pmcid"
	ArXiv     Scheme = "arxiv"
	OpenAlex  Scheme = "openalex"
	EuropePMC Scheme = "europepmc"
	NCT       Scheme = "nct"
)

// ID is an identifier in its normal form.
type ID struct {
	Scheme Scheme
	Value  string
}

func (id ID) String() string { return string(id.Scheme) + ":" + id.Value }

// IsZero reports whether it is none.
func (id ID) IsZero() bool { return id.Value == "" }

// Normal reads an identifier as people and sources write it; false if it is none.
func Normal(scheme Scheme, text string) (ID, bool) {
	var value string
	var ok bool
	switch scheme {
	case DOI:
		value, ok = NormalDOI(text, false)
	case PMID:
		value, ok = normalPMID(text)
	case PMCID:
		value, ok = normalPMCID(text)
	case ArXiv:
		value, ok = normalArXiv(text)
	case OpenAlex:
		value, ok = normalOpenAlex(text)
	case EuropePMC:
		value, ok = normalEuropePMC(text)
	case NCT:
		value, ok = normalNCT(text)
	}
	if !ok {
		return ID{}, false
	}
	return ID{scheme, value}, true
}

var (
	pmidForm     = regexp.MustCompile(`^(?i:pmid:?\s*|(?:https?://)?(?:www\.)?(?:pubmed\.ncbi\.nlm\.nih\.gov|ncbi\.nlm\.nih\.gov/pubmed)/)?0*([1-9][0-9]{0,8})(?:\.[0-9]+)?/?$`)
	pmcidForm    = regexp.MustCompile(`^(?i:pmcid:?\s*)?(?i:(?:https?://)?(?:www\.)?(?:ncbi\.nlm\.nih\.gov/pmc|pmc\.ncbi\.nlm\.nih\.gov)/articles/)?(?i:pmc)?0*([1-9][0-9]{0,9})(?:\.[0-9]+)?/?$`)
	openAlexForm = regexp.MustCompile(`^(?i:(?:https?://)?(?:api\.)?openalex\.org/(?:works/)?)?[wW]0*([1-9][0-9]{0,18})$`)
	nctForm      = regexp.MustCompile(`^(?i:(?:https?://)?(?:www\.)?clinicaltrials\.gov/(?:ct2/show/|study/))?(?i:nct)\s*0*([0-9]{1,8})$`)
	epmcForm     = regexp.MustCompile(`^(?i:(?:https?://)?(?:www\.)?europepmc\.org/(?:article|abstract)/)?([A-Za-z]{3})[:/]\s*([A-Za-z]{0,4}[0-9A-Za-z./\-]+)$`)
	arxivWrapper = regexp.MustCompile(`^(?i:oai:arxiv\.org:|arxiv:\s*|(?:https?://)?(?:www\.)?(?:export\.)?arxiv\.org/(?:abs|pdf|html)/|(?:https?://)?(?:dx\.)?(?:doi\.org/)?10\.48550/arxiv\.)`)
	arxivNew     = regexp.MustCompile(`^([0-9]{2})(0[1-9]|1[0-2])\.([0-9]{4,5})(?:v[0-9]+)?$`)
	arxivOld     = regexp.MustCompile(`^([a-z\-]+)(?:\.[a-z]{2})?/([0-9]{7})(?:v[0-9]+)?$`)
)

func normalPMID(text string) (string, bool) {
	if n := leadingDigits(text); n > 0 && n == len(text) && n <= 9 && text[0] != '0' {
		return text, true
	}
	m := pmidForm.FindStringSubmatch(doi.Trim(text))
	if m == nil {
		return "", false
	}
	return m[1], true
}

// normalPMCID reads PMC and digits, or digits alone as JATS has them; versions are left
// off. NIHMS numbers are another kind.
func normalPMCID(text string) (string, bool) {
	if rest, found := strings.CutPrefix(text, "PMC"); found {
		if n := leadingDigits(rest); n > 0 && n == len(rest) && n <= 10 && rest[0] != '0' {
			return text, true
		}
	}
	m := pmcidForm.FindStringSubmatch(doi.Trim(text))
	if m == nil {
		return "", false
	}
	return "PMC" + m[1], true
}

func normalOpenAlex(text string) (string, bool) {
	m := openAlexForm.FindStringSubmatch(doi.Trim(text))
	if m == nil {
		return "", false
	}
	return "W" + m[1], true
}

// normalNCT pads to eight digits: zeros were lost in spreadsheets.
func normalNCT(text string) (string, bool) {
	m := nctForm.FindStringSubmatch(doi.Trim(text))
	if m == nil || strings.Trim(m[1], "0") == "" {
		return "", false
	}
	return "NCT" + strings.Repeat("0", 8-len(m[1])) + m[1], true
}

// normalArXiv is the number without its version. Until 2014 numbers had four digits
// behind the point, since then five; old ones lose the class behind their archive.
func normalArXiv(text string) (string, bool) {
	s := doi.Trim(text)
	if w := arxivWrapper.FindString(s); w != "" {
		s = s[len(w):]
	}
	s = doi.Lower(strings.TrimSuffix(doi.Lower(s), ".pdf"))
	if m := arxivNew.FindStringSubmatch(s); m != nil {
		digits := 5
		if m[1]+m[2] <= "1412" {
			digits = 4
		}
		return m[1] + m[2] + "." + m[3], len(m[3]) == digits
	}
	if m := arxivOld.FindStringSubmatch(s); m != nil {
		return m[1] + "/" + m[2], true
	}
	return "", false
}

// corpora are the parts of Europe PMC: an id means something only within one.
var corpora = map[string]bool{
	"MED": true, "PMC": true, "PPR": true, "AGR": true, "PAT": true, "CBA": true, "CTX": true, "ETH": true, "HIR": true, "NBK": true, "CIT": true, "IND": true,
}

func normalEuropePMC(text string) (string, bool) {
	m := epmcForm.FindStringSubmatch(doi.Trim(text))
	if m == nil {
		return "", false
	}
	corpus := strings.ToUpper(m[1])
	value := strings.ToUpper(m[2])
	if !corpora[corpus] {
		return "", false
	}
	switch corpus {
	case "MED":
		n, ok := normalPMID(value)
		return corpus + ":" + n, ok
	case "PMC":
		n, ok := normalPMCID(value)
		return corpus + ":" + n, ok
	}
	return corpus + ":" + value, true
}
