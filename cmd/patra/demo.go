package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/papertrace/patra/internal/node"
	"github.com/papertrace/patra/internal/sim"
	"github.com/spf13/cobra"
)

func (c *cli) demoCmd() *cobra.Command {
	var o demoFlags
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Show patra on simulated sources; needs no network and no database",
		Long: "On a terminal the demo serves the console over simulated sources until it is stopped: pages of real work on invented\n" +
			"data, a switch for every fault that an upstream can have, and a tour.\n\n" +
			"With --headless, or where the output is no terminal, it harvests two simulated sources instead, compares every record\n" +
			"with what they have, and ends. --listen, --no-browser and --for ask for the console wherever it runs.",
		Example: "  patra demo\n  patra demo --headless --faults heavy\n  patra demo --no-browser --for 10m",
		RunE: func(cmd *cobra.Command, _ []string) error {
			fl := cmd.Flags()
			wanted := fl.Changed("listen") || fl.Changed("no-browser") || fl.Changed("for")
			switch {
			case fl.Changed("db"):
				return misuse(cmd, "the demonstration makes a database of its own, of invented records: leave out --db; --keep keeps it")
			case o.headless && wanted:
				return misuse(cmd, "--headless shows no console: leave out --listen, --no-browser and --for")
			case o.lasts < 0:
				return misuse(cmd, "--for %s: use a time such as 10m", o.lasts)
			case o.headless || !c.screen.terminal && !wanted:
				o.faults = cmp.Or(o.faults, "heavy")
				o.records = cmp.Or(o.records, 1500)
				return c.proveDemo(cmd.Context(), o)
			}
			o.records = cmp.Or(o.records, 300)
			return c.showDemo(cmd, o)
		},
	}
	fl := cmd.Flags()
	fl.BoolVar(&o.headless, "headless", false, "harvest, prove the result exact and end, without a console")
	fl.StringVar(&o.listen, "listen", "127.0.0.1:0", "address of the console; port 0: any that is free")
	fl.BoolVar(&o.noBrowser, "no-browser", false, "say the address of the console and open no browser")
	fl.DurationVar(&o.lasts, "for", 0, "end after this time (default: when it is stopped)")
	fl.BoolVar(&o.keep, "keep", false, "keep the database and say where it is")
	fl.Uint64Var(&o.seed, "seed", 1, "same seed, same records")
	fl.IntVar(&o.records, "records", 0, "records per source (default 300, 1500 without a console)")
	fl.StringVar(&o.faults, "faults", "", "what goes wrong upstream from the start: none, light or heavy (default none, heavy without a console)")
	return cmd
}

// demoFlags say what is shown.
type demoFlags struct {
	headless, noBrowser, keep bool
	listen, faults            string
	lasts                     time.Duration
	seed                      uint64
	records                   int
}

// proveDemo harvests two simulated sources and holds the store against them.
func (c *cli) proveDemo(ctx context.Context, o demoFlags) error {
	f, err := sim.ParseFaults(o.faults)
	if err != nil {
		return &usageError{cmd: "patra demo", err: err}
	}
	d := &demo{cli: c, sources: []string{"pubmed", "crossref"}}
	d.sim, err = sim.New(sim.Config{Sources: d.sources, Records: o.records, Seed: o.seed, Faults: f})
	if err != nil {
		return &usageError{cmd: "patra demo", err: err}
	}
	return d.run(ctx, o.keep)
}

// demo is one showing.
type demo struct {
	*cli
	sim     *sim.Sim
	sources []string
	base    string
}

func (d *demo) run(ctx context.Context, keep bool) error {
	return d.inFolder(keep, func(dir string) error {
		d.printf("All data of this demo is invented. Two simulated sources serve it on loopback, with the limits and\nthe failures of the real ones; patra harvests them and what it holds is compared with what they have.\n\n")
		err := beside(ctx, d.sim, func(base string) error {
			d.base = base
			d.db = "sqlite:" + filepath.Join(dir, "patra.db")
			d.contact = "demo@example.org"
			return d.withNode(ctx, d.rounds)
		})
		if err == nil && !d.screen.terminal {
			d.printf("\nnext: patra demo on a terminal, or with --no-browser, shows the console over such sources\n")
		}
		return err
	})
}

