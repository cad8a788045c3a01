package source

import (
	"cmp"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/pace"
)

// Definition is a source as a person describes it: the provenance itself and
// one part per dimension. A part that is nil, and a value that is zero, was not
// given; [Compile] puts the platform's default there and says so.
//
// This is the one declaration of what a pack may say: the yaml tags are the
// names people write and the paths that violations carry, dict is the kind of
// a code, doc what an editor shows.
type Definition struct {
	// The provenance.
	Source     string `yaml:"source" doc:"code of the source: small letters, digits, - and _"`
	Name       string `yaml:"name" doc:"name for people"`
	Homepage   string `yaml:"homepage" doc:"where people read about the source"`
	BaseURL    string `yaml:"baseUrl" doc:"what every endpoint's path is added to"`
	Zone       string `yaml:"zone" doc:"time zone of the source's days, such as America/New_York, unless the window has its own; unknown: taken as UTC, and windows overlap by a day"`
	RecordType string `yaml:"recordType" doc:"what a record is, such as article or work"`
	Identity   string `yaml:"identity" dict:"identity" doc:"canonical form of ids"`

	// The dimensions.
	HTTP       *HTTP             `yaml:"http" doc:"how the source is reached"`
	Auth       *Auth             `yaml:"auth" doc:"how a request says who is asking; the secret itself is set with patra credential set"`
	RateLimit  *Rate             `yaml:"rateLimit" doc:"what the provider allows and our share of it; default: one request a second"`
	Retry      *Retry            `yaml:"retry" doc:"how patiently a request is repeated"`
	Window     *WindowConfig     `yaml:"window" doc:"how the source understands time"`
	Pagination *PaginationConfig `yaml:"pagination" doc:"how the source is walked, and what proves the end"`
	Batching   *Batching         `yaml:"batching" doc:"how details are asked for"`
	Cuts       *Cuts             `yaml:"cuts" doc:"when a slice is cut while it is walked, to spare the source"`
	Endpoints  []Endpoint        `yaml:"endpoints" doc:"the ways to ask, by name; one of them has usage SEARCH"` // written as a map by name
	Faults     []FaultRule       `yaml:"faults" doc:"what failures mean where the status alone would mislead; the first rule that fits decides"`
	Mapping    Mapping           `yaml:"mapping" doc:"how items become standard records"`
	Query      *QueryConfig      `yaml:"query" doc:"what the source can be searched for, and how that is written there"`
	Schedule   *ScheduleConfig   `yaml:"schedule" doc:"when the source is asked by itself under patra serve, and when it is left alone"`

	// Tasks are parts that hold for one operation only.
	Tasks map[harvest.Operation]*Overrides `yaml:"tasks" doc:"parts that hold for one operation only; each replaces the source's part whole"`
}

// HTTP is the transport dimension.
type HTTP struct {
	BaseURL        string          `yaml:"baseUrl" json:"baseUrl" doc:"instead of the source's base URL"`
	Headers        Headers         `yaml:"headers" json:"headers,omitempty" doc:"sent with every request; Authorization, Host and Cookie cannot be set; null takes a default away"`
	ConnectTimeout Duration        `yaml:"connectTimeout" json:"connectTimeout" doc:"default 10s"`
	ReadTimeout    Duration        `yaml:"readTimeout" json:"readTimeout" doc:"default 30s"`
	TotalTimeout   Duration        `yaml:"totalTimeout" json:"totalTimeout" doc:"default 60s, at most 120s"`
	AllowHTTP      bool            `yaml:"allowHttp" json:"allowHttp,omitzero" doc:"permit plain http"`
	AllowPrivate   bool            `yaml:"allowPrivate" json:"allowPrivate,omitzero" doc:"permit loopback and private addresses"`
	MaxBody        Size            `yaml:"maxBody" json:"maxBody" doc:"largest reply, default 32MiB; where more is declared, a page may have half of it before slices are cut for smaller ones (else 5 MB)"`
	Proxy          string          `yaml:"proxy" json:"proxy,omitempty" doc:"forward proxy every request goes through, such as http://proxy.example.org:3128"`
	TLS            *TLSConfig      `yaml:"tls" json:"tls,omitempty" doc:"how connections are secured, where it is not as usual"`
	Redirects      *RedirectConfig `yaml:"redirects" json:"redirects,omitempty" doc:"follow redirects; not given: none is followed"`
}

