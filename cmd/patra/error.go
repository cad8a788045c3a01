package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/spf13/cobra"
)

func (c *cli) errorCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use: "error", Short: "See what went wrong, alike things as one, and what was done about it",
		Long: "Faults of one level, source, endpoint, code and place are one group, however many pages met them: L1 passes by\n" +
			"itself, L2 is refused again, L3 is about single items, L4 stops the source. A group is open until somebody\n" +
			"acknowledges, mutes or resolves it; one that is seen again after it was resolved has come back.",
	}
	verbs(cmd, c.errorListCmd(), c.errorShowCmd(),
		c.errorDecideCmd("ack", "Note that somebody knows of a group and looks after it", (*control.Control).AckError),
		c.errorMuteCmd(),
		c.errorDecideCmd("resolve", "Say that the cause of a group is mended; if it is seen again it has come back", (*control.Control).ResolveError),
	)
	return cmd
}

func (c *cli) errorListCmd() *cobra.Command {
	var q control.ErrorQuery
	var level, code, state, since string
	cmd := &cobra.Command{
		Use: "list", Short: "List what went wrong, the last seen first", Args: noArgs,
		Example: "  patra error list --source pubmed\n  patra error list --level L4 --all",
		RunE: func(cmd *cobra.Command, _ []string) error {
			var err error
			q.Level, err = parseLevel(cmd, level)
			if err != nil {
				return err
			}
			q.State, err = parseErrorState(cmd, state)
			if err != nil {
				return err
			}
			q.Since, err = parseTime("since", since)
			if err != nil {
				return err
			}
			q.Code = harvest.Code(code)
			return c.reading(cmd.Context(), func(ctl *control.Control) error {
				v, err := ctl.Errors(cmd.Context(), q)
				if err != nil {
					return err
				}
				return c.showList(v, "errors", func() { c.printErrors(v, q) })
			})
		},
	}
	f := cmd.Flags()
	f.StringVar(&q.Source, "source", "", "only of this source")
	f.StringVar(&level, "level", "", "only of this level: L1, L2, L3 or L4")
	f.StringVar(&code, "code", "", "only with this code, such as http_503")
	f.StringVar(&state, "state", "", "only in this state: open, acknowledged, muted, resolved or came_back")
	f.BoolVar(&q.All, "all", false, "also what is muted or resolved")
	f.StringVar(&since, "since", "", "only what was seen since this instant")
	f.StringVar(&q.After, "after", "", "the next page: what `next` said")
	limitFlag(cmd, &q.Limit, "how many")
	f.BoolVar(&c.json, "json", false, "print one JSON object")
	return cmd
}

// parseLevel reads a level of faults; empty is all of them.
func parseLevel(cmd *cobra.Command, text string) (harvest.Level, error) {
	level := harvest.Level(strings.ToUpper(text))
	switch level {
	case "", harvest.Transient, harvest.Rejected, harvest.Corrupt, harvest.Fatal:
		return level, nil
	}
	return "", misuse(cmd, "--level %q is not known: use L1, L2, L3 or L4", text)
}

// parseErrorState reads a state of error groups; empty is none in particular.
func parseErrorState(cmd *cobra.Command, text string) (harvest.ErrorState, error) {
	state := harvest.ErrorState(strings.ToUpper(text))
	switch state {
	case "", harvest.ErrorOpen, harvest.ErrorAcknowledged, harvest.ErrorMuted, harvest.ErrorResolved, harvest.ErrorCameBack:
		return state, nil
	}
	return "", misuse(cmd, "--state %q is not known: use open, acknowledged, muted, resolved or came_back", text)
}

func (c *cli) printErrors(v control.ErrorList, q control.ErrorQuery) {
	if len(v.Errors) == 0 {
		if q.All || q.State != "" || q.Source != "" || q.Level != "" || q.Code != "" {
			c.printf("no such errors\n")
			return
		}
		c.printf("no open errors; --all also lists what is muted or resolved\n")
		return
	}
	rows := make([][]any, len(v.Errors))
	for i, g := range v.Errors {
		rows[i] = []any{g.ID, g.Level, g.Source, g.Endpoint, codeAt(g.Code, g.Path), g.Count, wholeSecond(g.Last), errorState(g), g.Sample}
	}
	c.table([]column{
		{head: "ERROR", width: 6},
		{head: "LEVEL"},
		{head: "SOURCE", width: 12},
		{head: "ENDPOINT", width: 10},
		{head: "CODE", width: 16},
		{head: "COUNT", right: true},
		{head: "LAST", width: 20},
		{head: "STATE", width: 12},
		{head: "WHAT WAS SAID", wraps: true},
	}, rows)
	if v.Next != "" {
		c.notef("next: the same with --after %s\n", v.Next)
	}
}