// inFolder uses a folder that is gone afterwards, unless it is to be kept.
func (c *cli) inFolder(keep bool, use func(dir string) error) (err error) {
	dir, err := os.MkdirTemp("", "patra-demo-")
	if err != nil {
		return fmt.Errorf("make a folder for the demo: %w", err)
	}
	defer func() {
		if keep {
			c.printf("kept: %s\n", filepath.Join(dir, "patra.db"))
			return
		}
		err = errors.Join(err, os.RemoveAll(dir))
	}()
	return use(dir)
}

// beside serves simulated upstreams on loopback while they are used.
func beside(ctx context.Context, upstreams http.Handler, use func(base string) error) (err error) {
	serve, stop := context.WithCancel(ctx)
	served := make(chan error, 1)
	up := make(chan string, 1)
	go func() {
		served <- serveSim(serve, upstreams, "127.0.0.1:0", func(a string) error { up <- a; return nil })
	}()
	defer func() {
		stop()
		err = errors.Join(err, <-served)
	}()
	select {
	case addr := <-up:
		return use("http://" + addr)
	case err := <-served:
		served <- nil
		return err
	}
}

// rounds harvests twice, with days between, and holds the store against its own rules.
func (d *demo) rounds(ctx context.Context, n *node.Node) error {
	for round := 1; round <= 2; round++ {
		if round > 1 {
			d.sim.Advance(72 * time.Hour)
			d.printf("\nThree days pass upstream: records appear, change, are retracted, and some arrive late.\n\n")
		}
		if err := d.round(ctx, n); err != nil {
			return err
		}
	}
	v, err := n.Control.Verify(ctx, control.VerifyRequest{})
	if err != nil {
		return err
	}
	printFindings(d.printf, v.Findings)
	if !v.Clean {
		return exitError(exitDifferences)
	}
	d.printf("\nverify: every rule of the store holds\n")
	st := d.sim.Stats()
	for _, code := range d.sources {
		s := st.Sources[code]
		d.printf("%s upstream: %d requests, %d above its limit, faults served: %s\n", code, s.Requests, s.Breaches.Rate, faultWords(s.Faults))
	}
	return nil
}

// faultWords says how often what went wrong, the most frequent first.
func faultWords(served map[sim.Fault]int) string {
	kinds := slices.Sorted(maps.Keys(served))
	slices.SortStableFunc(kinds, func(a, b sim.Fault) int { return cmp.Compare(served[b], served[a]) })
	var words []string
	for _, f := range kinds {
		words = append(words, fmt.Sprintf("%d %s", served[f], strings.ReplaceAll(string(f), "_", " ")))
	}
	return cmp.Or(strings.Join(words, ", "), "none")
}

// round harvests both sources side by side and compares each with the truth.
func (d *demo) round(ctx context.Context, n *node.Node) error {
	reports := make([]*control.Report, len(d.sources))
	errs := make([]error, len(d.sources))
	var wg sync.WaitGroup
	for i, code := range d.sources {
		wg.Go(func() {
			w := new(control.Watch)
			stop := d.watch(code, w)
			reports[i], errs[i] = n.Control.Harvest(ctx, control.HarvestRequest{Source: code, BaseURL: d.base + "/" + code, Watch: w})
			stop()
		})
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		return err
	}
	exact := true
	for i, code := range d.sources {
		r := reports[i]
		d.printReport(r)
		c, err := n.Control.Compare(ctx, code, truthOf(d.sim, code), r.Watermark.Time())
		if err != nil {
			return err
		}
		if c.Exact() {
			d.printf("  exact     %d records equal the upstream's in id, update time and bytes", c.Records)
			d.printf("; %d more came or changed there since, for the next harvest\n", c.Newer)
			continue
		}
		exact = false
		d.printf("  NOT exact %d of %d records differ\n", len(c.Differences), c.Records)
		for k, df := range c.Differences {
			if k == 10 {
				break
			}
			d.printf("    %s: %s\n", df.ID, df.Detail)
		}
	}
	if !exact {
		return exitError(exitDifferences)
	}
	return nil
}

func truthOf(s *sim.Sim, code string) iter.Seq[control.Truth] {
	return func(yield func(control.Truth) bool) {
		for t := range s.Truth(code) {
			if !yield(control.Truth{ID: t.ID, UpdatedAt: t.UpdatedAt, RawSHA256: t.RawSHA256, Deleted: t.Deleted, Undated: t.Undated}) {
				return
			}
		}
	}
}
