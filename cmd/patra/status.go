package main

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/spf13/cobra"
)

func (c *cli) statusCmd() *cobra.Command {
	var exitCode bool
	var over string
	cmd := &cobra.Command{
		Use: "status [SOURCE]", Short: "Show what is late, since when, why, and what to do", Args: atMostOneSource,
		Long: "Status tells first what needs a person, then how each source fares: whether it is on time, how far behind it is,\n" +
			"what its upstream said last if it does not answer, and what is waited for. It asks no source anything.",
		Example: "  patra status\n  patra status crossref --watch\n  patra status --range 24h\n  patra status --json",
		RunE: func(cmd *cobra.Command, args []string) error {
			var code string
			if len(args) > 0 {
				code = args[0]
			}
			return c.reading(cmd.Context(), func(ctl *control.Control) error {
				st, err := statusOver(cmd.Context(), ctl, code, over)
				if err != nil {
					return err
				}
				err = c.showList(st, "sources", func() { c.printStatus(st) })
				if err == nil && exitCode && len(st.Needs) > 0 {
					return exitError(exitDifferences)
				}
				return err
			})
		},
	}
	cmd.Flags().BoolVar(&c.json, "json", false, "print one JSON object")
	cmd.Flags().StringVar(&over, "range", "", "tell also what came of each source in this time, such as 1h, 24h or 7d")
	cmd.Flags().BoolVar(&exitCode, "exit-code", false, "end with 10 if something needs a person; with --watch as soon as something does")
	return cmd
}

// statusOver is the status, with what came of each source if a time is named.
func statusOver(ctx context.Context, ctl *control.Control, code, over string) (control.Status, error) {
	if over == "" {
		return ctl.Status(ctx, code)
	}
	return ctl.StatusOver(ctx, code, over)
}

func atMostOneSource(cmd *cobra.Command, args []string) error {
	if len(args) > 1 {
		return misuse(cmd, "%s takes one source, got %q", cmd.CommandPath(), args)
	}
	return nil
}

func (c *cli) printStatus(st control.Status) {
	c.printf("%s\n", statusCounts(st))
	if len(st.Needs) > 0 {
		c.printf("\nNEEDS YOU\n")
	}
	for _, n := range st.Needs {
		c.printf("%s %s: %s\n  next: %s\n", c.glyph(n.Level.Family()), cmp.Or(n.Subject(), string(n.Level)), n.Text, n.Next)
	}
	if st.MoreNeeds > 0 {
		c.printf("and %d more\n", st.MoreNeeds)
	}
	c.printf("\n")
	var rows [][]any
	var never []string
	for _, s := range st.Sources {
		if s.Never && len(st.Sources) > 1 {
			never = append(never, s.Source)
			continue
		}
		rows = append(rows, statusCells(s))
		if len(s.Lines) > 1 {
			for _, l := range s.Lines {
				rows = append(rows, lineCells(l))
			}
		}
	}
	if len(rows) > 0 {
		c.table([]column{
			{head: "SOURCE", width: 14},
			{head: "FRESHNESS", width: 12},
			{head: "LAG / LIMIT", width: 12},
			{head: "LAST SUCCESS", width: 20, spare: true},
			{head: "QUEUED", right: true, spare: true},
			{head: "RUNNING", right: true, spare: true},
			{head: "RATE", right: true, spare: true},
			{head: "QUOTA LEFT", spare: true},
			{head: "ASIDE", right: true, spare: true},
			{head: "WHY", wraps: true},
		}, rows)
	}
	c.printThroughput(st.Sources)
	if len(never) > 0 {
		c.printf("never harvested: %s; begin with patra harvest SOURCE\n", strings.Join(never, ", "))
	}
	c.printEvents(st.Events)
	if st.Unread != "" {
		c.printf("some schedules could not be read: %s\n", st.Unread)
	}
}

// printThroughput says what came of sources, where a time was named to look back over.
func (c *cli) printThroughput(all []control.SourceStatus) {
	var rows [][]any
	for _, s := range all {
		if t := s.Throughput; t != nil {
			rows = append(rows, []any{s.Source, t.Since, t.Records, fmt.Sprintf("%.0f", t.PerHour), t.Pages, t.Failed, t.Sent, fmt.Sprintf("%.1f", t.Throttled()*100)})
		}
	}
	if len(rows) == 0 {
		return
	}
	c.printf("\n")
	c.table([]column{
		{head: "SOURCE", width: 14},
		{head: "SINCE", width: 20},
		{head: "RECORDS", right: true},
		{head: "REC/H", right: true},
		{head: "PAGES", right: true, spare: true},
		{head: "FAILED", right: true, spare: true},
		{head: "REQUESTS", right: true, spare: true},
		{head: "429 %", right: true},
	}, rows)
}