// MaxPage is how many bytes a page may have before its slice is cut into such with
// smaller pages: half of the largest reply where the source declares larger ones
// than usual, so that there is room for what comes in between.
func (h HTTP) MaxPage() int64 {
	if h.MaxBody > defaultMaxBody {
		return int64(h.MaxBody) / 2
	}
	return harvest.DefaultCuts().PageBytes
}

// RedirectConfig turns redirects on, within bounds (R59).
type RedirectConfig struct {
	Max   int      `yaml:"max" json:"max,omitempty" doc:"how many in a row, at most 3, which is the default"`
	Hosts []string `yaml:"hosts" json:"hosts,omitempty" doc:"hosts they may lead to besides the source's own; a credential never goes there"`
}

// WindowConfig is the window and watermark dimension.
type WindowConfig struct {
	// Key names the date the source is harvested by.
	Key string `yaml:"key" doc:"name of the date the source is harvested by"`
	// Filters say which word of a request filters by which date, so that the
	// filter sent and the update time read can be held against Key (C19).
	Filters   map[string]string `yaml:"filters" doc:"which word of a request filters by which date"`
	Precision harvest.Precision `yaml:"precision" dict:"time_precision" doc:"how finely the filter tells time"`
	Zone      string            `yaml:"zone" doc:"time zone of the filter's days, or unknown"`
	// Bound is CLOSED if the upper bound sent includes itself, else OPEN.
	Bound     Bound     `yaml:"bound" dict:"bound_style" doc:"whether the upper bound sent includes itself"`
	UpdatedAt UpdatedAt `yaml:"updatedAt" dict:"updated_at" doc:"where an item's update time is"`
	SafetyLag *Duration `yaml:"safetyLag" doc:"how long after now a window stays closed, default 10m"`
	LagLeast  Duration  `yaml:"lagLeast" doc:"down to where the safety lag is tuned by how much comes late, default 5m"`
	LagMost   Duration  `yaml:"lagMost" doc:"up to where it is, default 1h; a safetyLag outside of both is left alone"`
	Align     Duration  `yaml:"align" doc:"window bounds are multiples of it; default: the precision"`
	Overlap   *Duration `yaml:"overlap" doc:"how far a harvest reaches back before its frontier for late records"`
	Baseline  Duration  `yaml:"baseline" doc:"how far back a first harvest begins that has no query, default 30d"`
	Beginning string    `yaml:"beginning" doc:"a day before which no record was changed, where the first harvest of a query begins; default 1900-01-01"`
	Step      Duration  `yaml:"step" doc:"length of a slice whose records nobody counted; default 1d, for a source that cannot count the whole window"`
	MinStep   Duration  `yaml:"minStep" doc:"no slice is cut shorter; default: the precision"`
	Target    int64     `yaml:"target" doc:"wanted records per slice"`
	PerDay    int64     `yaml:"perDay" doc:"records a day to reckon with where no count, no history and no first page tells; rather too many than too few"`
	// Mode is SLIDING unless said otherwise.
	Mode WindowMode `yaml:"mode" dict:"window_mode" doc:"how windows lie: SLIDING, from where the last ended (default), or CALENDAR, at whole multiples of step"`
	// Offset follows from strategy and paging, and is held against them where it is given.
	Offset OffsetType `yaml:"offset" dict:"offset_type" doc:"what tells how far the source was read: DATE, ID of the strategy ID_RANGE, or COMPOSITE, date and id, of the paging KEYSET; default: the one that goes with these"`
	// Strategy is TIME unless said otherwise.
	Strategy harvest.StrategyCode `yaml:"strategy" dict:"slice_strategy" doc:"how a window is cut, default TIME"`
	// Split cuts by ids what cannot be cut by time.
	Split *SplitConfig `yaml:"split" doc:"second dimension, for a finest window that still holds more than the source can be paged through; the only one of the strategy HASH"`
	// MaxRequests, MaxRecords and MaxDuration are the budget of a slice.
	MaxRequests int      `yaml:"maxRequests" doc:"requests a slice may take before it is cut again; default 50 times cuts.pagesHard"`
	MaxRecords  int64    `yaml:"maxRecords" doc:"records a slice may bring before it is cut again; default as many as fill so many pages"`
	MaxDuration Duration `yaml:"maxDuration" doc:"time a slice may take before it is cut again; default 24h, or 4 times cuts.walkTime"`
	Priority    int      `yaml:"priority" doc:"when the tasks have their turn where neither trigger nor schedule says so: the lower the number, 1 to 1000, the earlier; default 100 for HARVEST, 200 for UPDATE, 300 for BACKFILL"`
	MaxOpen     int      `yaml:"maxOpen" doc:"slices that may be open at a time; planning goes on when there are fewer, default 10000"`
	Pages       int64    `yaml:"pages" doc:"pages per slice, of the strategy PAGE"`
}

