package metrics

import (
	"encoding/json"
	"fmt"
	"slices"
)

// graph is one picture on the dashboard.
type graph struct {
	title string
	// unit as Grafana names it.
	unit  string
	lines []line
}

// line is one query of a picture, and what its lines are called.
type line struct{ expr, legend string }

// section is a row of the dashboard.
type section struct {
	title  string
	graphs []graph
}

const (
	chosen    = `{source=~"$source"}`
	partition = "{{source}} {{endpoint}} {{op}}"
)

// perSecond is how fast a counter grows, by some of its labels.
func perSecond(m Metric, by, legend string) line {
	return line{fmt.Sprintf("sum by (%s) (rate(%s%s[$__rate_interval]))", by, m.Name, m.chosen()), legend}
}

// level is a gauge, the largest of what several processes say.
func level(m Metric, by, legend string) line {
	return line{fmt.Sprintf("max by (%s) (%s%s)", by, m.Name, m.chosen()), legend}
}

// quantile is a time within which a share of what a histogram counts was done.
func quantile(q float64, m Metric) line {
	return line{
		fmt.Sprintf("histogram_quantile(%v, sum by (le, source) (rate(%s_bucket%s[$__rate_interval])))", q, m.Name, m.chosen()),
		fmt.Sprintf("{{source}} P%.0f", q*100),
	}
}

// share is one counter as a part of another.
func share(part, of Metric) line {
	return line{
		fmt.Sprintf("sum by (source) (rate(%s%s[1h])) / sum by (source) (rate(%s%s[1h]))", part.Name, chosen, of.Name, chosen),
		"{{source}}",
	}
}

// chosen restricts a metric to the sources that are looked at, if it has any.
func (m Metric) chosen() string {
	if slices.Contains(m.Labels, "source") {
		return chosen
	}
	return ""
}

// sections are the pictures on the dashboard: every metric is in one of them.
func sections() []section {
	const per = "source, endpoint, op"
	return []section{
		{"What needs somebody", []graph{
			{"Alerts that fire", "short", []line{level(alertsFiring, "rule, severity", "{{rule}} ({{severity}})")}},
			{"Sources and endpoints held", "short", []line{level(sourcesHeld, "source, endpoint", "{{source}} {{endpoint}}")}},
			{"Partitions left alone (circuit open)", "short", []line{level(breakersOpen, per, partition)}},
			{"Messages about alerts", "short", []line{perSecond(alertMessages, "kind, outcome", "{{kind}} {{outcome}}")}},
		}},
		{"Cursors", []graph{
			{"Lag", "s", []line{level(cursorLag, per+", ns", partition+" {{ns}}")}},
			{"Moves", "ops", []line{perSecond(cursorMoves, "direction", "{{direction}}")}},
			{"Late rate", "percentunit", []line{share(late, fresh)}},
			{"Triggers", "ops", []line{perSecond(triggers, "source, op, outcome", "{{source}} {{op}} {{outcome}}")}},
		}},
		{"Queue and work", []graph{
			{"Tasks that wait", "short", []line{level(tasksQueued, per, partition)}},
			{"Tasks in work", "short", []line{{fmt.Sprintf("sum by (%s) (%s%s)", per, concurrency.Name, chosen), partition}}},
			{"Pages", "ops", []line{perSecond(batches, per, partition)}},
			{"Items", "ops", []line{perSecond(items, "source, action", "{{source}} {{action}}"), perSecond(duplicates, "source", "{{source}} duplicate")}},
			{"Page: ask to commit", "s", []line{quantile(.5, batchLatency), quantile(.9, batchLatency), quantile(.99, batchLatency)}},
			{"Asked for twice, done once", "ops", []line{perSecond(idempotent, "source, op, kind", "{{source}} {{op}} {{kind}}")}},
		}},
		{"Errors, and what patra did about them", []graph{
			{"Faults by level", "ops", []line{perSecond(faults, "source, level", "{{source}} {{level}}")}},
			{"Items put aside", "ops", []line{perSecond(quarantined, per, partition)}},
			{"Requests made again", "ops", []line{perSecond(retries, per, partition)}},
			{"Self-healing", "ops", []line{perSecond(selfHeal, "type", "{{type}}"), perSecond(restarts, "source", "{{source}} walk begun again")}},
		}},
		{"Sources and their limits", []graph{
			{"Requests by status", "reqps", []line{perSecond(httpRequests, "source, status", "{{source}} {{status}}")}},
			{"Rate allowed now", "reqps", []line{{fmt.Sprintf("min by (%s) (%s%s)", per, qpsEffective.Name, chosen), partition}}},
			{"HTTP 429", "ops", []line{perSecond(throttled, per, partition)}},
			{"Quota left", "percentunit", []line{{fmt.Sprintf("min by (%s) (%s%s)", per, budgetRemaining.Name, chosen), partition}}},
			{"Quota used, and from where on what can wait does", "percentunit", []line{
				{fmt.Sprintf("max by (%s, window) (%s%s)", per, quotaUsed.Name, chosen), partition + " per {{window}}"},
				{fmt.Sprintf("1 - max by (%s, window) (%s%s)", per, quotaReserve.Name, chosen), partition + " kept back per {{window}}"},
			}},
			{"Request", "s", []line{quantile(.5, httpLatency), quantile(.9, httpLatency), quantile(.99, httpLatency)}},
		}},
		{"patra itself", []graph{
			{"Database readable", "short", []line{{"min(" + storeReadable.Name + ")", "readable"}}},
		}},
		{"Events of records", []graph{
			{"What a target has not got", "short", []line{level(targetBacklog, "target", "{{target}}"), level(outbox, "", "furthest behind")}},
			{"Parked messages", "short", []line{level(parkedEvents, "target", "{{target}}")}},
			{"Messages", "ops", []line{perSecond(events, "kind, outcome", "{{kind}} {{outcome}}")}},
		}},
	}
}

