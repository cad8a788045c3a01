package source

import (
	"fmt"
	"slices"
	"strings"

	"github.com/papertrace/patra/internal/domain/harvest"
)

func (c *compiler) paging() {
	const path = "pagination"
	cfg := c.def.Pagination
	if cfg == nil {
		c.fail(path, "is required")
		return
	}
	out := &c.spec.Paging
	*out = harvest.Paging{
		Type: cfg.Type, Size: cfg.PageSize, End: slices.Clone(cfg.End), Snapshot: cfg.Snapshot, Order: cfg.Order,
		Stateful: cfg.TokenStateful, TokenLife: cfg.TokenLifetime.D(), MaxItems: cfg.MaxItems, MaxPages: cfg.MaxPages,
	}
	if !coded(c, path+".type", DictPaging, cfg.Type) {
		return
	}
	if cfg.PageSize < 0 || cfg.PageSize == 0 && cfg.Type != harvest.PageTime {
		c.fail(path+".pageSize", "%d is below 1", cfg.PageSize)
	}
	if cfg.MaxItems < 0 || cfg.MaxPages < 0 || cfg.MaxPageSize < 0 {
		c.fail(path, "maxItems, maxPages and maxPageSize are not below zero")
	}
	c.largestPage(cfg)
	if cfg.MaxItems > 0 && int64(cfg.PageSize) > cfg.MaxItems {
		c.fail(path+".pageSize", "%d is more than the %d items a walk can reach", cfg.PageSize, cfg.MaxItems)
	}
	known := true
	for i, e := range cfg.End {
		known = coded(c, fmt.Sprintf("%s.end[%d]", path, i), DictEndProof, e) && known
	}
	if err := out.ValidateEnd(); err != nil && known {
		c.fail(path+".end", "%v", err)
	}
	c.total(path, cfg, out)
	c.tokens(path, cfg, out)
	c.pageTemplates(cfg)
	if cfg.Type == harvest.PageOffset && !cfg.Snapshot && cfg.Order == "" {
		c.fail(path+".order", "OFFSET without a snapshot needs a declared total order: without it rows may move between pages unseen")
	}
	if cfg.Type == harvest.PageNumber {
		out.PageBase = 1
		if cfg.FirstPage == nil {
			c.note(path+".firstPage", "not given, taken as 1")
		} else if out.PageBase = *cfg.FirstPage; out.PageBase < 0 || out.PageBase > 1 {
			c.fail(path+".firstPage", "%d is neither 0 nor 1", out.PageBase)
		}
		if !cfg.Snapshot && cfg.MaxPages != 1 {
			c.note(path+".maxPages", "PAGE without a snapshot: a slice of more than one page is walked until two walks agree")
		}
	} else if cfg.FirstPage != nil {
		c.fail(path+".firstPage", "belongs to PAGE, not to %s", cfg.Type)
	}
}

// largestPage refuses to ask for more per page than the provider gives: it would give
// less without a word, or refuse.
func (c *compiler) largestPage(cfg *PaginationConfig) {
	if cfg.MaxPageSize <= 0 {
		return
	}
	if cfg.PageSize > cfg.MaxPageSize {
		c.fail("pagination.pageSize", "%d is more than the provider gives per page, which is %d (maxPageSize)", cfg.PageSize, cfg.MaxPageSize)
	}
	if a := c.def.Auth; a != nil && a.PageSize > cfg.MaxPageSize {
		c.fail("auth.pageSize", "%d is more than the provider gives per page, which is %d (pagination.maxPageSize)", a.PageSize, cfg.MaxPageSize)
	}
}

// ascending says whether a walk that is left proves a beginning of its window
// (R13, C6): the items tell their update time, and the declared order begins
// with that date and is ascending throughout, as in "updated asc, id asc" or
// "updated,id:asc". Nothing is taken for granted where no direction is given.
func (c *compiler) ascending() {
	w := c.spec.Window
	if w.UpdatedAt != UpdatedInItem || c.spec.TwoPhase() {
		return
	}
	terms := strings.Split(c.spec.Paging.Order, ",")
	asc := false // of the last term
	for i, term := range terms {
		words := strings.FieldsFunc(term, func(r rune) bool { return r == ' ' || r == ':' })
		if len(words) == 0 || len(words) > 2 || i == 0 && words[0] != w.Key {
			return
		}
		asc = len(words) == 2
		if asc && !strings.EqualFold(words[1], "asc") {
			return
		}
	}
	c.spec.Paging.Ascending = asc
}

