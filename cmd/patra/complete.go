package main

import (
	"context"
	"fmt"
	"maps"
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
type suggest struct {
	stored func(context.Context, *control.Control) ([]string, error)
	// shipped is what is known where there is no database yet, nil if nothing is.
	shipped func(*cli) ([]string, error)
}

var (
	suggestSources   = suggest{storedSources, shippedSources}
	suggestCodes     = suggest{shipped: func(*cli) ([]string, error) { return knownCodes() }}
	suggestPlans     = suggest{stored: storedPlans}
	suggestPlanKeys  = suggest{stored: storedPlanKeys}
	suggestSchedules = suggest{stored: storedSchedules}
	suggestSearches  = suggest{stored: storedSearches}
	suggestTokens    = suggest{stored: storedTokens}
	suggestTargets   = suggest{stored: storedTargets}
	suggestGrants    = suggest{shipped: func(*cli) ([]string, error) { return strings.Split(grantRoles, ", "), nil }}
)

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
	"grants ROLE":   suggestGrants,
}

// most is how many things are suggested.
const most = 50

func storedSources(ctx context.Context, ctl *control.Control) ([]string, error) {
	list, err := ctl.Sources(ctx, control.Page{})
	var out []string
	for _, s := range list.Sources {
		out = append(out, s.Code+"\t"+s.Name)
	}
	return out, err
}

// shippedSources are those of the packs that come with patra, and of the folder of packs.
func shippedSources(c *cli) (out []string, err error) {
	packs, err := node.Shelf(c.config()).Load()
	for _, code := range slices.Sorted(maps.Keys(packs)) {
		out = append(out, code+"\t"+packs[code].Definition.Provenance().Name)
	}
	return out, err
}

func knownCodes() ([]string, error) {
	list, err := control.ExplainCode("")
	var out []string
	for _, e := range list.Explained {
		out = append(out, e.Code+"\t"+e.Means)
	}
	return out, err
}

func storedPlans(ctx context.Context, ctl *control.Control) ([]string, error) {
	list, err := ctl.Plans(ctx, control.PlanQuery{Limit: most})
	var out []string
	for _, p := range list.Plans {
		out = append(out, fmt.Sprintf("%d\t%s %s %s", p.ID, p.Source, p.Operation, p.Status))
	}
	return out, err
}

func storedSchedules(ctx context.Context, ctl *control.Control) ([]string, error) {
	list, err := ctl.Schedules(ctx, "")
	var out []string
	for _, s := range list.Schedules {
		out = append(out, s.Name+"\t"+s.Cron)
	}
	return out, err
}

func storedSearches(ctx context.Context, ctl *control.Control) ([]string, error) {
	list, err := ctl.Searches(ctx, control.Page{Limit: most})
	var out []string
	for _, s := range list.Searches {
		out = append(out, s.Name+"\t"+s.Query)
	}
	return out, err
}

func storedTokens(ctx context.Context, ctl *control.Control) ([]string, error) {
	list, err := ctl.Tokens(ctx, false)
	var out []string
	for _, t := range list.Tokens {
		out = append(out, t.Name)
	}
	return out, err
}

func storedPlanKeys(ctx context.Context, ctl *control.Control) ([]string, error) {
	list, err := ctl.Plans(ctx, control.PlanQuery{Limit: most})
	var out []string
	for _, p := range list.Plans {
		out = append(out, fmt.Sprintf("%s\t%s %s %s", p.Key, p.Source, p.Operation, p.Status))
	}
	return out, err
}

func storedTargets(ctx context.Context, ctl *control.Control) ([]string, error) {
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
	reports := control.ReportFormats()
	return map[string][]string{
		"output":                 formNames,
		"format":                 control.ExportFormats(),
		"report search --format": reports,
		"search report --format": reports,
		"plan list --state":      {"DRAFT", "SLICING", "READY", "PARTIAL", "FAILED", "COMPLETED", "CANCELLED"},
		"plan slices --state":    {"PENDING", "READY", "FAILED", "DONE", "RESLICED", "CANCELLED"},
		"task list --state":      {"QUEUED", "DISPATCHED", "EXECUTING", "SUCCEEDED", "FAILED", "PARTIAL", "CANCELLED"},
		"run list --state":       {"RUNNING", "SUCCEEDED", "PARTIAL", "FAILED", "CANCELLED"},
		"export --for":           control.ExportTools(),
		"dedupe":                 {"none", "exact", "probable"},
		"status":                 {"ACTIVE", "RETRACTED", "MERGED", "GONE"},
		"record list --state":    {"active", "retracted", "merged", "gone"},
		"error list --state":     {"open", "acknowledged", "muted", "resolved", "came_back"},
		"level":                  {"L1", "L2", "L3", "L4"},
		"progress":               {"auto", "bar", "plain", "none"},
		"priority":               {"high", "normal", "low"},
		"log-format":             {"text", "json"},
		"role":                   {"viewer", "operator", "admin"},
		"op":                     operations,
		"operation":              operations,
		"task":                   {"harvest", "backfill", "update"},
		"faults":                 {"none", "light", "heavy"},
		"sim --sources":          sim.Upstreams,
	}
}

// completeFlags teaches a command what may be the values of its flags.
func (c *cli) completeFlags(cmd *cobra.Command) {
	fixed := fixedValues()
	name := strings.TrimPrefix(cmd.CommandPath(), "patra ")
	teach := func(f *pflag.Flag) {
		var do cobra.CompletionFunc
		find, isStored := storedValues[f.Name]
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
		case isStored:
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
		find, known := suggestions[word]
		for _, of := range []string{cmd.Name(), cmd.Parent().Name()} {
			if special, is := suggestions[of+" "+word]; is {
				find = special
				known = true
			}
		}
		switch {
		case known:
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

// suggested asks the store what there is that begins so, or where there is none yet what patra
// comes with. Whatever is in the way, nothing is suggested.
func (c *cli) suggested(cmd *cobra.Command, find suggest, begun string) (out []string, do cobra.ShellCompDirective) {
	do = cobra.ShellCompDirectiveNoFileComp
	err := c.settings(cmd)
	if err != nil {
		return nil, do
	}
	isFound := false
	if find.stored != nil {
		isFound = c.reading(cmd.Context(), func(ctl *control.Control) (err error) {
			out, err = find.stored(cmd.Context(), ctl)
			return err
		}) == nil
	}
	if !isFound && find.shipped != nil {
		out, err = find.shipped(c)
		isFound = err == nil
	}
	if !isFound {
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
