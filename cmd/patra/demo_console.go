package main

import (
	"context"
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/node"
	"github.com/papertrace/patra/internal/sim"
	stage "github.com/papertrace/patra/internal/sim/demo"
	"github.com/spf13/cobra"
)

// showDemo serves the console over simulated sources until it is stopped.
func (c *cli) showDemo(cmd *cobra.Command, o demoFlags) error {
	f, err := sim.ParseFaults(o.faults)
	if err != nil {
		return misuse(cmd, "%v", err)
	}
	s, err := stage.New(stage.Config{Records: o.records, Seed: o.seed, Faults: f})
	if err != nil {
		return misuse(cmd, "%v", err)
	}
	ctx := cmd.Context()
	if o.lasts > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, o.lasts)
		defer cancel()
	}
	return c.inFolder(o.keep, func(dir string) error {
		return beside(ctx, s, func(base string) error {
			if err := s.WritePacks(dir, base); err != nil {
				return err
			}
			c.db = "sqlite:" + filepath.Join(dir, "patra.db")
			c.packs = dir
			c.contact = "demo@example.org"
			return c.withNode(ctx, func(ctx context.Context, n *node.Node) error { return c.serveDemo(cmd, ctx, n, s, o) })
		})
	})
}

// demoPoll is how often schedules and plans are looked at in a demonstration: somebody
// is waiting.
const demoPoll = time.Second

// serveDemo works on the simulated sources and shows it.
func (c *cli) serveDemo(cmd *cobra.Command, ctx context.Context, n *node.Node, s *stage.Stage, o demoFlags) error {
	door := doorFlags{listen: o.listen}
	api, err := door.open(cmd, n)
	if err != nil {
		return err
	}
	s.OnSwitch(askAtOnce(ctx, n.Control))
	var clock sync.WaitGroup
	defer clock.Wait()
	ticking, stop := context.WithCancel(ctx)
	defer stop()
	clock.Go(func() { s.Run(ticking) })
	roles, err := node.ParseRoles(nil)
	if err != nil {
		return err
	}
	return c.stay(ctx, n, node.ServeConfig{Roles: roles, Poll: demoPoll, API: api, Demo: s}, func() {
		address := "http://" + api.Listener.Addr().String() + "/"
		c.printf("All data of this demo is invented: simulated sources serve it on this machine.\n\n")
		c.printf("console: %s\nfaults:  %sdemo\n\nCtrl-C ends the demo.\n", address, address)
		for _, code := range s.Sources() {
			err := beginDemo(ctx, n.Control, code)
			if ctx.Err() != nil {
				return // told to stop meanwhile
			}
			if err != nil {
				c.notef("patra: %s: %v\n", code, err)
			}
		}
		if !o.noBrowser {
			c.openBrowser(address)
		}
	})
}

// beginDemo has a source harvested at once, so that nobody waits for its schedule.
func beginDemo(ctx context.Context, ctl *control.Control, code string) error {
	_, err := ctl.Trigger(ctx, control.TriggerOrder{
		By: control.By{Actor: "demo", Reason: "the demo begins"}, Scheduler: "demo", Job: "begin", LogID: code, Source: code, Operation: harvest.Harvest,
	})
	return err
}

// askAtOnce has a source read again what it changed in the last two days, in a lane of its
// own: enough for several pages, and its harvest is not disturbed.
func askAtOnce(ctx context.Context, ctl *control.Control) func(code string) error {
	var asked atomic.Int64
	return func(code string) error {
		today := time.Now().UTC().Truncate(24 * time.Hour)
		name := fmt.Sprintf("demo-%s-%d", code, asked.Add(1))
		_, err := ctl.Trigger(ctx, control.TriggerOrder{
			By: control.By{Actor: "demo", Reason: "a fault was switched on"}, Scheduler: "demo", Job: "ask", LogID: name, Source: code,
			Operation: harvest.Backfill, From: today.AddDate(0, 0, -3), To: today.AddDate(0, 0, -1), Activity: name,
		})
		return err
	}
}