// SplitConfig is a second dimension: ids that are numbers, or hash buckets.
type SplitConfig struct {
	Key string `yaml:"key" json:"key,omitzero" doc:"what ids that are numbers are called, such as uid; templates then ask for ${range.from} to ${range.last}"`
	Max int64  `yaml:"max" json:"max,omitzero" doc:"no id is greater"`
	// Buckets are in place of Key and Max.
	Buckets int64 `yaml:"buckets" json:"buckets,omitzero" doc:"in place of key and max: into how many hash buckets the source parts its ids at most; templates then ask for ${bucket}, counted from 0, of ${buckets}, which is 1 for all, else a power of two"`
}

// PaginationConfig is the paging dimension.
type PaginationConfig struct {
	Type     harvest.PagingType `yaml:"type" dict:"paging_type" doc:"how pages follow each other"`
	PageSize int                `yaml:"pageSize" doc:"items asked for per page"`
	// MaxPageSize is the provider's word, against which page sizes are held.
	MaxPageSize int  `yaml:"maxPageSize" doc:"the largest page that the provider gives; a larger pageSize, here or of auth, is refused"`
	FirstPage   *int `yaml:"firstPage" doc:"number of the first page, 0 or 1; of PAGE only"`
	// TokenRepeat is END or CONTINUE: what a token that comes again means (R22).
	TokenRepeat   string `yaml:"tokenRepeat" dict:"token_repeat" doc:"what a token that comes again means"`
	TokenStateful bool   `yaml:"tokenStateful" doc:"the server holds the place: a lost page cannot be asked for again"`
	// TokenLifetime is how long what a page gives for the next one can be used (R23).
	TokenLifetime Duration           `yaml:"tokenLifetime" doc:"how long a token, next link or held session can be used; a walk left for longer begins again without sending it"`
	Total         TotalWorth         `yaml:"total" doc:"what the total in a reply and the count of the COUNT endpoint are worth: EXACT, ABOUT 5% (a walk may miss so much of it) or UNKNOWN; a walk that misses more is not done"`
	Snapshot      bool               `yaml:"snapshot" doc:"the result does not change while it is walked"`
	Order         string             `yaml:"order" doc:"the total order of the result, such as updated asc, id asc; OFFSET needs it unless there is a snapshot; where it begins with window.key and is ascending, a walk that is cut keeps what it has read"`
	End           []harvest.EndProof `yaml:"end" dict:"end_proof" doc:"what proves that a walk is over"`
	MaxItems      int64              `yaml:"maxItems" doc:"how many items of one result the source lets us reach; where a walk ends there only an exact total proves that it is over"`
	MaxPages      int                `yaml:"maxPages" doc:"pages of one result after which a slice is cut; one that cannot be cut is walked on where pages name the next"`
	// The names of parameters, and where the next token is, for endpoints that do not say it themselves.
	PageParam   string `yaml:"pageParam" doc:"parameter of the SEARCH endpoint that says which page is wanted, or with OFFSET from which item on; in place of a template"`
	SizeParam   string `yaml:"sizeParam" doc:"parameter that says how many items are wanted, in place of a template"`
	CursorParam string `yaml:"cursorParam" doc:"parameter that takes the token of the page before, in place of a template"`
	NextToken   string `yaml:"nextToken" doc:"path of the next token, where the endpoint's response names none"`
}

