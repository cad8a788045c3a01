package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/spf13/cobra"
)

// replayFlags are the flags of replay.
type replayFlags struct {
	work     control.ReplayedWork
	after    string
	limit    int
	probe    bool
	exitCode bool
}

func (c *cli) replayCmd() *cobra.Command {
	var f replayFlags
	cmd := &cobra.Command{
		Use:   "replay FILE|RUN/BATCH",
		Short: "Do again what was done for a page, store nothing, and say whether source or parser has changed",
		Long: "Replay makes the request of a page again from what its plan has frozen and maps the items again that were kept, by\n" +
			"the description of then and by that of now. It sends nothing. With --probe the request is sent, through the rate\n" +
			"gate and behind everybody else, and what comes is compared as well. The verdict is SAME, SOURCE CHANGED, PARSER\n" +
			"CHANGED or NOT REPRODUCED. Whatever it is, nothing is written and no cursor moves. In JSON the words of\n" +
			"a verdict are joined by _, as in SOURCE_CHANGED.",
		Example: "  patra replay 17/3\n  patra replay box.jsonl.zst --exit-code\n  patra replay 17/3 --probe\n  patra replay --plan KEY\n  patra replay --task 41",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 || cmd.Flags().Changed("plan") && cmd.Flags().Changed("task") || len(args) == 1 == f.many() {
				return misuse(cmd, "replay takes a file, a page (RUN/BATCH), --plan KEY or --task ID")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			open := c.reading
			if f.probe { // the gate counts what is sent
				open = c.changing
			}
			return open(cmd.Context(), func(ctl *control.Control) error {
				if f.many() {
					return c.replayWork(cmd.Context(), cmd, ctl, &f)
				}
				report, err := replayOne(cmd.Context(), ctl, args[0], f.probe)
				if err != nil {
					return err
				}
				if err := c.show(report, func() { c.printReplay(report) }); err != nil {
					return err
				}
				return f.exit(report.Changed())
			})
		},
	}
	g := cmd.Flags()
	g.StringVar(&f.work.PlanKey, "plan", "", "replay the stored pages of the plan with this key")
	g.Int64Var((*int64)(&f.work.Task), "task", 0, "replay the stored pages of the task with this number")
	g.StringVar(&f.after, "after", "", "only pages behind this one: the next page")
	limitFlag(cmd, &f.limit, "pages of the plan or task")
	g.BoolVar(&f.probe, "probe", false, "send the request once more and compare the reply")
	g.BoolVar(&f.exitCode, "exit-code", false, "exit 10 unless the verdict is SAME")
	g.BoolVar(&c.json, "json", false, "print one JSON object")
	return cmd
}

// many reports whether the pages of a plan or a task are to be replayed.
func (f *replayFlags) many() bool { return f.work.PlanKey != "" || f.work.Task != 0 }

// named are the flags that name the plan or the task.
func (f *replayFlags) named() string {
	if f.work.Task != 0 {
		return fmt.Sprintf("--task %d", f.work.Task)
	}
	return "--plan " + f.work.PlanKey
}

func (f *replayFlags) exit(differs bool) error {
	if differs && f.exitCode {
		return exitError(exitDifferences)
	}
	return nil
}

// replayOne replays a page that is named, or one in a file.
func replayOne(ctx context.Context, ctl *control.Control, what string, probe bool) (control.ReplayReport, error) {
	if control.IsPage(what) {
		return ctl.ReplayBatch(ctx, what, probe)
	}
	file, err := os.Open(what)
	if err != nil {
		return control.ReplayReport{}, fmt.Errorf("%q is neither a page (RUN/BATCH) nor a file: %w", what, err)
	}
	defer file.Close() //nolint:errcheck // it was only read
	return ctl.ReplayFile(ctx, what, file, probe)
}

func (c *cli) replayWork(ctx context.Context, cmd *cobra.Command, ctl *control.Control, f *replayFlags) error {
	if f.probe {
		return misuse(cmd, "--probe asks for one page at a time: leave --plan and --task out")
	}
	all, err := ctl.ReplayWork(ctx, f.work, control.Page{After: f.after, Limit: f.limit})
	if err != nil {
		return err
	}
	err = c.showList(all, "reports", func() {
		rows := make([][]any, len(all.Reports))
		for i, r := range all.Reports {
			rows[i] = []any{r.Batch, r.Verdict.Words(), r.Why}
		}
		c.table([]column{{head: "BATCH", width: 12}, {head: "VERDICT", width: 14}, {head: "WHY", wraps: true}}, rows)
		c.printf("%s\n", all.Effect)
		if all.Next != "" {
			c.notef("next: patra replay %s --after %s\n", f.named(), all.Next)
		}
	})
	return errors.Join(err, f.exit(all.Changed()))
}

func (c *cli) printReplay(r control.ReplayReport) {
	c.printf("%s  %s  %s\n", r.Batch, r.Verdict.Words(), r.Why)
	rows := make([][]any, len(r.Comparisons))
	for i, k := range r.Comparisons {
		same := "same"
		if !k.Same {
			same = "differs"
		}
		rows[i] = []any{k.What, k.Recorded, k.Now, same}
	}
	if len(rows) > 0 {
		c.table([]column{{head: "WHAT", width: 30}, {head: "RECORDED", width: 20, wraps: true}, {head: "NOW", width: 20, wraps: true}, {head: "SAME"}}, rows)
	}
	for _, d := range r.Differences {
		c.printf("  %s, %s: %s was %s, is %s\n", d.Item, d.By, d.What, d.Recorded, d.Now)
	}
	if r.Capped {
		c.printf("  .. and more\n")
	}
	c.printf("%s sent; %s\n", control.Count(r.Requests, "request"), r.Effect)
}
