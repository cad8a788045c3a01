package sim

import "strconv"

// articles writes PubMed's records.
type articles struct{ seed uint64 }

// firstPMID leaves room below for numbers that were never given out.
const firstPMID = 30_000_001

// pmid numbers run upwards with holes in between, as the real ones do.
func (a articles) pmid(i uint32) int {
	return firstPMID + int(i)*3 + int(mix(a.seed^uint64(i)*0x9e37)%3)
}

// find returns the index a PMID stands for.
func (a articles) find(id string) (uint32, bool) {
	n, err := strconv.Atoi(id)
	if err != nil || n < firstPMID {
		return 0, false
	}
	i := uint32((n - firstPMID) / 3)
	return i, a.pmid(i) == n
}

// articleFacts is what a search needs to know without writing the record out.
type articleFacts struct {
	journal   int
	style     uint64
	book      bool
	published civil // month or day may be missing
	medline   bool  // the date is given as free text, from this month to the next
	entered   bool  // edat was set back to the publication date
}

func (a articles) facts(i uint32, created uint32) articleFacts {
	d := roll(a.seed, 20, uint64(i))
	f := articleFacts{journal: d.n(len(journals)), style: d.next(), book: d.n(1000) < 5}
	back := d.between(-60, 120)
	f.entered = d.n(100) < 3
	if f.entered {
		back = d.between(400, 900)
	}
	f.published = civilOf(int(created/86400) - back)
	switch p := d.n(100); {
	case p < 8:
		f.published.month, f.published.day = 0, 0
	case p < 40:
		f.published.day = 0
	case p < 46 && f.published.month < 12:
		f.medline, f.published.day = true, 0
	}
	return f
}

// dated says whether the record carries DateRevised; the first version of about
// three in a hundred does not.
func (a articles) dated(i uint32, r *record) bool {
	return r.number > 1 || mix(a.seed^uint64(i)*0x51ed)%100 >= 3
}

type xmlWriter struct{ b []byte }

func (x *xmlWriter) lit(s string) { x.b = append(x.b, s...) }
func (x *xmlWriter) int(n int)    { x.b = appendInt(x.b, n) }
func (x *xmlWriter) text(t text)  { x.lit(t.xml) }
func (x *xmlWriter) pmid(n int)   { x.lit(`<PMID Version="1">`); x.int(n); x.lit(`</PMID>`) }
func (x *xmlWriter) doi(i uint32) { x.lit("10.99555/pm.sim."); x.b = appendPadded(x.b, int(i), 7) }
func (x *xmlWriter) number(n int) { x.b = appendTwo(x.b, n) }

func (x *xmlWriter) day(tag string, c civil) {
	x.lit("<" + tag + "><Year>")
	x.int(c.year)
	x.lit("</Year><Month>")
	x.number(c.month)
	x.lit("</Month><Day>")
	x.number(c.day)
	x.lit("</Day></" + tag + ">")
}

func (x *xmlWriter) status(status string, c civil, hour int) {
	x.lit(`<PubMedPubDate PubStatus="`)
	x.lit(status)
	x.lit(`"><Year>`)
	x.int(c.year)
	x.lit("</Year><Month>")
	x.int(c.month)
	x.lit("</Month><Day>")
	x.int(c.day)
	x.lit("</Day>")
	if hour >= 0 {
		x.lit("<Hour>")
		x.int(hour)
		x.lit("</Hour><Minute>0</Minute>")
	}
	x.lit("</PubMedPubDate>")
}

// append writes the record of a version, from its first < to its last >.
func (a articles) append(b []byte, i uint32, r *record) []byte {
	return a.write(b, i, r, true)
}

// write leaves out the record's own PMID if told so: the detail_bad_item fault.
func (a articles) write(b []byte, i uint32, r *record, named bool) []byte {
	f := a.facts(i, r.created)
	d := roll(a.seed, 21, uint64(i))
	c := roll(a.seed, 22, uint64(i), uint64(r.content))
	x := xmlWriter{b}
	if f.book && !r.notice {
		a.book(&x, i, r, f, &d, &c, named)
	} else {
		a.article(&x, i, r, f, &d, &c, named)
	}
	return x.b
}

