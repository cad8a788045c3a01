package citefile

import (
	"errors"
	"io"
	"time"

	"github.com/papertrace/patra/internal/domain/citation"
	"github.com/parquet-go/parquet-go"
)

// A group of rows is held in memory until it is written. Readers would like groups of
// 100,000; these are what a small machine can hold, whatever the length of abstracts.
const (
	rowsPerGroup  = 10_000
	bytesPerGroup = 16 << 20
)

// parquetRow is a row. What is not known is null, never empty; ids are texts, since
// they have leading zeros and letters.
type parquetRow struct {
	Source          string           `parquet:"source,dict"`
	RecordType      string           `parquet:"record_type,dict"`
	RecordID        string           `parquet:"record_id"`
	Title           string           `parquet:"title,optional"`
	Abstract        string           `parquet:"abstract,optional"`
	Sections        []parquetSection `parquet:"abstract_sections,list"`
	Container       string           `parquet:"container_title,optional,dict"`
	ContainerAbbrev string           `parquet:"container_title_abbrev,optional,dict"`
	Volume          string           `parquet:"volume,optional"`
	Issue           string           `parquet:"issue,optional"`
	PageFirst       string           `parquet:"page_first,optional"`
	PageLast        string           `parquet:"page_last,optional"`
	ArticleNumber   string           `parquet:"article_number,optional"`
	Publisher       string           `parquet:"publisher,optional,dict"`
	Language        string           `parquet:"language,optional,dict"`
	Type            string           `parquet:"type,dict"`
	Kind            string           `parquet:"type_as_given,optional,dict"`
	Issued          string           `parquet:"issued,optional"`
	IssuedYear      int32            `parquet:"issued_year,optional"`
	IssuedPrecision string           `parquet:"issued_precision,optional,dict"`
	UpdatedAt       *time.Time       `parquet:"updated_at,optional,timestamp(microsecond)"`
	IndexedAt       *time.Time       `parquet:"indexed_at,optional,timestamp(microsecond)"`
	DOI             string           `parquet:"doi,optional"`
	PMID            string           `parquet:"pmid,optional"`
	PMCID           string           `parquet:"pmcid,optional"`
	ArXiv           string           `parquet:"arxiv,optional"`
	NCTID           string           `parquet:"nct,optional"`
	ISSN            []string         `parquet:"issn,list"`
	ISBN            string           `parquet:"isbn,optional"`
	Authors         []parquetAuthor  `parquet:"authors,list"`
	AuthorsText     string           `parquet:"authors_text,optional"`
	Keywords        []string         `parquet:"keywords,list"`
	Mesh            []parquetHeading `parquet:"mesh,list"`
	URLs            []string         `parquet:"urls,list"`
	Retracted       *bool            `parquet:"is_retracted,optional"`
	RetractedBy     string           `parquet:"retracted_by,optional"`
	Retracts        string           `parquet:"retracts,optional"`
}

type parquetSection struct {
	Label string `parquet:"label"`
	Text  string `parquet:"text"`
}

type parquetAuthor struct {
	Family   string `parquet:"family,optional"`
	Given    string `parquet:"given,optional"`
	Suffix   string `parquet:"suffix,optional"`
	Literal  string `parquet:"literal,optional"`
	ORCID    string `parquet:"orcid,optional"`
	Sequence int32  `parquet:"sequence"`
}

type parquetHeading struct {
	Heading    string   `parquet:"heading"`
	Qualifiers []string `parquet:"qualifiers,list"`
	Major      bool     `parquet:"major"`
}

// bounded are the columns of which the least and the greatest value of every page are
// told, for readers that look for some. They are held until the file ends: of abstracts
// they would be as large as the file.
var bounded = map[string]bool{"source": true, "record_id": true, "doi": true, "pmid": true, "issued": true, "issued_year": true, "updated_at": true}

// parquetFile writes rows in groups.
type parquetFile struct {
	next  func() (io.Writer, error)
	meta  map[string]string
	w     *parquet.GenericWriter[parquetRow] // nil between files
	row   [1]parquetRow
	files int
	bytes int // of the texts of the group
}