// total checks what is said about totals against the endpoints that tell them.
func (c *compiler) total(path string, cfg *PaginationConfig, out *harvest.Paging) {
	search, known := c.cfg[UsageSearch]
	_, counts := c.cfg[UsageCount]
	told := known && search.Response.Total != ""
	code, percent, err := cfg.Total.parse()
	switch {
	case cfg.Total == "":
		if told {
			c.note(path+".total", "not given, taken as UNKNOWN: it proves nothing")
		}
	case !coded(c, path+".total", DictTotal, code):
	case err != nil:
		c.fail(path+".total", "%v", err)
	default:
		out.TotalExact = code == totalExact
		out.TotalWithin = percent
	}
	if known && (out.TotalExact || out.TotalWithin > 0) && !told && !counts {
		c.fail(join("endpoints", search.Name)+".response.total", "is required, or a COUNT endpoint: pagination.total is %s", cfg.Total)
	}
	if known && cfg.Type == harvest.PageTime && !(out.TotalExact && told) && search.Response.HasMore == "" && cfg.MaxItems == 0 {
		c.fail(path+".maxItems", "TIME needs it, an EXACT total or response.hasMore: else nothing tells whether a reply is whole")
	}
	c.endProofs(path, cfg, out.TotalExact)
}

// endProofs checks that a page tells what is declared to prove the end of a walk.
func (c *compiler) endProofs(path string, cfg *PaginationConfig, totalExact bool) {
	search, known := c.cfg[UsageSearch]
	response := join("endpoints", search.Name) + ".response"
	for i, e := range cfg.End {
		switch {
		case e == harvest.EndTotal && !totalExact:
			c.fail(fmt.Sprintf("%s.end[%d]", path, i), "a total that is not EXACT ends no walk")
		case e == harvest.EndTotal && known && search.Response.Total == "":
			c.fail(response+".total", "is required: it is an end proof")
		case e == harvest.EndHasMore && known && search.Response.HasMore == "":
			c.fail(response+".hasMore", "is required: it is an end proof")
		}
	}
}

// tokens checks what belongs to tokens and next links.
func (c *compiler) tokens(path string, cfg *PaginationConfig, out *harvest.Paging) {
	search, known := c.cfg[UsageSearch]
	response := join("endpoints", search.Name) + ".response"
	isToken := cfg.Type == harvest.PageToken || cfg.Type == harvest.PageScroll
	switch {
	case isToken && known && search.Response.Token == "":
		c.fail(response+".nextToken", "is required with paging %s", cfg.Type)
	case cfg.Type == harvest.PageURL && known && search.Response.URL == "":
		c.fail(response+".nextUrl", "is required with paging URL")
	}
	c.tokenLifetime(path+".tokenLifetime", cfg, isToken || cfg.Type == harvest.PageURL)
	if !isToken {
		c.noTokens(path, cfg, out)
		return
	}
	out.Stateful = cfg.TokenStateful || cfg.Type == harvest.PageScroll
	repeatEnds := slices.Contains(cfg.End, harvest.EndRepeat)
	out.TokenContinues = !repeatEnds
	switch {
	case cfg.TokenRepeat == "":
		c.note(path+".tokenRepeat", "not given, taken as %s from the end proofs", map[bool]string{true: "END", false: "CONTINUE"}[repeatEnds])
	case !coded(c, path+".tokenRepeat", DictTokenRepeat, cfg.TokenRepeat):
	case (cfg.TokenRepeat == "END") != repeatEnds:
		c.fail(path+".tokenRepeat", "%s does not fit the end proofs: END and TOKEN_REPEAT go together", cfg.TokenRepeat)
	}
	if cfg.MaxPages == 0 {
		out.MaxPages = maxTokenPages
		if _, counts := c.cfg[UsageCount]; !counts && !out.Stateful {
			// Nobody can plan such walks by their length, and one that is left goes
			// on where it was: there is nothing to win by cutting it.
			out.MaxPages = maxLinkPages
		}
		c.note(path+".maxPages", "not given, taken as %d", out.MaxPages)
	}
}

// tokenLifetime checks that there is something which can die.
func (c *compiler) tokenLifetime(path string, cfg *PaginationConfig, chained bool) {
	search, known := c.cfg[UsageSearch]
	switch {
	case cfg.TokenLifetime < 0:
		c.fail(path, "%s is no time to live", cfg.TokenLifetime.D())
	case cfg.TokenLifetime > 0 && known && !chained && len(search.Response.Held) == 0:
		c.fail(path, "%s pages have no token, no next link and nothing held", cfg.Type)
	}
}