// Batching is the dimension of the detail phase.
type Batching struct {
	IDs int `yaml:"idBatchSize" json:"idBatchSize,omitzero" doc:"ids per request to the DETAIL endpoint"`
	// MaxIDs is the provider's word.
	MaxIDs int `yaml:"maxIdBatchSize" json:"maxIdBatchSize,omitzero" doc:"the most ids that the provider takes in one request; a larger idBatchSize is refused"`
	// Param and Separator are in place of a template.
	Param     string `yaml:"idsParam" json:"idsParam,omitempty" doc:"parameter of the DETAIL endpoint that takes the ids, in place of a template"`
	Separator string `yaml:"idsSeparator" json:"idsSeparator,omitempty" doc:"what stands between two of them there; default a comma"`
	// Parallel 0 means one.
	Parallel int `yaml:"parallel" json:"parallel,omitzero" doc:"requests for details that a slice makes side by side, 16 at most, default 1; what came and is not stored yet counts, so that a slow store holds them back; limits of rate and concurrency hold as ever"`
}

// MostParallel is how many requests for details a slice makes side by side at most.
const MostParallel = 16

// Rate is the rate dimension: what the provider allows, and our share of it.
type Rate struct {
	// Limit requests per Window is the provider's word; 0 means none is known.
	Limit  int      `yaml:"limit" json:"limit,omitzero" doc:"requests the provider allows per window"`
	Window Duration `yaml:"window" json:"window,omitzero" doc:"the provider's window, default 1s"`
	// QPS and Burst are what we use of it; once compiled, QPS 0 means unlimited.
	QPS   float64 `yaml:"qps" json:"qps,omitzero" doc:"requests a second we make, evenly spaced; qps x (window + 2 x jitter) must stay below the limit, with a burst the burst must fit besides; default: nearly that"`
	Burst int     `yaml:"burst" json:"burst,omitzero" doc:"requests that may go at once, default 1"`
	// Jitter 0 stands for the platform's own.
	Jitter Duration `yaml:"jitter" json:"jitter,omitzero" doc:"how unevenly requests may arrive at the provider: how much longer one is on its way than another, and how late it may be sent; default 50ms"`
	// Concurrency 0 means no bound.
	Concurrency int `yaml:"concurrency" json:"concurrency,omitzero" doc:"requests in flight, of all processes together"`
	// Key is the bucket the source shares.
	Key string `yaml:"key" json:"key" doc:"sources with the same key share the limit; default: the source"`
	// Scope is what has a bucket of its own (C16); empty is [RateGlobal].
	Scope string `yaml:"scope" json:"scope,omitempty" dict:"rate_scope" doc:"what the limits are counted for: the whole source (GLOBAL, default), each credential or each endpoint"`
	// LimitHeaders may only lower the rate (R37).
	LimitHeaders []string `yaml:"limitHeaders" json:"limitHeaders,omitempty" doc:"reply headers that state the limit per second; they only lower the rate"`
	// Quotas are further limits over longer times, all of which hold at once.
	Quotas []QuotaConfig `yaml:"quotas" json:"quotas,omitempty" doc:"further limits over longer times, such as 300 an hour and 7200 a day; all hold at once"`
	// QuotaReserve is nil in snapshots from before there was one: nothing was kept back.
	QuotaReserve *int `yaml:"quotaReserve" json:"quotaReserve,omitempty" doc:"percent of every quota that is kept back from what can wait (BACKFILL, UPDATE) and that nobody plans with; default 10"`
	// QuotaShares are the least parts of what is not kept back.
	QuotaShares *QuotaShares  `yaml:"quotaShares" json:"quotaShares,omitempty" doc:"percent of every quota, less what is kept back, that is there for one operation or one phase whatever the others want; what is not used of it is not given to others"`
	Budget      *BudgetConfig `yaml:"budget" json:"budget,omitempty" doc:"reply headers that tell what is left, and when it is filled again"`
	// Adapt is nil where the rate gives way as the platform has it.
	Adapt *AdaptConfig `yaml:"adapt" json:"adapt,omitempty" doc:"how the rate gives way when the source complains or fails, and how it comes back"`
	// RetryAfterOn are statuses whose Retry-After counts besides 429, 503 and 3xx (R60).
	RetryAfterOn []int `yaml:"retryAfterOn" json:"retryAfterOn,omitempty" doc:"statuses whose Retry-After counts besides 429, 503 and redirects"`

	// Claim is for what a request is sent; [Rate.On] sets it. It is no part of a description.
	Claim pace.Claim `yaml:"-" json:"-"`
}