func newParquet(o Options, next func() (io.Writer, error)) *parquetFile {
	return &parquetFile{next: next, meta: o.Meta}
}

func (p *parquetFile) begin() error {
	if p.w != nil {
		return nil
	}
	file, err := p.next()
	if err != nil {
		return err
	}
	p.files++
	p.bytes = 0
	options := []parquet.WriterOption{
		parquet.Compression(&parquet.Zstd), parquet.MaxRowsPerRowGroup(rowsPerGroup), parquet.CreatedBy("patra", "", ""), parquet.PageBufferSize(64 << 10),
		parquet.KeyValueMetadata("patra.schema", "1"),
	}
	for _, column := range parquet.SchemaOf(parquetRow{}).Columns() {
		if !bounded[column[0]] {
			options = append(options, parquet.SkipPageBounds(column...))
		}
	}
	for name, value := range p.meta {
		options = append(options, parquet.KeyValueMetadata(name, value))
	}
	p.w = parquet.NewGenericWriter[parquetRow](file, options...)
	return nil
}

func (p *parquetFile) Write(c *citation.Citation) error {
	if err := p.begin(); err != nil {
		return err
	}
	if p.bytes > bytesPerGroup {
		p.bytes = 0
		if err := p.w.Flush(); err != nil {
			return err
		}
	}
	p.row[0] = rowOf(c)
	p.bytes += 2*len(c.Abstract) + len(c.Title) + 100*(len(c.Authors)+len(c.Mesh)+len(c.Keywords))
	_, err := p.w.Write(p.row[:])
	return err
}

func (p *parquetFile) EndFile() error {
	if p.w == nil {
		return nil
	}
	err := p.w.Close()
	p.w = nil
	return err
}

func (p *parquetFile) Close() error {
	if p.files == 0 {
		if err := p.begin(); err != nil {
			return err
		}
	}
	return errors.Join(p.EndFile())
}

func rowOf(c *citation.Citation) parquetRow {
	r := parquetRow{
		Source: c.Source, RecordType: c.RecordType, RecordID: c.RecordID,
		Title: c.Title, Abstract: c.Abstract, Container: c.Container, ContainerAbbrev: c.ContainerAbbrev,
		Volume: c.Volume, Issue: c.Issue, PageFirst: c.Pages.First, PageLast: c.Pages.Last, ArticleNumber: c.Pages.ArticleNumber(),
		Publisher: c.Publisher, Language: c.Language, Type: string(c.Type), Kind: c.Kind,
		Issued: c.Issued.String(), IssuedYear: int32(c.Issued.Year), IssuedPrecision: c.Issued.Precision(),
		UpdatedAt: timeOrNone(c.UpdatedAt), IndexedAt: timeOrNone(c.FetchedAt),
		DOI: c.DOI, PMID: c.PMID, PMCID: c.PMCID, ArXiv: c.ArXiv, NCTID: c.NCTID, ISSN: c.ISSN, ISBN: c.ISBN,
		AuthorsText: joinNames(c.Authors, "; "), Keywords: c.Keywords,
		RetractedBy: c.RetractedBy, Retracts: c.Retracts,
	}
	for _, s := range c.Sections {
		r.Sections = append(r.Sections, parquetSection(s))
	}
	for i, n := range c.Authors {
		r.Authors = append(r.Authors, parquetAuthor{Family: n.Family, Given: n.Given, Suffix: n.Suffix, Literal: n.Literal, ORCID: n.ORCID, Sequence: int32(i + 1)})
	}
	for _, h := range c.Mesh {
		r.Mesh = append(r.Mesh, parquetHeading{Heading: h.Term, Qualifiers: h.Qualifiers, Major: h.Major})
	}
	if c.URL != "" {
		r.URLs = []string{c.URL}
	}
	if c.Retracted {
		r.Retracted = new(true) // nothing said is not the same as not retracted
	}
	return r
}

func timeOrNone(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}
