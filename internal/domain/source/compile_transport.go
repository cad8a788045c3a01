package source

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/pace"
	"github.com/papertrace/patra/internal/domain/template"
)

// baseURL checks what the paths of endpoints are added to: that of the transport,
// or else the source's own.
func (c *compiler) baseURL() string {
	path, base := "baseUrl", c.def.BaseURL
	if c.def.HTTP != nil && c.def.HTTP.BaseURL != "" {
		path, base = "http.baseUrl", c.def.HTTP.BaseURL
	}
	if base == "" {
		c.fail(path, "is required, such as https://api.example.org")
		return ""
	}
	u, err := url.Parse(base)
	if err != nil || u.Host == "" {
		c.fail(path, "%q is not a URL", base)
		return ""
	}
	switch {
	case u.Scheme != "https" && u.Scheme != "http":
		c.fail(path, "scheme %q is not https", u.Scheme)
	case u.Scheme == "http" && (c.def.HTTP == nil || !c.def.HTTP.AllowHTTP):
		c.fail(path, "plain http needs http.allowHttp: true")
	}
	if u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		c.fail(path, "user, query and fragment do not belong into a base URL")
	}
	return strings.TrimRight(base, "/")
}

func (c *compiler) http() {
	var h HTTP
	if c.def.HTTP == nil {
		c.note("http", "not given, taken as timeouts %s, %s, %s and bodies up to 32 MiB",
			defaultConnectTimeout, defaultReadTimeout, defaultTotalTimeout)
	} else {
		h = *c.def.HTTP
	}
	h.BaseURL = c.baseURL()
	// A missing part was noted as a whole; only parts given are noted one by one.
	or := func(path string, d Duration, def time.Duration) Duration {
		if c.def.HTTP == nil {
			return Duration(def)
		}
		return c.duration("http."+path, d, def)
	}
	total := max(defaultTotalTimeout, min(maxTimeout, 2*h.ReadTimeout.D()))
	h.ConnectTimeout = or("connectTimeout", h.ConnectTimeout, defaultConnectTimeout)
	h.ReadTimeout = or("readTimeout", h.ReadTimeout, defaultReadTimeout)
	h.TotalTimeout = or("totalTimeout", h.TotalTimeout, total)
	for _, x := range []struct {
		path string
		d    Duration
	}{{"connectTimeout", h.ConnectTimeout}, {"readTimeout", h.ReadTimeout}, {"totalTimeout", h.TotalTimeout}} {
		if x.d <= 0 || x.d.D() > maxTimeout {
			c.fail("http."+x.path, "%s is not within (0, %s]", x.d.D(), maxTimeout)
		}
	}
	if h.TotalTimeout < h.ConnectTimeout || h.TotalTimeout < h.ReadTimeout {
		c.fail("http.totalTimeout", "%s is shorter than a part of it", h.TotalTimeout.D())
	}
	h.MaxBody = cmp.Or(h.MaxBody, defaultMaxBody)
	if h.MaxBody < 0 || h.MaxBody > maxMaxBody {
		c.fail("http.maxBody", "%d is not within (0, 1GiB]", h.MaxBody)
	}
	h.Headers = maps.Clone(h.Headers)
	c.headers("http.headers", h.Headers)
	texts := h.Headers.Texts()
	for _, name := range keysOf(texts) {
		c.headerTemplate(join("http.headers", name), texts[name])
	}
	h.Proxy = c.proxy(h.Proxy)
	h.TLS = c.tls(h.TLS)
	h.Redirects = c.redirects(h.Redirects)
	c.spec.HTTP = h
}

// proxy checks the address of a proxy and returns it without what does not matter.
func (c *compiler) proxy(s string) string {
	if s == "" {
		return ""
	}
	u, err := url.Parse(s)
	if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") || u.User != nil || strings.Trim(u.Path, "/") != "" || u.RawQuery != "" {
		c.fail("http.proxy", "%q is not the address of a proxy, such as http://proxy.example.org:3128", redactUser(u, s))
		return ""
	}
	return u.Scheme + "://" + u.Host
}

// redactUser keeps a password out of the message that refuses it.
func redactUser(u *url.URL, s string) string {
	if u == nil {
		return "the value"
	}
	if u.User == nil {
		return s
	}
	return u.Redacted()
}

