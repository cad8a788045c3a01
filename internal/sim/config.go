package sim

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
)

// The upstreams there are.
const (
	PubMed          = "pubmed"
	Crossref        = "crossref"
	EuropePMC       = "europepmc"
	OpenAlex        = "openalex"
	ClinicalTrials  = "clinicaltrials"
	DataCite        = "datacite"
	DOAJ            = "doaj"
	HAL             = "hal"
	PLOS            = "plos"
	SemanticScholar = "semanticscholar"
	Zenodo          = "zenodo"
	ArXiv           = "arxiv"
	PMC             = "pmc"
	DOAJOAI         = "doaj-oai"
	ZenodoOAI       = "zenodo-oai"
	BioRxiv         = "biorxiv"
	MedRxiv         = "medrxiv"
	Unpaywall       = "unpaywall"
	CORE            = "core"
	SciELO          = "scielo"
	DataCiteOAI     = "datacite-oai"
	ArXivSearch     = "arxiv-search"
	HALKeyset       = "hal-keyset"
	ELife           = "elife"
	IETF            = "ietf"
	Generic         = "generic"
)

// Upstreams lists them.
var Upstreams = []string{
	PubMed, Crossref, EuropePMC, OpenAlex, ClinicalTrials, DataCite, DOAJ, HAL, PLOS, SemanticScholar, Zenodo,
	ArXiv, PMC, DOAJOAI, ZenodoOAI, BioRxiv, MedRxiv, Unpaywall, CORE, SciELO, DataCiteOAI, ArXivSearch, HALKeyset, ELife, IETF, Generic,
}

// LookupOnly are the upstreams that list nothing: their records are asked for one
// by one.
var LookupOnly = []string{Unpaywall}

// None is no records at the start.
const None = math.MinInt

// Config says what to simulate. The zero value serves PubMed and Crossref with
// 2,000 records each, real limits and no faults.
type Config struct {
	Sources []string      // default: pubmed, crossref
	Records int           // per source at the start; default 2,000, [None] for none
	Seed    uint64        // same seed, same bytes
	Now     time.Time     // start of the clock; default: 60 days ago, on the hour
	Span    time.Duration // first versions lie in [Now-Span, Now); default 30 days
	Churn   *Churn        // what happens per day of Advance; nil: DefaultChurn(Records)

	Faults   Faults
	LimitRPS float64       // 0: each source's own limits; < 0: none; > 0: so many a second for each source
	Quota    Quota         // beside the rate; the zero value is none
	Latency  time.Duration // before every answer
	Gzip     bool          // compress for those who ask

	PubMedWall  int           // ids within reach of one search; default 9,999
	WebEnvLife  time.Duration // of an unused history session; default 1 hour
	CursorLife  time.Duration // of an unused Crossref cursor, generic scroll or resumption token; default 5 minutes
	ListSize    int           // records of a list where the server alone decides: OAI-PMH and preprints; default: the service's own
	Generic     GenericStyle  // how the generic source behaves unless a request says otherwise
	GenericAuth GenericAuth   // what it accepts where a style asks for credentials
	KeepLog     int           // requests kept for Requests; default 5,000, < 0: all
	OnRequest   OnRequest     // called before each answer, with no lock held; see SetOnRequest
	CursorChars int           // length of Crossref's cursor token; default and least 272
}

// Quota is how many requests of one caller a source serves in any span as long as
// Window. Every request counts, also one that is refused or fails.
type Quota struct {
	Requests int
	Window   time.Duration
}

// Churn is how much happens in a day of the clock. Late is a share of the new
// versions, the others are numbers of records and may be fractions.
type Churn struct {
	New       float64 `json:"new"`
	Changed   float64 `json:"changed"`
	Volatile  float64 `json:"volatile"`  // changes of volatile parts only; not PubMed
	Deleted   float64 `json:"deleted"`   // PubMed and generic
	Retracted float64 `json:"retracted"` // not Europe PMC
	Late      float64 `json:"late"`      // 0..1
}

// DefaultChurn is an ordinary day of a population of that size.
func DefaultChurn(records int) Churn {
	n := float64(records)
	return Churn{
		New:       max(1, n/30),
		Changed:   max(1, n/50),
		Volatile:  max(1, n/20),
		Deleted:   max(1, n/1000),
		Retracted: max(1, n/1000),
		Late:      0.01,
	}
}

func (c Config) withDefaults() Config {
	if len(c.Sources) == 0 {
		c.Sources = []string{PubMed, Crossref}
	}
	switch c.Records {
	case 0:
		c.Records = 2000
	case None:
		c.Records = 0
	}
	if c.Now.IsZero() {
		c.Now = time.Now().Add(-60 * 24 * time.Hour).Truncate(time.Hour)
	}
	c.Now = c.Now.UTC().Truncate(time.Microsecond)
	if c.Span == 0 {
		c.Span = 30 * 24 * time.Hour
	}
	if c.Churn == nil {
		churn := DefaultChurn(c.Records)
		c.Churn = &churn
	}
	if c.PubMedWall == 0 {
		c.PubMedWall = 9999
	}
	if c.WebEnvLife == 0 {
		c.WebEnvLife = time.Hour
	}
	if c.CursorLife == 0 {
		c.CursorLife = 5 * time.Minute
	}
	if c.KeepLog == 0 {
		c.KeepLog = 5_000
	}
	c.CursorChars = max(c.CursorChars, 272)
	c.Generic = c.Generic.withDefaults()
	c.GenericAuth = c.GenericAuth.withDefaults()
	return c
}

func (c Config) validate() error {
	var errs []error
	for i, name := range c.Sources {
		if !slices.Contains(Upstreams, name) {
			errs = append(errs, fmt.Errorf("source %q is not simulated; there are %s", name, strings.Join(Upstreams, ", ")))
		}
		if slices.Contains(c.Sources[:i], name) {
			errs = append(errs, fmt.Errorf("source %q is named twice", name))
		}
	}
	if c.Records < 0 || c.Records > 12_000_000 {
		errs = append(errs, fmt.Errorf("records %d: must lie between 0 and 12,000,000", c.Records))
	}
	if c.Span < time.Hour {
		errs = append(errs, fmt.Errorf("span %v: must be an hour or more", c.Span))
	}
	if start := c.Now.Add(-c.Span); start.Unix() < 0 || c.Now.Year() > 2100 {
		errs = append(errs, fmt.Errorf("now %v with span %v: must stay between 1970 and 2100", c.Now, c.Span))
	}
	if c.PubMedWall < 1 {
		errs = append(errs, fmt.Errorf("pubmed wall %d: must be 1 or more", c.PubMedWall))
	}
	return errors.Join(append(errs, c.Faults.validate(), c.Generic.validate())...)
}
