package decode

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/source"
)

// TestR55_AKeptItemIsTakenApartAsItWasInItsReply: the bytes of an item alone give what
// they gave within the page, whatever is in them.
func TestR55_AKeptItemIsTakenApartAsItWasInItsReply(t *testing.T) {
	t.Parallel()
	works, doi, worksMapping := crossref()
	articles, pmid, articlesMapping := pubmed()
	small, smallMapping := smallJSON()
	markup, markupMapping := smallXML()
	named := &source.Endpoint{Format: source.FormatXML, Response: source.Response{
		Items: []string{"r/i"}, ID: at("id"), Namespaces: map[string]string{"p": "urn:p"},
	}}
	namedMapping := &source.Mapping{Fields: []source.Field{text("title", at("p:t")...)}}
	for name, c := range map[string]struct {
		decoder *Decoder
		body    []byte
		items   int
	}{
		"works":    {compile(t, works, doi, worksMapping), crossrefPage(12, 3), 12},
		"articles": {compile(t, articles, pmid, articlesMapping), pubmedPage(12), 12},
		"odd JSON": {
			compile(t, small, source.Identity{}, smallMapping),
			[]byte("{\"r\":{\"items\":[ {\"id\":1,\"title\":\"a\\u00e9\"} ,{\"title\":\"no id\"},{\"id\":3,\"title\":\"\xff\"},{\"id\":4,\"title\":\"a\x00b\"}, 7]}}"), 5,
		},
		"odd XML": {
			compile(t, markup, source.Identity{}, markupMapping),
			[]byte(`<r><i id="1"><t>a &amp; b</t><o><a>x</a></o></i><i><t>no id</t></i><i id="3"><t>&#2;</t></i></r>`), 3,
		},
		"namespaces": {
			compile(t, named, source.Identity{}, namedMapping),
			[]byte(`<r xmlns:p="urn:p" xmlns:q="urn:q"><i><id>1</id><p:t>ours</p:t><q:t>theirs</q:t></i></r>`), 1,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, err := c.decoder.Page(c.body)
			if err != nil || len(p.Items) != c.items {
				t.Fatalf("%d items: %v", len(p.Items), err)
			}
			for i := range p.Items {
				was := p.Items[i]
				is, err := c.decoder.Item(bytes.Clone(was.Raw))
				if err != nil {
					t.Fatalf("item %d: %v", i, err)
				}
				if diff := cmp.Diff(was, is, cmpopts.IgnoreFields(harvest.Item{}, "Map"), cmpopts.EquateEmpty()); diff != "" {
					t.Errorf("item %d, in its page and alone:\n%s", i, diff)
				}
			}
		})
	}
	if _, err := compile(t, small, source.Identity{}, smallMapping).Item([]byte(`{"id":1`)); err == nil {
		t.Error("half an item is taken for one")
	}
}