// QuotaShares are percents of every quota.
type QuotaShares struct {
	Harvest  int `yaml:"harvest" json:"harvest,omitzero" doc:"least percent for HARVEST"`
	Backfill int `yaml:"backfill" json:"backfill,omitzero" doc:"least percent for BACKFILL"`
	Update   int `yaml:"update" json:"update,omitzero" doc:"least percent for UPDATE"`
	Search   int `yaml:"search" json:"search,omitzero" doc:"least percent for searching and counting"`
	Detail   int `yaml:"detail" json:"detail,omitzero" doc:"least percent for asking for details"`
}

// QuotaConfig is a number of requests, or of what they cost, in a time.
type QuotaConfig struct {
	Limit  int64    `yaml:"limit" json:"limit" doc:"what the provider allows in the window"`
	Window Duration `yaml:"window" json:"window" doc:"such as 1h, 1d or 7d"`
	// Zone: the window begins anew at midnight there; empty: it slides.
	Zone string `yaml:"zone" json:"zone,omitempty" doc:"the quota of a day begins anew at midnight in this zone; not given: it slides"`
}

// BudgetConfig names the headers of what is left (P16).
type BudgetConfig struct {
	Remaining string `yaml:"remaining" json:"remaining" doc:"header with what is left"`
	Reset     string `yaml:"reset" json:"reset" doc:"header that says when it is filled again"`
	Unit      string `yaml:"unit" json:"unit" dict:"reset_unit" doc:"what the reset header counts"`
}

// AdaptConfig says how the rate of a source gives way. What is 0 is as the platform has it.
type AdaptConfig struct {
	Outcomes int      `yaml:"outcomes" json:"outcomes,omitzero" doc:"how many of the last requests are looked at, at most 64; default 20"`
	CutAt    float64  `yaml:"cutAt" json:"cutAt,omitzero" doc:"share of them that failed from which the rate is cut; default 0.25"`
	HoldAt   float64  `yaml:"holdAt" json:"holdAt,omitzero" doc:"share of them that failed from which the rate does not rise; default 0.1"`
	Factor   float64  `yaml:"factor" json:"factor,omitzero" doc:"what is left of the rate when it is cut; default 0.5"`
	Step     float64  `yaml:"step" json:"step,omitzero" doc:"share of the configured rate that it rises by in a minute; default 0.1"`
	Floor    float64  `yaml:"floor" json:"floor,omitzero" doc:"least rate, in requests a second; default 0.1"`
	CoolDown Duration `yaml:"coolDown" json:"coolDown,omitzero" doc:"least time between two cuts; default 10s"`
	WarmUp   Duration `yaml:"warmUp" json:"warmUp,omitzero" doc:"how long the rate takes to rise from a tenth to the whole of it when a source is asked for the first time; default 0s, at once"`
}

// Over is how the rate gives way where the platform has it otherwise.
func (a *AdaptConfig) Over(platform pace.Adapt) pace.Adapt {
	if a == nil {
		return platform
	}
	return pace.Adapt{
		Outcomes: cmp.Or(a.Outcomes, platform.Outcomes),
		CutAt:    cmp.Or(a.CutAt, platform.CutAt),
		HoldAt:   cmp.Or(a.HoldAt, platform.HoldAt),
		Factor:   cmp.Or(a.Factor, platform.Factor),
		Step:     cmp.Or(a.Step, platform.Step),
		Floor:    cmp.Or(a.Floor, platform.Floor),
		CoolDown: cmp.Or(a.CoolDown.D(), platform.CoolDown),
		WarmUp:   cmp.Or(a.WarmUp.D(), platform.WarmUp),
	}
}

