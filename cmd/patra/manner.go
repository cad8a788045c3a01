package main

import (
	"fmt"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/spf13/cobra"
)

// mannerFlags say how what is asked for is done.
type mannerFlags struct {
	endpoint, priority, notBefore, spread string
	rate                                  float64
	pageSize, concurrency                 int
}

// add adds the flags to a command.
func (m *mannerFlags) add(cmd *cobra.Command) {
	m.addStanding(cmd)
	cmd.Flags().StringVar(&m.notBefore, "not-before", "", "the first task is begun then, and not at once: 2026-01-31T22:00:00Z or a date (UTC)")
}

// addStanding adds those that can be said of what is done again and again.
func (m *mannerFlags) addStanding(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&m.endpoint, "endpoint", "", "name of the endpoint it goes through (default: the source's own choice)")
	f.StringVar(&m.priority, "priority", "", "high, normal or low: the place in the queue of a HARVEST, an UPDATE or a BACKFILL (default: its own)")
	f.StringVar(&m.spread, "spread", "", "the tasks are begun over this time, evenly, and not all at once: 6h or PT6H")
	f.Float64Var(&m.rate, "rate", 0, "requests a second of this plan, at most the source's (default: the source's)")
	f.IntVar(&m.pageSize, "page-size", 0, "items of a page, or ids of a request, at most the source's (default: the source's)")
	f.IntVar(&m.concurrency, "concurrency", 0, "requests of this plan in flight, at most the source's (default: the source's)")
}

// read is what the flags say.
func (m *mannerFlags) read(cmd *cobra.Command) (control.Manner, error) {
	out := control.Manner{Endpoint: m.endpoint}
	var known bool
	out.Priority, known = harvest.ParsePriority(m.priority)
	if !known && m.priority != "" {
		return out, misuse(cmd, "--priority %q: use high, normal or low", m.priority)
	}
	var err error
	p := &out.Pacing
	p.NotBefore, err = parseTime("not-before", m.notBefore)
	if err != nil {
		return out, err
	}
	if m.spread != "" {
		p.Spread, err = control.ParseDuration(m.spread)
		if err != nil {
			return out, misuse(cmd, "--spread %q is no length of time, such as 6h, 2d or PT6H", m.spread)
		}
	}
	p.Rate = m.rate
	p.PageSize = m.pageSize
	p.Concurrency = m.concurrency
	for _, name := range []string{"rate", "page-size", "concurrency"} {
		f := cmd.Flags().Lookup(name)
		if f != nil && f.Changed && f.Value.String() == "0" {
			return out, misuse(cmd, "--%s 0: leave it out for what the source allows", name)
		}
	}
	if err := p.Check(); err != nil {
		return out, &usageError{cmd: cmd.CommandPath(), err: fmt.Errorf("that cannot be: %w", err)}
	}
	return out, nil
}
