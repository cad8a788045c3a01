package main

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/term"
)

// descriptor is what a terminal, a file and a pipe have.
type descriptor interface{ Fd() uintptr }

// isTerminal reports whether a person sits at a stream. /dev/null, which schedulers give to their
// jobs, is none.
func isTerminal(stream any) bool {
	f, ok := stream.(descriptor)
	return ok && term.IsTerminal(int(f.Fd()))
}

// terminalWidth is how many columns the terminal has, 0 if that is not known.
func terminalWidth(stream any) int {
	f, ok := stream.(descriptor)
	if !ok {
		return 0
	}
	columns, _, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 0
	}
	return columns
}

// readHidden reads a line that somebody types at a terminal, which does not show it. Told to stop
// meanwhile, it leaves the terminal as it was.
func readHidden(ctx context.Context, terminal descriptor) (string, error) {
	fd := int(terminal.Fd())
	before, err := term.GetState(fd)
	if err != nil {
		return "", fmt.Errorf("look at the terminal: %w", err)
	}
	typed := make(chan string, 1)
	failed := make(chan error, 1)
	go func() {
		line, err := term.ReadPassword(fd)
		if err != nil {
			failed <- fmt.Errorf("read from the terminal: %w", err)
			return
		}
		typed <- string(line)
	}()
	select {
	case line := <-typed:
		return line, nil
	case err := <-failed:
		return "", err
	case <-ctx.Done():
		return "", errors.Join(context.Cause(ctx), term.Restore(fd, before))
	}
}
