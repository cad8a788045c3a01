package main

import (
	"cmp"
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"
)

// linked is the commit that the Makefile names when it links the program, for
// builds that do not look at the repository themselves.
var linked string

// commit is the one the program was built from, empty if nobody knows.
func commit() string {
	if bi, ok := debug.ReadBuildInfo(); ok {
		for _, s := range bi.Settings {
			if s.Key == "vcs.revision" {
				return s.Value[:min(12, len(s.Value))]
			}
		}
	}
	return linked
}

// version is the module's version, or the commit it was built from.
func version() string {
	bi, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	if v := bi.Main.Version; v != "" && v != "(devel)" {
		return v
	}
	if c := commit(); c != "" {
		return "dev-" + c
	}
	return "dev"
}

// versionLine is what `patra version` and `patra --version` print.
func versionLine() string {
	v := version()
	if c := commit(); c != "" && !strings.Contains(v, c) {
		v += " (commit " + c + ")"
	}
	return fmt.Sprintf("patra %s %s %s/%s\n", v, runtime.Version(), runtime.GOOS, runtime.GOARCH)
}

func (c *cli) versionCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		RunE: func(*cobra.Command, []string) error {
			view := map[string]string{
				"version": version(), "commit": cmp.Or(commit(), "unknown"), "go": runtime.Version(), "os": runtime.GOOS, "arch": runtime.GOARCH,
			}
			return c.show(view, func() { c.printf("%s", versionLine()) })
		},
	}
	cmd.Flags().BoolVar(&c.json, "json", false, "print one JSON object")
	return cmd
}
