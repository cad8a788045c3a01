package sourcecheck

import (
	"fmt"
	"math"
	"time"

	"github.com/papertrace/patra/internal/domain/harvest"
)

// estimate: what will a harvest cost?
func (j *job) estimate(l *lines) {
	if j.unread(l, Estimate) {
		return
	}
	r, fig := j.read, &j.rep.Figures
	total := r.total()
	fig.Total = total
	if total == nil {
		l.warn("declare a COUNT endpoint or response.total, if the source tells totals", "the source tells no total: neither size nor time can be foreseen")
		return
	}
	days := r.span.Duration().Hours() / 24
	daily := int64(math.Round(float64(*total) / days))
	window, err := j.Spec.Forecast(r.cal.Grains(r.span), *total)
	if err != nil {
		l.warn("", "what a harvest takes cannot be foreseen: %s", err)
		return
	}
	pages, requests := j.Spec.Pages(*total), window.Requests
	fig.PerDay = &daily
	fig.Pages = &pages
	fig.Requests = &requests
	rate := j.allowed()
	took := func(requests int64) string {
		if rate.QPS == 0 {
			return "no limit on the rate"
		}
		return fmt.Sprintf("about %s at %s a second", lasting(float64(requests)/rate.QPS), decimal(rate.QPS))
	}
	if rate.QPS > 0 {
		s := float64(requests) / rate.QPS
		fig.Seconds = &s
	}
	l.ok("this window: %s, %s, %s, %s", count(*total, "record"), count(pages, "page"), count(requests, "request"), took(requests))
	if base := j.Spec.Window.Baseline.D(); base > 0 {
		all := int64(float64(daily) * base.Hours() / 24)
		first, err := j.Spec.Forecast(r.cal.Grains(harvest.Window{From: r.span.To.Add(-base), To: r.span.To}), all)
		if err != nil {
			l.warn("", "what a first harvest takes cannot be foreseen: %s", err)
			return
		}
		requests := first.Requests
		l.ok("%s a day; a first harvest of %s: about %s, %s, %s, %s", count(daily, "record"), lasting(base.Seconds()), count(all, "record"), count(int64(first.Slices), "slice"), count(requests, "request"), took(requests))
		for _, q := range rate.Quotas {
			if requests > q.Limit {
				l.warn("begin with a later --from, and fill up by backfill", "a first harvest needs more than the quota of %s per %s", number(q.Limit), q.Window.D())
			}
		}
	}
}

// lasting writes a time as people say it.
func lasting(seconds float64) string {
	switch d := time.Duration(seconds * float64(time.Second)); {
	case d < time.Second:
		return "1 s"
	case d < 2*time.Minute:
		return fmt.Sprintf("%.0f s", d.Seconds())
	case d < 2*time.Hour:
		return fmt.Sprintf("%.0f min", d.Minutes())
	case d < 48*time.Hour:
		return fmt.Sprintf("%.0f h", d.Hours())
	default:
		return fmt.Sprintf("%.0f days", d.Hours()/24)
	}
}
