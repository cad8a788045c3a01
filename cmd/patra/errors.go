package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"strings"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/papertrace/patra/internal/app/planner"
	"github.com/papertrace/patra/internal/app/reconcile"
	"github.com/papertrace/patra/internal/app/registry"
	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/query"
	"github.com/papertrace/patra/internal/domain/source"
	"github.com/papertrace/patra/internal/infra/sqlstore"
	"github.com/papertrace/patra/internal/node"
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

// exitError ends with a code after everything was said.
type exitError int

func (e exitError) Error() string { return fmt.Sprintf("exit %d", int(e)) }

// problem is an error as its reader needs it: what, and what to do next.
type problem struct {
	Code   string `json:"code"`
	Title  string `json:"title"`
	Detail string `json:"detail,omitempty"`
	Next   string `json:"next,omitempty"`
	Status int    `json:"-"`
}

// fail prints err and returns the exit code.
func (c *cli) fail(ctx context.Context, err error) int {
	if err == nil {
		return exitDone
	}
	if e, ok := errors.AsType[exitError](err); ok {
		return int(e)
	}
	p := c.explain(ctx, err)
	if c.json {
		b, merr := json.Marshal(struct {
			Type string `json:"type"`
			problem
			Exit int `json:"exit"`
		}{"urn:patra:error:" + p.Code, p, p.Status})
		if merr == nil {
			c.printf("%s\n", b)
		}
	}
	c.printProblem(p)
	return p.Status
}

// explain finds what kind of error it is.
func (c *cli) explain(ctx context.Context, err error) problem {
	if e, ok := errors.AsType[*usageError](err); ok {
		return problem{"usage", e.Error(), "", e.cmd + " --help", exitUsage}
	}
	if interrupted(ctx, err) {
		return problem{"interrupted", "interrupted", "", "run the same command again: it goes on where it stopped", exitInterrupted}
	}
	if e, ok := errors.AsType[*registry.UnknownSourceError](err); ok {
		return problem{"unknown_source", e.Error(), "", "patra harvest " + cmp.Or(query.Nearest(e.Code, e.Known), "SOURCE"), exitNotFound}
	}
	if e, ok := errors.AsType[*lintError](err); ok {
		return e.problem()
	}
	if e, ok := errors.AsType[*node.PackError](err); ok {
		return problem{"pack_invalid", "a source pack has mistakes", e.Error(), "mend the lines named above and run the command again; nothing was changed", exitUsage}
	}
	if p, ok := explainSource(err); ok {
		return p
	}
	if p, ok := explainCredential(err); ok {
		return p
	}
	if e, ok := errors.AsType[*sqlstore.DSNError](err); ok {
		return problem{"bad_dsn", e.Error(), "", "patra harvest SOURCE --db sqlite:./patra.db", exitUsage}
	}
	if e, ok := errors.AsType[*sqlstore.SchemaError](err); ok {
		return problem{"schema", e.Error(), "", e.Next(), exitConflict}
	}
	if e, ok := errors.AsType[*sqlstore.ConditionError](err); ok {
		code := exitFailed
		if e.Kind == "is_folder" || e.Kind == "no_folder" { // what --db names
			code = exitUsage
		}
		return problem{e.Kind, e.Error(), "", e.Next, code}
	}
	if e, ok := errors.AsType[*harvest.PastFrontierError](err); ok {
		return problem{
			"past_watermark", e.Error() + ", which nobody has read", "the watermark stands at " + harvest.FormatInstant(e.Watermark),
			fmt.Sprintf("leave --from out to go on at %s, run a BACKFILL for the window, or accept the gap; nothing was changed", harvest.FormatInstant(e.Frontier)), exitConflict,
		}
	}
	if e, ok := errors.AsType[*harvest.NeverReadError](err); ok {
		next := fmt.Sprintf("patra backfill %s --from %s --to %s", e.Source, harvest.FormatInstant(e.Window.From), harvest.FormatInstant(e.Window.To))
		if e.Operation == harvest.Backfill {
			next += " --activity ANOTHER reads it; nothing was changed"
		} else {
			next += " reads it, and without --from the harvest goes on; nothing was changed"
		}
		return problem{"never_read", e.Error(), "", next, exitConflict}
	}
	if e, ok := errors.AsType[*node.HeldError](err); ok {
		return problem{"source_held", e.Error(), "", "when the reason is gone: patra source resume " + e.Source + " --reason TEXT", exitUpstream}
	}
	if e, ok := errors.AsType[*stillStoppedError](err); ok {
		return e.problem()
	}
	if e, ok := errors.AsType[*harvest.BeyondActivityError](err); ok {
		return problem{"beyond_activity", e.Error(), "", "choose --to at or after " + harvest.FormatInstant(e.Reached) + ", or another --activity; nothing was changed", exitConflict}
	}
	if e, ok := errors.AsType[*planner.NoUpdateError](err); ok {
		return problem{"no_update", e.Error(), "", "patra backfill " + e.Source + " --from T --to T reads a window again; docs/write-a-source.md tells how a source is asked by ids", exitUsage}
	}
	if e, ok := errors.AsType[*node.BadLinesError](err); ok {
		return problem{"bad_ids", e.Error(), e.Detail(), "mend the lines named above and run the command again; nothing was changed", exitUsage}
	}
	if e, ok := errors.AsType[*planner.MovedError](err); ok {
		return problem{"moved", e.Error(), "", "`patra plan create SOURCE --dry-run` shows what would be planned now; nothing was changed", exitConflict}
	}
	if errors.Is(err, planner.ErrToken) {
		return problem{"bad_token", err.Error(), "", "copy the whole last line that `patra plan create SOURCE --dry-run` prints", exitUsage}
	}
	if e, ok := errors.AsType[*reconcile.CannotCountError](err); ok {
		return problem{"cannot_count", e.Error(), "", "`patra coverage " + e.Source + "` shows what is proven by the walks themselves", exitUsage}
	}
	if e, ok := errors.AsType[*reconcile.StepError](err); ok {
		return problem{"usage", e.Error(), "", "patra reconcile --help", exitUsage}
	}
	if errors.Is(err, reconcile.ErrNothingProven) {
		return problem{"nothing_proven", err.Error(), "", "patra harvest SOURCE, or choose another --from and --to; patra coverage SOURCE shows what is proven", exitNotFound}
	}
	if errors.Is(err, control.ErrNotOpen) {
		return problem{"not_open", err.Error(), "", "`patra plan show PLAN` shows its state; nothing was changed", exitConflict}
	}
	if errors.Is(err, control.ErrNoGap) {
		return problem{"no_gap", err.Error(), "", "`patra plan gaps SOURCE` lists the slices that can be accepted; nothing was changed", exitConflict}
	}
	if errors.Is(err, harvest.ErrNotFound) {
		return problem{"not_found", err.Error(), "", c.whereToLook(), exitNotFound}
	}
	if errors.Is(err, harvest.ErrEmptyWindow) {
		return problem{"empty_window", err.Error(), "", "choose --from before --to; both are RFC 3339 or a date, the end is not part of the window", exitUsage}
	}
	if f, ok := harvest.FaultOf(err); ok {
		return problem{f.Code, err.Error(), "", afterFault(f, c.source), exitUpstream}
	}
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, fs.ErrNotExist) {
		return problem{"file", err.Error(), "", "check the path and its permissions; `patra harvest SOURCE` makes a database that is not there yet", exitFailed}
	}
	if strings.HasPrefix(err.Error(), "unknown command") {
		return problem{"usage", err.Error(), "", "patra --help", exitUsage}
	}
	if p, ok := c.explainSystem(err); ok {
		return p
	}
	return problem{"failed", err.Error(), "", "", exitFailed}
}

