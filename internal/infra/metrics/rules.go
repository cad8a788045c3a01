package metrics

import (
	"bytes"
	"fmt"
	"strings"
	"time"

	"github.com/papertrace/patra/internal/app/alert"
)

// rule is one of Prometheus.
type rule struct {
	// name as Prometheus has it, code as patra does; empty if patra has no such rule.
	name     string
	code     alert.Code
	expr     string
	hold     time.Duration
	severity alert.Severity
	says     string
}

// expressions are the rules of patra that can be told from the other metrics. The rest
// need more than these know, such as the limit of each schedule: they are told from
// what patra itself says is firing.
func expressions() map[alert.Code]string {
	l := alert.Limits
	rate := func(m Metric, only string) string {
		return fmt.Sprintf("sum by (source, op) (rate(%s%s[5m]))", m.Name, only)
	}
	failed := rate(faults, `{level=~"L1|L2"}`)
	unanswered := fmt.Sprintf(`sum by (source) (rate(%s{status=~"5xx|none"}[2m])) > 0`, httpRequests.Name)
	answered := fmt.Sprintf(`sum by (source) (rate(%s{status!~"5xx|none"}[2m])) > 0`, httpRequests.Name)
	queued := tasksQueued.Name
	return map[alert.Code]string{
		alert.SourceOut:   fmt.Sprintf("max by (source) (%s) == 1 or ((%s) unless (%s))", breakersOpen.Name, unanswered, answered),
		alert.NotPlanned:  fmt.Sprintf(`sum by (source) (increase(%s{outcome="FAILED"}[15m])) > 0`, triggers.Name),
		alert.ErrorRate:   fmt.Sprintf("%s / (%s + %s) > %v", failed, failed, rate(batches, ""), l.Errors),
		alert.Throttled:   fmt.Sprintf("%s / %s > %v", rate(throttled, ""), rate(batches, ""), l.Throttled),
		alert.SpoiltItems: fmt.Sprintf("%s / (%s + %s) > %v", rate(quarantined, ""), rate(quarantined, ""), rate(items, ""), l.Spoilt),
		alert.LeasesLost:  fmt.Sprintf(`sum by (source, op) (increase(%s{kind="batch"}[5m])) >= %d`, idempotent.Name, l.Lost),
		alert.QueueSurge: fmt.Sprintf("%s > avg_over_time(%s[1d]) + %d * stddev_over_time(%s[1d]) and %s > avg_over_time(%s[1d]) + %d",
			queued, queued, l.Deviations, queued, queued, queued, l.Surge),
		alert.QuotaLow: fmt.Sprintf("max by (source, endpoint, op, window) (%s + %s) > 1 or min by (source, endpoint, op) (%s) == 0", quotaUsed.Name, quotaReserve.Name, budgetRemaining.Name),
	}
}

// rules are those of Prometheus: one for each of patra's, and some about patra itself,
// which cannot tell that it is away.
func rules() []rule {
	all := []rule{
		{
			name: "PatraAway", expr: fmt.Sprintf("absent(%s)", storeReadable.Name), hold: 5 * time.Minute, severity: alert.Critical,
			says: "Prometheus gets no metrics of patra. next: patra doctor, on the machine where it should run.",
		},
		{
			name: "PatraStoreUnreadable", expr: storeReadable.Name + " == 0", hold: 2 * time.Minute, severity: alert.Critical,
			says: "patra runs and cannot read its database. next: patra db status.",
		},
		{
			name: "PatraAlertsUndelivered", expr: fmt.Sprintf(`sum by (kind) (increase(%s{outcome="given_up"}[1h])) > 0`, alertMessages.Name), severity: alert.Warning,
			says: "Messages about alerts could not be delivered. next: patra alert test.",
		},
	}
	known := expressions()
	for _, r := range alert.Rules {
		one := rule{name: camel(r.Code), code: r.Code, expr: known[r.Code], hold: r.For, severity: r.Severity, says: r.Means}
		if one.expr == "" {
			one.expr = fmt.Sprintf("max by (rule) (%s{rule=%q}) > 0", alertsFiring.Name, r.Code)
			one.hold = 0 // patra has waited before it said so
		}
		all = append(all, one)
	}
	return all
}

// camel is the code of a rule as Prometheus writes names.
func camel(c alert.Code) string {
	var b strings.Builder
	b.WriteString("Patra")
	for word := range strings.SplitSeq(string(c), "_") {
		b.WriteString(strings.ToUpper(word[:1]) + word[1:])
	}
	return b.String()
}

// Rules are the alert rules for Prometheus, as a file of it.
func Rules() []byte {
	var b bytes.Buffer
	b.WriteString("# Alert rules for Prometheus, printed by `patra deploy alerts`. Name the file under rule_files of prometheus.yml.\n" +
		"groups:\n  - name: patra\n    rules:\n")
	for _, r := range rules() {
		fmt.Fprintf(&b, "      - alert: %s\n        expr: %s\n", r.name, quoted(r.expr))
		if r.hold > 0 {
			fmt.Fprintf(&b, "        for: %ds\n", int(r.hold.Seconds()))
		}
		fmt.Fprintf(&b, "        labels:\n          severity: %s\n", r.severity)
		if r.code != "" {
			fmt.Fprintf(&b, "          rule: %s\n", r.code)
		}
		fmt.Fprintf(&b, "        annotations:\n          summary: %s\n", quoted(r.says))
		if r.code != "" {
			fmt.Fprintf(&b, "          next: %s\n", quoted("patra alert list, then patra status"))
		}
	}
	return b.Bytes()
}

// quoted is a text as YAML writes it whatever is in it.
func quoted(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }
