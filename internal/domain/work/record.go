package work

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/papertrace/patra/internal/domain/doi"
)

// Key is what a record is known by everywhere.
type Key struct{ Source, Type, ID string }

// Compare orders keys.
func (k Key) Compare(o Key) int {
	if c := strings.Compare(k.Source, o.Source); c != 0 {
		return c
	}
	if c := strings.Compare(k.Type, o.Type); c != 0 {
		return c
	}
	return strings.Compare(k.ID, o.ID)
}

// Strength is how much a record's word about an identifier counts.
type Strength int

// The strengths.
const (
	// Own: the source gave the identifier, or it is the record's key there.
	Own Strength = iota
	// Listed: the source says of its record that it has it.
	Listed
	// SecondHand: the source has it from others, and their slips with it.
	SecondHand
	// Alias: it is that of another record which is said to be identical.
	Alias
)

// Claim is an identifier that a record has by the word of its source.
type Claim struct {
	ID
	Strength Strength
}

// Pointer is another record that a record is related to.
type Pointer struct {
	Relation Relation
	To       ID
	// Back: it is the other that is RELATION this one.
	Back bool
}

// Record is what of a record says which work it is of.
type Record struct {
	// Number is its row, by which edges and works name it. The rules never order by it.
	Number   int64
	Key      Key
	Revision int64
	// MergedInto is the id at the same source of the record that it was merged into.
	MergedInto string

	Claims   []Claim
	Pointers []Pointer
	// Stems are what versions of one thing have in common.
	Stems []string
	Class Class
	// Title is the normal title with its subtitle, Authors the family names of the authors
	// in their order.
	Title    string
	MainLen  int // how much of the title stands before its subtitle; 0 if it has none
	Authors  []string
	Year     int
	Volume   string
	Page     string // the first
	ISSN     []string
	Journal  []string // its names, normal
	Language string
	// Dead: the record stands for nothing, such as the stub of a deleted DOI.
	Dead bool
}

// fields are the mapped fields that matter here.
type fields struct {
	Title     string   `json:"title"`
	Subtitle  string   `json:"subtitle"`
	Authors   []author `json:"authors"`
	Journal   string   `json:"journal"`
	Abbrev    string   `json:"journal_abbrev"`
	ISSN      []string `json:"issn"`
	Volume    string   `json:"volume"`
	Pages     string   `json:"pages"`
	Published string   `json:"published"`
	Type      string   `json:"type"`
	Language  string   `json:"language"`
	DOI       string   `json:"doi"`
	PMID      string   `json:"pmid"`
	PMCID     string   `json:"pmcid"`
	Other     struct {
		ArXiv      string `json:"arxiv"`
		NCT        string `json:"nct"`
		Corpus     string `json:"corpus"`
		PMC        string `json:"pmc"`
		Concept    string `json:"concept"`
		ConceptDOI string `json:"concept_doi"`
		// Identifiers of other records, by how these are related.
		ArticleDOI    string `json:"article_doi"` // the article that a preprint became
		PreprintOf    string `json:"preprint_of"`
		HasPreprint   string `json:"has_preprint"`
		VersionOf     string `json:"version_of"` // whichever came first
		IdenticalTo   string `json:"identical_to"`
		Concerns      string `json:"concerns"` // what an expression of concern is about
		CommentsOn    string `json:"comments_on"`
		Reviews       string `json:"reviews"`
		TranslationOf string `json:"translation_of"`
		SupplementTo  string `json:"supplement_to"`
		PartOf        string `json:"part_of"`
	} `json:"other_ids"`
	Retracts    string `json:"retracts"`
	RetractedBy string `json:"retracted_by"`
	Corrects    string `json:"corrects"`
}

type author struct {
	Family string `json:"family"`
	Given  string `json:"given"`
	Name   string `json:"name"`
}

// Read takes what matters out of the mapped fields of a record. Its texts are parts of doc, which
// must not be changed as long as the record is used.
func Read(key Key, doc []byte) (Record, error) {
	f, err := fieldsOf(key, doc)
	if err != nil {
		return Record{}, err
	}
	main, whole := mainTitle(f.Title, f.Subtitle)
	r := identify(key, &f, whole)
	if m := normalTitle(main); m != r.Title && strings.HasPrefix(r.Title, m) {
		r.MainLen = len(m)
	}
	r.Volume = strings.TrimLeft(fold(f.Volume), "0")
	for _, s := range f.ISSN {
		if s = normalISSN(s); s != "" && !slices.Contains(r.ISSN, s) {
			r.ISSN = append(r.ISSN, s)
		}
	}
	for _, s := range []string{f.Journal, f.Abbrev} {
		if s = fold(s); s != "" && !slices.Contains(r.Journal, s) {
			r.Journal = append(r.Journal, s)
		}
	}
	r.Language = languages[doi.Lower(strings.TrimSpace(f.Language))]
	return r, nil
}

func fieldsOf(key Key, doc []byte) (f fields, err error) {
	if len(doc) == 0 {
		return f, nil
	}
	f, err = readFields(doc)
	if err != nil {
		return f, fmt.Errorf("fields of record %s %s: %w", key.Source, key.ID, err)
	}
	return f, nil
}

