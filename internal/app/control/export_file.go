package control

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/papertrace/patra/internal/app/citefile"
	"github.com/papertrace/patra/internal/domain/citation"
	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/problem"
	"github.com/papertrace/patra/internal/domain/source"
)

// JSONL is the format that holds records as they are, with their provenance.
const JSONL = "jsonl"

// ExportOrder says which records are wanted, and as what.
type ExportOrder struct {
	ExportQuery
	// Format is one of [ExportFormats]; empty: the one that For reads best, or JSONL.
	Format string
	// For is the program that shall read it, one of [ExportTools], or empty.
	For string
	// Fields are those of the standard record that are written; of a table its columns.
	// Empty: all.
	Fields []string
	// Query is an expression that records must fit; those that cannot tell are written
	// and counted.
	Query string
	// Dedupe is [DedupeNone], also if empty, [DedupeExact] or [DedupeProbable].
	Dedupe string
	// Apart puts each source into a file of its own.
	Apart bool
	// Search, if named, is the saved search whose records are wanted, as of its last run;
	// NewOnly takes of these what no run before had seen.
	Search  string
	NewOnly bool
}

// ExportFormats are the formats of files.
func ExportFormats() []string {
	out := []string{JSONL}
	for _, f := range citefile.Formats {
		out = append(out, string(f))
	}
	return out
}

// ExportTools are the programs that files are made for.
func ExportTools() []string {
	var out []string
	for _, p := range citefile.Profiles {
		out = append(out, string(p.Tool))
	}
	return out
}

// Exporting writes the records of an order to files.
type Exporting struct {
	order    ExportOrder
	store    Store
	format   citefile.Format // empty for JSONL
	profile  citefile.Profile
	names    map[string]string // of sources, for people
	filter   *queryFilter      // nil without a query
	merging  *merging          // nil where every record is written for itself
	manifest ExportManifest    // what all files have in common

	open  func(ExportFile) (io.Writer, error)
	files []ExportFile
	sums  []hash.Hash
	// next is the source of the record that is about to be written.
	next    string
	leftOut map[string]int64
}

// Check refuses an order that cannot be carried out, whatever there is to write.
func (o ExportOrder) Check() error {
	_, _, err := o.choose()
	return err
}

// choose is the format, empty for JSONL, and what the program takes.
func (o ExportOrder) choose() (citefile.Format, citefile.Profile, error) {
	var none citefile.Profile
	if o.NewOnly && o.Search == "" {
		return "", none, orderProblem(errors.New("--new takes what the last run of a saved search was the first to find: add --search NAME, or leave --new out"))
	}
	if o.Format == JSONL || o.Format == "" && o.For == "" {
		if o.For != "" {
			return "", none, orderProblem(fmt.Errorf("%s does not read jsonl; leave --format out", o.For))
		}
		return "", none, o.checkFields("")
	}
	format, profile, err := citefile.Choose(citefile.Format(o.Format), citefile.Tool(o.For))
	if err != nil {
		return "", none, orderProblem(err)
	}
	if o.Raw {
		return "", none, orderProblem(fmt.Errorf("%s has no place for records as they came; use jsonl for --raw", format))
	}
	return format, profile, o.checkFields(format)
}

// checkFields refuses fields that there are not, and references without a title.
func (o ExportOrder) checkFields(f citefile.Format) error {
	if f == citefile.CSV {
		if err := citefile.CheckColumns(o.Fields); err != nil {
			return orderProblem(err)
		}
		return nil
	}
	known := source.StandardFields()
	for _, name := range o.Fields {
		if !slices.Contains(known, name) {
			return orderProblem(fmt.Errorf("%q is no field of a record%s", name, source.Suggest(name, known)))
		}
	}
	if len(o.Fields) > 0 && f != "" && f != citefile.Parquet && !slices.Contains(o.Fields, "title") {
		return orderProblem(fmt.Errorf("%s holds no reference without a title; add title to --fields", f))
	}
	return nil
}

