package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/papertrace/patra/internal/sim"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// leaves are the commands that do something, in the order of their names.
func leaves(cmd *cobra.Command) (out []*cobra.Command) {
	for _, sub := range cmd.Commands() {
		if sub.Hidden || sub.Name() == "help" || sub.Name() == "completion" {
			continue
		}
		if !sub.HasSubCommands() {
			out = append(out, sub)
			continue
		}
		if doesItself(sub) {
			out = append(out, sub)
		}
		out = append(out, leaves(sub)...)
	}
	return out
}

// doesItself reports whether a command with commands below it does something alone.
func doesItself(cmd *cobra.Command) bool { return strings.Contains(cmd.Use, " ") }

// reference is the list of all commands, in Markdown.
func reference(root *cobra.Command) []byte {
	var b bytes.Buffer
	b.WriteString("# Commands\n\nMade by `patra deploy reference`; a test keeps it true. Flags that every command takes stand at the end.\n")
	top := ""
	for _, cmd := range leaves(root) {
		if of := strings.Fields(cmd.CommandPath())[1]; of != top {
			top = of
			fmt.Fprintf(&b, "\n## %s\n", top)
		}
		fmt.Fprintf(&b, "\n### %s\n%s.\n", strings.TrimSuffix(cmd.UseLine(), " [flags]"), cmd.Short)
		if cmd.Long != "" {
			fmt.Fprintf(&b, "\n%s\n", cmd.Long)
		}
		fmt.Fprintf(&b, "\n```\n%s\n```\n", unindented(cmd.Example))
		writeFlags(&b, cmd.LocalNonPersistentFlags())
	}
	b.WriteString("\n## Flags of every command\n")
	writeFlags(&b, root.PersistentFlags())
	return b.Bytes()
}

func unindented(text string) string {
	lines := strings.Split(text, "\n")
	for i, l := range lines {
		lines[i] = strings.TrimPrefix(l, "  ")
	}
	return strings.Join(lines, "\n")
}

// writeFlags lists flags with what they do.
func writeFlags(b *bytes.Buffer, flags *pflag.FlagSet) {
	first := true
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Hidden || f.Name == "help" {
			return
		}
		if first {
			b.WriteString("\n")
			first = false
		}
		fmt.Fprintf(b, "- `%s`: %s\n", flagText(f), f.Usage)
	})
}

// flagText is a flag as it is written on a command line.
func flagText(f *pflag.Flag) string {
	text := "--" + f.Name
	if f.Shorthand != "" {
		text = "-" + f.Shorthand + ", " + text
	}
	if f.Value.Type() != "bool" {
		text += " " + strings.ToUpper(f.Value.Type())
	}
	return text
}

// manPages writes a page for man(1) about each command into a folder.
func manPages(root *cobra.Command, folder string) (int, error) {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return 0, err
	}
	all := leaves(root)
	for _, cmd := range append(all, root) {
		name := strings.ReplaceAll(cmd.CommandPath(), " ", "-") + ".1"
		if err := os.WriteFile(filepath.Join(folder, name), manPage(cmd), 0o644); err != nil {
			return 0, err
		}
	}
	return len(all) + 1, nil
}

// manPage is what man(1) shows of a command.
func manPage(cmd *cobra.Command) []byte {
	var b bytes.Buffer
	name := strings.ReplaceAll(cmd.CommandPath(), " ", "-")
	fmt.Fprintf(&b, ".TH %s 1 \"\" \"patra\" \"patra manual\"\n.SH NAME\n%s \\- %s\n", strings.ToUpper(roff(name)), roff(name), roff(cmd.Short))
	fmt.Fprintf(&b, ".SH SYNOPSIS\n.nf\n%s\n.fi\n", roff(cmd.UseLine()))
	if cmd.Long != "" {
		fmt.Fprintf(&b, ".SH DESCRIPTION\n%s\n", roff(cmd.Long))
	}
	if cmd.HasSubCommands() {
		b.WriteString(".SH COMMANDS\n")
		for _, sub := range leaves(cmd) {
			fmt.Fprintf(&b, ".TP\n.B %s\n%s\n", roff(sub.CommandPath()), roff(sub.Short))
		}
	}
	if cmd.Example != "" {
		fmt.Fprintf(&b, ".SH EXAMPLES\n.nf\n%s\n.fi\n", roff(unindented(cmd.Example)))
	}
	b.WriteString(".SH OPTIONS\n")
	for _, flags := range []*pflag.FlagSet{cmd.LocalFlags(), cmd.InheritedFlags()} {
		flags.VisitAll(func(f *pflag.Flag) {
			if !f.Hidden {
				fmt.Fprintf(&b, ".TP\n.B %s\n%s\n", roff(flagText(f)), roff(f.Usage))
			}
		})
	}
	return b.Bytes()
}

