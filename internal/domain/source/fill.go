package source

import (
	"cmp"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/papertrace/patra/internal/domain/harvest"
)

// OriginSQL is the origin of a source that somebody has written into the registry by
// statements of SQL.
const OriginSQL = "SQL"

// Filled is what the registry knows of a source, with what rows written by SQL leave out
// put in as the source's pack has it: a column that is NULL is the program's to decide, and
// of a source that it has a pack of the program knows more than of others. Rows that patra
// wrote itself stay as they are, and nothing is taken from one row to another (R44).
//
// What is left then is the platform's. For a source without a pack the pack is empty.
//
// Of a source that is of SQL altogether parts without any row are the pack's, too.
// Endpoints are so only where there is none at all.
func (c Contents) Filled(pack Definition) Contents {
	bySQL := func(r Row) bool { return r.BySQL || c.Provenance.Origin == OriginSQL }
	if c.Provenance.Origin != OriginSQL && !slices.ContainsFunc(c.Rows, bySQL) {
		return c
	}
	pack = pack.Canonical() // whose windows are its own
	if slices.ContainsFunc(c.Rows, func(r Row) bool { return bySQL(r) && r.saysPageSize() }) {
		pack.forgetTargets()
	}
	f := filler{c: c, pack: pack}
	out := c
	out.Rows = nil
	for _, r := range c.Rows {
		if bySQL(r) {
			r.Body = f.fill(r)
		}
		out.Rows = append(out.Rows, r)
	}
	if c.Provenance.Origin != OriginSQL {
		return out
	}
	out.Rows = append(out.Rows, f.missing()...)
	p := &out.Provenance
	p.Name = cmp.Or(p.Name, pack.Name)
	p.Homepage = cmp.Or(p.Homepage, pack.Homepage)
	p.BaseURL = cmp.Or(p.BaseURL, pack.BaseURL)
	p.Zone = cmp.Or(p.Zone, pack.Zone)
	p.RecordType = cmp.Or(p.RecordType, pack.RecordType)
	p.Identity = cmp.Or(p.Identity, pack.Identity)
	return out
}

// saysPageSize reports whether the row says how many items a page has.
func (r Row) saysPageSize() bool {
	p, is := r.Body.(*PaginationConfig)
	return is && p.PageSize != 0
}

// forgetTargets takes away how many records a slice should have, which goes by the size of
// pages.
func (d *Definition) forgetTargets() {
	if d.Window != nil {
		d.Window.Target = 0
	}
	for _, o := range d.Tasks {
		if o.Window != nil {
			o.Window.Target = 0
		}
	}
}

// filler puts in what a source's pack says.
type filler struct {
	c    Contents
	pack Definition
}

// fill is the body of a row with what it leaves out put in.
func (f filler) fill(r Row) any {
	pack := f.pack
	if r.Scope == ScopeTask {
		pack = pack.For(r.Task)
	}
	switch b := r.Body.(type) {
	case *Endpoint:
		return f.endpoint(r, *b, pack)
	case *PaginationConfig:
		return fillPaging(b.canonical(), pack.Pagination)
	}
	var whole Overrides
	whole.from(pack)
	for _, o := range whole.rows(nil, ScopeSource, "", r.From) {
		if o.Dimension == r.Dimension && o.Name == r.Name {
			return fillBody(r.Body, o.Body)
		}
	}
	return r.Body
}

// fillBody is a body with the values of another for its zero ones. Headers are put together
// name by name.
func fillBody(body, base any) any {
	out := reflect.New(reflect.TypeOf(body).Elem())
	out.Elem().Set(reflect.ValueOf(body).Elem())
	from := reflect.ValueOf(base).Elem()
	for i := range from.NumField() {
		to := out.Elem().Field(i)
		switch own := to.Interface().(type) {
		case Headers:
			to.Set(reflect.ValueOf(overlaid(from.Field(i).Interface().(Headers), own)))
		default:
			if to.IsZero() {
				to.Set(from.Field(i))
			}
		}
	}
	return out.Interface()
}

// overlaid is base with the entries of own over it.
func overlaid[M ~map[string]V, V any](base, own M) M {
	if len(base)+len(own) == 0 {
		return own
	}
	out := M{}
	maps.Copy(out, base)
	maps.Copy(out, own)
	return out
}

