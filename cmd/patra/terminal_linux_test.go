package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/papertrace/patra/internal/domain/harvest"
)

// A scheduler runs patra with /dev/null for its streams: nobody sits there who could answer a question.
func TestApprove_AsksOnlyWhereSomebodySits(t *testing.T) {
	t.Parallel()
	much := harvest.Forecast{Source: "crossref", Records: askAbove + 1}
	unknown := harvest.Forecast{Source: "arxiv", Uncounted: true}
	for _, c := range []struct {
		name     string
		what     harvest.Forecast
		answer   string
		yes      bool
		declined bool
	}{
		{name: "nobody is there", what: much},
		{name: "a person says yes", what: much, answer: "y\n"},
		{name: "a person says no", what: much, answer: "n\n", declined: true},
		{name: "a person says nothing", what: much, answer: "\n", declined: true},
		{name: "a person was told --yes", what: much, answer: "n\n", yes: true},
		{name: "a person says no to what nobody can count", what: unknown, answer: "n\n", declined: true},
		{name: "a few are read without a word", what: harvest.Forecast{Records: askAbove}, answer: "n\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			stream := openFile(t, os.DevNull)
			if c.answer != "" {
				stream = terminalThatSays(t, c.answer)
			}
			asker := &cli{printer: printer{err: stream}}
			err := asker.approve(stream, c.yes)(c.what)
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

// TestReadHidden_ShowsNothing of what is typed, and leaves the terminal as it was, also when it is
// stopped meanwhile.
func TestReadHidden_ShowsNothing(t *testing.T) {
	t.Parallel()
	told := errors.New("Ctrl-C")
	for _, c := range []struct {
		name, typed string
		want        error
	}{
		{name: "a line", typed: "secret\n"},
		{name: "Ctrl-C", want: told},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			keyboard, terminal := openTerminal(t)
			ctx, stop := context.WithCancelCause(t.Context())
			defer stop(nil)
			type result struct {
				line string
				err  error
			}
			read := make(chan result)
			go func() {
				line, err := readHidden(ctx, terminal)
				read <- result{line, err}
			}()
			for showsWhatIsTyped(t, terminal) {
				select {
				case r := <-read:
					t.Fatalf("readHidden = %q, %v before anything was typed", r.line, r.err)
				default:
					runtime.Gosched()
				}
			}
			if c.want != nil {
				stop(c.want)
			}
			if _, err := keyboard.WriteString(c.typed); err != nil {
				t.Fatal(err)
			}
			if r := <-read; r.line != strings.TrimSpace(c.typed) || !errors.Is(r.err, c.want) {
				t.Errorf("readHidden = %q, %v", r.line, r.err)
			}
			if !showsWhatIsTyped(t, terminal) {
				t.Error("the terminal does not show what is typed any more")
			}
		})
	}
}

func showsWhatIsTyped(t *testing.T, terminal *os.File) bool {
	t.Helper()
	settings, err := unix.IoctlGetTermios(int(terminal.Fd()), unix.TCGETS)
	if err != nil {
		t.Fatal(err)
	}
	return settings.Lflag&unix.ECHO != 0
}

// terminalThatSays opens a terminal at which somebody has typed an answer.
func terminalThatSays(t *testing.T, answer string) *os.File {
	t.Helper()
	keyboard, terminal := openTerminal(t)
	if _, err := keyboard.WriteString(answer); err != nil {
		t.Fatal(err)
	}
	return terminal
}

func openTerminal(t *testing.T) (keyboard, terminal *os.File) {
	t.Helper()
	keyboard = openFile(t, "/dev/ptmx")
	fd := int(keyboard.Fd())
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	number, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	return keyboard, openFile(t, fmt.Sprintf("/dev/pts/%d", number))
}

// openFile opens a file that stays open until the tests end: what was told to stop may still wait
// for a line, and must not get that of another terminal with the same number.
func openFile(t *testing.T, path string) *os.File {
	t.Helper()
	fd, err := unix.Open(path, unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	f := os.NewFile(uintptr(fd), path)
	openFiles.Store(f, true) // or the collector closes it
	return f
}

var openFiles sync.Map
