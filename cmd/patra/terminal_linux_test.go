package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/papertrace/patra/internal/domain/harvest"
)

// A scheduler runs patra with /dev/null for its streams: nobody sits there who could answer a question.
func TestApprove_AsksOnlyWhereSomebodySits(t *testing.T) {
	t.Parallel()
	much := harvest.Forecast{Source: "crossref", Records: askAbove + 1}
	for _, c := range []struct {
		name, answer string
		yes          bool
		declined     bool
	}{
		{name: "nobody is there"},
		{name: "a person says yes", answer: "y\n"},
		{name: "a person says no", answer: "n\n", declined: true},
		{name: "a person says nothing", answer: "\n", declined: true},
		{name: "a person was told --yes", answer: "n\n", yes: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			stream := openFile(t, os.DevNull)
			if c.answer != "" {
				stream = terminalThatSays(t, c.answer)
			}
			asker := &cli{printer: printer{err: stream}}
			err := asker.approve(stream, c.yes)(much)
			if _, declined := errors.AsType[*control.DeclinedError](err); declined != c.declined || !declined && err != nil {
				t.Errorf("approve = %v, want declined: %v", err, c.declined)
			}
		})
	}
}

// TestApprove_IsStopped by Ctrl-C, which is no answer: nobody has to press return behind it.
func TestApprove_IsStopped(t *testing.T) {
	t.Parallel()
	terminal := terminalThatSays(t, "")
	ctx, stop := context.WithCancelCause(t.Context())
	told := errors.New("Ctrl-C")
	stop(told)
	asker := &cli{printer: printer{err: terminal}}
	if err := asker.approve(input{terminal, ctx}, false)(harvest.Forecast{Records: askAbove + 1}); !errors.Is(err, told) {
		t.Errorf("approve = %v, want what stopped it", err)
	}
}

// terminalThatSays opens a terminal at which somebody has typed an answer.
func terminalThatSays(t *testing.T, answer string) *os.File {
	t.Helper()
	keyboard := openFile(t, "/dev/ptmx")
	fd := int(keyboard.Fd())
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	number, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	terminal := openFile(t, fmt.Sprintf("/dev/pts/%d", number))
	if _, err := keyboard.WriteString(answer); err != nil {
		t.Fatal(err)
	}
	return terminal
}

func openFile(t *testing.T, path string) *os.File {
	t.Helper()
	f, err := os.OpenFile(path, os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}