func (a articles) article(x *xmlWriter, i uint32, r *record, f articleFacts, d, c *dice, named bool) {
	in := &journals[f.journal]
	status := [4]string{"MEDLINE", "PubMed-not-MEDLINE", "Publisher", "In-Process"}[f.style&3]
	created, revised := easternCivil(int64(r.created)), easternCivil(int64(r.updated))
	x.lit(`<PubmedArticle><MedlineCitation Status="`)
	x.lit(status)
	x.lit(`" Owner="NLM" IndexingMethod="Automated">`)
	if named {
		x.pmid(a.pmid(i))
	}
	if status == "MEDLINE" {
		x.day("DateCompleted", created)
	}
	if a.dated(i, r) {
		x.day("DateRevised", revised)
	}
	x.lit(`<Article PubModel="Print-Electronic"><Journal><ISSN IssnType="Electronic">`)
	x.lit(in.issnOnline)
	x.lit(`</ISSN><JournalIssue CitedMedium="Internet"><Volume>`)
	x.int(1 + d.n(90))
	x.lit(`</Volume><Issue>`)
	x.int(1 + c.n(12))
	x.lit(`</Issue>`)
	a.pubDate(x, f)
	x.lit(`</JournalIssue><Title>`)
	x.text(in.title)
	x.lit(`</Title><ISOAbbreviation>`)
	x.text(in.abbrev)
	x.lit(`</ISOAbbreviation></Journal><ArticleTitle>`)
	a.title(x, r, f, d)
	x.lit(`</ArticleTitle><Pagination><StartPage>`)
	first := c.between(1, 2000)
	x.int(first)
	x.lit(`</StartPage><EndPage>`)
	x.int(first + 7)
	x.lit(`</EndPage><MedlinePgn>`)
	x.int(first)
	x.lit("-")
	x.int(first + 7)
	x.lit(`</MedlinePgn></Pagination>`)
	doi := f.style >> 4 % 20 // 0..2: none, 3: in the id list only, 4: here only
	if doi >= 3 && doi != 3 {
		x.lit(`<ELocationID EIdType="doi" ValidYN="Y">`)
		x.doi(i)
		x.lit(`</ELocationID>`)
	}
	if f.style>>9&7 == 0 {
		x.lit(`<ELocationID EIdType="pii" ValidYN="Y">S0000-0000(24)`)
		x.int(int(i))
		x.lit(`</ELocationID>`)
	}
	if !r.notice {
		a.abstract(x, f, d, c)
		a.authors(x, d)
	}
	x.lit(`<Language>`)
	x.lit([4]string{"eng", "eng", "eng", "fre"}[f.style>>14&3])
	x.lit(`</Language>`)
	if f.style>>16&7 == 0 {
		x.lit(`<GrantList CompleteYN="Y"><Grant><GrantID>R01 SIM`)
		x.int(d.n(100000))
		x.lit(`</GrantID><Acronym>NH</Acronym><Agency>NIH HHS</Agency><Country>United States</Country></Grant></GrantList>`)
	}
	x.lit(`<PublicationTypeList>`)
	if r.notice {
		x.lit(`<PublicationType UI="D016440">Retraction of Publication</PublicationType>`)
	} else {
		x.lit(`<PublicationType UI="D016428">Journal Article</PublicationType>`)
		if f.style>>19&7 == 0 {
			x.lit(`<PublicationType UI="D016454">Review</PublicationType>`)
		}
		if r.retracted {
			x.lit(`<PublicationType UI="D016441">Retracted Publication</PublicationType>`)
		}
	}
	x.lit(`</PublicationTypeList>`)
	if f.style>>14&3 == 3 {
		x.lit(`<VernacularTitle>Étude simulée de l&#x2019;oracle.</VernacularTitle>`)
	}
	if f.published.month > 0 && f.published.day > 0 {
		x.lit(`<ArticleDate DateType="Electronic"><Year>`)
		x.int(f.published.year)
		x.lit("</Year><Month>")
		x.number(f.published.month)
		x.lit("</Month><Day>")
		x.number(f.published.day)
		x.lit("</Day></ArticleDate>")
	}
	x.lit(`</Article><MedlineJournalInfo><Country>`)
	x.lit(in.country)
	x.lit(`</Country><MedlineTA>`)
	x.text(in.abbrev)
	x.lit(`</MedlineTA><NlmUniqueID>`)
	x.lit(in.nlm)
	x.lit(`</NlmUniqueID><ISSNLinking>`)
	x.lit(in.issnPrint)
	x.lit(`</ISSNLinking></MedlineJournalInfo><CitationSubset>IM</CitationSubset>`)
	a.corrections(x, i, r, f, d)
	if status == "MEDLINE" {
		a.mesh(x, d)
	}
	if f.style>>22&1 == 0 {
		x.lit(`<KeywordList Owner="NOTNLM"><Keyword MajorTopicYN="N">`)
		x.lit(objects[f.style>>24&15])
		x.lit(`</Keyword><Keyword MajorTopicYN="Y">`)
		x.text(spices[f.style>>28&15])
		x.lit(`</Keyword></KeywordList>`)
	}
	x.lit(`</MedlineCitation><PubmedData><History>`)
	received := civilOf(int(r.created/86400) - 150 - d.n(60))
	x.status("received", received, -1)
	x.status("accepted", civilOf(int(r.created/86400)-20-d.n(60)), -1)
	x.status("entrez", created, 0)
	x.status("pubmed", created, 6)
	if status == "MEDLINE" {
		x.status("medline", created, 6)
	}
	x.lit(`</History><PublicationStatus>ppublish</PublicationStatus><ArticleIdList><ArticleId IdType="pubmed">`)
	if named {
		x.int(a.pmid(i))
	}
	x.lit(`</ArticleId>`)
	if f.style>>32&3 == 0 {
		x.lit(`<ArticleId IdType="pmc">PMC`)
		x.int(9_000_000 + int(i))
		x.lit(`</ArticleId>`)
	}
	if doi >= 3 && doi != 4 {
		x.lit(`<ArticleId IdType="doi">`)
		x.doi(i)
		x.lit(`</ArticleId>`)
	}
	x.lit(`</ArticleIdList>`)
	a.references(x, i, f, d)
	x.lit(`</PubmedData></PubmedArticle>`)
}