// redirects checks where they may lead (R59).
func (c *compiler) redirects(cfg *RedirectConfig) *RedirectConfig {
	const path = "http.redirects"
	if cfg == nil {
		return nil
	}
	r := RedirectConfig{Max: cmp.Or(cfg.Max, 3)}
	if r.Max < 0 || r.Max > 3 {
		c.fail(path+".max", "%d is not within [1, 3]", cfg.Max)
	}
	for i, h := range cfg.Hosts {
		if u, err := url.Parse("https://" + h); err != nil || u.Host != h || u.User != nil || strings.Contains(h, "*") {
			c.fail(fmt.Sprintf("%s.hosts[%d]", path, i), "%q is not a host such as api.example.org", h)
		}
		r.Hosts = append(r.Hosts, strings.ToLower(h))
	}
	return &r
}

// headerTemplate checks the template of a header that every endpoint sends.
func (c *compiler) headerTemplate(path, text string) {
	t, err := ParseTemplate(text)
	if err != nil {
		c.fail(path, "%v", err)
		return
	}
	c.instanceValues(path, t)
}

// instanceValues checks that a template reads no more of the instance than there is.
func (c *compiler) instanceValues(path string, t *template.Template) {
	for _, v := range t.Names() {
		name, is := strings.CutPrefix(v, "vars.")
		if is && !slices.Contains(instanceVars, name) {
			c.fail(path, "variable %s is not known%s", v, Suggest(v, []string{"vars.contact", "vars.tool"}))
		}
	}
}

var headerName = regexp.MustCompile("^[A-Za-z0-9!#$%&'*+.^_`|~-]+$")

// headers refuses those that a source may not set (R44).
func (c *compiler) headers(path string, h Headers) {
	texts, before := h.Texts(), map[string]string{}
	for _, k := range keysOf(h) {
		lower := strings.ToLower(k)
		if first, twice := before[lower]; twice {
			c.fail(join(path, k), "is given as %s already", first)
		}
		before[lower] = k
		switch {
		case !headerName.MatchString(k):
			c.fail(join(path, k), "%q is not a header name", k)
		case lower == "authorization" || lower == "proxy-authorization" || lower == "host" || lower == "cookie":
			c.fail(join(path, k), "this header cannot be set by a source; credentials have their own place")
		case strings.ContainsAny(texts[k], "\r\n\x00"):
			c.fail(join(path, k), "a header holds no line break")
		}
	}
}

func (c *compiler) rate() {
	const path = "rateLimit"
	if c.def.RateLimit == nil {
		c.note(path, "not given, taken as %v request a second, burst 1", defaultQPS)
		c.spec.Rate = Rate{Key: c.def.Source, QPS: defaultQPS, Burst: 1}
		return
	}
	c.spec.Rate = c.rateLimit(path, *c.def.RateLimit)
	if c.spec.Rate.Scope == RatePerKey && c.def.Auth == nil {
		c.fail(path+".scope", "%s belongs to a source with auth", RatePerKey)
	}
}

// rateLimit checks our share against the provider's word (R37, R91), and fills in
// what was not said.
func (c *compiler) rateLimit(path string, r Rate) Rate {
	r = r.clone()
	r.Key = cmp.Or(r.Key, c.def.Source)
	for i, h := range r.LimitHeaders {
		if !headerName.MatchString(h) {
			c.fail(fmt.Sprintf("%s.limitHeaders[%d]", path, i), "%q is not a header name", h)
		}
	}
	c.quotas(path, r)
	c.quotaParts(path, &r)
	c.adapt(path+".adapt", r)
	if r.Scope != "" {
		coded(c, path+".scope", DictRateScope, r.Scope)
	}
	for _, x := range []struct {
		path string
		n    float64
	}{
		{"limit", float64(r.Limit)},
		{"window", float64(r.Window)},
		{"jitter", float64(r.Jitter)},
		{"qps", r.QPS},
		{"burst", float64(r.Burst)},
		{"concurrency", float64(r.Concurrency)},
	} {
		if x.n < 0 || math.IsNaN(x.n) || math.IsInf(x.n, 0) {
			c.fail(path+"."+x.path, "%v is below zero or no number", x.n)
			return r
		}
	}
	if j := r.Jitter.D(); j != 0 && (j < minJitter || j > maxJitter) {
		c.fail(path+".jitter", "%s is not within [%s, %s]", j, minJitter, maxJitter)
	}
	r.Burst = orDefault(c, path+".burst", r.Burst, 1)
	if r.Limit == 0 {
		if r.Window != 0 {
			c.fail(path+".limit", "a window is given without the limit that holds in it")
		}
		if r.Burst != 1 {
			c.fail(path+".burst", "is %d, but without the provider's limit declared only 1 is safe", r.Burst)
		}
		r.QPS = orDefault(c, path+".qps", r.QPS, defaultQPS)
		return r
	}
	r.Window = c.duration(path+".window", r.Window, time.Second)
	window := r.Window.D()
	most := pace.Share(float64(r.Limit), r.Burst, window, r.Jitter.D())
	if r.QPS == 0 && most > 0 {
		c.note(path+".qps", "not given, taken as %.3g, which the limit leaves with room for the way", most)
		r.QPS = most
		return r
	}
	if r.QPS > 0 && pace.Fits(r.QPS, r.Burst, float64(r.Limit), window, r.Jitter.D()) {
		return r
	}
	jitter := cmp.Or(r.Jitter.D(), pace.Jitter)
	next := fmt.Sprintf("qps: %.3g or less", math.Floor(most*1000)/1000)
	if most <= 0 {
		next = "burst: 1, or a smaller one"
	}
	c.fail(path, "%v a second with a burst of %d, arriving up to %s early or late, exceeds the provider's limit of %d in %s; next: %s",
		r.QPS, r.Burst, jitter, r.Limit, window, next)
	return r
}

