package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/spf13/cobra"
)

func (c *cli) credentialCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "credential",
		Short: "Look after the keys that sources are asked with",
		Long: "A source's pack says how a key is sent; the key itself is set here, by reference to an environment\n" +
			"variable or a file, or sealed in the store under PATRA_KEY. Several keys of a source take turns; one that\n" +
			"is refused rests and the next takes its place. Every change acts on the next request. A key is bound to where its\n" +
			"source is when it is set; `allow` lets it go elsewhere.",
	}
	verbs(cmd, c.credentialSetCmd(), c.credentialListCmd(), c.credentialRotateCmd(), c.credentialDisableCmd(), c.credentialAllowCmd())
	return cmd
}

// secretFlags say where a secret is. There is no flag for the secret itself.
type secretFlags struct {
	env, file string
	stdin     bool
	later     bool
	value     string
}

func (s *secretFlags) add(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&s.env, "env", "", "name of the environment variable that holds the secret; for a source that wants several, their names with commas between")
	f.StringVar(&s.file, "file", "", "file that holds the secret, or several, one a line")
	f.BoolVar(&s.stdin, "stdin", false, "read the secret from standard input and seal it in the store (needs PATRA_KEY or PATRA_KEY_FILE)")
	f.BoolVar(&s.later, "later", false, "the variable or file will be there only where patra runs")
	f.StringVar(&s.value, "value", "", "refused: see the error")
	_ = f.MarkHidden("value") // it exists
}

const onCommandLine = "a secret does not belong on the command line: every user of the machine can read it in the process list,\n" +
	"and the shell keeps it in its history; use --stdin, --env or --file"

// readSecret reads a secret, or several, one a line. Somebody at a terminal is asked for one, and it is
// not shown.
func readSecret(cmd *cobra.Command) (string, error) {
	in := cmd.InOrStdin()
	if isTerminal(in) {
		cmd.PrintErr("The secret (it is not shown): ")
		defer cmd.PrintErrln()
		return readHidden(cmd.Context(), in.(descriptor))
	}
	b, err := io.ReadAll(io.LimitReader(in, 64<<10))
	return strings.TrimRight(string(b), "\r\n"), err
}