func (a articles) pubDate(x *xmlWriter, f articleFacts) {
	x.lit("<PubDate>")
	switch {
	case f.medline:
		x.lit("<MedlineDate>")
		x.int(f.published.year)
		x.lit(" ")
		x.lit(monthNames[f.published.month])
		x.lit("-")
		x.lit(monthNames[f.published.month+1])
		x.lit("</MedlineDate>")
	default:
		x.lit("<Year>")
		x.int(f.published.year)
		x.lit("</Year>")
		if f.published.month > 0 {
			x.lit("<Month>")
			x.lit(monthNames[f.published.month])
			x.lit("</Month>")
			if f.published.day > 0 {
				x.lit("<Day>")
				x.number(f.published.day)
				x.lit("</Day>")
			}
		}
	}
	x.lit("</PubDate>")
}

func (a articles) title(x *xmlWriter, r *record, f articleFacts, d *dice) {
	if r.retracted {
		x.lit("RETRACTED: ")
	}
	if r.notice {
		x.lit("Retraction: ")
	}
	vernacular := f.style>>14&3 == 3
	if vernacular {
		x.lit("[")
	}
	x.b = appendHeadline(x.b, d)
	switch f.style >> 35 & 7 {
	case 0:
		x.lit(" with <i>Escherichia coli</i> O157")
	case 1:
		x.lit(" &amp; ")
		x.text(spices[d.n(len(spices))])
	case 2:
		x.lit(" of Ca<sup>2+</sup> and H<sub>2</sub>O (p &lt; 0.05)")
	}
	if r.content > 0 {
		x.lit(", revision ")
		x.int(int(r.content))
	}
	if vernacular {
		x.lit("].")
	} else {
		x.lit(".")
	}
}

