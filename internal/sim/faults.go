package sim

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"
)

// Fault is a way in which an upstream misbehaves.
type Fault string

const (
	HTTP500           Fault = "http_500"
	HTTP502HTML       Fault = "http_502_html"
	HTTP503           Fault = "http_503"      // with Retry-After in seconds
	HTTP503Date       Fault = "http_503_date" // with Retry-After as a date by the simulator's clock
	HTTP504HTML       Fault = "http_504_html"
	HTTP429           Fault = "http_429" // although the limit was kept
	HTTP429RetryAfter Fault = "http_429_retry_after"
	ResetBeforeHeader Fault = "reset_before_headers"
	ResetMidBody      Fault = "reset_mid_body"
	TruncatedBody     Fault = "truncated_body" // the connection ends before the body does
	ServedLost        Fault = "served_lost"    // the request took effect, the answer never comes
	Slow              Fault = "slow"
	HTML200           Fault = "html_200"
	Empty200          Fault = "empty_200"
	Error200          Fault = "error_200"  // the source's own in-band error
	Viewer400         Fault = "viewer_400" // EFetch's 400 that is transient all the same
	InvalidUTF8       Fault = "invalid_utf8"
	BadJSON           Fault = "bad_json" // the body, JSON or XML, stops in the middle of a proper answer
	ShortPage         Fault = "short_page"
	EmptyMiddlePage   Fault = "empty_middle_page"
	RepeatedPage      Fault = "repeated_page"
	CursorExpired     Fault = "cursor_expired"
	WebEnvLost        Fault = "webenv_lost"
	DetailMissing     Fault = "detail_missing"
	DetailExtra       Fault = "detail_extra"
	DetailBadItem     Fault = "detail_bad_item"
	TotalWrong        Fault = "total_wrong"
	Errorlist         Fault = "errorlist"
	RetryAfterOn200   Fault = "retry_after_on_200"
	TokenDropped      Fault = "token_dropped"       // a page comes without the token or link of the next one
	TokenDroppedShort Fault = "token_dropped_short" // the same, of a page that lacks items too
	TotalDropped      Fault = "total_dropped"       // a page comes without its total
)

// AllFaults lists every kind, in the order in which rates are tried.
var AllFaults = []Fault{
	HTTP500, HTTP502HTML, HTTP503, HTTP503Date, HTTP504HTML, HTTP429, HTTP429RetryAfter, ResetBeforeHeader, ResetMidBody,
	TruncatedBody, ServedLost, Slow, HTML200, Empty200, Error200, Viewer400, InvalidUTF8, BadJSON, ShortPage, EmptyMiddlePage,
	RepeatedPage, CursorExpired, WebEnvLost, DetailMissing, DetailExtra, DetailBadItem, TotalWrong, Errorlist, RetryAfterOn200,
	TokenDropped, TokenDroppedShort, TotalDropped,
}

// harmless faults leave a complete answer: they use up no patience.
func (f Fault) harmless() bool {
	return f == Slow || f == RetryAfterOn200 || f == ShortPage || f == DetailExtra
}

// odd faults look like a change of the service rather than a hiccup; a careful
// client gives up on a second one in a row.
func (f Fault) odd() bool {
	return f == HTML200 || f == Empty200 || f == Error200 || f == BadJSON || f == Viewer400
}

// dropsToken says whether a page comes without the way to the next one.
func (f Fault) dropsToken() bool { return f == TokenDropped || f == TokenDroppedShort }

// shortens says whether a page comes with fewer items than it should.
func (f Fault) shortens() bool { return f == ShortPage || f == TokenDroppedShort }

// early faults are answered without the request having any effect.
func (f Fault) early() bool {
	switch f {
	case HTTP500, HTTP502HTML, HTTP503, HTTP503Date, HTTP504HTML, HTTP429, HTTP429RetryAfter, ResetBeforeHeader, HTML200, Empty200, Error200, Viewer400:
		return true
	}
	return false
}

// Faults says how often what goes wrong. Rates are shares of the requests a
// fault can apply to; a source in Sources uses its own rates instead.
type Faults struct {
	Rates       map[Fault]float64            `json:"rates,omitempty"`
	Sources     map[string]map[Fault]float64 `json:"sources,omitempty"`
	MaxInRow    int                          `json:"max_in_row,omitempty"`    // faults in a row per source; 0: no bound
	MaxPerQuery int                          `json:"max_per_query,omitempty"` // faults per query until the clock moves; 0: no bound
	RetryAfter  int                          `json:"retry_after,omitempty"`   // seconds; default 1
	DelayMS     int                          `json:"delay_ms,omitempty"`      // of a slow answer; default 500
}

