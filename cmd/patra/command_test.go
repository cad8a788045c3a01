package main

import (
	"io"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/papertrace/patra/internal/domain/source"
	"github.com/spf13/cobra"
)

// unread are the commands that are left to --help.
var unread = map[string]bool{"version": true}

// TestCommands_AreTold: every command says what it is for and what it takes, and
// each word after patra stands in the README or in the tour that it leads to, where
// users look for what there is.
func TestCommands_AreTold(t *testing.T) {
	var told []byte
	for _, page := range []string{"README.md", "docs/tour.md"} {
		text, err := os.ReadFile("../../" + page)
		if err != nil {
			t.Fatal(err)
		}
		told = append(told, text...)
	}
	c := &cli{printer: printer{out: io.Discard, err: io.Discard}}
	root := c.root()
	for _, cmd := range root.Commands() {
		word := regexp.MustCompile(`patra ` + cmd.Name() + `\b`)
		if !unread[cmd.Name()] && !word.Match(told) {
			t.Errorf("README.md and docs/tour.md do not tell of patra %s", cmd.Name())
		}
	}
	eachCommand(root, func(cmd *cobra.Command) {
		if cmd.Short == "" {
			t.Errorf("%s does not say what it is for: set Short", cmd.CommandPath())
		}
		if cmd.Runnable() && cmd != root && cmd.Args == nil {
			t.Errorf("%s takes whatever it is given: set Args, to noArgs if it takes none", cmd.CommandPath())
		}
	})
}

func eachCommand(cmd *cobra.Command, see func(*cobra.Command)) {
	see(cmd)
	for _, sub := range cmd.Commands() {
		eachCommand(sub, see)
	}
}

// TestSourceNew_NamesThePagingTypes: the skeleton offers every type that a pack may name.
func TestSourceNew_NamesThePagingTypes(t *testing.T) {
	_, rest, _ := strings.Cut(skeleton, "pagination:")
	line, _, _ := strings.Cut(strings.TrimSpace(rest), "\n")
	for _, d := range source.Dictionary() {
		if d.Code != source.DictPaging {
			continue
		}
		for _, item := range d.Items {
			if !strings.Contains(line, item.Code) {
				t.Errorf("the skeleton offers %q, and %s is not in it", line, item.Code)
			}
		}
	}
}
