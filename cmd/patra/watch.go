package main

import (
	"bytes"
	"context"
	"slices"
	"time"

	"github.com/spf13/cobra"
)

// watchEvery is how often --watch looks again.
const watchEvery = 2 * time.Second

// readVerbs are the words of commands that show what goes on in a store.
var readVerbs = []string{"list", "show", "why", "gaps", "events", "history", "status", "coverage", "suggestions", "identifiers"}

// stillLife are read verbs whose answer only a person's deed changes, or which ask no store.
var stillLife = []string{
	"patra blackbox show", "patra credential list", "patra db archive show", "patra record history", "patra source history", "patra source list",
	"patra source show", "patra token list",
}

// addReadFlags gives every command that shows what goes on --watch, and every list -q. Both are
// done where answers are read and printed, and no command knows of them.
func (c *cli) addReadFlags(root *cobra.Command) {
	for _, cmd := range leaves(root) {
		if !slices.Contains(readVerbs, cmd.Name()) {
			continue
		}
		if !slices.Contains(stillLife, cmd.CommandPath()) {
			cmd.Flags().BoolVar(&c.watching, "watch", false, "look again every two seconds, until interrupted")
		}
		if cmd.Name() != "show" && cmd.Flags().Lookup("limit") != nil || cmd.Name() == "list" {
			cmd.Flags().BoolVarP(&c.quiet, "quiet", "q", false, "print only what other commands call each by; the same as -o name")
		}
	}
}

// lookAgain looks, and shows what was seen, again and again until it is told to stop. On a
// terminal each answer takes the place of the one before.
func (c *cli) lookAgain(ctx context.Context, look func() error) error {
	const clear = "\x1b[H\x1b[2J"
	screen := c.printer
	inPlace := screen.screen.terminal && !c.json
	for {
		var seen bytes.Buffer
		c.out = &seen
		if inPlace {
			seen.WriteString(clear)
			c.err = &seen // a note would stand above what takes its place
		}
		err := look()
		c.printer = screen
		if ctx.Err() != nil {
			return nil // ended by whoever began it, perhaps in mid-sentence
		}
		if _, failed := c.out.Write(seen.Bytes()); failed != nil || err != nil {
			return err // what cannot be written, c.out remembers
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(watchEvery):
		}
	}
}
