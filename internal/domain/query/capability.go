package query

import (
	"fmt"
	"regexp"
	"slices"
)

// Precision is how exactly a source knows time.
type Precision string

// The precisions, coarse to fine.
const (
	PrecisionYear   Precision = "YEAR"
	PrecisionMonth  Precision = "MONTH"
	PrecisionDay    Precision = "DAY"
	PrecisionHour   Precision = "HOUR"
	PrecisionMinute Precision = "MINUTE"
	PrecisionSecond Precision = "SECOND"
	PrecisionMicro  Precision = "MICROSECOND"
)

var precisions = []Precision{PrecisionYear, PrecisionMonth, PrecisionDay, PrecisionHour, PrecisionMinute, PrecisionSecond, PrecisionMicro}

// Capability is what a source can do with one field (a row of
// reg_prov_expr_capability). A zero value sets no limit; what is not listed in Ops
// the source cannot do: it is looked for in the records that come.
type Capability struct {
	Field string `json:"field" yaml:"field"`
	Ops   []Op   `json:"ops" yaml:"ops"`
	// Shown says how far records show the field; empty means ALWAYS.
	Shown Shown `json:"shown,omitempty" yaml:"shown,omitempty" doc:"how far records show the field; empty means ALWAYS"`
	// Accents: the source tells letters with accents from those without, or may do so.
	// A text that has some is then asked for both ways.
	Accents bool `json:"accents,omitempty" yaml:"accents,omitempty" doc:"the source tells letters with accents from plain ones, or may"`
	// NegatableOps may stand under NOT; nil means all Ops. SupportsNot false
	// forbids it altogether; nil means true.
	NegatableOps []Op  `json:"negatableOps,omitempty" yaml:"negatableOps,omitempty"`
	SupportsNot  *bool `json:"supportsNot,omitempty" yaml:"supportsNot,omitempty"`

	// TermMatches are the kinds of TERM; PREFIX among them allows wildcards, and
	// PrefixMinLen is what must stand before one.
	TermMatches       []Match `json:"termMatches,omitempty" yaml:"termMatches,omitempty"`
	TermCaseSensitive bool    `json:"termCaseSensitive,omitempty" yaml:"termCaseSensitive,omitempty"`
	TermMinLen        int     `json:"termMinLen,omitempty" yaml:"termMinLen,omitempty"` // in characters
	TermMaxLen        int     `json:"termMaxLen,omitempty" yaml:"termMaxLen,omitempty"`
	TermPattern       string  `json:"termPattern,omitempty" yaml:"termPattern,omitempty"` // RE2, of every text
	PrefixMinLen      int     `json:"prefixMinLen,omitempty" yaml:"prefixMinLen,omitempty"`

	InMaxSize       int  `json:"inMaxSize,omitempty" yaml:"inMaxSize,omitempty"`
	InCaseSensitive bool `json:"inCaseSensitive,omitempty" yaml:"inCaseSensitive,omitempty"`

	// RangePrecision is the finest bound of a DATE range; empty means DAY.
	RangePrecision Precision `json:"rangePrecision,omitempty" yaml:"rangePrecision,omitempty"`
	// RangeOpenStart and RangeOpenEnd allow a bound to be absent; nil means true.
	RangeOpenStart *bool `json:"rangeOpenStart,omitempty" yaml:"rangeOpenStart,omitempty"`
	RangeOpenEnd   *bool `json:"rangeOpenEnd,omitempty" yaml:"rangeOpenEnd,omitempty"`
	// RangeExclusive allows bounds that are themselves out of the range. DATE and
	// YEAR ranges are written either way and need no leave.
	RangeExclusive bool `json:"rangeExclusive,omitempty" yaml:"rangeExclusive,omitempty"`
	// RangeMin and RangeMax are the outermost bounds, in the type of the field.
	RangeMin string `json:"rangeMin,omitempty" yaml:"rangeMin,omitempty"`
	RangeMax string `json:"rangeMax,omitempty" yaml:"rangeMax,omitempty"`

	// TokenPattern is what a TOKEN must look like (RE2).
	TokenPattern string `json:"tokenPattern,omitempty" yaml:"tokenPattern,omitempty"`
}

func (c Capability) can(op Op) bool { return slices.Contains(c.Ops, op) }

func (c Capability) canNot(op Op) bool {
	return (c.SupportsNot == nil || *c.SupportsNot) && (c.NegatableOps == nil || slices.Contains(c.NegatableOps, op))
}

// precision of DATE bounds.
func (c Capability) precision() Precision {
	if c.RangePrecision == "" {
		return PrecisionDay
	}
	return c.RangePrecision
}

// validate checks the row itself.
func (c Capability) validate(dict *FieldDict, path string, problems *Problems) {
	at := Place{Path: path}
	f, ok := dict.Lookup(c.Field)
	if !ok || f.Key != c.Field {
		problems.add(at, suggest(c.Field, dict.keys()), "field %s is not known", quoted(c.Field))
		return
	}
	leaves := []Op{OpTerm, OpIn, OpRange, OpExists, OpToken}
	for _, op := range slices.Concat(c.Ops, c.NegatableOps) {
		if !slices.Contains(leaves, op) {
			problems.add(at, fmt.Sprintf("known are %v", leaves), "op %s is not known", quoted(string(op)))
		}
	}
	if c.Shown != "" && !slices.Contains(shownKinds, c.Shown) {
		problems.add(at, fmt.Sprintf("known are %v", shownKinds), "shown %s is not known", quoted(string(c.Shown)))
	}
	matches := []Match{MatchWords, MatchPhrase, MatchExact, MatchPrefix}
	for _, m := range c.TermMatches {
		if !slices.Contains(matches, m) {
			problems.add(at, fmt.Sprintf("known are %v", matches), "match %s is not known", quoted(string(m)))
		}
	}
	if c.RangePrecision != "" && !slices.Contains(precisions, c.RangePrecision) {
		problems.add(at, fmt.Sprintf("known are %v", precisions), "precision %s is not known", quoted(string(c.RangePrecision)))
	}
	for _, one := range [][2]string{{"termPattern", c.TermPattern}, {"tokenPattern", c.TokenPattern}} {
		if _, err := regexp.Compile(one[1]); err != nil {
			problems.add(Place{Path: path + "." + one[0]}, "", "%v", err)
		}
	}
	for _, one := range [][2]string{{"rangeMin", c.RangeMin}, {"rangeMax", c.RangeMax}} {
		if one[1] == "" {
			continue
		}
		if _, _, err := normalBound(f.Type(), one[1], false, one[0] == "rangeMax"); err != nil {
			problems.add(Place{Path: path + "." + one[0]}, "", "%s %v", quoted(one[1]), err)
		}
	}
	if min(c.TermMinLen, c.TermMaxLen, c.PrefixMinLen, c.InMaxSize) < 0 {
		problems.add(at, "", "a limit is less than 0")
	}
}