// onlyFields leaves out of the fields of a record what was not asked for.
func (x *Exporting) onlyFields(of []byte) ([]byte, error) {
	if len(x.order.Fields) == 0 || x.format == citefile.CSV {
		return of, nil
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(of, &fields); err != nil {
		return nil, fmt.Errorf("fields of a record: %w", err)
	}
	maps.DeleteFunc(fields, func(name string, _ json.RawMessage) bool { return !slices.Contains(x.order.Fields, name) })
	return marshalPlain(fields)
}

// Export makes ready to write records out.
func (c *Control) Export(ctx context.Context, o ExportOrder) (*Exporting, error) {
	x := &Exporting{order: o, store: c.store, leftOut: map[string]int64{}}
	var err error
	x.format, x.profile, err = o.choose()
	if err != nil {
		return nil, err
	}
	for _, code := range o.Sources {
		if err := c.known(ctx, code); err != nil {
			return nil, err
		}
	}
	now, err := c.store.Now(ctx)
	if err != nil {
		return nil, err
	}
	x.manifest = ExportManifest{
		Format: x.Format(), For: o.For, Selected: selectionOf(o), At: Time(now), Patra: c.instance.Build,
	}
	if o.Search != "" {
		var run SearchRunView
		x.order.Selections, run, err = c.foundBy(ctx, o.Search, o.NewOnly)
		if err != nil {
			return nil, err
		}
		x.manifest.Selected.Search = &run
		x.manifest.Selected.NewOnly = o.NewOnly
	}
	if o.Plan != 0 {
		if _, err := c.store.Plan(ctx, o.Plan); err != nil {
			return nil, c.orArchived(ctx, err, "plan", int64(o.Plan))
		}
	}
	if o.Query != "" {
		x.filter, err = c.filterBy(ctx, o.Query, o.Sources)
		if err != nil {
			return nil, err
		}
	}
	x.merging, err = c.mergeBy(ctx, x.order, now)
	if err != nil {
		return nil, err
	}
	if x.format != "" {
		x.names, err = c.namesOfSources(ctx, o.Sources)
	}
	return x, err
}

func orderProblem(err error) error {
	return problem.New(err.Error(), problem.Problem{Code: "usage", Kind: problem.Usage, Next: "patra export --help lists formats and programs"})
}

func selectionOf(o ExportOrder) ExportSelection {
	s := ExportSelection{Sources: o.Sources, Plan: int64(o.Plan), SinceRevision: o.SinceRevision, Fields: o.Fields, Query: o.Query, Dedupe: o.Dedupe}
	if !o.Since.IsZero() {
		s.Since = new(Time(o.Since))
	}
	for _, status := range o.Statuses {
		s.Statuses = append(s.Statuses, string(status))
	}
	return s
}

// namesOfSources are the names by which people know sources, all or these.
func (c *Control) namesOfSources(ctx context.Context, codes []string) (map[string]string, error) {
	if len(codes) == 0 && c.sources != nil {
		var err error
		codes, err = c.sources.Codes(ctx)
		if err != nil {
			return nil, err
		}
	}
	names := map[string]string{}
	for _, code := range codes {
		is, err := c.store.LoadSource(ctx, code)
		if errors.Is(err, harvest.ErrNotFound) {
			continue // never applied: it has no records
		}
		if err != nil {
			return nil, err
		}
		names[code] = is.Provenance.Name
	}
	return names, nil
}

// Format is what is written.
func (x *Exporting) Format() string {
	if x.format == "" {
		return JSONL
	}
	return string(x.format)
}

// Extension is how names of the files end.
func (x *Exporting) Extension() string {
	if x.format == "" {
		return "." + JSONL
	}
	return x.format.Extension()
}

// MaySplit reports whether there may be more than one file.
func (x *Exporting) MaySplit() bool {
	return x.order.Apart || x.profile.Limit != citefile.Limit{}
}

// Day is the date of the export by the clock of the store.
func (x *Exporting) Day() string { return x.manifest.At.String()[:len("2006-01-02")] }

// Write writes the files. It asks for each when it begins; what was asked for before
// is complete then, and the last when it returns. Records come in the order of source,
// type and id.
func (x *Exporting) Write(ctx context.Context, open func(ExportFile) (io.Writer, error)) (ExportSummary, error) {
	x.open = open
	out, err := x.writer()
	if err != nil {
		return ExportSummary{}, err
	}
	write := func(e *Exported) error {
		if x.order.Apart && x.next != e.Provenance {
			if err := out.EndFile(); err != nil {
				return err
			}
		}
		x.next = e.Provenance
		return x.write(out, e)
	}
	err = x.store.Export(ctx, x.order.ExportQuery, func(e *Exported) error {
		switch {
		case x.filter != nil && !x.filter.takes(e):
			return nil
		case x.merging == nil:
			return write(e)
		}
		double, err := x.merging.put(e, write)
		if double {
			x.leftOut[x.merging.why(e.Number)]++
		}
		return err
	})
	if err == nil && x.merging != nil {
		err = x.merging.drain(write)
	}
	if err == nil {
		err = out.Close()
	}
	return x.summary(), err
}

// exportWriter writes records to files.
type exportWriter interface {
	write(e *Exported) (leftOut string, err error)
	EndFile() error
	Close() error
}

func (x *Exporting) writer() (exportWriter, error) {
	if x.format == "" {
		return &lineWriter{next: x.nextFile}, nil
	}
	options := citefile.Options{Tool: x.profile.Tool, Limit: x.profile.Limit, Meta: map[string]string{"patra.at": x.manifest.At.String()}}
	if x.format == citefile.CSV {
		options.Columns = x.order.Fields
	}
	w, err := citefile.New(x.format, options, x.nextFile)
	if err != nil {
		return nil, orderProblem(err)
	}
	return &citationWriter{Writer: w, format: x.format, statuses: x.order.Statuses, names: x.names}, nil
}

func (x *Exporting) write(out exportWriter, e *Exported) error {
	fields, err := x.onlyFields(e.Fields)
	if err != nil {
		return err
	}
	e.Fields = fields
	reason, err := out.write(e)
	switch {
	case err != nil:
		return err
	case reason != "":
		x.leftOut[reason]++
		return nil
	}
	file := &x.files[len(x.files)-1]
	file.Records++
	file.Sources[e.Provenance]++
	return nil
}

// nextFile begins another file, whose bytes are counted and hashed.
func (x *Exporting) nextFile() (io.Writer, error) {
	file := ExportFile{Sources: map[string]int64{}}
	if x.order.Apart {
		file.Source = x.next
	}
	w, err := x.open(file)
	if err != nil {
		return nil, err
	}
	x.files = append(x.files, file)
	x.sums = append(x.sums, sha256.New())
	return &countingWriter{w: w, x: x, at: len(x.files) - 1}, nil
}

// countingWriter counts and hashes what goes to a file.
type countingWriter struct {
	w  io.Writer
	x  *Exporting
	at int
}

func (c *countingWriter) Write(b []byte) (int, error) {
	n, err := c.w.Write(b)
	c.x.files[c.at].Bytes += int64(n)
	c.x.sums[c.at].Write(b[:n])
	return n, err
}

func (x *Exporting) summary() ExportSummary {
	s := ExportSummary{Format: x.Format(), For: x.order.For, LeftOut: []LeftOut{}, Files: []ExportFile{}}
	if x.filter != nil {
		s.Undecided = x.filter.undecided
	}
	if run := x.manifest.Selected.Search; run != nil {
		s.Incomplete = incompleteOf(*run)
	}
	for i, f := range x.files {
		f.SHA256 = hex.EncodeToString(x.sums[i].Sum(nil))
		s.Records += f.Records
		s.Files = append(s.Files, f)
	}
	for _, reason := range slices.Sorted(maps.Keys(x.leftOut)) {
		s.LeftOut = append(s.LeftOut, LeftOut{reason, x.leftOut[reason]})
	}
	return s
}

// Manifest is what is told of a file of a summary, as indented JSON.
func (x *Exporting) Manifest(s ExportSummary, part int) ([]byte, error) {
	m := x.manifest
	m.ExportFile = s.Files[part]
	m.Part = part + 1
	m.Parts = len(s.Files)
	m.Total = s.Records
	m.LeftOut = s.LeftOut
	m.Undecided = s.Undecided
	b, err := json.MarshalIndent(m, "", "  ")
	return append(b, '\n'), err
}

// lineWriter writes JSONL.
type lineWriter struct {
	next  func() (io.Writer, error)
	w     io.Writer // nil between files
	files int
}

func (l *lineWriter) begin() (err error) {
	if l.w == nil {
		l.files++
		l.w, err = l.next()
	}
	return err
}

func (l *lineWriter) write(e *Exported) (string, error) {
	if err := l.begin(); err != nil {
		return "", err
	}
	return "", writeLine(l.w, e)
}

func (l *lineWriter) EndFile() error {
	l.w = nil
	return nil
}

func (l *lineWriter) Close() error {
	if l.files > 0 {
		return nil
	}
	return l.begin()
}

// citationWriter writes what records say as citations. Records that are no more, or
// are others by now, are left out unless they were asked for by their status.
type citationWriter struct {
	citefile.Writer
	format   citefile.Format
	statuses []harvest.RecordStatus
	names    map[string]string
}

func (w *citationWriter) write(e *Exported) (string, error) {
	if len(w.statuses) == 0 {
		switch e.Status {
		case harvest.RecordGone:
			return "gone from the source", nil
		case harvest.RecordMerged:
			return "merged into another record of the source", nil
		}
	}
	c, err := citation.New(citation.Record{
		Source: e.Provenance, Type: e.Type, ID: e.ID, Retracted: e.Status == harvest.RecordRetracted,
		UpdatedAt: e.UpdatedAt, FetchedAt: e.FetchedAt, Fields: e.Fields,
	})
	if err != nil {
		return "fields that cannot be read; patra verify says more", nil
	}
	if name := w.names[e.Provenance]; name != "" {
		c.Database = citation.Line(name)
	}
	maskCitation(c)
	if reason := w.format.Refusal(c); reason != "" {
		return reason, nil
	}
	return "", w.Write(c)
}

// maskCitation takes mail addresses out of what is written for people.
func maskCitation(c *citation.Citation) {
	if strings.Contains(c.Title, "@") {
		c.Title = MaskMail(c.Title)
	}
	if strings.Contains(c.Abstract, "@") {
		c.Abstract = MaskMail(c.Abstract)
	}
	for i, s := range c.Sections {
		if strings.Contains(s.Text, "@") {
			c.Sections[i].Text = MaskMail(s.Text)
		}
	}
}
