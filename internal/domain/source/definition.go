package source

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/papertrace/patra/internal/domain/harvest"
)

// Definition is a source as a person describes it: the provenance itself and
// one part per dimension. A part that is nil, and a value that is zero, was not
// given; [Compile] puts the platform's default there and says so. The yaml tags
// are the names people write, and the paths that violations carry.
type Definition struct {
	// The provenance.
	Source     string `yaml:"source"` // provenance code, lower case
	Name       string `yaml:"name"`
	Homepage   string `yaml:"homepage"`
	BaseURL    string `yaml:"baseUrl"`
	Zone       string `yaml:"zone"` // of the source's days, unless the window has its own
	RecordType string `yaml:"recordType"`
	Identity   string `yaml:"identity"` // TEXT, DOI or NUMBER

	// The dimensions.
	HTTP       *HTTPConfig       `yaml:"http"`
	RateLimit  *RateLimitConfig  `yaml:"rateLimit"`
	Retry      *RetryConfig      `yaml:"retry"`
	Window     *WindowConfig     `yaml:"window"`
	Pagination *PaginationConfig `yaml:"pagination"`
	Batching   *BatchingConfig   `yaml:"batching"`
	Endpoints  []EndpointConfig  `yaml:"endpoints"` // written as a map by name
	Faults     []FaultRule       `yaml:"faults"`
	Mapping    Mapping           `yaml:"mapping"`
}

// HTTPConfig is the transport dimension.
type HTTPConfig struct {
	Headers        map[string]string `yaml:"headers"`
	ConnectTimeout Duration          `yaml:"connectTimeout"`
	ReadTimeout    Duration          `yaml:"readTimeout"`
	TotalTimeout   Duration          `yaml:"totalTimeout"`
	AllowHTTP      bool              `yaml:"allowHttp"`
	AllowPrivate   bool              `yaml:"allowPrivate"`
	MaxBody        Size              `yaml:"maxBody"`
}

// WindowConfig is the window and watermark dimension.
type WindowConfig struct {
	// Key names the date the source is harvested by.
	Key string `yaml:"key"`
	// Filters say which word of a request filters by which date, so that the
	// filter sent and the update time read can be held against Key (C19).
	Filters   map[string]string `yaml:"filters"`
	Precision harvest.Precision `yaml:"precision"`
	Zone      string            `yaml:"zone"`
	// Bound is CLOSED if the upper bound sent includes itself, else OPEN.
	Bound     string    `yaml:"bound"`
	UpdatedAt string    `yaml:"updatedAt"` // PATH, WINDOW or NONE (R57)
	SafetyLag *Duration `yaml:"safetyLag"`
	Align     Duration  `yaml:"align"`
	Overlap   *Duration `yaml:"overlap"`
	Baseline  Duration  `yaml:"baseline"`
	Step      Duration  `yaml:"step"`
	MinStep   Duration  `yaml:"minStep"`
	Target    int64     `yaml:"target"` // wanted records per slice
}

// PaginationConfig is the paging dimension.
type PaginationConfig struct {
	Type      harvest.PagingType `yaml:"type"`
	PageSize  int                `yaml:"pageSize"`
	FirstPage *int               `yaml:"firstPage"` // of PAGE: 0 or 1
	// TokenRepeat is END or CONTINUE: what a token that comes again means (R22).
	TokenRepeat   string             `yaml:"tokenRepeat"`
	TokenStateful bool               `yaml:"tokenStateful"`
	Total         string             `yaml:"total"` // EXACT or ROUGH
	Snapshot      bool               `yaml:"snapshot"`
	Order         string             `yaml:"order"`
	End           []harvest.EndProof `yaml:"end"`
	MaxItems      int64              `yaml:"maxItems"`
	MaxPages      int                `yaml:"maxPages"`
}

// BatchingConfig is the dimension of the detail phase.
type BatchingConfig struct {
	IDBatchSize int `yaml:"idBatchSize"`
}

// RetryConfig is the retry dimension.
type RetryConfig struct {
	MaxAttempts int      `yaml:"maxAttempts"`
	Base        Duration `yaml:"base"`
	Max         Duration `yaml:"max"`
}

// RateLimitConfig is the rate dimension: the provider's word and our share.
type RateLimitConfig struct {
	Limit        int      `yaml:"limit"`
	Window       Duration `yaml:"window"`
	QPS          float64  `yaml:"qps"`
	Burst        int      `yaml:"burst"`
	Concurrency  int      `yaml:"concurrency"`
	Key          string   `yaml:"key"`
	LimitHeaders []string `yaml:"limitHeaders"`
}

