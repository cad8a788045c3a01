package console_test

import (
	"flag"
	"fmt"
	"html"
	"os"
	"regexp"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the transcript in docs/write-a-source.md anew")

// transcript is what somebody does in the browser and what the pages say to it.
type transcript struct {
	text strings.Builder
	host string // of the upstream, which is another in every run
}

// step tells what was done, and what the named parts of the page say then.
func (s *transcript) step(done, page string, parts ...string) {
	fmt.Fprintf(&s.text, "%s\n\n```\n", done)
	for _, part := range parts {
		fmt.Fprintln(&s.text, spokenPart(page, part))
	}
	s.text.WriteString("```\n\n")
}

// spokenPart is the text of a part of a page as it is read: a line for each row of a table.
func spokenPart(page, id string) string {
	_, rest, is := strings.Cut(page, `<section class="panel" id="`+id+`"`)
	if id == "title" {
		_, rest, is = strings.Cut(page, `<div class="head">`)
		rest, _, _ = strings.Cut(rest, "</h1>")
	}
	if !is {
		return "there is no " + id
	}
	if part, _, is := strings.Cut(rest, "</section>"); is {
		rest = part
	}
	_, rest, _ = strings.Cut(rest, ">")
	rest = regexp.MustCompile(`(?s)<caption.*?</caption>|<textarea.*?</textarea>|<input type="hidden"[^>]*>`).ReplaceAllString(rest, "")
	rest = strings.NewReplacer("</th><th", "</th> | <th", "</td><td", "</td> | <td", "</dt>", ": ", "</tr>", "\n", "</p>", "\n", "</h2>", "\n", "</dd>", "\n", "</li>", "\n", "</label>", "\n", "</button>", "\n", "</pre>", "\n", "</span>", " ").Replace(rest)
	rest = html.UnescapeString(regexp.MustCompile(`<[^>]*>`).ReplaceAllString(rest, ""))
	var lines []string
	for line := range strings.Lines(rest) {
		if line = strings.Join(strings.Fields(line), " "); line != "" && line != "|" {
			lines = append(lines, strings.TrimSuffix(strings.TrimRight(line, " |"), ":"))
		}
	}
	return strings.Join(lines, "\n")
}

// changing is what differs from run to run: instants, hashes, and how long something is ago.
var changing = []struct {
	what *regexp.Regexp
	as   string
}{
	{regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d(%3A|:)\d\d(%3A|:)\d\d(\.\d+)?Z`), "2026-11-17T12${1}00${2}00Z"},
	{regexp.MustCompile(`\d{4}-\d\d-\d\d \d\d:\d\d:\d\dZ`), "2026-11-17 12:00:00Z"},
	{regexp.MustCompile(`[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d GMT`), "Tue, 17 Nov 2026 12:00:00 GMT"},
	{regexp.MustCompile(`\d+ (s|min|h|d) ago`), "1 $1 ago"},
	{regexp.MustCompile(`in \d+ s\b`), "1 s ago"},
	{regexp.MustCompile(`\b[0-9a-f]{12,64}\b`), "0123456789ab"},
	{regexp.MustCompile(`\d+ (ms|KiB|B)\b`), "1 $1"},
}

// String is the transcript as it stands in the document.
func (s *transcript) String() string {
	out := strings.ReplaceAll(s.text.String(), s.host, "127.0.0.1:8099")
	for _, c := range changing {
		out = c.what.ReplaceAllString(out, c.as)
	}
	return strings.TrimSpace(out)
}

// Where the transcript begins and ends in its document.
const (
	transcriptFile  = "../../../docs/write-a-source.md"
	transcriptBegin = "<!-- The transcript is written by: go test ./internal/infra/console -run Editor -update -->\n"
	transcriptEnd   = "<!-- end of the transcript -->"
)

// stands holds the document to what the pages say.
func (s *transcript) stands(t *testing.T) {
	t.Helper()
	b, err := os.ReadFile(transcriptFile)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, begun := strings.Cut(string(b), transcriptBegin)
	old, after, ended := strings.Cut(rest, transcriptEnd)
	if !begun || !ended {
		t.Fatalf("%s has no place for the transcript", transcriptFile)
	}
	if strings.TrimSpace(old) == s.String() {
		return
	}
	if !*update {
		t.Errorf("%s tells another story than the pages; -update writes it anew. The pages say:\n%s", transcriptFile, s)
		return
	}
	if err := os.WriteFile(transcriptFile, []byte(before+transcriptBegin+"\n"+s.String()+"\n\n"+transcriptEnd+after), 0o644); err != nil {
		t.Fatal(err)
	}
}
