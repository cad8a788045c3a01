package main

import (
	"cmp"
	"context"
	"strings"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/spf13/cobra"
)

func (c *cli) scheduleCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use: "schedule", Short: "Say what patra serve asks for by itself, and when",
		Long: "A schedule is a standing selection: a source, an operation, a query, and the cron line by which it begins. A source\n" +
			"may have several, each with the cursor of what it selects. Packs may suggest schedules; those are named SOURCE/HARVEST\n" +
			"and SOURCE/UPDATE and are in force until one of the same name is set or paused here.",
	}
	verbs(cmd, c.scheduleSetCmd(), c.scheduleListCmd(), c.scheduleShowCmd(),
		c.scheduleHoldCmd("pause", "Begin nothing more of a schedule; what it has begun goes on", (*control.Control).PauseSchedule),
		c.scheduleHoldCmd("resume", "Begin a schedule again, with the next time its line comes", (*control.Control).ResumeSchedule),
		c.scheduleHoldCmd("remove", "End a schedule; its history and its cursor stay", (*control.Control).RemoveSchedule),
	)
	return cmd
}

// oneName wants exactly one argument, the name of a schedule.
func oneName(cmd *cobra.Command, args []string) error {
	if len(args) != 1 {
		return misuse(cmd, "%s needs the name of a schedule, such as insulin-new", cmd.CommandPath())
	}
	return nil
}

func (c *cli) scheduleSetCmd() *cobra.Command {
	var f changeFlags
	var o control.ScheduleOrder
	var op string
	var manner mannerFlags
	cmd := &cobra.Command{
		Use: "set NAME --source SOURCE --cron LINE --reason TEXT", Short: "Make a schedule, or put another in place of one of that name", Args: oneName,
		Long: "Set writes a schedule whole: what is not said is as it is by default, also where a schedule of that name is there.\n" +
			"A HARVEST goes on where the cursor of its selection stands. A BACKFILL reads [from, to): between instants it is one\n" +
			"activity that goes on each time; between ages, such as --from -30d --to -1d, each time reads that window again. An\n" +
			"UPDATE reads records again that are signalled, not seen for a while or mapped otherwise. The latter two wait\n" +
			"until the plan they have is done.",
		Example: "  patra schedule set crossref-all --source crossref --cron @hourly --reason 'keep it fresh'\n" +
			"  patra schedule set insulin --source pubmed --query 'tiab:insulin' --cron '15 4 * * *' --zone Europe/Berlin --reason review\n" +
			"  patra schedule set reread --source crossref --operation BACKFILL --from -30d --to -1d --cron @weekly --reason 'late data'\n" +
			"  patra schedule set stale --source pubmed --operation UPDATE --older-than 180d --signals --cron @daily --reason 'retractions'",
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case o.Source == "":
				return misuse(cmd, "set needs --source SOURCE: `patra source list` names them")
			case o.Cron == "":
				return misuse(cmd, "set needs --cron LINE, such as @hourly or '15 4 * * *'")
			}
			by, err := f.by(c, cmd)
			if err != nil {
				return err
			}
			o.Operation, err = parseOperation(cmd, op)
			if err != nil {
				return err
			}
			how, err := manner.read(cmd)
			if err != nil {
				return err
			}
			o.Endpoint = how.Endpoint
			o.Priority = how.Priority
			o.Pacing = how.Pacing
			o.Name = args[0]
			o.By = by
			o.DryRun = f.dryRun
			c.source = o.Source
			return c.changing(cmd.Context(), func(ctl *control.Control) error {
				v, err := ctl.SetSchedule(cmd.Context(), o)
				if err != nil {
					return err
				}
				return c.show(v, func() { c.printScheduleChange("set", v) })
			})
		},
	}
	fs := cmd.Flags()
	fs.StringVar(&o.Source, "source", "", "the source that is asked")
	fs.StringVar(&op, "operation", "HARVEST", "HARVEST, BACKFILL or UPDATE")
	fs.StringVar(&o.Query, "query", "", "only what matches, as for patra harvest (default: everything)")
	fs.StringVar(&o.Cron, "cron", "", "when it begins: five fields such as '15 4 * * mon-fri', or @hourly, @daily, @weekly, @monthly")
	fs.StringVar(&o.Zone, "zone", "UTC", "time zone of the line")
	manner.addStanding(cmd)
	fs.StringVar(&o.From, "from", "", "of a BACKFILL: start of the window, an instant, a date or an age such as -30d")
	fs.StringVar(&o.To, "to", "", "of a BACKFILL: end of the window, not part of it; also an age, or now")
	fs.StringVar(&o.OlderThan, "older-than", "", "of an UPDATE: records last seen longer ago than this, such as 180d")
	fs.BoolVar(&o.MappingChanged, "mapping-changed", false, "of an UPDATE: records made by another mapping than the one in force")
	fs.BoolVar(&o.Signals, "signals", false, "of an UPDATE: what notices, quarantine and ids without details point to")
	fs.IntVar(&o.Max, "max", 0, "of an UPDATE: at most so many each time, those longest not seen first (default: all)")
	f.add(c, cmd)
	return cmd
}

