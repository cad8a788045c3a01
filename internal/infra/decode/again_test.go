package decode

import (
	"bytes"
	"testing"

	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/source"
)

// sameMappedAgain decodes a reply twice, with fields that are kept and with fields
// that are made when they are asked for, and holds them against each other.
func sameMappedAgain(t *testing.T, d *Decoder, body []byte) (items int) {
	t.Helper()
	before := d.largeFrom
	defer func() { d.largeFrom = before }()
	d.largeFrom = maxBody
	kept, err := d.Page(body)
	d.largeFrom = 0
	large, _ := d.Page(body)
	if (kept == nil) != (large == nil) {
		t.Fatalf("a page: %v and %v", kept != nil, large != nil)
	}
	if kept == nil {
		t.Log(err)
		return 0
	}
	if len(kept.Items) != len(large.Items) {
		t.Fatalf("%d and %d items", len(kept.Items), len(large.Items))
	}
	for i := range kept.Items {
		a, b := &kept.Items[i], &large.Items[i]
		if b.Fields != nil || (b.Map == nil) != (a.Fields == nil) {
			t.Fatalf("item %d: fields kept: %q, made: %v", i, b.Fields, b.Map != nil)
		}
		if !bytes.Equal(a.Fields, b.Mapped()) {
			t.Fatalf("item %d: %q is made %q", i, a.Fields, b.Mapped())
		}
		if b.Map != nil && !bytes.Equal(b.Map([]byte("x"), b.Raw), append([]byte("x"), a.Fields...)) {
			t.Fatalf("item %d: not appended", i)
		}
		if a.ID != b.ID || !a.UpdatedAt.Equal(b.UpdatedAt) || a.Status != b.Status || (a.Problem == nil) != (b.Problem == nil) {
			t.Fatalf("item %d: %+v and %+v", i, a, b)
		}
	}
	return len(kept.Items)
}

func fieldsOf(f ...source.Field) *source.Mapping { return &source.Mapping{Fields: f} }

// TestR50_FieldsOfLargePagesAreMadeAgain: namespaces bound around the items and
// inside of them, references and escapes, conditions, positions and objects within
// objects come out the same when only the item is walked.
func TestR50_FieldsOfLargePagesAreMadeAgain(t *testing.T) {
	for name, c := range map[string]struct {
		ep   source.Endpoint
		m    *source.Mapping
		body string
	}{
		"json": {
			source.Endpoint{Format: source.FormatJSON, Response: source.Response{Items: []string{"a.items"}, ID: []source.Pick{{Path: "id"}}}},
			fieldsOf(text("title", at("t")...), list("keywords", at("k[*]")...)),
			"\uFEFF" + `{"a":{"items":[{"id":"1","t":"caf\u00e9 \"x\"","k":["a","b","a"]}, {"id":2,"t":"é","t":"last","k":[]},{"t":"no id"},7]}}`,
		},
		"xml": {
			source.Endpoint{Format: source.FormatXML, Response: source.Response{
				Items: []string{"r/list/i"}, ID: []source.Pick{{Path: "id"}}, Namespaces: map[string]string{"p": "urn:p"},
			}},
			fieldsOf(text("title", at("p:t")...), text("abstract", at("a[2]")...), text("journal", at("j[@k='1']")...)),
			`<r><list xmlns:q="urn:p"><i><id>1</id><q:t>A &amp; B<z><q:t/></z></q:t><a>1</a><a>2</a><j k="2">n</j><j k="1">y</j></i>` +
				`<i xmlns:w="urn:p" xmlns:q="urn:o"><id>2</id><q:t>not</q:t><w:t>inner</w:t></i></list>` +
				`<list xmlns:p="urn:o"><i><id>3</id><p:t>not</p:t><m xmlns:p="urn:p"/><p:t>not</p:t></i></list></r>`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			d, err := Compile(&c.ep, source.Identity{Form: formText}, c.m, harvest.Calendar{})
			if err != nil {
				t.Fatal(err)
			}
			for _, d.parallelFrom = range []int{0, maxBody} {
				if n := sameMappedAgain(t, d, []byte(c.body)); n < 2 {
					t.Errorf("only %d items were read", n)
				}
			}
		})
	}
}