// Monitoring is the file by which a program watches patra: "grafana" or "alerts".
func Monitoring(what string) ([]byte, error) {
	switch what {
	case "grafana":
		b, err := Dashboard()
		return append(b, '\n'), err
	case "alerts":
		return Rules(), nil
	}
	return nil, fmt.Errorf("nothing watches patra by %q: grafana or alerts does", what)
}

// Dashboard is a dashboard for Grafana over all metrics, as it imports it.
func Dashboard() ([]byte, error) {
	type object = map[string]any
	source := object{"type": "prometheus", "uid": "${datasource}"}
	var panels []object
	add := func(p object) {
		p["id"] = len(panels) + 1
		panels = append(panels, p)
	}
	y := 0
	for _, s := range sections() {
		add(object{"type": "row", "title": s.title, "collapsed": false, "panels": []object{}, "gridPos": object{"h": 1, "w": 24, "x": 0, "y": y}})
		y++
		for i, g := range s.graphs {
			targets := make([]object, len(g.lines))
			for k, l := range g.lines {
				targets[k] = object{"refId": string(rune('A' + k)), "datasource": source, "expr": l.expr, "legendFormat": l.legend}
			}
			add(object{
				"type": "timeseries", "title": g.title, "datasource": source, "targets": targets,
				"fieldConfig": object{"defaults": object{"unit": g.unit, "min": 0}, "overrides": []object{}},
				"options":     object{"legend": object{"displayMode": "list", "placement": "bottom", "showLegend": true}},
				"gridPos":     object{"h": 8, "w": 12, "x": 12 * (i % 2), "y": y + 8*(i/2)},
			})
		}
		y += 8 * ((len(s.graphs) + 1) / 2)
	}
	return json.MarshalIndent(object{
		"uid": "patra", "title": "patra", "tags": []string{"patra"}, "schemaVersion": 39, "editable": true, "refresh": "30s",
		"time": object{"from": "now-24h", "to": "now"},
		"templating": object{"list": []object{
			{"name": "datasource", "type": "datasource", "query": "prometheus", "label": "Data source"},
			{
				"name": "source", "type": "query", "label": "Source", "datasource": source, "multi": true, "includeAll": true, "allValue": ".*", "refresh": 2,
				"query":   object{"query": fmt.Sprintf("label_values(%s, source)", httpRequests.Name), "refId": "source"},
				"current": object{"text": "All", "value": "$__all"},
			},
		}},
		"annotations": object{"list": []object{}},
		"panels":      panels,
	}, "", "  ")
}
