package prisma

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"html/template"
	"strings"
	"unicode"

	"github.com/papertrace/patra/internal/domain/problem"
)

// Formats are the forms that a report is written in.
var Formats = []string{"html", "md", "json", "svg"}

// Write is the report in one of the [Formats].
func (r Document) Write(format string) ([]byte, error) {
	if err := r.Flow.Check(); err != nil {
		return nil, err
	}
	switch format {
	case "html":
		var b bytes.Buffer
		err := page.Execute(&b, r)
		return b.Bytes(), err
	case "md":
		return []byte(r.Markdown()), nil
	case "json":
		b, err := json.MarshalIndent(r, "", "  ")
		return append(b, '\n'), err
	case "svg":
		return []byte(r.SVG()), nil
	}
	return nil, problemOfFormat(format)
}

// escapeXML writes a text so that it stays one in XML: what XML cannot hold is replaced.
func escapeXML(text string) string {
	var b strings.Builder
	if err := xml.EscapeText(&b, []byte(oneLine(text))); err != nil {
		return "" // a builder takes everything
	}
	return b.String()
}

// oneLine makes one line of a text, without what steers a terminal or a reader.
func oneLine(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t' || r == '\r':
			return ' '
		case unicode.Is(unicode.C, r) || r == '\u2028' || r == '\u2029':
			return '\ufffd'
		}
		return r
	}, strings.ToValidUTF8(text, "\ufffd"))
}

// escapeMarkdown writes a text so that it stays one in a Markdown document: it can neither
// begin a line of its own, nor be a tag, a link or an end of a cell.
func escapeMarkdown(text string) string {
	var b strings.Builder
	for _, r := range oneLine(text) {
		switch {
		case strings.ContainsRune("<>&", r):
			b.WriteString(template.HTMLEscapeString(string(r)))
		case strings.ContainsRune("\\`*_{}[]#!|~$^", r):
			b.WriteString("\\" + string(r))
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// Markdown is the report for those who edit it further. The diagram is beside it, as SVG.
func (r Document) Markdown() string {
	var b strings.Builder
	esc := escapeMarkdown
	fmt.Fprintf(&b, "# Search report: %s, version %d\n\nQuery: %s\n\nStatus: %s\n\n", esc(r.Search), r.Version, esc(r.Query), esc(r.Status))
	b.WriteString("## PRISMA 2020: records\n\n| box | n |\n|---|---:|\n")
	for _, line := range append(identifiedLines(r.Flow), removedLines(r.Flow)...) {
		what, n := splitCount(line)
		fmt.Fprintf(&b, "| %s | %s |\n", esc(what), n)
	}
	fmt.Fprintf(&b, "| Records screened | %d |\n\n## PRISMA-S\n\n", r.Flow.Screened)
	for _, it := range r.Items() {
		fmt.Fprintf(&b, "%d. **%s**\n", it.No, esc(it.Name))
		for _, fact := range it.Facts {
			fmt.Fprintf(&b, "   - %s\n", esc(fact))
		}
	}
	b.WriteString("\n## Sources\n")
	for _, s := range r.Sources {
		s.markdown(&b)
	}
	return b.String()
}

func (s Searched) markdown(b *strings.Builder) {
	esc := escapeMarkdown
	fmt.Fprintf(b, "\n### %s\n\n", esc(s.Name))
	for _, row := range s.Rows() {
		fmt.Fprintf(b, "- %s: %s\n", esc(row[0]), esc(row[1]))
	}
	for _, u := range s.Unread {
		fmt.Fprintf(b, "- not read: %s\n", esc(u.Text()))
	}
}

// Text says what could not be read.
func (u UnreadItem) Text() string {
	id := u.ID
	if id == "" {
		id = "an item without an id"
	}
	text := id + ", " + u.Code
	if u.Detail != "" {
		text += ": " + u.Detail
	}
	return text
}

// Rows are the facts of a source, each with its name.
func (s Searched) Rows() [][2]string {
	rows := [][2]string{{"asked at", s.Host}, {"query, canonical", s.Query}}
	for _, v := range s.Sent {
		rows = append(rows, [2]string{"sent as " + v.Key, v.Value})
	}
	if s.Request != "" {
		rows = append(rows, [2]string{"a request as sent", s.Request})
	}
	status := s.Status
	if s.Reason != "" {
		status += ": " + s.Reason
	}
	rows = append(rows, [2]string{"status", status}, [2]string{"last searched", s.LastRun},
		[2]string{"work", fmt.Sprintf("%d plans, %d requests", s.Plans, s.Requests)})
	if s.Description != "" {
		rows = append(rows, [2]string{"frozen description", s.Description})
	}
	return rows
}

// splitCount parts the number from what is counted.
func splitCount(line string) (what, n string) {
	at := strings.LastIndex(line, "(n = ")
	if at < 0 {
		return line, ""
	}
	end := strings.IndexByte(line[at:], ')')
	return strings.TrimRight(line[:at], " ") + line[at+end+1:], line[at+len("(n = ") : at+end]
}

// page is the report as one file that needs nothing else, and runs nothing.
var page = template.Must(template.New("report").Funcs(template.FuncMap{
	"diagram": func(r Document) template.HTML { return template.HTML(r.SVG()) }, //nolint:gosec // every text in it is escaped
	"clean":   oneLine,
}).Parse(`<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>Search report: {{clean .Search}}</title>
<style>body{font-family:sans-serif;max-width:60em;margin:2em auto;padding:0 1em}table{border-collapse:collapse}td,th{border:1px solid #999;padding:.3em .6em;text-align:left;vertical-align:top}td.n{text-align:right}code{white-space:pre-wrap;overflow-wrap:anywhere}svg{max-width:100%;height:auto}</style>
</head><body>
<h1>Search report: {{clean .Search}}, version {{.Version}}</h1>
<p>Query: <code>{{clean .Query}}</code></p>
<p>Status: {{.Status}}</p>
<h2>PRISMA 2020 flow</h2>
{{diagram .}}
<h2>PRISMA-S</h2>
<table><tr><th>item</th><th></th><th>what is known</th></tr>
{{range .Items}}<tr><td class="n">{{.No}}</td><td>{{.Name}}</td><td>{{range .Facts}}<p>{{clean .}}</p>{{end}}</td></tr>
{{end}}</table>
<h2>Sources</h2>
{{range .Sources}}<h3>{{clean .Name}}</h3>
<table>{{range .Rows}}<tr><th>{{clean (index . 0)}}</th><td><code>{{clean (index . 1)}}</code></td></tr>
{{end}}</table>
{{if .Unread}}<p>Not read:</p><ul>{{range .Unread}}<li>{{clean .Text}}</li>{{end}}</ul>{{end}}
{{end}}</body></html>
`))

func problemOfFormat(format string) error {
	return problem.New(fmt.Sprintf("--format %q is not known: use %s", format, strings.Join(Formats, ", ")),
		problem.Problem{Code: "usage", Kind: problem.Usage, Next: "patra report search --help"})
}
