package decode

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// The pages are made up, with the proportions of recorded ones: what a work or
// an article spends on references, authors, affiliations and abstract.

func prose(r *rand.Rand, n int) string {
	const all = "cell gene protein response analysis patients therapy treatment induced expression clinical study été of the in with and by risk"
	w := strings.Fields(all)
	var b strings.Builder
	for i := range n {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(w[r.IntN(len(w))])
	}
	return b.String()
}

func crossrefPage(items, refs int) []byte {
	r := rand.New(rand.NewPCG(1, 2))
	var b bytes.Buffer
	b.WriteString(`{"status":"ok","message-type":"work-list","message":{"facets":{},"next-cursor":"DnF1ZXJ5VGhlbkZldGNo","total-results":123456,"items":[`)
	for i := range items {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"indexed":{"date-parts":[[2024,5,%d]],"date-time":"2024-05-03T10:%02d:07Z","timestamp":17147%d},"reference-count":%d,"publisher":"Elsevier BV","issue":"4","license":[{"start":{"date-parts":[[2020,1,1]],"date-time":"2020-01-01T00:00:00Z","timestamp":1577836800000},"content-version":"tdm","delay-in-days":0,"URL":"https:\/\/www.elsevier.com\/tdm\/userlicense\/1.0\/"}],"content-domain":{"domain":["elsevier.com","sciencedirect.com"],"crossmark-restriction":true},"short-container-title":["J. Test"],"published-print":{"date-parts":[[2020,6]]},"DOI":"10.1016\/j.Test.%d","type":"journal-article","created":{"date-parts":[[2020,1,9]],"date-time":"2020-01-09T17:01:44Z","timestamp":1578589304000},"page":"%d-%d","source":"Crossref","is-referenced-by-count":%d,"title":["%s <i>in vivo<\/i> &amp; %s"],"prefix":"10.1016","volume":"%d",`,
			1+i%28, i%60, 10000000+i, refs, i, i, i+9, i%100, prose(r, 8), prose(r, 6), i%300)
		b.WriteString(`"author":[`)
		for k := range 6 {
			if k > 0 {
				b.WriteByte(',')
			}
			fmt.Fprintf(&b, `{"ORCID":"http:\/\/orcid.org\/0000-0002-1825-0097","authenticated-orcid":false,"given":"Given%d","family":"Family","sequence":"additional","affiliation":[{"name":"%s"}]}`, k, prose(r, 8))
		}
		b.WriteString(`],"member":"78",`)
		if i%2 == 0 { // about as many as have one
			fmt.Fprintf(&b, `"abstract":"<jats:title>Abstract<\/jats:title><jats:p>%s<\/jats:p>",`, prose(r, 120))
		}
		b.WriteString(`"reference":[`)
		for k := range refs {
			if k > 0 {
				b.WriteByte(',')
			}
			fmt.Fprintf(&b, `{"key":"10.1016\/j.test_bib%d","article-title":"%s","volume":"%d","author":"Miller","year":"2011","journal-title":"J. Clin. Test.","first-page":"101","DOI":"10.1000\/xyz%d","doi-asserted-by":"publisher"}`, k, prose(r, 9), k, k)
		}
		b.WriteString(`],"container-title":["Journal of Tests"],"language":"en","link":[{"URL":"https:\/\/api.elsevier.com\/content\/article\/PII:S0?httpAccept=text\/xml","content-type":"text\/xml","content-version":"vor","intended-application":"text-mining"}],"deposited":{"date-parts":[[2022,9,2]],"date-time":"2022-09-02T14:00:52Z","timestamp":1662127252000},"score":0.0,"resource":{"primary":{"URL":"https:\/\/linkinghub.elsevier.com\/retrieve\/pii\/S0"}},"issued":{"date-parts":[[2020,6]]},"references-count":30,"URL":"http:\/\/dx.doi.org\/10.1016\/j.test","ISSN":["0021-9258","1083-351X"],"issn-type":[{"value":"0021-9258","type":"print"}],"subject":["Cell Biology"],"published":{"date-parts":[[2020,6]]}}`)
	}
	b.WriteString(`],"items-per-page":1000,"query":{"start-index":0,"search-terms":null}}}`)
	return b.Bytes()
}

func pubmedPage(articles int) []byte {
	r := rand.New(rand.NewPCG(1, 2))
	var b bytes.Buffer
	b.WriteString("<?xml version=\"1.0\" ?>\n<!DOCTYPE PubmedArticleSet PUBLIC \"-//NLM//DTD PubMedArticle, 1st January 2025//EN\" \"https://dtd.nlm.nih.gov/ncbi/pubmed/out/pubmed_250101.dtd\">\n<PubmedArticleSet>\n")
	for i := range articles {
		fmt.Fprintf(&b, `<PubmedArticle><MedlineCitation Status="MEDLINE" Owner="NLM" IndexingMethod="Automated"><PMID Version="1">%d</PMID><DateCompleted><Year>2024</Year><Month>05</Month><Day>03</Day></DateCompleted><DateRevised><Year>2024</Year><Month>05</Month><Day>0%d</Day></DateRevised><Article PubModel="Print-Electronic"><Journal><ISSN IssnType="Electronic">1399-0004</ISSN><JournalIssue CitedMedium="Internet"><Volume>%d</Volume><Issue>6</Issue><PubDate><Year>2024</Year><Month>Jun</Month></PubDate></JournalIssue><Title>Clinical tests</Title><ISOAbbreviation>Clin Test</ISOAbbreviation></Journal><ArticleTitle>%s <i>in vivo</i> &lt; %s.</ArticleTitle><Pagination><StartPage>525</StartPage><MedlinePgn>525-34</MedlinePgn></Pagination><ELocationID EIdType="doi" ValidYN="Y">10.1111/j.Test.%d</ELocationID><Abstract>`,
			30000000+i, 1+i%9, i%99, prose(r, 8), prose(r, 6), i)
		for _, l := range []string{"BACKGROUND", "METHODS", "RESULTS", "CONCLUSIONS"} {
			fmt.Fprintf(&b, `<AbstractText Label="%s" NlmCategory="%s">%s.</AbstractText>`, l, l, prose(r, 60))
		}
		b.WriteString(`</Abstract><AuthorList CompleteYN="Y">`)
		for k := range 8 {
			fmt.Fprintf(&b, `<Author ValidYN="Y"><LastName>Family%d</LastName><ForeName>Given M</ForeName><Initials>GM</Initials><Identifier Source="ORCID">0000-0002-1825-0097</Identifier><AffiliationInfo><Affiliation>%s.</Affiliation></AffiliationInfo></Author>`, k, prose(r, 12))
		}
		b.WriteString(`</AuthorList><Language>eng</Language><PublicationTypeList><PublicationType UI="D016428">Journal Article</PublicationType></PublicationTypeList></Article><MedlineJournalInfo><Country>Denmark</Country><MedlineTA>Clin Test</MedlineTA><NlmUniqueID>0253664</NlmUniqueID><ISSNLinking>0009-9163</ISSNLinking></MedlineJournalInfo><MeshHeadingList>`)
		for k := range 10 {
			fmt.Fprintf(&b, `<MeshHeading><DescriptorName UI="D00%d" MajorTopicYN="N">%s</DescriptorName><QualifierName UI="Q000235" MajorTopicYN="Y">genetics</QualifierName></MeshHeading>`, k, prose(r, 2))
		}
		b.WriteString(`</MeshHeadingList></MedlineCitation><PubmedData><History><PubMedPubDate PubStatus="entrez"><Year>2024</Year><Month>4</Month><Day>24</Day><Hour>6</Hour><Minute>0</Minute></PubMedPubDate></History><PublicationStatus>ppublish</PublicationStatus><ArticleIdList><ArticleId IdType="pubmed">20412080</ArticleId><ArticleId IdType="pii">CGE1436</ArticleId></ArticleIdList><ReferenceList>`)
		for k := range 30 {
			fmt.Fprintf(&b, `<Reference><Citation>%s. 2019;%d(2):11-20.</Citation><ArticleIdList><ArticleId IdType="doi">10.1000/xyz%d</ArticleId><ArticleId IdType="pubmed">%d</ArticleId></ArticleIdList></Reference>`, prose(r, 12), k, k, k)
		}
		b.WriteString("</ReferenceList></PubmedData></PubmedArticle>\n")
	}
	b.WriteString("</PubmedArticleSet>")
	return b.Bytes()
}

// benchPage measures the extraction alone, or with the hashes that a record
// needs as well.
func benchPage(b *testing.B, d *Decoder, body []byte, items int, hashes bool) {
	b.ReportAllocs()
	b.SetBytes(int64(len(body)))
	for b.Loop() {
		p, err := d.Page(body)
		if err != nil || len(p.Items) != items || p.Items[items-1].Problem != nil {
			b.Fatal(err, len(p.Items))
		}
		for i := range p.Items {
			if hashes {
				p.Items[i].Hashes()
			}
		}
	}
}

func BenchmarkJSONPage(b *testing.B) {
	ep, id, m := crossref()
	benchPage(b, compile(b, ep, id, m), crossrefPage(1000, 12), 1000, false)
}

func BenchmarkJSONPageHashed(b *testing.B) {
	ep, id, m := crossref()
	benchPage(b, compile(b, ep, id, m), crossrefPage(1000, 12), 1000, true)
}

func BenchmarkJSONPageStdlib(b *testing.B) {
	body := crossrefPage(1000, 12)
	b.ReportAllocs()
	b.SetBytes(int64(len(body)))
	for b.Loop() {
		var m map[string]any
		if err := json.Unmarshal(body, &m); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkXMLPage(b *testing.B) {
	ep, id, m := pubmed()
	benchPage(b, compile(b, ep, id, m), pubmedPage(1300), 1300, false)
}

func BenchmarkXMLPageHashed(b *testing.B) {
	ep, id, m := pubmed()
	benchPage(b, compile(b, ep, id, m), pubmedPage(1300), 1300, true)
}

// xmlArticle holds in structs what the benchmark's mapping takes.
type xmlArticle struct {
	PMID struct {
		Version string `xml:"Version,attr"`
		Text    string `xml:",chardata"`
	} `xml:"MedlineCitation>PMID"`
	Revised struct{ Year, Month, Day string } `xml:"MedlineCitation>DateRevised"`
	Article struct {
		ArticleTitle struct {
			Inner string `xml:",innerxml"`
		}
		Journal struct {
			ISSN, Title, ISOAbbreviation string
			JournalIssue                 struct {
				Volume, Issue string
				PubDate       struct{ Year, Month, Day string }
			}
		}
		Pages       string `xml:"Pagination>MedlinePgn"`
		ELocationID []struct {
			EIdType, ValidYN string `xml:",attr"`
			Text             string `xml:",chardata"`
		}
		AbstractText []struct {
			Label string `xml:",attr"`
			Text  string `xml:",chardata"`
		} `xml:"Abstract>AbstractText"`
		Authors []struct {
			ValidYN                                      string `xml:",attr"`
			LastName, ForeName, Initials, CollectiveName string
			Identifier                                   []struct {
				Source string `xml:",attr"`
				Text   string `xml:",chardata"`
			}
			Affiliation []string `xml:"AffiliationInfo>Affiliation"`
		} `xml:"AuthorList>Author"`
		Language []string
		Types    []string `xml:"PublicationTypeList>PublicationType"`
	} `xml:"MedlineCitation>Article"`
	ISSNLinking string   `xml:"MedlineCitation>MedlineJournalInfo>ISSNLinking"`
	Keywords    []string `xml:"MedlineCitation>KeywordList>Keyword"`
	Mesh        []struct {
		DescriptorName struct {
			MajorTopicYN string `xml:",attr"`
			Text         string `xml:",chardata"`
		}
		QualifierName []string
	} `xml:"MedlineCitation>MeshHeadingList>MeshHeading"`
	IDs []struct {
		IdType string `xml:",attr"`
		Text   string `xml:",chardata"`
	} `xml:"PubmedData>ArticleIdList>ArticleId"`
}

func BenchmarkXMLPageStdlib(b *testing.B) {
	body := pubmedPage(1300)
	b.ReportAllocs()
	b.SetBytes(int64(len(body)))
	for b.Loop() {
		var set struct{ PubmedArticle []xmlArticle }
		if err := xml.Unmarshal(body, &set); err != nil || len(set.PubmedArticle) != 1300 {
			b.Fatal(err)
		}
	}
}