// clone shares nothing with r, so that a plan's snapshot does not change with the
// description it was made of.
func (r Rate) clone() Rate {
	r.LimitHeaders = slices.Clone(r.LimitHeaders)
	r.Quotas = slices.Clone(r.Quotas)
	r.RetryAfterOn = slices.Clone(r.RetryAfterOn)
	if r.Budget != nil {
		r.Budget = new(*r.Budget)
	}
	if r.Adapt != nil {
		r.Adapt = new(*r.Adapt)
	}
	if r.QuotaReserve != nil {
		r.QuotaReserve = new(*r.QuotaReserve)
	}
	if r.QuotaShares != nil {
		r.QuotaShares = new(*r.QuotaShares)
	}
	return r
}

// Jitter below the first could not be kept, above the second it would be a pause.
const (
	minJitter = 5 * time.Millisecond
	maxJitter = 5 * time.Second
)

// quotas checks limits over longer times, and the headers that tell of them.
func (c *compiler) quotas(path string, r Rate) {
	for i, q := range r.Quotas {
		at := fmt.Sprintf("%s.quotas[%d]", path, i)
		if q.Limit < 1 {
			c.fail(at+".limit", "%d is below 1", q.Limit)
		}
		if q.Window < Duration(time.Second) {
			c.fail(at+".window", "%s is shorter than a second", q.Window.D())
		}
		if q.Zone != "" {
			if _, err := time.LoadLocation(q.Zone); err != nil {
				c.fail(at+".zone", "%q is not a time zone", q.Zone)
			}
			if q.Window != Duration(24*time.Hour) {
				c.fail(at+".zone", "belongs to the quota of a day")
			}
		}
	}
	if b := r.Budget; b != nil {
		for name, h := range map[string]string{"remaining": b.Remaining, "reset": b.Reset} {
			if !headerName.MatchString(h) {
				c.fail(path+".budget."+name, "%q is not a header name", h)
			}
		}
		coded(c, path+".budget.unit", DictResetUnit, b.Unit)
	}
	for i, s := range r.RetryAfterOn {
		if s < 200 || s > 599 {
			c.fail(fmt.Sprintf("%s.retryAfterOn[%d]", path, i), "%d is not an HTTP status", s)
		}
	}
}

// adapt refuses what would have the rate give way too little, or never come back.
func (c *compiler) adapt(path string, r Rate) {
	a := r.Adapt
	if a == nil {
		return
	}
	for _, x := range []struct {
		key       string
		n, lo, hi float64
	}{
		{"outcomes", float64(a.Outcomes), 1, 64},
		{"cutAt", a.CutAt, 0.01, 1},
		{"holdAt", a.HoldAt, 0.01, 1},
		{"factor", a.Factor, 0.1, 0.9},
		{"step", a.Step, 0.01, 1},
		{"floor", a.Floor, 0.001, cmp.Or(r.QPS, math.MaxFloat64)},
		{"coolDown", a.CoolDown.D().Seconds(), 1, 3600},
		{"warmUp", a.WarmUp.D().Seconds(), 1, 86400},
	} {
		if x.n != 0 && !(x.n >= x.lo && x.n <= x.hi) {
			c.fail(path+"."+x.key, "%v is not within [%v, %v]", x.n, x.lo, x.hi)
		}
	}
	merged := a.Over(pace.Adapt{CutAt: 0.25, HoldAt: 0.1})
	if merged.HoldAt > merged.CutAt {
		c.fail(path+".holdAt", "%v is above cutAt, %v", merged.HoldAt, merged.CutAt)
	}
}

