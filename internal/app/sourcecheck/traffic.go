package sourcecheck

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/source"
)

// unread says why a group has nothing to look at, if so.
func (j *job) unread(l *lines, own string) bool {
	switch {
	case j.root != "" && j.root != own:
		l.skip(j.root)
	case j.read == nil:
		*l = append(*l, Check{Status: Skipped, Text: "skipped: nothing was read"})
	default:
		return false
	}
	return true
}

// answered reports whether any whole reply came.
func (j *job) answered() bool {
	return slices.ContainsFunc(j.wire, func(e Exchange) bool { return e.Status != 0 })
}

// network: is the base URL reached?
func (j *job) network(l *lines) {
	if !j.answered() && j.unread(l, Network) {
		return
	}
	e := j.last()
	if e == nil {
		j.unread(l, "") // nothing was sent
		return
	}
	host := e.URL
	if u, err := url.Parse(e.URL); err == nil {
		host = u.Host
	}
	if j.root == Network {
		text, fix := failure(e, host)
		l.fail(fix, "%s: %s", text, e.Error)
		return
	}
	how := "plain http"
	if e.TLS != "" {
		how = e.TLS
	}
	at := ""
	if e.Address != "" && e.Address != host {
		at = " at " + e.Address
	}
	l.ok("%s answers%s, %s", host, at, how)
	if !e.CertUntil.IsZero() && e.CertUntil.Sub(j.Now) < soon {
		l.warn("tell the provider; afterwards nothing can be read", "the certificate of %s ends %s", host, stamp(e.CertUntil))
	}
	j.clocks(l)
	for _, e := range j.wire {
		if e.Differs != "" {
			l.warn("run the check online once more with --save", "the saved reply stands for another request than would be sent now: %s", e.Differs)
			return
		}
	}
}

// clocks compares the upstream's clock with ours.
func (j *job) clocks(l *lines) {
	at := j.read.upstreamAt
	switch {
	case j.read.wild:
		l.warn("check this machine's clock, then tell the provider; windows end by the store's clock", "the upstream's clock says %s, ours %s: too far off to be believed", stamp(at), stamp(j.Now))
	case at.IsZero() || j.read.skew.Abs() < 5*time.Minute:
	case j.BaseURL != "":
		l.ok("its clock says %s; windows end by it", stamp(at))
	default:
		l.warn("check this machine's clock; windows end by the earlier of both", "the upstream's clock says %s, ours %s", stamp(at), stamp(j.Now))
	}
}

func failure(e *Exchange, host string) (text, fix string) {
	switch e.Failure {
	case FailDNS:
		return "the name " + host + " cannot be resolved", "look for a slip in baseUrl or --base-url, then at this machine's DNS"
	case FailConnect:
		return "no connection to " + host, "is the address right, is the service up, does a firewall or proxy stand between?"
	case FailTLS:
		return "no secure connection to " + host, "check this machine's clock and its list of authorities, and that the address is meant to be https"
	case FailTimeout:
		return host + " took too long", "try again later, or raise http.readTimeout and http.totalTimeout in the pack"
	case FailBlocked:
		return host + " leads to an address that is not public", "use --base-url for a mirror or simulator, or http.allowPrivate: true in the pack if this is meant"
	case FailCut:
		return "the reply of " + host + " broke off", "try again; if it happens always, the page may be too large: lower pagination.pageSize"
	}
	return "the exchange with " + host + " failed", "try again; --show http shows how far it came"
}

// allowed is the rate the test read went with.
func (j *job) allowed() source.Rate { return j.Spec.Allowed(j.Used != "") }