// Endpoint is one way to ask. Path, Query, Form, Headers and Body hold templates; a
// parameter whose template renders empty is left out.
type Endpoint struct {
	Name  string `yaml:"-" json:"name"`
	Usage Usage  `yaml:"usage" json:"usage" dict:"endpoint_usage" doc:"what the endpoint is for"`
	// Default and Of choose among several of one usage (R72).
	Default bool              `yaml:"default" json:"default,omitzero" doc:"of several endpoints of one usage, the one that is asked unless another is named"`
	Of      string            `yaml:"of" json:"of,omitempty" doc:"name of the SEARCH endpoint that this one belongs to; default: it goes with all of them"`
	Method  string            `yaml:"method" json:"method" dict:"http_method" doc:"default GET"`
	Path    string            `yaml:"path" json:"path" doc:"added to the base URL, begins with /"`
	Query   map[string]string `yaml:"query" json:"query,omitempty" doc:"parameters; templates such as ${iso(window.from)}; one that renders empty is left out"`
	Form    map[string]string `yaml:"form" json:"form,omitempty" doc:"form fields of a POST; templates"`
	// The names of parameters go before those of the paging, which hold for every SEARCH endpoint.
	PageParam   string `yaml:"pageParam" json:"pageParam,omitempty" doc:"parameter that says which page is wanted, or with OFFSET from which item on; in place of a template, and of pagination.pageParam"`
	SizeParam   string `yaml:"sizeParam" json:"sizeParam,omitempty" doc:"parameter that says how many items are wanted; in place of a template, and of pagination.sizeParam"`
	CursorParam string `yaml:"cursorParam" json:"cursorParam,omitempty" doc:"parameter that takes the token of the page before; in place of a template, and of pagination.cursorParam"`
	// AuthRequired is the same as being among the restricted endpoints of the auth.
	AuthRequired bool `yaml:"authRequired" json:"authRequired,omitzero" doc:"the endpoint is never asked without a credential, although the source is open"`
	// Body is the template of a whole body, in place of a form.
	Body        string  `yaml:"body" json:"body,omitempty" doc:"body of a POST in place of a form; a template, whose values are escaped as contentType asks; ${secret.NAME} is the place of the credential that is in: BODY under that name"`
	ContentType string  `yaml:"contentType" json:"contentType,omitempty" doc:"of body, default application/json; of a GET, which has none, the type of reply that is wanted: it says the format where that is not given"`
	Headers     Headers `yaml:"headers" json:"headers,omitempty" doc:"headers of this endpoint, before those of http.headers; templates; null takes one away that would be sent"`
	// Next is asked instead of query, form and body once there is a page before.
	Next *NextConfig `yaml:"next" json:"next,omitempty" doc:"what is sent instead for the pages after the first, such as a token and nothing else"`
	// PostOver sends the parameters as a form when the URL would be longer.
	PostOver int `yaml:"postOver" json:"postOver,omitzero" doc:"a GET whose URL would be longer than this goes as a POST with its parameters in a form"`
	// IDPattern is of DETAIL: ids that do not match are asked for by LOOKUP.
	IDPattern string   `yaml:"idPattern" json:"idPattern,omitempty" doc:"regular expression for the whole of an id that this DETAIL endpoint can be asked for, such as [^,]*; others go to the LOOKUP endpoint, one by one"`
	Cost      int      `yaml:"cost" json:"cost,omitzero" doc:"what a request counts against rate and quotas, default 1"`
	Hook      string   `yaml:"hook" json:"hook,omitempty" doc:"name of a compiled-in hook that rewrites the reply before it is read"`
	Format    string   `yaml:"format" json:"format" dict:"response_format" doc:"format of the reply"`
	Response  Response `yaml:"response" json:"response" doc:"where things are in a reply"`
}