// scheduleHolding pauses, resumes or removes a schedule.
type scheduleHolding func(*control.Control, context.Context, control.ScheduleHold) (control.ScheduleChange, error)

func (c *cli) scheduleHoldCmd(verb, short string, do scheduleHolding) *cobra.Command {
	var f changeFlags
	cmd := &cobra.Command{
		Use: verb + " NAME --reason TEXT", Short: short, Args: oneName,
		RunE: func(cmd *cobra.Command, args []string) error {
			by, err := f.by(c, cmd)
			if err != nil {
				return err
			}
			return c.changing(cmd.Context(), func(ctl *control.Control) error {
				v, err := do(ctl, cmd.Context(), control.ScheduleHold{By: by, Name: args[0], DryRun: f.dryRun})
				if err != nil {
					return err
				}
				return c.show(v, func() { c.printScheduleChange(verb+"d", v) })
			})
		},
	}
	f.add(c, cmd)
	return cmd
}

func (c *cli) printScheduleChange(done string, v control.ScheduleChange) {
	s := cmp.Or(v.After, v.Before)
	switch {
	case !v.Changes:
		c.printf("%s: is %s already\n", s.Name, done)
	case !v.Applied:
		c.printf("%s: would be %s\n", s.Name, done)
	default:
		c.printf("%s: %s\n", s.Name, done)
	}
	if v.After != nil && v.Changes {
		c.printSchedule(*v.After)
	}
	for _, note := range v.Notes {
		c.notef("note: %s\n", note)
	}
	c.noteToken(v.Token)
}

func (c *cli) scheduleListCmd() *cobra.Command {
	var src string
	cmd := &cobra.Command{
		Use: "list", Short: "List schedules: when each comes next, and what came of it last", Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.reading(cmd.Context(), func(ctl *control.Control) error {
				list, err := ctl.Schedules(cmd.Context(), src)
				if err != nil {
					return err
				}
				if list.Unread != "" {
					c.notef("note: not all could be read: %s\n", list.Unread)
				}
				return c.showList(list, "schedules", func() { c.printSchedules(list.Schedules) })
			})
		},
	}
	cmd.Flags().StringVar(&src, "source", "", "only of this source")
	cmd.Flags().BoolVar(&c.json, "json", false, "print one JSON object")
	return cmd
}

// howToBegin is what to do where nothing is scheduled.
const howToBegin = "patra schedule set crossref-all --source crossref --cron @hourly --reason \"keep it fresh\""

func (c *cli) printSchedules(rows []control.Schedule) {
	if len(rows) == 0 {
		c.printf("nothing is scheduled\n")
		c.notef("next: %s\n", howToBegin)
		return
	}
	cells := make([][]any, len(rows))
	for i, s := range rows {
		cells[i] = []any{s.Name, s.Source, s.Operation, s.Cron + zoneText(s.Zone), s.NextAt, lastText(s.Last), cmp.Or(s.Reason, "-"), shown(s.Query)}
	}
	c.table([]column{
		{head: "SCHEDULE", width: 16},
		{head: "SOURCE", width: 14},
		{head: "OPERATION"},
		{head: "CRON", width: 12},
		{head: "NEXT", width: 21},
		{head: "LAST", wraps: true},
		{head: "REASON", wraps: true},
		{head: "QUERY", wraps: true},
	}, cells)
}

