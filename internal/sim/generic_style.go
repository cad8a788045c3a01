package sim

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
)

// GenericStyle is how the generic source behaves. Every field can also be given
// with a request, as the parameter in brackets; the first value named is the
// default. Fields of the last group change the items' bytes: [Sim.Truth] follows
// the configured style, [Sim.GenericTruth] the one of a request.
type GenericStyle struct {
	// How a walk goes on.
	//
	// [style] offset: offset=N; page: page=N; token: next_token, sent as token;
	// token-repeat-end: the same with end=repeat; token-constant: one token for the
	// whole walk, position kept by the server; url: next is a URL; link: RFC 8288
	// Link header and X-Total-Count; links: an array of {"rel","href"}; scroll:
	// scroll_id, position kept by the server; empty-with-token: token whose second
	// page is empty; hasmore: offset with has_more; time: one page, complete or not; keyset:
	// what comes after (from, after_id), by the date that items show and then by id, oldest first.
	Paging string `json:"style"`
	// [end] How a walk by token, url, link or links says that it is over. null; absent;
	// empty: ""; repeat: the token sent comes back with an empty page; empty-page:
	// tokens for ever, each beyond the end leads to an empty page; total: tokens for
	// ever, 400 beyond the end; flag: the same with has_more. Server faults: stall:
	// nothing but empty pages with new tokens after the first page; stuck: every page
	// is the first one, with one token. offset and page know total (400 beyond the
	// end), flag (has_more, 400 beyond the end) and, as a server fault, circle: after
	// the third page comes the first.
	End string `json:"end"`
	// [href] How the URLs of url, link and links look. absolute; path: /generic/items?..;
	// query: ?..; foreign: on a host that does not exist, token as page[cursor], which
	// is taken instead of token: it can only be lifted.
	Href string `json:"href"`
	// [body] Where window and position must stand. none: in the URL; json: in a posted
	// object, at any depth; form: in a posted form; text: in a posted text
	// `... updated >= "T" and updated < "T" ... limit N skip N` (style offset). A GET is
	// answered 405, a position in the URL 400.
	Body string `json:"body"`
	// [sizes] steady; varying: the server lowers the page size from page to page.
	Sizes string `json:"sizes"`
	// [beyond] What happens at Depth. refuse: 400; cut: the list ends there, with the whole total.
	Beyond string `json:"beyond"`
	// [bounds] half-open: from <= updated < to; closed: to is included, and a day means all of it.
	Bounds string `json:"bounds"`
	// [filter] What a list can be asked for. date: from and to; none: nothing, these
	// are answered 400; id: first and last of numbers that grow with whatever happens
	// to a record (styles that count positions).
	Filter string `json:"filter"`
	// [order] asc by (updated, id); desc; day: newest day first, by id within it; near:
	// newest first, but each record up to six hours from its place; none: another order
	// at every call.
	Order string `json:"order"`
	// [granularity] Of OAI datestamps: second; day.
	Granularity string `json:"granularity"`

	Base  int `json:"base"`  // [base] number of the first page: 0 or 1
	Most  int `json:"most"`  // [most] largest page; 1,000
	Depth int `json:"depth"` // [depth] items within reach of one walk; 0: all

	// How an answer looks.
	//
	// [total] exact; absent; wrong; first: on the first page only; text: "1,234";
	// header: X-Total-Count only; stats: "_stats":{"total_count":N}.
	Total string `json:"total"`
	// [envelope] object: {"items":[..],..}; array: [..]; messages: bioRxiv's
	// {"messages":[{"status","count","total":"N"}],"collection":[..]}.
	Envelope string `json:"envelope"`
	// [empty] A page without items. list: []; missing: no such key; null; error-item: one
	// item {"error":"Result set was empty"}. The envelope messages says "no posts found" too.
	Empty string `json:"empty"`
	// [failure] What the fault error_200 says. object: {"error":..}; text: plain text;
	// item: one item that is an error; status: in messages[0].status. OAI: <error>.
	Failure string `json:"failure"`
	// [expired] Status for a dead token. own: 410, OAI badResumptionToken; 400; 404; 422.
	Expired string `json:"expired"`
	// [reset] X-RateLimit-Reset, where there is a limit. none; seconds left; epoch: in
	// seconds; epoch-ms. By the simulator's clock.
	Reset string `json:"reset"`
	// [redirect] none; 301; 302; 307; 308 to Target, with redirect=none added.
	Redirect string `json:"redirect"`
	Target   string `json:"target"` // [target] path or URL without query; default: the path asked for
	// [encoding] plain; gzip, for those who ask.
	Encoding string `json:"encoding"`
	// [auth] none; key: X-API-Key or api_key; key2: X-Inst-Token or insttoken too; bearer:
	// Authorization: Bearer from /oauth/token; jwt: Authorization: JWT from /login; hmac:
	// X-Timestamp and X-Signature. See [GenericAuth].
	Auth string `json:"auth"`
	// [plan] paid; free: lists are answered 429 "Plan upgrade required".
	Plan       string `json:"plan"`
	RetryAfter int    `json:"retryafter"` // [retryafter] seconds in Retry-After on every 200; 0: none

	// What an item is.
	//
	// [format] json; oai: Truth tells of the records of /oai. Routes do not change.
	Format string `json:"format"`
	// [id] plain: id; composite: src and num, neither unique alone; the truth's id is src:num.
	ID string `json:"id"`
	// [numbers] number; text: v and reads are strings.
	Numbers string `json:"numbers"`
	// [flags] none; bool: retracted and open are true or false; yn: "Y" or "N".
	Flags string `json:"flags"`
	// [dates] Of updated. instant: RFC 3339 with Z; zoneless: without Z; day; none.
	Dates string `json:"dates"`
	// [deletions] hidden: what is deleted vanishes; flag: it is listed at the time of its
	// deletion as {id, updated, deleted}, and others say that they are not.
	Deletions string `json:"deletions"`
	Undated   bool   `json:"undated"` // dates=none
}