// noTokens refuses what belongs to tokens where pages have none, and bounds a walk
// on next links.
func (c *compiler) noTokens(path string, cfg *PaginationConfig, out *harvest.Paging) {
	if cfg.TokenRepeat != "" {
		c.fail(path+".tokenRepeat", "%s pages have no token", cfg.Type)
	}
	if cfg.TokenStateful && cfg.Type != harvest.PageURL {
		c.fail(path+".tokenStateful", "%s pages have neither token nor next link", cfg.Type)
	}
	if cfg.Type == harvest.PageURL && cfg.MaxPages == 0 {
		// Two pages that link to each other must not be walked for ever.
		c.note(path+".maxPages", "not given, taken as %d", maxLinkPages)
		out.MaxPages = maxLinkPages
	}
}

// pagePlaces are the variables that tell the place of a page, and placesOf those of each
// type of paging, which its requests have to send.
var (
	pagePlaces = []string{"page.offset", "page.no", "page.token", "page.after", "page.afterId"}
	placesOf   = map[harvest.PagingType][]string{
		harvest.PageOffset: {"page.offset"},
		harvest.PageNumber: {"page.no"},
		harvest.PageToken:  {"page.token"},
		harvest.PageScroll: {"page.token"},
		harvest.PageKeyset: {"page.after", "page.afterId"},
	}
)

// pageTemplates checks that the search says which page it wants.
func (c *compiler) pageTemplates(cfg *PaginationConfig) {
	search, known := c.cfg[UsageSearch]
	if !known {
		return
	}
	at, used := join("endpoints", search.Name), c.used[UsageSearch]
	for _, v := range pagePlaces {
		needed := slices.Contains(placesOf[cfg.Type], v)
		switch {
		case needed && !used.uses(v):
			c.fail(at, "paging %s needs ${%s} in a template", cfg.Type, v)
		case !needed && used.uses(v):
			c.fail(at, "${%s} does not go with paging %s", v, cfg.Type)
		}
	}
	if !used.uses("page.size") && cfg.Type != harvest.PageTime {
		c.note(at, "no template uses ${page.size}: the source must give pages of %d by itself", cfg.PageSize)
	}
}

func (c *compiler) batching() {
	const path = "batching.idBatchSize"
	detail, two := c.cfg[UsageDetail]
	switch b := c.def.Batching; {
	case two && (b == nil || b.IDs < 1):
		c.fail(path, "is required: endpoint %s is asked by ids", detail.Name)
	case two:
		c.spec.Batching = Batching{IDs: b.IDs, Parallel: b.Parallel}
	case b != nil:
		c.note("batching", "has no effect without a DETAIL endpoint")
	}
	if b := c.def.Batching; b != nil && b.MaxIDs < 0 {
		c.fail("batching.maxIdBatchSize", "%d is below zero", b.MaxIDs)
	} else if b != nil && b.MaxIDs > 0 && b.IDs > b.MaxIDs {
		c.fail(path, "%d is more than the provider takes in one request, which is %d (maxIdBatchSize)", b.IDs, b.MaxIDs)
	}
	if b := c.def.Batching; b != nil && (b.Parallel < 0 || b.Parallel > MostParallel) {
		c.fail("batching.parallel", "%d must be from 1 to %d", b.Parallel, MostParallel)
	}
	if two && !c.used[UsageDetail].uses("ids") {
		c.fail(join("endpoints", detail.Name), "a DETAIL endpoint needs ${join(ids, ',')} in a template")
	}
	if b := c.def.Batching; two && b != nil && b.IDs > 1 && c.sendsOneID() {
		c.fail(path, "is %d, but endpoint %s sends one id, ${ids[0]}, and never asks for the others: say idBatchSize: 1, or send all ids in a template, such as ${join(ids, ',')}", b.IDs, detail.Name)
	}
}

// sendsOneID reports whether the requests for details name one id of those that are
// asked for, and never all.
func (c *compiler) sendsOneID() bool {
	reads, elements := 0, 0
	for _, part := range c.parts[UsageDetail] {
		reads += count(part.Names, "ids")
		elements += count(part.Elements, "ids")
	}
	return reads > 0 && reads == elements
}
