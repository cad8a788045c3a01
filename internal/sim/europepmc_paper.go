package sim

import (
	"encoding/json"
	"encoding/xml"
	"html"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// papers writes Europe PMC's records.
type papers struct {
	seed     uint64
	articles articles
	works    works
	// What PubMed and Crossref hold at the start, by index.
	medline, posted []record
}

// The corpora, and where a record comes from.
type origin uint8

const (
	ownMED     origin = iota // known to Europe PMC alone, with a PMID of its own
	ownPMC                   // full text that PubMed does not list
	ownAGR                   // of Agricola
	fromPubMed               // PubMed's article of the same index
	fromWork                 // Crossref's work of the same index
)

// Ids of Europe PMC's own start where those of the other upstreams never get.
const (
	firstOwnPMID = 10_000_001
	firstPMC     = 30_000_000
	firstPPR     = 100_000
	firstAGR     = 600_000_000
	mostOwn      = 15_000_000
)

// origin is fixed by a record's index: 55 of a hundred are PubMed's and 20 are
// Crossref's, as long as these have one.
func (p papers) origin(i uint32) origin {
	d := roll(p.seed, 40, uint64(i))
	switch pick := d.n(100); {
	case pick < 55 && int(i) < len(p.medline):
		return fromPubMed
	case pick < 75 && int(i) < len(p.posted):
		switch p.works.facts(i, &p.posted[i]).kind {
		case "journal-article", "posted-content":
			return fromWork
		}
		return ownMED
	case pick < 88:
		return ownMED
	case pick < 96:
		return ownPMC
	}
	return ownAGR
}

// corpus is a record's source, and its id there.
func (p papers) corpus(i uint32) (source, id string) {
	switch p.origin(i) {
	case fromPubMed:
		return "MED", strconv.Itoa(p.articles.pmid(i))
	case fromWork:
		if p.works.facts(i, &p.posted[i]).kind == "posted-content" {
			return "PPR", "PPR" + strconv.Itoa(firstPPR+int(i))
		}
		return "PMC", "PMC" + strconv.Itoa(firstPMC+int(i))
	case ownPMC:
		return "PMC", "PMC" + strconv.Itoa(firstPMC+int(i))
	case ownAGR:
		return "AGR", "IND" + strconv.Itoa(firstAGR+int(i))
	}
	return "MED", strconv.Itoa(firstOwnPMID + int(i))
}

func (p papers) appendID(b []byte, i uint32) []byte {
	_, id := p.corpus(i)
	return append(b, id...)
}

// find returns the index an id stands for.
func (p papers) find(id string) (uint32, bool) {
	if i, ok := p.articles.find(id); ok && p.origin(i) == fromPubMed {
		return i, true
	}
	digits := strings.TrimLeft(id, "ABCDEFGHIJKLMNOPQRSTUVWXYZ")
	n, err := strconv.Atoi(digits)
	if err != nil {
		return 0, false
	}
	first := map[string]int{"": firstOwnPMID, "PMC": firstPMC, "PPR": firstPPR, "IND": firstAGR}[id[:len(id)-len(digits)]]
	if n < first || n-first >= mostOwn {
		return 0, false
	}
	i := uint32(n - first)
	_, own := p.corpus(i)
	return i, own == id
}

// paper is what a record says, before it is written down.
type paper struct {
	title    string // with markup
	abstract []abstractPart
	authors  []paperAuthor
	journal  int // -1: none
	volume   string
	issue    string
	pages    string
	date     civil // of the first publication, completed
	language string
	types    []string
	doi      string
	pmid     string
	pmcid    string
	keywords []string
	mesh     []meshEntry
	links    []paperLink
	licence  string
	open     bool
}

type abstractPart struct{ label, text string }

type paperAuthor struct{ family, given, initials, group, orcid, affiliation string }

type meshEntry struct {
	name, qualifier string
	major           bool
}

type paperLink struct{ kind, id string }

// paper reads a record: what the upstream it comes from says, and what happened
// to it here since.
func (p papers) paper(i uint32, r *record) paper {
	var out paper
	switch p.origin(i) {
	case fromPubMed:
		out = p.medlinePaper(p.articles, i, &p.medline[i])
	case fromWork:
		out = p.workPaper(i, &p.posted[i])
	default:
		out = p.medlinePaper(articles{p.seed}, i, r)
		out.doi = ""
		out.pmcid = ""
		out.links = nil
		if d := roll(p.seed, 42, uint64(i)); d.percent(90) {
			out.doi = "10.99777/epmc.sim." + string(appendPadded(nil, int(i), 7))
		}
		if r.partner > 0 {
			_, other := p.corpus(r.partner - 1)
			kind := "Retraction in"
			if r.notice {
				kind = "Retraction of"
			}
			out.links = []paperLink{{kind, other}}
		}
	}
	switch source, id := p.corpus(i); source {
	case "MED":
		out.pmid = id
	case "PMC":
		out.pmcid = id
		out.open = true
		out.licence = "cc by"
	case "PPR":
		out.types = []string{"Preprint"}
		out.journal = -1
	}
	if r.content > 0 { // of the record as Europe PMC has it
		out.keywords = append(slices.Clip(out.keywords), "Revision "+strconv.Itoa(int(r.content)))
	}
	return out
}

// medlineXML is what is taken out of an article as PubMed writes it.
type medlineXML struct {
	XMLName xml.Name
	Article medlineCitation `xml:"MedlineCitation"`
	Book    medlineBook     `xml:"BookDocument"`
	Ids     []typedID       `xml:"PubmedData>ArticleIdList>ArticleId"`
}

type typedID struct {
	Kind  string `xml:"IdType,attr"`
	Place string `xml:"EIdType,attr"`
	Text  string `xml:",chardata"`
}

type markedUp struct {
	Label string `xml:"Label,attr"`
	Inner string `xml:",innerxml"`
}

type medlineAuthor struct {
	Family      string `xml:"LastName"`
	Given       string `xml:"ForeName"`
	Initials    string `xml:"Initials"`
	Group       string `xml:"CollectiveName"`
	ORCID       string `xml:"Identifier"`
	Affiliation string `xml:"AffiliationInfo>Affiliation"`
}

type medlineCitation struct {
	Title    markedUp        `xml:"Article>ArticleTitle"`
	Abstract []markedUp      `xml:"Article>Abstract>AbstractText"`
	Authors  []medlineAuthor `xml:"Article>AuthorList>Author"`
	Volume   string          `xml:"Article>Journal>JournalIssue>Volume"`
	Issue    string          `xml:"Article>Journal>JournalIssue>Issue"`
	Pages    string          `xml:"Article>Pagination>MedlinePgn"`
	Language string          `xml:"Article>Language"`
	Types    []string        `xml:"Article>PublicationTypeList>PublicationType"`
	Places   []typedID       `xml:"Article>ELocationID"`
	Keywords []string        `xml:"KeywordList>Keyword"`
	Mesh     []struct {
		Name struct {
			Major string `xml:"MajorTopicYN,attr"`
			Text  string `xml:",chardata"`
		} `xml:"DescriptorName"`
		Qualifier string `xml:"QualifierName"`
	} `xml:"MeshHeadingList>MeshHeading"`
	Links []struct {
		Kind string `xml:"RefType,attr"`
		PMID string `xml:"PMID"`
	} `xml:"CommentsCorrectionsList>CommentsCorrections"`
}

type medlineBook struct {
	Title    markedUp        `xml:"ArticleTitle"`
	Abstract []markedUp      `xml:"Abstract>AbstractText"`
	Authors  []medlineAuthor `xml:"AuthorList>Author"`
	Language string          `xml:"Language"`
	Types    []string        `xml:"PublicationType"`
}

// linkWords are Europe PMC's words for how two records belong together.
var linkWords = map[string]string{"RetractionOf": "Retraction of", "RetractionIn": "Retraction in", "ErratumIn": "Erratum in"}

// medlinePaper reads an article as PubMed has it.
func (p papers) medlinePaper(a articles, i uint32, r *record) paper {
	return remembered.paper(paperKey{a, i, *r}, func() paper { return p.readArticle(a, i, r) })
}

// paperKey is all that a paper depends on.
type paperKey struct {
	articles
	index uint32
	record
}

// paperMemo remembers papers: to read one takes far longer than to write it down, and
// each is written on several pages. What is taken out of it must not be changed.
type paperMemo struct {
	mu   sync.Mutex
	read map[paperKey]paper // guarded by mu
}

var remembered paperMemo

func (m *paperMemo) paper(key paperKey, read func() paper) paper {
	m.mu.Lock()
	defer m.mu.Unlock()
	p, ok := m.read[key]
	if ok {
		return p
	}
	if m.read == nil || len(m.read) >= mostRemembered {
		m.read = map[paperKey]paper{}
	}
	p = read()
	m.read[key] = p
	return p
}

// mostRemembered bounds what is kept, at some kilobytes each.
const mostRemembered = 5_000

func (p papers) readArticle(a articles, i uint32, r *record) paper {
	var in medlineXML
	if err := xml.Unmarshal(a.append(nil, i, r), &in); err != nil {
		panic("sim: PubMed's own record cannot be read: " + err.Error())
	}
	f := a.facts(i, r.created)
	c := in.Article
	out := paper{
		title: c.Title.Inner, journal: f.journal, volume: c.Volume, issue: c.Issue, pages: c.Pages,
		language: c.Language, types: c.Types, keywords: c.Keywords,
		date: civil{f.published.year, max(f.published.month, 1), max(f.published.day, 1)},
	}
	abstract, authors := c.Abstract, c.Authors
	if in.XMLName.Local == "PubmedBookArticle" {
		b := in.Book
		out.title = b.Title.Inner
		out.language = b.Language
		out.types = b.Types
		out.journal = -1
		abstract, authors = b.Abstract, b.Authors
	}
	for _, part := range abstract {
		out.abstract = append(out.abstract, abstractPart{part.Label, part.Inner})
	}
	for _, one := range authors {
		out.authors = append(out.authors, paperAuthor{one.Family, one.Given, one.Initials, one.Group, one.ORCID, one.Affiliation})
	}
	for _, h := range c.Mesh {
		out.mesh = append(out.mesh, meshEntry{h.Name.Text, h.Qualifier, h.Name.Major == "Y"})
	}
	for _, l := range c.Links {
		if l.PMID != "" {
			out.links = append(out.links, paperLink{linkWords[l.Kind], l.PMID})
		}
	}
	for _, id := range append(c.Places, in.Ids...) {
		switch {
		case id.Kind == "doi" || id.Place == "doi":
			out.doi = id.Text
		case id.Kind == "pmc":
			out.pmcid = id.Text
		}
	}
	return out
}

// workPaper reads a work as Crossref has it.
func (p papers) workPaper(i uint32, r *record) paper {
	var in struct {
		DOI      string
		Title    []string
		Abstract string
		Volume   string
		Issue    string
		Page     string
		Author   []struct {
			Family, Given, Name, ORCID string
			Affiliation                []struct{ Name string }
		}
	}
	if err := json.Unmarshal(p.works.append(nil, i, r), &in); err != nil {
		panic("sim: Crossref's own record cannot be read: " + err.Error())
	}
	f := p.works.facts(i, r)
	date := f.issued
	if date.year == 0 {
		date = civilOf(int(r.created / 86400))
	}
	out := paper{
		title:   strings.Join(strings.Fields(strings.Join(in.Title, " ")), " "),
		journal: f.journal, volume: in.Volume, issue: in.Issue, pages: in.Page,
		date: civil{date.year, max(date.month, 1), max(date.day, 1)}, language: "eng", types: []string{"research-article"}, doi: in.DOI,
	}
	if in.Abstract != "" {
		text := in.Abstract
		for _, tag := range []string{"<jats:title>Abstract</jats:title>", "<jats:p>", "</jats:p>"} {
			text = strings.ReplaceAll(text, tag, "")
		}
		text = strings.NewReplacer("<jats:italic>", "<i>", "</jats:italic>", "</i>").Replace(text)
		out.abstract = []abstractPart{{"", strings.TrimSpace(text)}}
	}
	for _, a := range in.Author {
		one := paperAuthor{family: a.Family, given: a.Given, group: a.Name, orcid: strings.TrimPrefix(a.ORCID, "http://orcid.org/")}
		if a.Given != "" {
			one.initials = string([]rune(a.Given)[:1])
		}
		if len(a.Affiliation) > 0 {
			one.affiliation = a.Affiliation[0].Name
		}
		out.authors = append(out.authors, one)
	}
	return out
}

// unmarked is text without markup and character references.
func unmarked(s string) string {
	var b strings.Builder
	for s != "" {
		open := strings.IndexByte(s, '<')
		if open < 0 {
			b.WriteString(s)
			break
		}
		b.WriteString(s[:open])
		shut := strings.IndexByte(s[open:], '>')
		if shut < 0 {
			break
		}
		s = s[open+shut+1:]
	}
	return html.UnescapeString(b.String())
}