// identify takes up what the keys of a record are made of: its identifiers, its class,
// its title with the subtitle, its authors, where it stands.
func identify(key Key, f *fields, title string) Record {
	r := Record{Key: key}
	c := claimer{record: &r, fields: f}
	c.claim()
	r.Class = classOf(key.Source, f.Type, c.doi(), f.Title)
	c.relate()
	r.Title = normalTitle(title)
	r.Authors = slices.Grow(r.Authors, len(f.Authors))
	for _, a := range f.Authors {
		if name := familyOf(a); name != "" {
			r.Authors = append(r.Authors, name)
		}
	}
	r.Year = yearOf(f.Published)
	r.Page = firstPage(f.Pages)
	r.Dead = isDeleted(f.Journal)
	return r
}

// isDeleted reports whether a journal is the one under which DOIs are listed that were
// taken back.
func isDeleted(journal string) bool {
	// Few journals begin with its first letter, and the others need not be folded.
	if journal == "" || journal[0] < 0x80 && journal[0]|0x20 >= 'a' && journal[0]|0x20 <= 'z' && journal[0]|0x20 != 'c' {
		return false
	}
	return strings.HasPrefix(fold(journal), "crossref listing of deleted")
}

// nameEnds stand behind a family name and are no part of it.
var nameEnds = map[string]bool{"jr": true, "sr": true, "ii": true, "iii": true, "iv": true, "phd": true, "md": true, "filho": true, "junior": true}

// familyOf is the last word of the family name: names in one piece do not say where it
// begins, and what stands before it (van der, Garcia) comes and goes.
func familyOf(a author) string {
	name := a.Family
	if isDense(name + a.Name) {
		// Where the family name ends cannot be seen in a name in one piece: all of it counts.
		return strings.ReplaceAll(fold(name+a.Given+a.Name), " ", "")
	}
	if name == "" {
		name = a.Name
		name, _, _ = strings.Cut(name, ",")
		if before, last, ok := cutLastWord(name); ok && isInitials(last) {
			name = before // "Smith JA", as Europe PMC and others write it
		}
	}
	name = fold(name)
	before, last, several := cutLastWord(name)
	for several && nameEnds[last] {
		name = before
		before, last, several = cutLastWord(name)
	}
	if !several {
		last = name
	}
	return plainDigraphs(last)
}

// plainDigraphs replaces the digraphs of a word, if it has any.
func plainDigraphs(word string) string {
	for i := 1; i < len(word); i++ {
		switch word[i-1 : i+1] {
		case "ae", "oe", "ue", "aa":
			return withoutDigraphs.Replace(word)
		}
	}
	return word
}

// withoutDigraphs makes names equal that were written with umlauts, without them, or
// with two letters in their place: Müller, Muller, Mueller.
var withoutDigraphs = strings.NewReplacer("ae", "a", "oe", "o", "ue", "u", "aa", "a")

func cutLastWord(s string) (before, last string, ok bool) {
	s = strings.TrimSpace(s)
	i := strings.LastIndexByte(s, ' ')
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+1:], true
}

var initials = regexp.MustCompile(`^(?:[A-Z]{1,3}|(?:[A-Z]\.-?){1,3})$`)

func isInitials(s string) bool { return initials.MatchString(s) }

func yearOf(published string) int {
	if len(published) < 4 {
		return 0
	}
	y, err := strconv.Atoi(published[:4])
	if err != nil || y < 1400 {
		return 0
	}
	return y
}

var pageForm = regexp.MustCompile(`[a-z]{0,3}[0-9]+[a-z]?`)

// firstPage is the first page, or the number of the article.
func firstPage(pages string) string {
	if digits := leadingDigits(pages); digits > 0 && (digits == len(pages) || pages[digits] == '-') {
		return strings.TrimLeft(pages[:digits], "0")
	}
	m := pageForm.FindString(doi.Lower(strings.TrimSpace(pages)))
	return strings.TrimLeft(m, "0")
}

// leadingDigits is how many digits a text begins with.
func leadingDigits(s string) int {
	n := 0
	for n < len(s) && s[n] >= '0' && s[n] <= '9' {
		n++
	}
	return n
}

func normalISSN(s string) string {
	s = strings.ToUpper(strings.ReplaceAll(strings.TrimSpace(s), "-", ""))
	if len(s) != 8 {
		return ""
	}
	return s
}

// languages are the codes in use for the languages that papers are written in most.
var languages = map[string]string{}

func init() {
	for _, codes := range []string{
		"en eng english", "fr fre fra french", "de ger deu german", "es spa spanish", "zh chi zho chinese", "ja jpn japanese", "pt por portuguese",
		"it ita italian", "ru rus russian", "ko kor korean", "pl pol polish", "tr tur turkish", "nl dut nld dutch", "uk ukr ukrainian",
	} {
		list := strings.Fields(codes)
		for _, c := range list {
			languages[c] = list[0]
		}
	}
}

// Own is the identifier of a scheme that is the record's own, if it has one.
func (r *Record) Own(s Scheme) ID {
	for _, c := range r.Claims {
		if c.Scheme == s && c.Strength == Own {
			return c.ID
		}
	}
	return ID{}
}

// said is the identifier of a scheme that the source gave the record or says that it
// has.
func (r *Record) said(s Scheme) ID {
	for _, c := range r.Claims {
		if c.Scheme == s && c.isSaid() {
			return c.ID
		}
	}
	return ID{}
}

// isSaid reports whether the source gave the record the identifier or says that it has
// it.
func (c Claim) isSaid() bool { return c.Strength == Own || c.Strength == Listed }