func (c *compiler) retry() {
	const path = "retry"
	if c.def.Retry == nil {
		c.spec.Retry = Retry{Attempts: defaultAttempts, Base: Duration(defaultRetryBase), Max: Duration(defaultRetryMax)}
		c.note(path, "not given, taken as %d attempts, %s doubling up to %s", defaultAttempts, defaultRetryBase, defaultRetryMax)
		return
	}
	r := *c.def.Retry
	r.Attempts = orDefault(c, path+".maxAttempts", r.Attempts, defaultAttempts)
	r.Base = c.duration(path+".base", r.Base, defaultRetryBase)
	r.Max = c.duration(path+".max", r.Max, defaultRetryMax)
	if r.Attempts < 1 || r.Attempts > maxAttempts {
		c.fail(path+".maxAttempts", "%d is not within [1, %d]", r.Attempts, maxAttempts)
	}
	if r.Factor != 0 && !(r.Factor >= 1 && r.Factor <= 10) {
		c.fail(path+".factor", "%v is not within [1, 10]", r.Factor)
	}
	if r.Jitter < 0 || r.Jitter > 100 {
		c.fail(path+".jitter", "%d is not within [1, 100]", r.Jitter)
	}
	if r.Base < 0 || r.Max < r.Base {
		c.fail(path+".max", "%s is below the first wait of %s", r.Max.D(), r.Base.D())
	}
	c.breaker(path, r)
	c.statuses(path, r)
	r.RetryOn = nil
	r.GiveUpOn = nil
	c.spec.Retry = r
}

// breaker checks when nothing more is asked for a while.
func (c *compiler) breaker(path string, r Retry) {
	if r.BreakAfter < 0 || r.BreakAfter > maxBreakAfter {
		c.fail(path+".breakAfter", "%d is not within [1, %d]", r.BreakAfter, maxBreakAfter)
	}
	b := r.Breaker().Filled()
	if r.BreakRest < 0 || r.BreakRest != 0 && r.BreakRest.D() < time.Second {
		c.fail(path+".breakRest", "%s is shorter than a second", r.BreakRest.D())
	}
	if b.Most > harvest.LongestWait || r.BreakMost < 0 || r.BreakMost != 0 && r.BreakMost < r.BreakRest {
		c.fail(path+".breakMost", "%s is shorter than the first rest, or longer than a day", b.Most)
	}
}

// statuses checks after which statuses a request is repeated, and after which it is not.
func (c *compiler) statuses(path string, r Retry) {
	for i, s := range r.RetryOn {
		at := fmt.Sprintf("%s.retryOn[%d]", path, i)
		switch {
		case s < 400 || s > 599:
			c.fail(at, "%d is no HTTP status of a failure", s)
		case slices.Contains(r.GiveUpOn, s):
			c.fail(at, "%d is among giveUpOn as well", s)
		}
	}
	for i, s := range r.GiveUpOn {
		at := fmt.Sprintf("%s.giveUpOn[%d]", path, i)
		switch {
		case s < 400 || s > 599:
			c.fail(at, "%d is no HTTP status of a failure", s)
		case s == 429:
			c.fail(at, "429 asks for a slower rate, and is waited out")
		}
	}
}

// statusRules are the rules that the lists of statuses come to. What is repeated anyway is
// left to the platform, which also heeds what such a reply says of the rate.
func statusRules(r *Retry) []FaultRule {
	if r == nil {
		return nil
	}
	var out []FaultRule
	again := slices.DeleteFunc(slices.Clone(r.RetryOn), func(s int) bool { return s == 408 || s == 429 || s >= 500 })
	if len(again) > 0 {
		out = append(out, FaultRule{Status: again, Level: harvest.Transient, Reaction: harvest.Retry, Code: "status_retried"})
	}
	if len(r.GiveUpOn) > 0 {
		out = append(out, FaultRule{Status: slices.Clone(r.GiveUpOn), Level: harvest.Rejected, Reaction: harvest.GiveUp, Code: "status_given_up"})
	}
	return out
}