func (a articles) abstract(x *xmlWriter, f articleFacts, d, c *dice) {
	switch f.style >> 38 & 7 {
	case 0:
		return
	case 1, 2, 3:
		x.lit(`<Abstract>`)
		for k, part := range [4][2]string{{"BACKGROUND", "BACKGROUND"}, {"METHODS", "METHODS"}, {"RESULTS", "RESULTS"}, {"CONCLUSION", "CONCLUSIONS"}} {
			x.lit(`<AbstractText Label="`)
			x.lit(part[0])
			x.lit(`" NlmCategory="`)
			x.lit(part[1])
			x.lit(`">`)
			from := d
			if k == 2 {
				from = c
			}
			x.b = appendSentences(x.b, from, 2+int(f.style>>41&1))
			if k == 1 {
				x.lit(" Doses of ")
				x.text(spices[d.n(len(spices))])
				x.lit(" were &gt; 5 times <i>in vitro</i> levels.")
			}
			x.lit(`</AbstractText>`)
		}
		x.lit(`<CopyrightInformation>&#xa9; The Oracle.</CopyrightInformation></Abstract>`)
	default:
		x.lit(`<Abstract><AbstractText>`)
		x.b = appendSentences(x.b, d, 4+int(f.style>>42&3))
		x.lit(" ")
		x.b = appendSentences(x.b, c, 2)
		x.lit(`</AbstractText></Abstract>`)
	}
}

func (a articles) authors(x *xmlWriter, d *dice) {
	n := d.n(10)
	if n == 0 {
		return
	}
	if d.n(200) == 0 {
		n = 40
	}
	x.lit(`<AuthorList CompleteYN="Y">`)
	for range n {
		y := d.next()
		if y&31 == 0 {
			x.lit(`<Author ValidYN="Y"><CollectiveName>`)
			x.text(groups[y>>8%uint64(len(groups))])
			x.lit(`</CollectiveName></Author>`)
			continue
		}
		given := givens[y>>8%uint64(len(givens))]
		x.lit(`<Author ValidYN="Y"><LastName>`)
		x.text(familyOf(y >> 20))
		x.lit(`</LastName><ForeName>`)
		x.text(given)
		x.lit(`</ForeName><Initials>`)
		x.lit(given.plain[:1])
		x.lit(`</Initials>`)
		if y>>5&3 == 0 {
			x.lit(`<Identifier Source="ORCID">`)
			x.b = appendORCID(x.b, d)
			x.lit(`</Identifier>`)
		}
		if y>>7&1 == 0 {
			x.lit(`<AffiliationInfo><Affiliation>`)
			x.text(places[y>>32%uint64(len(places))])
			x.lit(`</Affiliation></AffiliationInfo>`)
		}
		x.lit(`</Author>`)
	}
	x.lit(`</AuthorList>`)
}

func (a articles) corrections(x *xmlWriter, i uint32, r *record, f articleFacts, d *dice) {
	erratum := f.style>>44&15 == 0 && i > 0
	if r.partner == 0 && !erratum {
		return
	}
	x.lit(`<CommentsCorrectionsList>`)
	if r.partner > 0 {
		if r.notice {
			x.lit(`<CommentsCorrections RefType="RetractionOf">`)
		} else {
			x.lit(`<CommentsCorrections RefType="RetractionIn">`)
		}
		x.lit(`<RefSource>J Simul Med. 2024;1(1):2</RefSource>`)
		x.pmid(a.pmid(r.partner - 1))
		x.lit(`</CommentsCorrections>`)
	}
	if erratum {
		x.lit(`<CommentsCorrections RefType="ErratumIn"><RefSource>J Simul Med. 2024;1(2):3</RefSource>`)
		if f.style>>48&1 == 0 {
			x.pmid(a.pmid(uint32(d.n(int(i)))))
		}
		x.lit(`</CommentsCorrections>`)
	}
	x.lit(`</CommentsCorrectionsList>`)
}