// NextConfig is what following pages send; a part that is not given is that of
// the first page.
type NextConfig struct {
	Query map[string]string `yaml:"query" json:"query,omitempty" doc:"parameters of the following pages, in place of query"`
	Form  map[string]string `yaml:"form" json:"form,omitempty" doc:"form fields of the following pages, in place of form"`
	Body  string            `yaml:"body" json:"body,omitempty" doc:"body of the following pages, in place of body"`
}

// Response says where things are in a reply. Paths under Items are relative to
// the reply, those of the item relative to it.
type Response struct {
	// Items are the paths of the repeated element; more than one where a reply
	// mixes kinds, such as PubmedArticle and PubmedBookArticle.
	Items []string `yaml:"items" json:"items,omitempty" doc:"path of the repeated element"`
	// Root keeps an error body from being taken for an empty page. Empty: the list
	// itself must exist.
	Root      string      `yaml:"root" json:"root,omitempty" doc:"path that must exist even if there are no items"`
	ID        []Pick      `yaml:"id" json:"id,omitempty" doc:"where an item's id is"`
	UpdatedAt []DatedPick `yaml:"updatedAt" json:"updatedAt,omitempty" doc:"where an item's update time is, with the name of that date under key"`
	Version   []Pick      `yaml:"version" json:"version,omitempty" doc:"where the provider's version number is"`
	Total     string      `yaml:"total" json:"total,omitempty" doc:"path of the total, or header:NAME"`
	Token     string      `yaml:"nextToken" json:"nextToken,omitempty" doc:"path of the next token, or header:NAME"`
	// TokenParam: what is at Token is a URL, and this parameter of it the token (P4).
	TokenParam string     `yaml:"tokenParam" json:"tokenParam,omitempty" doc:"what nextToken leads to is a URL; the token is this parameter of it"`
	URL        string     `yaml:"nextUrl" json:"nextUrl,omitempty" doc:"path of the next link, or header:Link"`
	HasMore    string     `yaml:"hasMore" json:"hasMore,omitempty" doc:"path of a truth: there is more"`
	Deleted    []Presence `yaml:"deleted" json:"deleted,omitempty" doc:"places whose being there marks an item as deleted; it needs no other fields"`
	// Complete is of DETAIL, where an id left out is an answer (R31).
	Complete bool `yaml:"complete" json:"complete,omitzero" doc:"every id asked for that exists is in the reply, so that one left out of it is not there; not so of a search by ids"`
	// Namespaces are of XML: what the prefixes in paths stand for (P8).
	Namespaces map[string]string `yaml:"namespaces" json:"namespaces,omitempty" doc:"namespaces that prefixes in paths stand for, such as dc: http://purl.org/dc/elements/1.1/, whatever prefix the reply has for them; of XML; a prefix not given here is that of the reply"`
	Held       map[string]string `yaml:"held" json:"held,omitempty" doc:"values kept for later pages, as ${page.held.NAME}"`
	Signals    map[string]string `yaml:"signals" json:"signals,omitempty" doc:"places whose being there means something went wrong; faults refer to them"`
}

// Updated are the places of the update time.
func (r Response) Updated() []Pick {
	var out []Pick
	for _, p := range r.UpdatedAt {
		out = append(out, p.Pick)
	}
	return out
}

// DatedPick is a place of an update time and the name of the date found there.
type DatedPick struct {
	Pick
	Key string `json:"key,omitempty"`
}

// Size is a number of bytes, written as 32MiB or plain.
type Size int64

var sizeUnits = []struct {
	suffix string
	factor int64
}{{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}, {"B", 1}, {"", 1}}

// UnmarshalText reads 33554432, 32768KiB or 32MiB.
func (s *Size) UnmarshalText(b []byte) error {
	for _, u := range sizeUnits {
		digits, ok := strings.CutSuffix(string(b), u.suffix)
		if !ok {
			continue
		}
		n, err := strconv.ParseInt(strings.TrimSpace(digits), 10, 64)
		if err != nil || n < 0 || n > 1<<50/u.factor {
			break
		}
		*s = Size(n * u.factor)
		return nil
	}
	return fmt.Errorf("%q is not a size: write 32MiB or a number of bytes", b)
}

// MarshalJSON writes the number, which needs no reading.
func (s Size) MarshalJSON() ([]byte, error) { return strconv.AppendInt(nil, int64(s), 10), nil }