// codeAt is a code and the place in an item that it is about.
func codeAt(code harvest.Code, path string) string {
	if path == "" {
		return string(code)
	}
	return fmt.Sprintf("%s at %s", code, path)
}

// wholeSecond is an instant as lists show it.
func wholeSecond(t control.Time) control.Time {
	return control.Time(time.Time(t).Truncate(time.Second))
}

func errorState(g control.ErrorGroup) stated {
	word := strings.ToLower(strings.ReplaceAll(string(g.State), "_", " "))
	if g.MutedUntil != nil {
		word = fmt.Sprintf("muted until %s", wholeSecond(*g.MutedUntil))
	}
	return withGlyph(word, control.ErrorFamily(g.State))
}

func (c *cli) errorShowCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use: "show ERROR", Short: "Show an error: how often, since when, what was said and done, and what to do", Args: oneNumber("error"),
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := strconv.ParseInt(args[0], 10, 64)
			if err != nil {
				return err
			}
			return c.reading(cmd.Context(), func(ctl *control.Control) error {
				v, err := ctl.Error(cmd.Context(), id)
				if err != nil {
					return err
				}
				return c.show(v, func() { c.printError(v) })
			})
		},
	}
	cmd.Flags().BoolVar(&c.json, "json", false, "print one JSON object")
	return cmd
}

func (c *cli) printError(v control.ErrorView) {
	g := v.ErrorGroup
	c.printf("error %d  %s %s %s  %s  %s\n", g.ID, g.Level, g.Source, g.Endpoint, codeAt(g.Code, g.Path), c.text(errorState(g)))
	if g.Means != "" {
		c.printf("  means     %s\n", g.Means)
	}
	c.printf("  seen      %d times, from %s to %s\n", g.Count, wholeSecond(g.First), wholeSecond(g.Last))
	for _, h := range v.LastDay {
		c.printf("            %s  %d\n", h.Hour, h.Count)
	}
	if g.Sample != "" {
		c.printf("  said      %s\n", g.Sample)
	}
	if g.Batch != 0 {
		c.printf("  page      %d was the newest\n", g.Batch)
	}
	for _, h := range g.Healing {
		c.printf("  done      %s\n", h.Words())
	}
	if g.DecidedBy != "" {
		c.printf("  decided   by %s on %s: %s\n", g.DecidedBy, wholeSecond(g.Since), g.Reason)
	}
	if g.Next != "" {
		c.printf("  to do     %s\n", g.Next)
	}
}

// decide is a decision about an error group.
type decide func(*control.Control, context.Context, control.ErrorOrder) (control.ErrorChange, error)

func (c *cli) errorDecideCmd(verb, short string, do decide) *cobra.Command {
	var f changeFlags
	cmd := &cobra.Command{
		Use: verb + " ERROR --reason TEXT", Short: short, Args: oneNumber("error"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.decideError(cmd, args[0], &f, 0, do)
		},
	}
	f.add(c, cmd)
	return cmd
}

func (c *cli) errorMuteCmd() *cobra.Command {
	var f changeFlags
	var length string
	cmd := &cobra.Command{
		Use: "mute ERROR --for DURATION --reason TEXT", Short: "Keep a group out of the list for a while; the mute ends by itself", Args: oneNumber("error"),
		Example: "  patra error mute 12 --for 8h --reason 'their maintenance'",
		RunE: func(cmd *cobra.Command, args []string) error {
			d, err := control.ParseDuration(length)
			if err != nil || d <= 0 {
				return misuse(cmd, "--for %q is no length of time, such as 8h, 7d or PT12H", length)
			}
			return c.decideError(cmd, args[0], &f, d, (*control.Control).MuteError)
		},
	}
	cmd.Flags().StringVar(&length, "for", "", "for how long, such as 8h or 7d")
	f.add(c, cmd)
	return cmd
}

func (c *cli) decideError(cmd *cobra.Command, number string, f *changeFlags, length time.Duration, do decide) error {
	by, err := f.by(c, cmd)
	if err != nil {
		return err
	}
	id, err := strconv.ParseInt(number, 10, 64)
	if err != nil {
		return err
	}
	return c.changing(cmd.Context(), func(ctl *control.Control) error {
		v, err := do(ctl, cmd.Context(), control.ErrorOrder{By: by, ID: id, For: length, DryRun: f.dryRun})
		if err != nil {
			return err
		}
		return c.show(v, func() {
			words := "would be"
			switch {
			case !v.Changes:
				words = "is already"
			case v.Applied:
				words = "is now"
			}
			c.printf("error %d (%s %s) %s %s\n", v.After.ID, v.After.Source, codeAt(v.After.Code, v.After.Path), words, c.text(errorState(v.After)))
			c.noteToken(v.Token)
		})
	})
}