var envName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*(,[A-Za-z_][A-Za-z0-9_]*)*$`)

// into adds what the flags say to an offer. Nothing given is repeated in an error: it
// may be a secret in the wrong place.
func (s *secretFlags) into(o *control.SecretOffer, cmd *cobra.Command) error {
	o.Later = s.later
	bad := func(text string) error { return &usageError{cmd: cmd.CommandPath(), err: errors.New(text)} }
	if cmd.Flags().Changed("value") {
		return bad(onCommandLine)
	}
	if n := btoi(s.env != "") + btoi(s.file != "") + btoi(s.stdin); n != 1 {
		return bad("say where the secret is: one of --env, --file and --stdin")
	}
	switch {
	case s.stdin:
		text, err := readSecret(cmd)
		if err != nil {
			return fmt.Errorf("read the secret: %w", err)
		}
		if err := o.Enclose(text); err != nil {
			return bad(err.Error())
		}
	case s.env != "":
		if !envName.MatchString(s.env) {
			return bad("--env takes the name of a variable, not its value: letters, digits and _")
		}
		o.Env = s.env
	default:
		path, err := filepath.Abs(s.file)
		if err != nil {
			return err
		}
		o.File = path
	}
	return nil
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// credentialOrder is who changes the credentials of a source, and why.
func (f *changeFlags) credentialOrder(c *cli, cmd *cobra.Command, code string) (control.CredentialOrder, error) {
	by, err := f.byAnyReason(c, cmd)
	return control.CredentialOrder{By: by, Source: code, DryRun: f.dryRun, Help: cmd.CommandPath() + " --help"}, err
}

// named wants the source and the name of a credential. What is too much is not
// repeated.
func named(cmd *cobra.Command, args []string) error {
	switch {
	case len(args) > 2:
		return &usageError{cmd: cmd.CommandPath(), err: errors.New(onCommandLine)}
	case len(args) < 2:
		return misuse(cmd, "%s needs a source and the name of a credential, such as: %s pubmed main", cmd.CommandPath(), cmd.CommandPath())
	case !control.IsCredentialName(args[1]):
		return misuse(cmd, "the second argument is not a name: up to 64 letters, digits, dots, - and _")
	}
	return nil
}

func (c *cli) credentialSetCmd() *cobra.Command {
	var secret secretFlags
	var change changeFlags
	var endpoint, task string
	var prefer bool
	var weight int
	cmd := &cobra.Command{
		Use:   "set SOURCE NAME (--env VAR | --file PATH | --stdin)",
		Short: "Give a source a key, in place of the one of the same name",
		Example: "  patra credential set pubmed main --env NCBI_API_KEY\n" +
			"  patra credential set crossref plus --file /run/secrets/crossref\n" +
			"  pass show ncbi | patra credential set pubmed main --stdin\n" +
			"  patra credential set scopus main --env ELSEVIER_KEY,ELSEVIER_INSTTOKEN",
		Args: named,
		RunE: func(cmd *cobra.Command, args []string) error {
			order, err := change.credentialOrder(c, cmd, args[0])
			if err != nil {
				return err
			}
			offer := control.SecretOffer{Name: args[1], Endpoint: endpoint, Preferred: prefer, Weight: weight}
			if task != "" {
				op, ok := harvest.ParseOperation(task)
				if !ok {
					return misuse(cmd, "--task %q is none of harvest, backfill and update", task)
				}
				offer.Task = op
			}
			if err := secret.into(&offer, cmd); err != nil {
				return err
			}
			return c.changeCredentials(cmd.Context(), func(ctl *control.Control) (control.CredentialChanges, error) {
				return ctl.SetCredential(cmd.Context(), offer, order)
			})
		},
	}
	secret.add(cmd)
	change.add(c, cmd)
	f := cmd.Flags()
	f.StringVar(&endpoint, "endpoint", "", "use it for this endpoint only, before others")
	f.StringVar(&task, "task", "", "use it for this operation only, before others: harvest, backfill or update")
	f.BoolVar(&prefer, "prefer", false, "use it before others of its standing instead of in turn with them")
	f.IntVar(&weight, "weight", 1, "its share among keys that take turns")
	return cmd
}

func (c *cli) credentialRotateCmd() *cobra.Command {
	var secret secretFlags
	var change changeFlags
	var reseal bool
	cmd := &cobra.Command{
		Use:   "rotate SOURCE (NAME (--env VAR | --file PATH | --stdin) | --reseal)",
		Short: "Give a credential another secret, or seal all of a source anew under a new PATRA_KEY",
		Long: "The row before ends as the new one begins, and the next request goes with the new secret; nothing else of\n" +
			"the requests changes. To change the sealing key, start with the new one as PATRA_KEY and the old one as\n" +
			"PATRA_KEY_PREVIOUS, and rotate --reseal.",
		Args: func(cmd *cobra.Command, args []string) error {
			if reseal && len(args) == 1 {
				return nil
			}
			return named(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			order, err := change.credentialOrder(c, cmd, args[0])
			if err != nil {
				return err
			}
			if reseal {
				if len(args) != 1 || secret != (secretFlags{}) {
					return misuse(cmd, "--reseal takes a source and no secret")
				}
				return c.changeCredentials(cmd.Context(), func(ctl *control.Control) (control.CredentialChanges, error) {
					return ctl.ResealCredentials(cmd.Context(), order)
				})
			}
			offer := control.SecretOffer{Name: args[1]}
			if err := secret.into(&offer, cmd); err != nil {
				return err
			}
			return c.changeCredentials(cmd.Context(), func(ctl *control.Control) (control.CredentialChanges, error) {
				return ctl.RotateCredential(cmd.Context(), offer, order)
			})
		},
	}
	secret.add(cmd)
	change.add(c, cmd)
	cmd.Flags().BoolVar(&reseal, "reseal", false, "keep the secrets, seal them anew under the current key")
	return cmd
}

func (c *cli) credentialDisableCmd() *cobra.Command {
	var change changeFlags
	cmd := &cobra.Command{
		Use:   "disable SOURCE NAME",
		Short: "Take a credential out of use at once",
		Args:  named,
		RunE: func(cmd *cobra.Command, args []string) error {
			order, err := change.credentialOrder(c, cmd, args[0])
			if err != nil {
				return err
			}
			return c.changeCredentials(cmd.Context(), func(ctl *control.Control) (control.CredentialChanges, error) {
				return ctl.DisableCredential(cmd.Context(), args[1], order)
			})
		},
	}
	change.add(c, cmd)
	return cmd
}

// changeCredentials makes a change and says what was done.
func (c *cli) changeCredentials(ctx context.Context, do func(*control.Control) (control.CredentialChanges, error)) error {
	return c.changing(ctx, func(ctl *control.Control) error {
		done, err := do(ctl)
		if err != nil {
			return err
		}
		return c.showList(done, "changes", func() {
			c.printChanges(done)
			c.noteToken(done.Token)
		})
	})
}

func (c *cli) printChanges(done control.CredentialChanges) {
	pool := done.Source
	would := ""
	if done.DryRun {
		would = "would be "
	}
	if len(done.Changes) == 0 {
		c.printf("nothing to change\n")
	}
	for _, ch := range done.Changes {
		switch {
		case ch.Add != nil:
			c.printf("%s: credential %s %sset (%s), for %s only\n", pool, ch.Add.Name, would, ch.Add.Secret.Where(), strings.Join(ch.Add.Origins, ", "))
		case ch.Close != 0:
			c.printf("%s: row %d %sended\n", pool, ch.Close, would)
		case ch.Disable != 0:
			c.printf("%s: row %d %sdisabled\n", pool, ch.Disable, would)
		case ch.Reseal != 0:
			c.printf("%s: row %d %ssealed anew\n", pool, ch.Reseal, would)
		case ch.Allow != nil:
			c.printf("%s: %sallowed: %s\n", pool, would, ch.Allow)
		case ch.Withdraw != nil:
			c.printf("%s: %swithdrawn: %s\n", pool, would, ch.Withdraw)
		}
	}
}

func (c *cli) credentialListCmd() *cobra.Command {
	var all bool
	cmd := &cobra.Command{
		Use:   "list [SOURCE]",
		Short: "Show the credentials of a source, or of all",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 {
				return oneSource(cmd, args)
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			pool := ""
			if len(args) == 1 {
				pool = args[0]
			}
			return c.reading(cmd.Context(), func(ctl *control.Control) error {
				list, err := ctl.Credentials(cmd.Context(), pool, all)
				if err != nil {
					return err
				}
				return c.showList(list, "credentials", func() { c.printCredentials(list.Credentials) })
			})
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "also those that have ended")
	cmd.Flags().BoolVar(&c.json, "json", false, "print one JSON object")
	return cmd
}

func (c *cli) printCredentials(lines []control.CredentialRow) {
	if len(lines) == 0 {
		c.notef("no credentials; patra credential set SOURCE NAME --env VAR\n")
		return
	}
	var rows [][]any
	for _, l := range lines {
		aim := []string{}
		if l.Endpoint != "" {
			aim = append(aim, l.Endpoint)
		}
		if l.Task != "" {
			aim = append(aim, string(l.Task))
		}
		if l.Preferred {
			aim = append(aim, "preferred")
		}
		if len(aim) == 0 {
			aim = append(aim, "all")
		}
		state := l.State
		if state == control.CredentialResting {
			state += " until " + control.Time(l.RefusedUntil.Truncate(time.Second)).String()
		}
		rows = append(rows, []any{
			l.Pool, l.Name, strings.Join(aim, ", "), l.Secret.Where(), withGlyph(state, control.CredentialFamily(l.State)), control.Time(l.From.Truncate(time.Second)),
		})
	}
	c.table([]column{
		{head: "SOURCE", gap: 2},
		{head: "NAME", gap: 2},
		{head: "FOR", wraps: true, gap: 2},
		{head: "SECRET", wraps: true, gap: 2},
		{head: "STATE", wraps: true, gap: 2},
		{head: "SINCE"},
	}, rows)
}