// interrupted reports whether err came of being told to stop.
func interrupted(ctx context.Context, err error) bool {
	return ctx.Err() != nil && (errors.Is(err, ctx.Err()) || errors.Is(err, context.Cause(ctx)))
}

// explainSystem says what to do where the machine refuses.
func (c *cli) explainSystem(err error) (problem, bool) {
	const corrupt, notADatabase = 11, 26 // SQLite's codes; what is above the lowest byte says more
	if e, ok := errors.AsType[interface {
		error
		Code() int
	}](err); ok {
		db := cmp.Or(c.db, node.DefaultDB())
		switch e.Code() & 0xff {
		case notADatabase:
			return problem{"not_a_database", db + " is not a database", err.Error(), "name a database of patra's, or a file that is not there yet: --db sqlite:./patra.db", exitFailed}, true
		case corrupt:
			return problem{"damaged", "the database " + db + " is damaged", err.Error(), "`patra verify --db " + db + "` lists the damage; put back a copy from before it and run the command again", exitFailed}, true
		}
	}
	e, ok := errors.AsType[*net.OpError](err)
	switch {
	case ok && e.Op == "listen":
		return problem{"cannot_listen", err.Error(), "", "choose another address with --listen, such as 127.0.0.1:0 for any port that is free", exitFailed}, true
	case ok && e.Op == "dial":
		return problem{"unreachable", err.Error(), "", "is the database server running, and are host and port of --db right? sqlite:./patra.db needs no server", exitFailed}, true
	}
	return problem{}, false
}

// whereToLook lists what there is in place of what a command did not find.
func (c *cli) whereToLook() string {
	switch words := strings.Fields(c.command); {
	case len(words) < 3:
	case words[2] == "accept-gap":
		return "patra plan gaps SOURCE"
	case words[1] == "plan" || words[1] == "cursor" || words[1] == "credential":
		return "patra " + words[1] + " list"
	}
	return "patra source list"
}

// afterFault is what to do about a fault of a source. Only what passes by itself
// is worth waiting for.
func afterFault(f harvest.Fault, code string) string {
	switch {
	case f.Code == "query_widened":
		return "the source does not know the words named and would have searched for something else: mend --query; nothing was changed"
	case f.Code == source.CodeAuthRefused || f.Code == "no_credential" || f.Code == "credential_unreadable":
		return fmt.Sprintf("`patra credential list` shows the keys there are; patra credential set %s NAME --env VARIABLE --reason TEXT, "+
			"then patra source resume %s --reason TEXT if it was stopped, and the same command again", code, code)
	case f.Code == harvest.CodeCertificate:
		return "this does not mend itself: is the address right, is the clock of this machine, and is the authority known here that signed the certificate (SSL_CERT_FILE names a file with more of them)?"
	case f.Level == harvest.Fatal:
		return fmt.Sprintf("the source was stopped: `patra source check %s --show http` shows the request and the reply; "+
			"when it is mended, patra source resume %s --reason TEXT, then the same command again", code, code)
	case f.Level == harvest.Transient:
		return "run the same command again later: it goes on where it stopped"
	}
	return fmt.Sprintf("the same request would be refused again: `patra source check %s --show http` shows it and the reply", code)
}
