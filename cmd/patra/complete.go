package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/spf13/cobra"
)

// groups are the headings under which the commands are listed.
var groups = []struct {
	title    string
	commands []string
}{
	{"Begin here", []string{"demo", "init", "up", "status", "doctor", "explain", "version"}},
	{"Get records", []string{"harvest", "backfill", "refresh", "schedule", "serve", "search", "query"}},
	{"Use them", []string{"export", "record", "work", "report", "outbox"}},
	{"Sources", []string{"source", "credential", "rate"}},
	{"What happens, and why", []string{"plan", "task", "run", "batch", "queue", "cursor", "coverage", "error", "quarantine", "alert", "audit", "blackbox", "replay"}},
	{"Keep it", []string{"verify", "reconcile", "db", "token", "deploy", "sim", "completion", "help"}},
}

// groupCommands sorts the commands under their headings.
func groupCommands(root *cobra.Command) {
	for _, g := range groups {
		root.AddGroup(&cobra.Group{ID: g.title, Title: g.title + ":"})
	}
	root.SetCompletionCommandGroupID(groups[len(groups)-1].title)
	root.SetHelpCommandGroupID(groups[len(groups)-1].title)
	for _, cmd := range root.Commands() {
		for _, g := range groups {
			if slices.Contains(g.commands, cmd.Name()) {
				cmd.GroupID = g.title
			}
		}
	}
}

// suggest is what may stand for a word of a command's usage.
type suggest func(context.Context, *control.Control) ([]string, error)

// suggestions are what may stand for the words of usages, by the group of the command
// where that makes a difference.
var suggestions = map[string]suggest{
	"SOURCE":        suggestSources,
	"CODE":          suggestSources,
	"source NAME":   suggestSources,
	"explain CODE":  suggestCodes,
	"PLAN":          suggestPlans,
	"schedule NAME": suggestSchedules,
	"search NAME":   suggestSearches,
	"token NAME":    suggestTokens,
}

// most is how many things are suggested.
const most = 50

func suggestSources(ctx context.Context, ctl *control.Control) ([]string, error) {
	list, err := ctl.Sources(ctx, control.Page{})
	var out []string
	for _, s := range list.Sources {
		out = append(out, s.Code+"\t"+s.Name)
	}
	return out, err
}

func suggestCodes(context.Context, *control.Control) ([]string, error) {
	list, err := control.ExplainCode("")
	var out []string
	for _, e := range list.Explained {
		out = append(out, e.Code+"\t"+e.Means)
	}
	return out, err
}

func suggestPlans(ctx context.Context, ctl *control.Control) ([]string, error) {
	list, err := ctl.Plans(ctx, control.PlanQuery{Limit: most})
	var out []string
	for _, p := range list.Plans {
		out = append(out, fmt.Sprintf("%d\t%s %s %s", p.ID, p.Source, p.Operation, p.Status))
	}
	return out, err
}

func suggestSchedules(ctx context.Context, ctl *control.Control) ([]string, error) {
	list, err := ctl.Schedules(ctx, "")
	var out []string
	for _, s := range list.Schedules {
		out = append(out, s.Name+"\t"+s.Cron)
	}
	return out, err
}

func suggestSearches(ctx context.Context, ctl *control.Control) ([]string, error) {
	list, err := ctl.Searches(ctx, control.Page{Limit: most})
	var out []string
	for _, s := range list.Searches {
		out = append(out, s.Name+"\t"+s.Query)
	}
	return out, err
}

func suggestTokens(ctx context.Context, ctl *control.Control) ([]string, error) {
	list, err := ctl.Tokens(ctx, false)
	var out []string
	for _, t := range list.Tokens {
		out = append(out, t.Name)
	}
	return out, err
}

// suggestions for the values of flags, by their names.
func (c *cli) flagSuggestions() map[string]func() []string {
	words := func(all ...string) func() []string { return func() []string { return all } }
	return map[string]func() []string{
		"output": func() []string {
			out := make([]string, len(forms))
			for i, f := range forms {
				out[i] = string(f)
			}
			return out
		},
		"format":     control.ExportFormats,
		"status":     words("ACTIVE", "RETRACTED", "MERGED", "GONE"),
		"progress":   words("auto", "bar", "plain", "none"),
		"log-format": words("text", "json"),
		"role":       words("viewer", "operator", "admin"),
		"operation":  words("HARVEST", "BACKFILL", "UPDATE"),
	}
}

// completions teaches every command of the tree what may stand for its words and flags.
func (c *cli) completions(cmd *cobra.Command) {
	for _, sub := range cmd.Commands() {
		c.completions(sub)
	}
	for name, values := range c.flagSuggestions() {
		if cmd.Flags().Lookup(name) == nil && cmd.PersistentFlags().Lookup(name) == nil {
			continue
		}
		// A flag that a command shares with others may be known already.
		_ = cmd.RegisterFlagCompletionFunc(name, func(_ *cobra.Command, _ []string, begun string) ([]string, cobra.ShellCompDirective) {
			return beginning(values(), begun), cobra.ShellCompDirectiveNoFileComp
		})
	}
	if cmd.Flags().Lookup("source") != nil {
		_ = cmd.RegisterFlagCompletionFunc("source", func(cmd *cobra.Command, _ []string, begun string) ([]string, cobra.ShellCompDirective) {
			return c.suggested(cmd, suggestSources, begun)
		})
	}
	if cmd.HasSubCommands() || cmd.ValidArgsFunction != nil {
		return
	}
	words := arguments(cmd)
	cmd.ValidArgsFunction = func(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
		if len(args) >= len(words) {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		word := words[len(args)]
		find := suggestions[word]
		for _, of := range []string{cmd.Name(), cmd.Parent().Name()} {
			if special, is := suggestions[of+" "+word]; is {
				find = special
			}
		}
		switch {
		case find != nil:
			return c.suggested(cmd, find, begun)
		case strings.Contains(word, "FILE"):
			return nil, cobra.ShellCompDirectiveDefault
		}
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
}

// arguments are the words of a command's usage that stand for arguments.
func arguments(cmd *cobra.Command) (words []string) {
	for _, w := range strings.Fields(cmd.Use)[1:] {
		if strings.HasPrefix(w, "-") || strings.HasPrefix(w, "(") || w == "|" {
			break
		}
		words = append(words, strings.Trim(w, "[]."))
	}
	return words
}

// suggested asks the store what there is that begins so. Whatever is in the way, nothing
// is suggested.
func (c *cli) suggested(cmd *cobra.Command, find suggest, begun string) (out []string, do cobra.ShellCompDirective) {
	do = cobra.ShellCompDirectiveNoFileComp
	if err := c.settings(cmd); err != nil {
		return nil, do
	}
	err := c.reading(cmd.Context(), func(ctl *control.Control) (err error) {
		out, err = find(cmd.Context(), ctl)
		return err
	})
	if err != nil {
		return nil, do
	}
	return beginning(out, begun), do
}

// beginning are those that begin so.
func beginning(all []string, begun string) []string {
	return slices.DeleteFunc(slices.Clone(all), func(s string) bool { return !strings.HasPrefix(s, begun) })
}
