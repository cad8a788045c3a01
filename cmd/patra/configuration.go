package main

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// outsideFiles are the variables of the environment that have no flag and stand in no file of
// settings, with what they are for. One with a star stands for all that begin so.
var outsideFiles = []struct{ title, env, means string }{
	{"Where settings stand", "PATRA_CONFIG", "the file of settings, as --config names it"},
	{"Secrets", databaseFile, "a file that holds the address of the database, in place of `PATRA_DB`: that of a server may have a password in it"},
	{"Secrets", "PATRA_KEY", "the key by which secrets are sealed that are kept in the database: 32 bytes in base64. It is only needed for `patra credential set --stdin` and what was sealed so"},
	{"Secrets", "PATRA_KEY_FILE", "a file that holds this key, in its place"},
	{"Secrets", "PATRA_KEY_PREVIOUS", "the key before, which opens what was sealed under it until `patra credential rotate SOURCE --reseal`"},
	{"Secrets", "PATRA_KEY_PREVIOUS_FILE", "a file that holds the key before, in its place"},
	{"Secrets", "PATRA_CREDENTIAL_ENV", "the variables that credentials may refer to, with commas between, a star at the end for any end (default: all but those that begin with `PATRA_`)"},
	{"Secrets", "PATRA_CREDENTIAL_DIRS", "the folders in which files of credentials may lie, separated as in PATH (default: anywhere)"},
	{"Who is told", "PATRA_ALERTS", "who gets alerts, one target a line; `patra alert --help` has their forms"},
	{"Who is told", "PATRA_ALERTS_FILE", "a file that holds these targets, in its place"},
	{"Who is told", "PATRA_EVENTS_FILE", "a file that holds the targets of PATRA_EVENTS, in its place"},
	{"Traces", "OTEL_EXPORTER_OTLP_ENDPOINT", "where spans are sent, by OTLP over HTTP (default: nowhere); [traces.md](traces.md)"},
	{"Traces", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "the same, before the one above"},
	{"Traces", "OTEL_TRACES_EXPORTER", "`none` sends no spans"},
	{"Traces", "OTEL_SDK_DISABLED", "`true` sends no spans"},
	{"Traces", "OTEL_*", "the others (name of the service, sampler, headers, timeouts, queue) as OpenTelemetry has them"},
	{"The machine", "XDG_DATA_HOME", "the folder in whose folder `patra` the database is, where none is named (default `~/.local/share`)"},
	{"The machine", "NO_COLOR", "set, nothing is coloured"},
	{"The machine", "NOTIFY_SOCKET", "systemd gives it: `patra serve` says by it that it is ready"},
	{"The machine", "GOGC", "how the garbage collector runs; set, patra does not choose for itself"},
	{"The machine", "GOMEMLIMIT", "the memory that the collector keeps to; set, patra does not choose for itself"},
}

// isOutsideFiles reports whether a variable is read from the environment only.
func isOutsideFiles(name string) bool {
	for _, v := range outsideFiles {
		begin, isPattern := strings.CutSuffix(v.env, "*")
		if v.env == name || isPattern && strings.HasPrefix(name, begin) {
			return true
		}
	}
	return false
}

// configurationReference is what patra can be told from outside of a command line, in Markdown.
func configurationReference(root *cobra.Command) []byte {
	var b bytes.Buffer
	b.WriteString(`# Configuration

Made by ` + "`patra deploy reference --configuration`" + `; a test keeps it true. A setting is taken from its flag, else from its variable of the
environment, else from the file of settings, else it is as below. ` + "`patra doctor`" + ` shows each with where it came from. What a source is like is no
setting: that is its pack ([source-keys.md](source-keys.md)).

## The file of settings

Lines of ` + "`NAME=value`" + `, as units of systemd and Compose files read them too: the value may stand in quotes, a comment stands on a line of
its own. ` + "`patra init`" + ` writes such a file. It is ` + "`" + settingsFile + "`" + ` of the folder in which patra is started, else the one in ` + "`~/.config/patra`" + `
(` + "`$XDG_CONFIG_HOME/patra`" + `), else the one in ` + "`/etc/patra`" + `: the first that is there, or the one that ` + "`--config`" + ` or ` + "`PATRA_CONFIG`" + ` names. Paths in it
begin at its folder. A name that is none of the following is refused.

## Settings

`)
	for _, s := range shared {
		f := root.PersistentFlags().Lookup(s.flag)
		whose := ""
		if f == nil {
			f, whose = flagOfSome(root, s.flag)
		}
		usage := strings.NewReplacer(" ("+s.env+")", "", s.env+", ", "").Replace(f.Usage)
		fmt.Fprintf(&b, "- `%s`, `%s`%s: %s%s\n", s.env, flagText(f), whose, usage, defaultText(f))
	}
	b.WriteString("\nFlags of `patra serve` and `patra up` alone, such as `--listen`, have no variable: [commands.md](commands.md#serve).\n")
	title := ""
	for _, v := range outsideFiles {
		if v.title != title {
			title = v.title
			fmt.Fprintf(&b, "\n## %s: from the environment only\n\n", title)
		}
		fmt.Fprintf(&b, "- `%s`: %s\n", v.env, v.means)
	}
	return b.Bytes()
}

// flagOfSome finds a flag that not all commands have, and names those that have it.
func flagOfSome(root *cobra.Command, name string) (found *pflag.Flag, whose string) {
	var of []string
	for _, cmd := range leaves(root) {
		if f := cmd.LocalNonPersistentFlags().Lookup(name); f != nil {
			found = f
			of = append(of, "`"+cmd.CommandPath()+"`")
		}
	}
	return found, " of " + strings.Join(of, ", ")
}

// defaultText says what holds without a flag, where its usage does not say it.
func defaultText(f *pflag.Flag) string {
	switch {
	case strings.Contains(f.Usage, "default"), f.DefValue == "", f.DefValue == "0", f.DefValue == "0s", f.DefValue == "false":
		return ""
	}
	return " (default " + f.DefValue + ")"
}
