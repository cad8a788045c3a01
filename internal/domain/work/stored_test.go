package work

import (
	"slices"
	"testing"
)

// TestKeys_AsTheyAreStored: the keys of records are in the index of every store, so they never
// change. These were printed by the patra before the one that hashes keys in parts.
func TestKeys_AsTheyAreStored(t *testing.T) {
	for _, c := range []struct {
		source, id, doc string
		mainLen         int
		want            []LookupKey
	}{
		{
			"crossref", "10.9192/inv.1",
			`{"title":"The determinants of coastal diffusion in greenhouse tomatoes: evidence from <i>field</i> trials","authors":[{"family":"Berg","given":"Ben"}],
				"published":"2008-03-01","pages":"414-420","doi":"10.9192/inv.1","corrects":"10.9192/inv.0"}`,
			60,
			[]LookupKey{0x6e71c3ec595664, 0x20599570f566382b, 0x26b908dbec4eae61, 0x328e15105636dd2f, 0x4b249bc062abd162, 0xc64f2dbcead6eda5},
		},
		{
			"pubmed", "123",
			`{"title":"Ätiologie der chronischen Müdigkeit, part 2","authors":[{"family":"Ödegård"},{"name":"Smith JA"}],"published":"1999","pages":"S3-5",
				"doi":"10.9192/x.v2","pmcid":"PMC77"}`,
			0,
			[]LookupKey{0xab2b43e58cff848, 0x3e598dcbb4a56763, 0x4f261ad5459b8bac, 0x75938d917a1d7267, 0xb53ba1cfab18cac2, 0xcd1423421c366804, 0xe18e36bde8e6a4e5},
		},
		{
			"zenodo", "5",
			`{"title":"急性肾损伤儿童患者的临床特征与预后分析及其相关影响因素研究进展综述第二部分","authors":[{"family":"王","given":"明"}],"published":"2020",
				"doi":"10.5281/zenodo.5","other_ids":{"concept":"4","preprint_of":"10.1/a"}}`,
			0,
			[]LookupKey{0xfea76f1276eb836, 0x134aa69ee84bf56f, 0x3a9e6717f35f1179, 0x3e9105910a095e8c, 0xda3bc02137032fb7},
		},
		{"core", "9", `{"title":"Short of the","authors":[{"family":"X"}]}`, 0, []LookupKey{0x7f0decbcc5c15ced}},
	} {
		r, err := Read(Key{c.source, "work", c.id}, []byte(c.doc))
		if err != nil {
			t.Fatal(err)
		}
		r.MergedInto = "7"
		if got := r.Keys(); !slices.Equal(got, c.want) || r.MainLen != c.mainLen {
			t.Errorf("%s: %#v, main title of %d", c.source, got, r.MainLen)
		}
	}
	if got := SoughtKeys("The determinants of coastal diffusion in greenhouse"); !slices.Equal(got, []LookupKey{0xc9388bf934c56e8b}) {
		t.Errorf("sought: %#v", got)
	}
}
