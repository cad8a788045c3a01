package main

import (
	"cmp"
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/papertrace/patra/internal/app/control"
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

// build is which program this is.
func build() control.Build {
	return control.Build{
		Version: version(), Commit: cmp.Or(commit(), "unknown"), Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH,
	}
}

func (c *cli) versionCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		RunE: func(*cobra.Command, []string) error {
			return c.show(build(), func() { c.printf("%s", versionLine()) })
		},
	}
	cmd.Flags().BoolVar(&c.json, "json", false, "print one JSON object")
	return cmd
}