// choice is a field of a style with the values it can have, the default first.
type choice struct {
	name  string
	field func(*GenericStyle) *string
	known []string
}

var (
	pagings = []string{"offset", "page", "token", "token-repeat-end", "token-constant", "url", "link", "links", "scroll", "empty-with-token", "hasmore", "time", "keyset"}
	ends    = []string{"null", "absent", "empty", "repeat", "empty-page", "total", "flag", "stall", "stuck", "circle"}
	orders  = []string{"asc", "desc", "day", "near", "none"}

	choices = []choice{
		{"style", func(g *GenericStyle) *string { return &g.Paging }, pagings},
		{"end", func(g *GenericStyle) *string { return &g.End }, ends},
		{"href", func(g *GenericStyle) *string { return &g.Href }, []string{"absolute", "path", "query", "foreign"}},
		{"body", func(g *GenericStyle) *string { return &g.Body }, []string{"none", "json", "form", "text"}},
		{"sizes", func(g *GenericStyle) *string { return &g.Sizes }, []string{"steady", "varying"}},
		{"beyond", func(g *GenericStyle) *string { return &g.Beyond }, []string{"refuse", "cut"}},
		{"bounds", func(g *GenericStyle) *string { return &g.Bounds }, []string{"half-open", "closed"}},
		{"filter", func(g *GenericStyle) *string { return &g.Filter }, []string{"date", "none", "id"}},
		{"order", func(g *GenericStyle) *string { return &g.Order }, orders},
		{"granularity", func(g *GenericStyle) *string { return &g.Granularity }, []string{"second", "day"}},
		{"total", func(g *GenericStyle) *string { return &g.Total }, []string{"exact", "absent", "wrong", "first", "text", "header", "stats"}},
		{"envelope", func(g *GenericStyle) *string { return &g.Envelope }, []string{"object", "array", "messages"}},
		{"empty", func(g *GenericStyle) *string { return &g.Empty }, []string{"list", "missing", "null", "error-item"}},
		{"failure", func(g *GenericStyle) *string { return &g.Failure }, []string{"object", "text", "item", "status"}},
		{"expired", func(g *GenericStyle) *string { return &g.Expired }, []string{"own", "400", "404", "422"}},
		{"reset", func(g *GenericStyle) *string { return &g.Reset }, []string{"none", "seconds", "epoch", "epoch-ms"}},
		{"redirect", func(g *GenericStyle) *string { return &g.Redirect }, []string{"none", "301", "302", "307", "308"}},
		{"encoding", func(g *GenericStyle) *string { return &g.Encoding }, []string{"plain", "gzip"}},
		{"auth", func(g *GenericStyle) *string { return &g.Auth }, []string{"none", "key", "key2", "bearer", "jwt", "hmac"}},
		{"plan", func(g *GenericStyle) *string { return &g.Plan }, []string{"paid", "free"}},
		{"format", func(g *GenericStyle) *string { return &g.Format }, []string{"json", "oai"}},
		{"id", func(g *GenericStyle) *string { return &g.ID }, []string{"plain", "composite"}},
		{"numbers", func(g *GenericStyle) *string { return &g.Numbers }, []string{"number", "text"}},
		{"flags", func(g *GenericStyle) *string { return &g.Flags }, []string{"none", "bool", "yn"}},
		{"dates", func(g *GenericStyle) *string { return &g.Dates }, []string{"instant", "zoneless", "day", "none"}},
		{"deletions", func(g *GenericStyle) *string { return &g.Deletions }, []string{"hidden", "flag"}},
	}
)