// UnmarshalJSON reads the number.
func (s *Size) UnmarshalJSON(b []byte) error {
	return json.Unmarshal(b, (*int64)(s))
}

// MarshalText writes the largest unit that divides the size.
func (s Size) MarshalText() ([]byte, error) {
	for _, u := range sizeUnits[:3] {
		if s != 0 && int64(s)%u.factor == 0 {
			return fmt.Appendf(nil, "%d%s", int64(s)/u.factor, u.suffix), nil
		}
	}
	return strconv.AppendInt(nil, int64(s), 10), nil
}

// canonical puts a code into its canonical form.
func canonical[S ~string](kind Dict, code *S) { *code = S(kind.Canonical(string(*code))) }

// Canonical returns the definition with every code in its canonical form, and
// the empty parts a person may leave out made plain. What is not a code at all
// stays as it is, for [Compile] to refuse.
func (d Definition) Canonical() Definition {
	d.Source = strings.ToLower(strings.TrimSpace(d.Source))
	d.RecordType = strings.ToLower(strings.TrimSpace(d.RecordType))
	canonical(DictIdentity, &d.Identity)
	d.Window = d.Window.canonical()
	d.Pagination = d.Pagination.canonical()
	d.Auth = d.Auth.canonical()
	d.RateLimit = d.RateLimit.canonical()
	d.Endpoints, d.Faults = canonicalEndpoints(d.Endpoints), canonicalFaults(d.Faults)
	tasks := d.Tasks
	d.Tasks = nil
	for op, o := range tasks {
		if o == nil || reflect.ValueOf(*o).IsZero() {
			continue
		}
		if d.Tasks == nil {
			d.Tasks = map[harvest.Operation]*Overrides{}
		}
		c := *o
		c.Window = o.Window.canonical()
		c.Pagination = o.Pagination.canonical()
		c.Auth = o.Auth.canonical()
		c.RateLimit = o.RateLimit.canonical()
		c.Endpoints, c.Faults = canonicalEndpoints(o.Endpoints), canonicalFaults(o.Faults)
		canonical(DictOperation, &op)
		d.Tasks[op] = &c
	}
	return d
}

func (w *WindowConfig) canonical() *WindowConfig {
	if w == nil {
		return nil
	}
	c := *w
	canonical(DictPrecision, &c.Precision)
	canonical(DictBound, &c.Bound)
	canonical(DictUpdatedAt, &c.UpdatedAt)
	canonical(DictStrategy, &c.Strategy)
	canonical(DictWindowMode, &c.Mode)
	canonical(DictOffset, &c.Offset)
	return &c
}

func (p *PaginationConfig) canonical() *PaginationConfig {
	if p == nil {
		return nil
	}
	c := *p
	canonical(DictPaging, &c.Type)
	canonical(DictTokenRepeat, &c.TokenRepeat)
	c.Total = c.Total.canonical()
	c.End = slices.Clone(p.End)
	for i := range c.End {
		canonical(DictEndProof, &c.End[i])
	}
	return &c
}

func (r *Rate) canonical() *Rate {
	if r == nil {
		return r
	}
	c := *r
	canonical(DictRateScope, &c.Scope)
	if r.Budget != nil {
		b := *r.Budget
		canonical(DictResetUnit, &b.Unit)
		c.Budget = &b
	}
	return &c
}

func canonicalEndpoints(in []Endpoint) []Endpoint {
	out := slices.Clone(in)
	for i := range out {
		e := &out[i]
		canonical(DictUsage, &e.Usage)
		canonical(DictMethod, &e.Method)
		canonical(DictFormat, &e.Format)
	}
	return out
}

func canonicalFaults(in []FaultRule) []FaultRule {
	out := slices.Clone(in)
	for i := range out {
		f := &out[i]
		canonical(DictLevel, &f.Level)
		canonical(DictReaction, &f.Reaction)
		if f.Reaction == "" {
			f.Reaction = harvest.GiveUp
			if f.Level == harvest.Transient {
				f.Reaction = harvest.Retry
			}
		}
	}
	return out
}