// zoneText is a time zone behind a line, if it is not what is meant without one.
func zoneText(zone string) string {
	if zone == "UTC" {
		return ""
	}
	return " " + zone
}

func lastText(t *control.ScheduleTrigger) string {
	if t == nil {
		return "-"
	}
	return strings.ToLower(string(t.Outcome)) + " " + short(t.Due)
}

func (c *cli) scheduleShowCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use: "show NAME", Short: "Show a schedule, its last trigger, and how far what it selects is proven", Args: oneName,
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.reading(cmd.Context(), func(ctl *control.Control) error {
				v, err := ctl.Schedule(cmd.Context(), args[0])
				if err != nil {
					return err
				}
				return c.show(v, func() { c.printScheduleView(v) })
			})
		},
	}
	cmd.Flags().BoolVar(&c.json, "json", false, "print one JSON object")
	return cmd
}

func (c *cli) printScheduleView(v control.ScheduleView) {
	c.printf("%s\n", v.Name)
	c.printSchedule(v.Schedule)
	if v.Last != nil {
		c.printf("  last      %s at %s, due at %s", strings.ToLower(string(v.Last.Outcome)), v.Last.At, short(v.Last.Due))
		if v.Last.Plan != 0 {
			c.printf(", plan %d", v.Last.Plan)
		}
		if v.Last.Outcome == harvest.TriggerFailed || v.Last.Outcome == harvest.TriggerRefused || v.Last.Outcome == harvest.TriggerNoop {
			c.printf(": %s", v.Last.Remarks)
		}
		c.printf("\n")
	}
	switch {
	case v.Cursor == nil || v.Cursor.ProvenTo == "":
		c.printf("  cursor    none yet: nothing was planned\n")
	default:
		c.printf("  cursor    %d, proven to %s (%s)\n", v.Cursor.Cursor, v.Cursor.ProvenTo, control.ShortNamespace(v.Cursor.Namespace))
	}
	if len(v.Shares) > 0 {
		c.printf("  shared    the same selection, and so the same cursor, as %s\n", strings.Join(v.Shares, ", "))
	}
}

// printSchedule prints what a schedule says, and when it comes next.
func (c *cli) printSchedule(s control.Schedule) {
	by := "set here"
	if s.Origin == "pack" {
		by = "suggested by the pack"
	}
	c.printf("  what      %s %s, %s priority, %s\n", s.Source, s.Operation, s.Priority, by)
	switch s.Operation {
	case harvest.Update:
		c.printf("  reads     %s\n", picksText(s))
	case harvest.Backfill:
		c.printf("  query     %s\n", cmp.Or(s.Query, everything))
		c.printf("  window    [%s, %s)\n", s.From, s.To)
	default:
		c.printf("  query     %s\n", cmp.Or(s.Query, everything))
	}
	c.printf("  when      %s %s\n", s.Cron, s.Zone)
	if s.Pacing != nil {
		c.printf("  paced     %s\n", s.Pacing.Text())
	}
	if s.NextAt != nil {
		c.printf("  next      %s\n", s.NextAt)
	}
	if s.Reason != "" {
		c.printf("  waits     %s\n", s.Reason)
	}
}

// picksText says what an UPDATE reads again.
func picksText(s control.Schedule) string {
	var parts []string
	if s.Signals {
		parts = append(parts, "what is signalled")
	}
	if s.OlderThan != "" {
		parts = append(parts, "what was not seen for "+s.OlderThan)
	}
	if s.MappingChanged {
		parts = append(parts, "what another mapping made")
	}
	text := strings.Join(parts, ", ")
	if s.Max > 0 {
		text += ", at most " + control.Count(s.Max, "record")
	}
	return text
}
