package main

import (
	"context"
	"errors"
	"net"
	"syscall"
	"time"

	"github.com/papertrace/patra/internal/node"
	"github.com/spf13/cobra"
)

// upPoll is how often schedules and plans are looked at.
const upPoll = 2 * time.Second

func (c *cli) upCmd() *cobra.Command {
	var door doorFlags
	var noBrowser bool
	var workers int
	cmd := &cobra.Command{
		Use:   "up",
		Short: "Run everything on this machine and open the console",
		Long: "Up runs all roles over one database, by default the embedded one of this user, serves the console on this machine and\n" +
			"opens a browser. It is `patra serve` for one person: it runs until it is stopped, and goes on where it was the next time.\n" +
			"Packs are applied by themselves, as by commands.",
		Example: "  patra up\n  patra up --no-browser --listen 127.0.0.1:9000",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := checkWorkers(cmd, workers); err != nil {
				return err
			}
			roles, err := node.ParseRoles(nil)
			if err != nil {
				return err
			}
			cfg := c.config()
			cfg.Workers = workers
			return useNode(cmd.Context(), cfg, func(ctx context.Context, n *node.Node) error {
				api, err := door.open(cmd, n)
				if errors.Is(err, syscall.EADDRINUSE) && !cmd.Flags().Changed("listen") {
					c.notef("patra: %s is in use, so another port is taken\n", door.listen)
					door.listen = anyPort(door.listen)
					api, err = door.open(cmd, n)
				}
				if err != nil {
					return err
				}
				return c.stay(ctx, n, node.ServeConfig{Roles: roles, Poll: upPoll, API: api}, func() {
					address := "http://" + api.Listener.Addr().String() + "/"
					c.notef("patra: the console is at %s\n", address)
					c.noteSchedules(ctx, n.Control)
					if !noBrowser {
						c.openBrowser(address)
					}
				})
			})
		},
	}
	f := cmd.Flags()
	addWorkers(f, &workers)
	f.BoolVar(&noBrowser, "no-browser", false, "say the address of the console and open no browser")
	door.add(f)
	f.Lookup("listen").DefValue = "127.0.0.1:8080"
	f.Lookup("listen").Usage = "address of the console"
	door.listen = "127.0.0.1:8080"
	return cmd
}

// anyPort is an address with whatever port is free.
func anyPort(address string) string {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return "127.0.0.1:0"
	}
	return net.JoinHostPort(host, "0")
}