func (g GenericStyle) withDefaults() GenericStyle {
	if g.Undated {
		g.Dates = "none"
	}
	for _, c := range choices {
		if field := c.field(&g); *field == "" {
			*field = c.known[0]
		}
	}
	if g.Most == 0 {
		g.Most = 1000
	}
	return g
}

// with is the style of a request that has these parameters.
func (g GenericStyle) with(params url.Values) (GenericStyle, error) {
	for _, c := range choices {
		if v := params.Get(c.name); v != "" {
			*c.field(&g) = v
		}
	}
	for name, field := range map[string]*int{"base": &g.Base, "most": &g.Most, "depth": &g.Depth, "retryafter": &g.RetryAfter} {
		if v := params.Get(name); v != "" {
			n, err := strconv.Atoi(v)
			if err != nil {
				return g, fmt.Errorf("generic %s %q: must be a number", name, v)
			}
			*field = n
		}
	}
	if v := params.Get("target"); v != "" {
		g.Target = v
	}
	return g, g.validate()
}

func (g GenericStyle) validate() error {
	var errs []error
	for _, c := range choices {
		if value := *c.field(&g); !slices.Contains(c.known, value) {
			errs = append(errs, fmt.Errorf("generic %s %q: must be one of %v", c.name, value, c.known))
		}
	}
	if g.Base < 0 || g.Base > 1 {
		errs = append(errs, fmt.Errorf("generic base %d: must be 0 or 1", g.Base))
	}
	if g.Most < 1 {
		errs = append(errs, fmt.Errorf("generic most %d: must be 1 or more", g.Most))
	}
	if g.Depth < 0 || g.RetryAfter < 0 {
		errs = append(errs, fmt.Errorf("generic depth %d, retryafter %d: must not be negative", g.Depth, g.RetryAfter))
	}
	if g.Body == "text" && g.Paging != "offset" {
		errs = append(errs, fmt.Errorf("generic body text: the style must be offset, not %q", g.Paging))
	}
	return errors.Join(errs...)
}

// reach is how many of n items a walk can get at.
func (g GenericStyle) reach(n int) int {
	if g.Depth > 0 {
		return min(n, g.Depth)
	}
	return n
}

// announces says whether what is deleted is listed.
func (g GenericStyle) announces() bool { return g.Deletions == "flag" || g.Format == "oai" }

// SetGeneric changes the generic source's manners from now on.
func (s *Sim) SetGeneric(g GenericStyle) error {
	g = g.withDefaults()
	if err := g.validate(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if up, ok := s.upstreams[Generic].(*generic); ok {
		up.style.Store(&g)
	}
	return nil
}
