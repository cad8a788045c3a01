package patra_test

import (
	"io/fs"
	"os"
	"path"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/papertrace/patra/internal/domain/source"
)

var (
	link    = regexp.MustCompile(`\]\(([^)\s]+)[^)]*\)`)
	heading = regexp.MustCompile(`(?m)^#{1,6} +(.+?) *$`)
	fenced  = regexp.MustCompile("(?ms)^```.*?^```")
	inLine  = regexp.MustCompile("`[^`\n]*`")
)

// anchors are the places of a document that a link may lead to: its headings, in
// the form that GitHub gives them.
func anchors(text string) map[string]bool {
	out := map[string]bool{}
	for _, m := range heading.FindAllStringSubmatch(fenced.ReplaceAllString(text, ""), -1) {
		out[anchor(m[1])] = true
	}
	return out
}

func anchor(heading string) string {
	var b strings.Builder
	for _, r := range strings.ToLower(heading) {
		switch {
		case r == ' ':
			b.WriteRune('-')
		case r == '-' || r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r > 127:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// deadLinks returns the links of a document within the repository that lead to no
// file, or to no heading of the file.
func deadLinks(tree fs.FS, doc, text string) (dead []string, looked int) {
	text = inLine.ReplaceAllString(fenced.ReplaceAllString(text, ""), "")
	for _, m := range link.FindAllStringSubmatch(text, -1) {
		if strings.Contains(m[1], "://") || strings.HasPrefix(m[1], "mailto:") {
			continue
		}
		looked++
		file, place, placed := strings.Cut(m[1], "#")
		name := doc
		if file != "" {
			name = path.Join(path.Dir(doc), file)
		}
		if _, err := fs.Stat(tree, name); err != nil {
			dead = append(dead, m[1])
			continue
		}
		if !placed {
			continue
		}
		if b, err := fs.ReadFile(tree, name); err != nil || !anchors(string(b))[place] {
			dead = append(dead, m[1])
		}
	}
	return dead, looked
}

// TestDocuments_LinksLeadSomewhere: every link of a document to a file of the
// repository, and to a heading in it.
func TestDocuments_LinksLeadSomewhere(t *testing.T) {
	tree := os.DirFS(".")
	looked := 0
	eachFile(t, []string{".md"}, func(doc, text string) {
		dead, n := deadLinks(tree, doc, text)
		looked += n
		for _, l := range dead {
			t.Errorf("%s links to %s, which is not there", doc, l)
		}
	})
	if looked < 15 {
		t.Fatalf("only %d links seen", looked)
	}
}

// TestDocuments_DeadLinksAreSeen: the test above would notice them.
func TestDocuments_DeadLinksAreSeen(t *testing.T) {
	const text = "# A `b`, c\n[1](#a-b-c) [2](#none) [3](none.md) [4](../z.md#one-word) [5](../z.md#none) `[6](x.md)`\n" +
		"```\n# D\n[7](x.md)\n```\n[8](#d)\n"
	tree := fstest.MapFS{"y/a.md": {Data: []byte(text)}, "z.md": {Data: []byte("## One word\n")}}
	dead, looked := deadLinks(tree, "y/a.md", text)
	if looked != 6 || strings.Join(dead, " ") != "#none none.md ../z.md#none #d" {
		t.Errorf("%d links were seen, and of them %v are said to be dead", looked, dead)
	}
}

// TestDocuments_NamesAreInTheirFiles: where a document says that something is in or
// of a file, the file has that word.
func TestDocuments_NamesAreInTheirFiles(t *testing.T) {
	placed := regexp.MustCompile("`(?:\\w+\\.)?(\\w+)`\\s+(?:in|of)\\s+`((?:cmd|internal)/[\\w./-]+\\.go)`")
	looked := 0
	eachFile(t, []string{".md"}, func(doc, text string) {
		for _, m := range placed.FindAllStringSubmatch(text, -1) {
			looked++
			b, err := os.ReadFile(m[2])
			if err != nil || !regexp.MustCompile(`\b`+m[1]+`\b`).Match(b) {
				t.Errorf("%s says that %s is in %s, and it is not: %v", doc, m[1], m[2], err)
			}
		}
	})
	if looked < 8 {
		t.Fatalf("only %d names seen", looked)
	}
}

// TestDocuments_PackagesAreOnThePage: whoever looks for where something is done
// finds every package of domain, app and infra in docs/architecture.md.
func TestDocuments_PackagesAreOnThePage(t *testing.T) {
	page, err := os.ReadFile("docs/architecture.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, layer := range []string{"internal/domain", "internal/app", "internal/infra"} {
		dirs, err := os.ReadDir(layer)
		if err != nil || len(dirs) == 0 {
			t.Fatalf("%s: %d, %v", layer, len(dirs), err)
		}
		for _, d := range dirs {
			if !regexp.MustCompile(`\b` + d.Name() + `\b`).Match(page) {
				t.Errorf("docs/architecture.md does not name %s/%s: add it to the picture of the parts", layer, d.Name())
			}
		}
	}
}

// TestDocuments_PagingTypesAreTold: every way in which pages may follow each other
// stands where authors of sources look, and in the rule that lists them.
func TestDocuments_PagingTypesAreTold(t *testing.T) {
	for _, d := range source.Dictionary() {
		if d.Code != source.DictPaging {
			continue
		}
		for _, doc := range []string{"docs/write-a-source.md", register} {
			text, err := os.ReadFile(doc)
			if err != nil {
				t.Fatal(err)
			}
			for _, item := range d.Items {
				if !regexp.MustCompile(`\b` + item.Code + `\b`).Match(text) {
					t.Errorf("%s does not tell of the paging type %s", doc, item.Code)
				}
			}
		}
	}
}