// fillPaging fills in the paging. What the pack says of pages that follow each other in
// another way is left out.
func fillPaging(p, base *PaginationConfig) *PaginationConfig {
	var from PaginationConfig
	if base != nil {
		from = *base
	}
	kind := cmp.Or(p.Type, from.Type)
	if kind != from.Type {
		from.FirstPage = nil
		from.TokenRepeat = ""
		from.TokenStateful = false
		from.TokenLifetime = 0
	}
	ends := harvest.Paging{Type: kind, End: from.End}
	if ends.ValidateEnd() != nil {
		from.End = []harvest.EndProof{endOf(kind)}
	}
	return fillBody(p, &from).(*PaginationConfig)
}

// endOf is what proves the end of a walk where its source says nothing of it: what a walk
// of that kind always comes to.
func endOf(t harvest.PagingType) harvest.EndProof {
	switch t {
	case harvest.PageToken, harvest.PageScroll:
		return harvest.EndNoToken
	case harvest.PageURL:
		return harvest.EndNoURL
	case harvest.PageTime:
		return harvest.EndOneReply
	}
	return harvest.EndEmpty
}

// endpoint fills in an endpoint from that of the same name in the pack, or else of the same
// usage.
func (f filler) endpoint(r Row, e Endpoint, pack Definition) any {
	canonical(DictUsage, &e.Usage)
	canonical(DictMethod, &e.Method)
	var base *Endpoint
	for _, p := range pack.Endpoints {
		if p.Name == r.Name && p.Usage == e.Usage || base == nil && p.Usage == e.Usage {
			base = new(p.clone())
		}
	}
	if base == nil {
		return &e
	}
	if e.Format == "" {
		e.Format = formatOf(e.ContentType)
	}
	paging := f.paging(r)
	if paging != nil && paging.NextToken != "" {
		base.Response.Token = ""
	}
	if paging != nil && e.Usage == UsageSearch {
		sameType := pack.Pagination != nil && (paging.Type == "" || paging.Type == pack.Pagination.Type)
		base.Query = pageParams(base.Query, sameType, e, *paging)
		base.Form = pageParams(base.Form, sameType, e, *paging)
		if !sameType {
			base.Next = nil
		}
	}
	e.Method = cmp.Or(e.Method, base.Method)
	if e.Method == "POST" {
		e.Form = overlaid(base.Form, e.Form)
	} else {
		base.Query = overlaid(base.Query, base.Form)
		base.Body = ""
		base.ContentType = ""
	}
	e.Query = overlaid(base.Query, e.Query)
	base.Name = ""
	base.Form = nil
	return fillBody(&e, base)
}

// paging is what rows say of the paging of an endpoint's operation, before anything is filled in.
func (f filler) paging(r Row) *PaginationConfig {
	ch := choose(f.c.Rows, DimPagination, "", r.Task, f.c.ReadAt)
	if ch.Row == nil {
		return nil
	}
	return ch.Row.Body.(*PaginationConfig).canonical()
}

// pageParams are a pack's parameters under the names that rows have for them. Those that ask
// for a page in another way than the rows do are left out.
func pageParams(params map[string]string, sameType bool, e Endpoint, p PaginationConfig) map[string]string {
	out := map[string]string{}
	for name, text := range params {
		t, err := ParseTemplate(text)
		if err != nil {
			out[name] = text // which is said when it is compiled
			continue
		}
		switch reads := readNames(t.Names()); {
		case reads.uses("page.size"):
			name = cmp.Or(e.SizeParam, p.SizeParam, name)
		case !sameType && slices.ContainsFunc(pagePlaces, reads.uses):
			continue
		case reads.uses("page.token"):
			name = cmp.Or(e.CursorParam, p.CursorParam, name)
		case reads.uses("page.no") || reads.uses("page.offset"):
			name = cmp.Or(e.PageParam, p.PageParam, name)
		}
		out[name] = text
	}
	return out
}

// missing are the pack's rows of the parts that no row is about.
func (f filler) missing() []Row {
	there := map[Dimension]bool{}
	for _, r := range f.c.Rows {
		there[r.Dimension] = true
	}
	var out []Row
	for _, r := range f.pack.Rows(time.Unix(0, 0).UTC()) {
		if there[r.Dimension] {
			continue
		}
		if e, is := r.Body.(*Endpoint); is {
			below, known := f.below()
			if !known {
				continue
			}
			e.Path = below + e.Path
		}
		r.OfPack = true
		out = append(out, r)
	}
	return out
}

// below is where the paths of the pack's endpoints begin under the base URL of the source;
// false if they do not lie there.
func (f filler) below() (string, bool) {
	base := strings.TrimRight(cmp.Or(f.c.Provenance.BaseURL, f.pack.BaseURL), "/")
	rest, is := strings.CutPrefix(strings.TrimRight(f.pack.BaseURL, "/"), base)
	if !is || rest != "" && rest[0] != '/' {
		return "", false
	}
	return rest, true
}