// rate: what is configured against what the upstream says.
func (j *job) rate(l *lines) {
	if j.root == Rate {
		j.throttled(l)
	} else if !j.answered() && j.unread(l, Rate) {
		return
	}
	r := j.allowed()
	j.rep.Figures.QPS = r.QPS
	l.ok("configured: %s", describeRate(r))
	if !j.QuietUntil.IsZero() {
		l.warn("check outside of them if the provider minds every request", "quiet hours until %s; a harvest waits for their end, this check does not", stamp(j.QuietUntil))
	}
	if !j.answered() {
		return
	}
	name, value, qps := j.stated(r.LimitHeaders)
	switch {
	case name == "" && len(r.LimitHeaders) > 0:
		l.warn("take the names out of rateLimit.limitHeaders, or correct them", "no reply states a limit as %s", strings.Join(r.LimitHeaders, " or "))
	case name == "":
		name, value, _ = j.stated(limitHeaders)
		if name != "" {
			l.warn(fmt.Sprintf("if that is requests a second: rateLimit.limitHeaders: [%s], and patra keeps to it", name), "replies state %s: %s, and the pack does not look at it", name, value)
		}
	case r.QPS == 0 || qps < r.QPS:
		j.rep.Figures.StatedQPS = &qps
		l.warn(fmt.Sprintf("rateLimit.qps: %s; until then patra slows down by itself", decimal(qps)), "the upstream states %s a second (%s: %s), less than is configured", decimal(qps), name, value)
	default:
		j.rep.Figures.StatedQPS = &qps
		l.ok("the upstream states %s a second (%s: %s)", decimal(qps), name, value)
	}
	if b := r.Budget; b != nil {
		if left := j.header(b.Remaining); left != "" {
			l.ok("left of the upstream's budget: %s", shorten(left, 40))
		} else {
			l.warn("correct or remove rateLimit.budget", "no reply says what is left in %s", b.Remaining)
		}
	}
}

func (j *job) throttled(l *lines) {
	f := j.read.fault
	when := "in a while"
	if f.RetryAfter > 0 {
		when = "after " + stamp(j.Now.Add(f.RetryAfter).Add(time.Second))
	}
	if f.Throttled() {
		l.fail("run the check again "+when+"; if nobody else uses this address or key, lower rateLimit.qps", "the upstream asks for fewer requests%s", j.said(": "))
		return
	}
	l.fail("run the check again "+when, "the rate gate gave no permit: %s", j.read.err)
}

// limitHeaders are the names under which limits usually come.
var limitHeaders = []string{"X-Rate-Limit-Limit", "X-RateLimit-Limit", "RateLimit-Limit"}

// stated finds the strictest limit the replies state, as a number a second.
func (j *job) stated(names []string) (name, value string, qps float64) {
	for _, e := range j.wire {
		for _, h := range names {
			text := strings.TrimSpace(e.Header.Get(h))
			n, err := strconv.ParseFloat(text, 64)
			if err != nil || n <= 0 {
				continue
			}
			per := interval(e.Header, h)
			if each := n / per.Seconds(); name == "" || each < qps {
				name = h
				value = text
				qps = each
				if per != time.Second {
					value += " per " + per.String()
				}
			}
		}
	}
	return name, value, qps
}

// interval is what a header named ...-interval beside one named ...-limit says.
func interval(h http.Header, name string) time.Duration {
	stem, is := strings.CutSuffix(strings.ToLower(name), "limit")
	if !is {
		return time.Second
	}
	text := strings.TrimSpace(h.Get(stem + "interval"))
	if d, err := time.ParseDuration(text); err == nil && d > 0 {
		return d
	}
	if s, err := strconv.ParseFloat(text, 64); err == nil && s > 0 && s < 1e6 {
		return time.Duration(s * float64(time.Second))
	}
	return time.Second
}

// header finds a header in the newest reply that has it.
func (j *job) header(name string) string {
	for _, e := range slices.Backward(j.wire) {
		if v := e.Header.Get(name); v != "" {
			return v
		}
	}
	return ""
}

func describeRate(r source.Rate) string {
	if r.QPS == 0 {
		return "no limit"
	}
	first := decimal(r.QPS) + " a second"
	if r.Limit > 0 {
		first += fmt.Sprintf(" of %d per %s", r.Limit, cmp.Or(r.Window.D(), time.Second))
	}
	parts := []string{first}
	if r.Concurrency > 0 {
		parts = append(parts, fmt.Sprintf("%d at a time", r.Concurrency))
	}
	for _, q := range r.Quotas {
		parts = append(parts, fmt.Sprintf("%s per %s", number(q.Limit), q.Window.D()))
	}
	return strings.Join(parts, ", ")
}

func decimal(f float64) string { return strconv.FormatFloat(f, 'g', 4, 64) }

// blame finds the group in which a fault has its root.
func (r *reading) blame(f harvest.Fault, sent int) string {
	switch f.Code {
	case harvest.CodeAuthRefused, harvest.CodeNoCredential, harvest.CodeAuthInPlain, harvest.CodeCredentialUnreadable, harvest.CodeCredentialsLost:
		return Credential
	case harvest.CodeRate, harvest.CodeQuota, harvest.CodeQuotaKept, harvest.CodeGateLost:
		return Rate
	}
	switch {
	case f.Throttled():
		return Rate
	case sent > 0 && f.Status == 0 && f.Code != harvest.CodeHostile:
		return Network
	}
	return TestRead
}
