package control

import "testing"

// TestLocate_FindsWhereAnItemFails: the place that a path leads to, or the last part of
// the way that is there.
func TestLocate_FindsWhereAnItemFails(t *testing.T) {
	const work = `{"DOI":"10.1/x","issued":{"date-parts":[[2020,13]]},"link":[{"type":"a"},{"type":"b","url":"u"}], "indexed": {"timestamp": "soon"}}`
	const article = `<Article xmlns:p="u"><p:PMID Version="x">12</p:PMID><Date><Year>20</Year><!-- </Year> --></Date></Article>`
	for _, c := range []struct{ item, path, want, present string }{
		{work, "indexed.timestamp", `"soon"`, "indexed.timestamp"},
		{work, "$.issued.date-parts[0][1]", `13`, "issued.date-parts[0][1]"},
		{work, "link[type=b].url", `"u"`, "link[type=b].url"},
		{work, "link[*].type", `"a"`, "link[*].type"},
		{work, "['DOI']", `"10.1/x"`, "['DOI']"},
		{work, "issued.nothing", `{"date-parts":[[2020,13]]}`, "issued"},
		{work, "nothing", "", ""},
		{work, "", "", ""},
		{`{"a":{"b":1},"a":{"b":`, "a.b", "1", "a.b"},
		{article, "PMID", `<p:PMID Version="x">12</p:PMID>`, "PMID"},
		{article, "x:PMID/@Version", `<p:PMID Version="x">`, "x:PMID.@Version"},
		{article, "Date/Year", `<Year>20</Year>`, "Date.Year"},
		{article, "Date[1]/Month", `<Date><Year>20</Year><!-- </Year> --></Date>`, "Date[1]"},
		{article, "Nothing", "", ""},
		{`<a><b>`, "b/c", "", ""},
		{"\x00", "a", "", ""},
	} {
		got := Locate(c.item, c.path)
		switch {
		case got == nil && c.want != "":
			t.Errorf("%s in %.30s is not found", c.path, c.item)
		case got != nil && (c.item[got.At:got.End] != c.want || got.Present != c.present):
			t.Errorf("%s in %.30s: got %q by %q, want %q by %q", c.path, c.item, c.item[got.At:got.End], got.Present, c.want, c.present)
		}
	}
}

// FuzzLocate: no item and no path makes it fail, and what it finds lies in the item.
func FuzzLocate(f *testing.F) {
	f.Add(`{"a":[1]}`, "a[0]")
	f.Add(`<a b="1"/>`, "@b")
	f.Add(`[[[`, "[[].]")
	f.Fuzz(func(t *testing.T, item, path string) {
		got := Locate(item, path)
		if got != nil && (got.At < 0 || got.At > got.End || got.End > len(item)) {
			t.Errorf("%+v lies outside of %d bytes", got, len(item))
		}
	})
}