func (f Faults) retryAfter() time.Duration { return time.Duration(max(f.RetryAfter, 1)) * time.Second }

func (f Faults) delay() time.Duration {
	if f.DelayMS == 0 {
		return 500 * time.Millisecond
	}
	return time.Duration(f.DelayMS) * time.Millisecond
}

func (f Faults) rates(source string) map[Fault]float64 {
	if own, ok := f.Sources[source]; ok {
		return own
	}
	return f.Rates
}

func (f Faults) validate() error {
	var errs []error
	check := func(where string, rates map[Fault]float64) {
		for kind, rate := range rates {
			if !slices.Contains(AllFaults, kind) {
				errs = append(errs, fmt.Errorf("fault %q%s is not known", kind, where))
			}
			if rate < 0 || rate > 1 {
				errs = append(errs, fmt.Errorf("fault %q%s: rate %v must lie between 0 and 1", kind, where, rate))
			}
		}
	}
	check("", f.Rates)
	for source, rates := range f.Sources {
		check(" of "+source, rates)
	}
	return errors.Join(errs...)
}

// ParseFaults reads none, light, heavy or the name of a JSON file that holds a
// [Faults].
//
// light makes about two requests in a hundred go wrong, heavy about thirteen. Both
// contain only what a client can recover from: at most three faults in a row for
// a source, at most two that break the same query (a cursor walk counts as one
// query) until the clock moves, of these at most one that looks like a change of
// the service, and no id that is left out or spoiled twice.
func ParseFaults(nameOrFile string) (Faults, error) {
	switch nameOrFile {
	case "", "none":
		return Faults{}, nil
	case "light":
		return lightFaults(), nil
	case "heavy":
		return heavyFaults(), nil
	}
	raw, err := os.ReadFile(nameOrFile)
	if err != nil {
		return Faults{}, fmt.Errorf("read faults (none, light, heavy or a file): %w", err)
	}
	f, err := decodeFaults(string(raw))
	if err != nil {
		return Faults{}, fmt.Errorf("read faults from %s: %w", nameOrFile, err)
	}
	return f, nil
}

func decodeFaults(raw string) (Faults, error) {
	var f Faults
	d := json.NewDecoder(strings.NewReader(raw))
	d.DisallowUnknownFields()
	if err := d.Decode(&f); err != nil {
		return Faults{}, err
	}
	return f, f.validate()
}

func lightFaults() Faults {
	return Faults{MaxInRow: 3, MaxPerQuery: 2, Rates: map[Fault]float64{
		HTTP500: .003, HTTP502HTML: .002, HTTP503: .003, HTTP429RetryAfter: .002, ResetBeforeHeader: .003, TruncatedBody: .002,
		ServedLost: .002, Slow: .002, ShortPage: .002, DetailMissing: .002, RetryAfterOn200: .001,
	}}
}

func heavyFaults() Faults {
	rates := map[Fault]float64{
		HTTP500: .012, HTTP502HTML: .008, HTTP503: .008, HTTP503Date: .004, HTTP504HTML: .008, HTTP429: .004, HTTP429RetryAfter: .004,
		ResetBeforeHeader: .012, ResetMidBody: .008, TruncatedBody: .008, ServedLost: .010, Slow: .005, HTML200: .004, Empty200: .004,
		Error200: .003, Viewer400: .003, BadJSON: .004, ShortPage: .010, EmptyMiddlePage: .003, RepeatedPage: .003, CursorExpired: .005,
		WebEnvLost: .005, DetailMissing: .010, DetailExtra: .005, DetailBadItem: .005, RetryAfterOn200: .010,
	}
	// A wrong total can be seen through by walking again. ESearch's cannot: there it
	// is the only proof there is.
	walks := maps.Clone(rates)
	walks[TotalWrong] = .003
	return Faults{MaxInRow: 3, MaxPerQuery: 2, Rates: rates, Sources: map[string]map[Fault]float64{Crossref: walks, EuropePMC: walks}}
}