// printEvents says how those fare who are told of revisions.
func (c *cli) printEvents(targets []control.OutboxTarget) {
	if len(targets) == 0 {
		return
	}
	c.printf("\n")
	var rows [][]any
	for _, t := range targets {
		rows = append(rows, []any{t.Name, withGlyph(t.State, control.TargetFamily(t.State)), t.Backlog, timeOrDash(t.OldestAt), t.Waiting, t.Parked, cmp.Or(waitsFor(t), "-")})
	}
	c.table([]column{
		{head: "TOLD OF REVISIONS", width: 14},
		{head: "STATE", width: 12},
		{head: "BEHIND", right: true},
		{head: "OLDEST", width: 20, spare: true},
		{head: "WAITING", right: true, spare: true},
		{head: "PARKED", right: true},
		{head: "WHY", wraps: true},
	}, rows)
}

// waitsFor is why a target is not told, and until when it is left alone.
func waitsFor(t control.OutboxTarget) string {
	text := t.Error
	if t.Failures == 0 {
		text = ""
	}
	if t.RetryAt != nil {
		text += " (tried again at " + timeText(t.RetryAt) + ")"
	}
	return strings.TrimSpace(text)
}

// statusCounts says how many sources are in which state, as of when.
func statusCounts(st control.Status) string {
	count := map[control.Freshness]int{}
	for _, s := range st.Sources {
		if !s.Never {
			count[s.Freshness]++
		}
	}
	var parts []string
	for _, f := range []control.Freshness{
		control.FreshStopped, control.FreshLate, control.FreshCatchingUp, control.FreshWaiting, control.FreshOnTime,
	} {
		if n := count[f]; n > 0 {
			parts = append(parts, fmt.Sprintf("%s %d %s", f.Glyph(), n, f.Word()))
		}
	}
	if len(parts) == 0 {
		parts = append(parts, "nothing was harvested yet")
	}
	return fmt.Sprintf("%s   at %s", strings.Join(parts, "  "), st.At)
}

func statusCells(s control.SourceStatus) []any {
	return []any{
		s.Source, freshText(s.Freshness), lagText(s.Lag, s.Limit), timeText(s.LastSuccess), countText(s.Queued), countText(s.Running),
		rateText(s.Rate), quotaText(s.Rate), countText(s.Quarantined), cmp.Or(whyText(s), "-"),
	}
}

func lineCells(l control.LineStatus) []any {
	return []any{
		"  " + l.Schedule, freshText(l.Freshness), lagText(l.Lag, l.Limit), "", "", "", "", "", "", shown(l.Unknown),
	}
}

// lagText is how far behind something is, of how far it may be.
func lagText(lag, limit *control.Seconds) string {
	if lag == nil {
		return "unknown"
	}
	text := lag.String()
	if limit != nil {
		text += " / " + limit.String()
	}
	return text
}

func timeText(t *control.Time) string {
	if t == nil {
		return "never"
	}
	return control.Time(time.Time(*t).Truncate(time.Second)).String()
}

// countText shows a number, with a sign if there are more than were counted.
func countText(n control.Counted) string {
	if !n.More {
		return fmt.Sprint(n.Count)
	}
	return groupThousands(n.Count) + "+"
}

// groupThousands writes a number with a space between its thousands.
func groupThousands(n int64) string {
	if n < 1000 {
		return fmt.Sprint(n)
	}
	return fmt.Sprintf("%s %03d", groupThousands(n/1000), n%1000)
}

// rateText is what was asked of a source in a second, of what may be.
func rateText(r *control.RateStatus) string {
	switch {
	case r == nil:
		return "unknown"
	case r.Allowed == 0:
		return fmt.Sprintf("%.1f/s", r.Used)
	}
	return fmt.Sprintf("%.1f of %.1f/s", r.Used, r.Allowed)
}

func quotaText(r *control.RateStatus) string {
	if r == nil || len(r.Quotas) == 0 {
		return "-"
	}
	var parts []string
	for _, q := range r.Quotas {
		parts = append(parts, fmt.Sprintf("%d of %d in %s", q.Left, q.Limit, q.Window))
	}
	return strings.Join(parts, ", ")
}

// whyText says what the upstream said last, what is waited for and what to begin with.
func whyText(s control.SourceStatus) string {
	var parts []string
	if k := s.Cause; k != nil {
		text := string(k.Code)
		if k.Count > 0 {
			text += fmt.Sprintf(", %d in a row since %s", k.Count, timeText(k.Since))
		}
		parts = append(parts, text)
	}
	if w := s.Waiting; w != nil {
		text := fmt.Sprintf("%s (%s)", w.Text, w.Reason)
		if w.Until != nil {
			text += " until " + timeText(w.Until)
		}
		parts = append(parts, text)
	}
	switch {
	case s.Never:
		parts = append(parts, "never harvested, begin with "+s.Next)
	case s.Next != "":
		parts = append(parts, "nothing is scheduled: "+s.Next)
	}
	return strings.Join(parts, "; ")
}
