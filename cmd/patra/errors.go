package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"slices"
	"strings"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/papertrace/patra/internal/node"
	"github.com/spf13/cobra"
)

// Exit codes, the same everywhere.
const (
	exitDone        = 0
	exitFailed      = 1
	exitUsage       = 2
	exitNotFound    = 3
	exitConflict    = 5
	exitPartial     = 6
	exitUpstream    = 7
	exitDifferences = 10
	exitInterrupted = 130
)

// usageError is a command line that cannot be understood.
type usageError struct {
	cmd string
	err error
}

func (e *usageError) Error() string { return e.err.Error() }

func (e *usageError) Unwrap() error { return e.err }

// misuse says how a command line cannot be understood.
func misuse(cmd *cobra.Command, format string, args ...any) error {
	return &usageError{cmd: cmd.CommandPath(), err: fmt.Errorf(format, args...)}
}

// exitError ends with a code after everything was said.
type exitError int

func (e exitError) Error() string { return fmt.Sprintf("exit %d", int(e)) }

// report is a problem and the exit code it ends with.
type report struct {
	exit int
	control.Problem
}

// MarshalJSON gives it the form of RFC 9457.
func (r report) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Type   string `json:"type"`
		Code   string `json:"code"`
		Title  string `json:"title"`
		Detail string `json:"detail,omitempty"`
		Next   string `json:"next,omitempty"`
		Exit   int    `json:"exit"`
	}{"urn:patra:error:" + r.Code, r.Code, r.Title, r.Detail, r.Next, r.exit})
}

// fail prints err and returns the exit code.
func (c *cli) fail(ctx context.Context, err error) int {
	if err == nil {
		return exitDone
	}
	if e, ok := errors.AsType[exitError](err); ok {
		return int(e)
	}
	r := c.explain(ctx, err)
	if c.json && c.form != asCSV && c.form != asName {
		if err := c.printJSON(r); err != nil {
			c.notef("patra: %s\n", err)
		}
	}
	c.printProblem(r.Problem)
	return r.exit
}

// explain finds what an error means to whoever called. Errors of patra know their own
// problem.
func (c *cli) explain(ctx context.Context, err error) report {
	if e, ok := errors.AsType[*usageError](err); ok {
		return report{exitUsage, control.Problem{Code: "usage", Title: e.Error(), Next: e.cmd + " --help"}}
	}
	if interrupted(ctx, err) {
		p := control.Problem{Code: "interrupted", Title: "interrupted", Next: "run the same command again: it goes on where it stopped"}
		return report{exitInterrupted, p}
	}
	if p, ok := control.Explain(err, c.source); ok {
		switch p.Code {
		case "not_found":
			p.Next = c.whereToLook()
		case "unknown_source":
			p.Next = c.withNearest(p.Next)
		}
		return report{p.Kind.Exit(), p}
	}
	if p, ok := c.explainSystem(err); ok {
		return p
	}
	return report{exitFailed, control.Problem{Code: "failed", Title: err.Error()}}
}

// interrupted reports whether err came of being told to stop.
func interrupted(ctx context.Context, err error) bool {
	return ctx.Err() != nil && (errors.Is(err, ctx.Err()) || errors.Is(err, context.Cause(ctx)))
}

// explainSystem says what to do where the machine, or a library, refuses.
func (c *cli) explainSystem(err error) (report, bool) {
	failed := func(code, title, detail, next string) (report, bool) {
		return report{exitFailed, control.Problem{Code: code, Title: title, Detail: detail, Next: next}}, true
	}
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, fs.ErrNotExist) {
		return failed("file", err.Error(), "", "check the path and its permissions; `patra harvest SOURCE` makes a database that is not there yet")
	}
	if strings.HasPrefix(err.Error(), "unknown command") { // of cobra, which has no type for it
		return report{exitUsage, control.Problem{Code: "usage", Title: err.Error(), Next: "patra --help"}}, true
	}
	const corrupt, notADatabase = 11, 26 // SQLite's codes; what is above the lowest byte says more
	if e, ok := errors.AsType[interface {
		error
		Code() int
	}](err); ok {
		db := cmp.Or(c.db, node.DefaultDB())
		switch e.Code() & 0xff {
		case notADatabase:
			return failed("not_a_database", db+" is not a database", err.Error(), "name a database of patra's, or a file that is not there yet: --db sqlite:./patra.db")
		case corrupt:
			return failed("damaged", "the database "+db+" is damaged", err.Error(),
				"`patra verify --db "+db+"` lists the damage; put back a copy from before it and run the command again")
		}
	}
	e, ok := errors.AsType[*net.OpError](err)
	switch {
	case ok && e.Op == "listen":
		return failed("cannot_listen", err.Error(), "", "choose another address with --listen, such as 127.0.0.1:0 for any port that is free")
	case ok && e.Op == "dial":
		return failed("unreachable", err.Error(), "", "is the database server running, and are host and port of --db right? sqlite:./patra.db needs no server")
	}
	return report{}, false
}

// whereToLook lists what there is in place of what a command did not find.
func (c *cli) whereToLook() string {
	switch words := strings.Fields(c.command); {
	case len(words) < 3:
	case words[2] == "accept-gap":
		return "patra plan gaps SOURCE"
	case words[1] == "batch":
		return "patra run list"
	case slices.Contains(withLists, words[1]):
		return "patra " + words[1] + " list"
	}
	return "patra source list"
}

// withLists are the commands that list what they are about.
var withLists = []string{"alert", "credential", "cursor", "error", "plan", "quarantine", "record", "run", "schedule", "search", "task", "token", "work"}

// withNearest is the command that was called with the name of a source that is there, given
// the advice to harvest the nearest; the list of sources if there is none near.
func (c *cli) withNearest(advice string) string {
	near := strings.TrimPrefix(advice, "patra harvest ")
	if near == "SOURCE" || !strings.HasSuffix(c.command, " "+c.source) {
		return "patra source list"
	}
	return strings.TrimSuffix(c.command, c.source) + near
}