// Usages of an endpoint.
const (
	UsageSearch = "SEARCH"
	UsageCount  = "COUNT"
	UsageDetail = "DETAIL"
)

// EndpointConfig is one endpoint.
type EndpointConfig struct {
	Name     string            `yaml:"-"`
	Usage    string            `yaml:"usage"`
	Method   string            `yaml:"method"`
	Path     string            `yaml:"path"`
	Query    map[string]string `yaml:"query"`
	Form     map[string]string `yaml:"form"`
	Headers  map[string]string `yaml:"headers"`
	Format   string            `yaml:"format"`
	Response ResponseConfig    `yaml:"response"`
}

// ResponseConfig is a [Response] whose update times name their date.
type ResponseConfig struct {
	Items     []string          `yaml:"items"`
	Root      string            `yaml:"root"`
	ID        []Pick            `yaml:"id"`
	UpdatedAt []DatedPick       `yaml:"updatedAt"`
	Version   []Pick            `yaml:"version"`
	Total     string            `yaml:"total"`
	NextToken string            `yaml:"nextToken"`
	NextURL   string            `yaml:"nextUrl"`
	HasMore   string            `yaml:"hasMore"`
	Held      map[string]string `yaml:"held"`
	Signals   map[string]string `yaml:"signals"`
}

// DatedPick is a place of an update time and the name of the date found there.
type DatedPick struct {
	Pick
	Key string
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

// MarshalText writes the largest unit that divides the size.
func (s Size) MarshalText() ([]byte, error) {
	for _, u := range sizeUnits[:3] {
		if s != 0 && int64(s)%u.factor == 0 {
			return fmt.Appendf(nil, "%d%s", int64(s)/u.factor, u.suffix), nil
		}
	}
	return strconv.AppendInt(nil, int64(s), 10), nil
}

// Other words for codes (C9, C10). Everything else is read in any case.
var codeAliases = map[string]map[string]string{
	"paging": {"PAGE_NUMBER": "PAGE", "CURSOR": "TOKEN"},
	"usage":  {"FETCH": UsageDetail},
	"end": {
		"EMPTY": string(harvest.EndEmpty), "REPEAT": string(harvest.EndRepeat),
		"HAS_MORE": string(harvest.EndHasMore), "TOTAL": string(harvest.EndTotal),
	},
	"level": {
		"TRANSIENT": string(harvest.Transient), "REJECTED": string(harvest.Rejected),
		"CORRUPT": string(harvest.Corrupt), "FATAL": string(harvest.Fatal),
	},
}

func canonical[S ~string](kind string, code *S) {
	c := strings.ToUpper(strings.TrimSpace(string(*code)))
	if a, ok := codeAliases[kind][c]; ok {
		c = a
	}
	*code = S(c)
}

// Canonical returns the definition with every code in its canonical form, and
// the empty parts a person may leave out made plain. What is not a code at all
// stays as it is, for [Compile] to refuse.
func (d Definition) Canonical() Definition {
	d.Source = strings.ToLower(strings.TrimSpace(d.Source))
	d.RecordType = strings.ToLower(strings.TrimSpace(d.RecordType))
	canonical("", &d.Identity)
	if d.Window != nil {
		w := *d.Window
		canonical("", &w.Precision)
		canonical("", &w.Bound)
		canonical("", &w.UpdatedAt)
		d.Window = &w
	}
	if d.Pagination != nil {
		p := *d.Pagination
		canonical("paging", &p.Type)
		canonical("", &p.TokenRepeat)
		canonical("", &p.Total)
		p.End = slices.Clone(p.End)
		for i := range p.End {
			canonical("end", &p.End[i])
		}
		d.Pagination = &p
	}
	d.Endpoints = slices.Clone(d.Endpoints)
	for i := range d.Endpoints {
		e := &d.Endpoints[i]
		canonical("usage", &e.Usage)
		canonical("", &e.Method)
		canonical("", &e.Format)
	}
	d.Faults = slices.Clone(d.Faults)
	for i := range d.Faults {
		f := &d.Faults[i]
		canonical("level", &f.Level)
		canonical("", &f.Reaction)
		if f.Reaction == "" {
			f.Reaction = harvest.GiveUp
			if f.Level == harvest.Transient {
				f.Reaction = harvest.Retry
			}
		}
	}
	return d
}
