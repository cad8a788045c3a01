package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/papertrace/patra/internal/node"
	"github.com/papertrace/patra/internal/sim"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
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
	"target NAME":   suggestTargets,
	"grants ROLE":   func(context.Context, *control.Control) ([]string, error) { return strings.Split(grantRoles, ", "), nil },
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

func suggestPlanKeys(ctx context.Context, ctl *control.Control) ([]string, error) {
	list, err := ctl.Plans(ctx, control.PlanQuery{Limit: most})
	var out []string
	for _, p := range list.Plans {
		out = append(out, fmt.Sprintf("%s\t%s %s %s", p.Key, p.Source, p.Operation, p.Status))
	}
	return out, err
}

func suggestTargets(ctx context.Context, ctl *control.Control) ([]string, error) {
	list, err := ctl.OutboxTargets(ctx)
	var out []string
	for _, t := range list.Targets {
		out = append(out, t.Name+"\t"+t.Kind)
	}
	return out, err
}

// storedValues are what the store has for the value of a flag, by the name of the flag.
var storedValues = map[string]suggest{
	"plan":    suggestPlans,
	"search":  suggestSearches,
	"source":  suggestSources,
	"sources": suggestSources,
	"target":  suggestTargets,
}

// fixedValues are the words that a flag takes, by the name of the flag, with the command in
// front where that makes a difference.
func fixedValues() map[string][]string {
	formNames := make([]string, len(forms))
	for i, f := range forms {
		formNames[i] = string(f)
	}
	operations := []string{"HARVEST", "BACKFILL", "UPDATE"}
	return map[string][]string{
		"output":              formNames,
		"format":              control.ExportFormats(),
		"export --for":        control.ExportTools(),
		"dedupe":              {"none", "exact", "probable"},
		"status":              {"ACTIVE", "RETRACTED", "MERGED", "GONE"},
		"record list --state": {"active", "retracted", "merged", "gone"},
		"error list --state":  {"open", "acknowledged", "muted", "resolved", "came_back"},
		"level":               {"L1", "L2", "L3", "L4"},
		"progress":            {"auto", "bar", "plain", "none"},
		"priority":            {"high", "normal", "low"},
		"log-format":          {"text", "json"},
		"role":                {"viewer", "operator", "admin"},
		"op":                  operations,
		"operation":           operations,
		"task":                {"harvest", "backfill", "update"},
		"faults":              {"none", "light", "heavy"},
		"sim --sources":       sim.Upstreams,
	}
}

// completeFlags teaches a command what may be the values of its flags.
func (c *cli) completeFlags(cmd *cobra.Command) {
	fixed := fixedValues()
	name := strings.TrimPrefix(cmd.CommandPath(), "patra ")
	teach := func(f *pflag.Flag) {
		var do cobra.CompletionFunc
		find := storedValues[f.Name]
		words, known := fixed[name+" --"+f.Name]
		if !known {
			words, known = fixed[f.Name]
		}
		switch {
		case f.Value.Type() == "bool":
			return
		case known:
			do = func(_ *cobra.Command, _ []string, begun string) ([]string, cobra.ShellCompDirective) {
				return continued(words, begun), cobra.ShellCompDirectiveNoFileComp
			}
		case find != nil:
			if f.Name == "plan" && f.Value.Type() == "string" {
				find = suggestPlanKeys
			}
			do = func(cmd *cobra.Command, _ []string, begun string) ([]string, cobra.ShellCompDirective) {
				return c.suggested(cmd, find, begun)
			}
		default:
			return
		}
		// A flag that a command shares with others may be known already.
		_ = cmd.RegisterFlagCompletionFunc(f.Name, do)
	}
	cmd.Flags().VisitAll(teach)
	if cmd.HasParent() {
		cmd.PersistentFlags().VisitAll(teach)
		return
	}
	cmd.PersistentFlags().VisitAll(func(f *pflag.Flag) {
		if f.Name == "sources" { // of all commands it is a folder
			_ = cmd.MarkPersistentFlagDirname(f.Name)
			return
		}
		teach(f)
	})
}

// completions teaches every command of the tree what may stand for its words and flags.
func (c *cli) completions(cmd *cobra.Command) {
	for _, sub := range cmd.Commands() {
		c.completions(sub)
	}
	c.completeFlags(cmd)
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
	return continued(out, begun), do
}

// continued are those that begin as the last word of a list with commas does, each behind the
// words before it.
func continued(all []string, begun string) []string {
	at := strings.LastIndex(begun, ",") + 1
	out := beginning(all, begun[at:])
	for i := range out {
		out[i] = begun[:at] + out[i]
	}
	return out
}

// completeRoles are the roles of patra serve that were not named yet.
func completeRoles(_ *cobra.Command, named []string, begun string) (out []string, do cobra.ShellCompDirective) {
	names := []string{"all"}
	roles, _ := node.ParseRoles(nil) // without a name they are all of them
	for _, r := range roles {
		names = append(names, string(r))
	}
	for _, name := range beginning(names, begun) {
		if !slices.Contains(named, name) {
			out = append(out, name)
		}
	}
	return out, cobra.ShellCompDirectiveNoFileComp
}

// beginning are those that begin so.
func beginning(all []string, begun string) []string {
	return slices.DeleteFunc(slices.Clone(all), func(s string) bool { return !strings.HasPrefix(s, begun) })
}