func (a articles) mesh(x *xmlWriter, d *dice) {
	x.lit(`<MeshHeadingList>`)
	start, step := d.n(16), 1+2*d.n(4)
	for k := range d.between(4, 12) {
		t := meshTerms[(start+k*step)%16]
		y := d.next()
		x.lit(`<MeshHeading><DescriptorName UI="`)
		x.lit(t.ui)
		x.lit([2]string{`" MajorTopicYN="N">`, `" MajorTopicYN="Y">`}[y&1])
		x.lit(t.name)
		x.lit(`</DescriptorName>`)
		if y>>1&1 == 0 {
			q := meshQualifiers[y>>2&7]
			x.lit(`<QualifierName UI="`)
			x.lit(q.ui)
			x.lit(`" MajorTopicYN="N">`)
			x.lit(q.name)
			x.lit(`</QualifierName>`)
		}
		x.lit(`</MeshHeading>`)
	}
	x.lit(`</MeshHeadingList>`)
}

// references carry ids of their own, so that a path that is not anchored at the
// article's id list takes the wrong one.
func (a articles) references(x *xmlWriter, i uint32, f articleFacts, d *dice) {
	if f.style>>50&1 == 0 || i == 0 {
		return
	}
	x.lit(`<ReferenceList>`)
	for range d.between(4, 20) {
		other := uint32(d.n(int(i)))
		x.lit(`<Reference><Citation>`)
		x.text(families[d.n(len(families))])
		x.lit(` A. `)
		x.b = appendSentence(x.b, d)
		x.lit(` J Simul Med. 2019;</Citation><ArticleIdList><ArticleId IdType="doi">`)
		x.doi(other)
		x.lit(`</ArticleId><ArticleId IdType="pubmed">`)
		x.int(a.pmid(other))
		x.lit(`</ArticleId></ArticleIdList></Reference>`)
	}
	x.lit(`</ReferenceList>`)
}

func (a articles) book(x *xmlWriter, i uint32, r *record, f articleFacts, d, c *dice, named bool) {
	created := easternCivil(int64(r.created))
	x.lit(`<PubmedBookArticle><BookDocument>`)
	if named {
		x.pmid(a.pmid(i))
	}
	x.lit(`<ArticleIdList><ArticleId IdType="bookaccession">NBK`)
	x.int(500_000 + int(i))
	x.lit(`</ArticleId></ArticleIdList><Book><Publisher><PublisherName>Exampleton University Press</PublisherName><PublisherLocation>Exampleton</PublisherLocation></Publisher><BookTitle book="simreviews">SimReviews<sup>&#xae;</sup></BookTitle><PubDate><Year>`)
	x.int(f.published.year)
	x.lit(`</Year></PubDate><BeginningDate><Year>1993</Year></BeginningDate><AuthorList Type="editors" CompleteYN="Y"><Author ValidYN="Y"><LastName>Editor</LastName><ForeName>Ann</ForeName><Initials>A</Initials></Author></AuthorList><Medium>Internet</Medium></Book><ArticleTitle book="simreviews" part="p`)
	x.int(int(i))
	x.lit(`">`)
	a.title(x, r, f, d)
	x.lit(`</ArticleTitle><Language>eng</Language>`)
	a.authors(x, d)
	x.lit(`<PublicationType UI="D016454">Review</PublicationType><Abstract><AbstractText Label="CLINICAL CHARACTERISTICS">`)
	x.b = appendSentences(x.b, d, 5)
	x.lit(`</AbstractText><AbstractText Label="DIAGNOSIS/TESTING">`)
	x.b = appendSentences(x.b, c, 4)
	x.lit(`</AbstractText></Abstract><Sections><Section><SectionTitle book="simreviews" part="s1">Summary</SectionTitle></Section></Sections>`)
	x.day("ContributionDate", created)
	x.day("DateRevised", easternCivil(int64(r.updated)))
	x.lit(`</BookDocument><PubmedBookData><History>`)
	x.status("pubmed", created, 6)
	x.status("medline", created, 6)
	x.status("entrez", created, 6)
	x.lit(`</History><PublicationStatus>ppublish</PublicationStatus><ArticleIdList><ArticleId IdType="pubmed">`)
	if named {
		x.int(a.pmid(i))
	}
	x.lit(`</ArticleId></ArticleIdList></PubmedBookData></PubmedBookArticle>`)
}