// roff is text that troff prints as it is.
func roff(s string) string {
	s = strings.NewReplacer(`\`, `\e`, `-`, `\-`).Replace(s)
	lines := strings.Split(s, "\n")
	for i, l := range lines {
		if strings.HasPrefix(l, ".") || strings.HasPrefix(l, "'") {
			lines[i] = `\&` + l
		}
	}
	return strings.Join(lines, "\n")
}

// deployManCmd writes man pages.
func (c *cli) deployManCmd() *cobra.Command {
	var out string
	cmd := &cobra.Command{
		Use: "man --out FOLDER", Short: "Write pages for man(1), one for each command", Args: noArgs,
		Example: "  patra deploy man --out /usr/local/share/man/man1",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if out == "" {
				return misuse(cmd, "man needs --out, the folder to write to")
			}
			n, err := manPages(cmd.Root(), out)
			if err != nil {
				return err
			}
			c.notef("%d pages written to %s\n", n, out)
			return nil
		},
	}
	cmd.Flags().StringVar(&out, "out", "", "folder to write to")
	return cmd
}

// deployReferenceCmd prints the list of all commands, of all codes or of all settings.
func (c *cli) deployReferenceCmd() *cobra.Command {
	var codes, settings bool
	cmd := &cobra.Command{
		Use: "reference", Short: "Print all commands with their flags, all codes, or all settings, in Markdown", Args: noArgs,
		Example: "  patra deploy reference > docs/commands.md\n  patra deploy reference --codes > docs/codes.md\n" +
			"  patra deploy reference --configuration > docs/configuration.md",
		RunE: func(cmd *cobra.Command, _ []string) error {
			text := reference(cmd.Root())
			var err error
			switch {
			case codes && settings:
				return misuse(cmd, "--codes and --configuration are two pages: print one after the other")
			case codes:
				text, err = codesReference()
			case settings:
				text = configurationReference(cmd.Root())
			}
			c.printf("%s", text)
			return err
		},
	}
	cmd.Flags().BoolVar(&codes, "codes", false, "all codes and words, and the faults of the simulator")
	cmd.Flags().BoolVar(&settings, "configuration", false, "all settings: flags that have a variable, the file of settings, other variables")
	return cmd
}

// codesReference is the list of all codes and words that patra uses, in Markdown.
func codesReference() ([]byte, error) {
	list, err := control.ExplainCode("")
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	b.WriteString("# Codes and words\n\nMade by `patra deploy reference --codes`; a test keeps it true. `patra explain CODE` shows one of them.\n")
	kind := ""
	for _, e := range list.Explained {
		if e.Kind != kind {
			kind = e.Kind
			fmt.Fprintf(&b, "\n## %s\n", kind)
		}
		fmt.Fprintf(&b, "- `%s`: %s", e.Code, e.Means)
		if e.Do != "" && e.Kind != "refusal" {
			fmt.Fprintf(&b, " *Done:* %s *To do:* %s", e.Does, e.Do)
		} else if e.Do != "" {
			fmt.Fprintf(&b, " *To do:* %s", e.Do)
		}
		b.WriteString("\n")
	}
	b.WriteString("\n## Faults of the simulator\nFor the file of `patra sim --faults FILE`, with how often each comes.\n\n")
	for _, f := range sim.AllFaults {
		fmt.Fprintf(&b, "- `%s`: %s\n", f, f.Meaning())
	}
	return b.Bytes(), nil
}
