package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/papertrace/patra/internal/sim"
	"github.com/spf13/cobra"
)

func (c *cli) simCmd() *cobra.Command {
	var listen, sourcesFlag, faults, now, span string
	cfg := sim.Config{}
	cmd := &cobra.Command{
		Use:   "sim",
		Short: "Serve simulated upstreams that know the truth",
		RunE: func(cmd *cobra.Command, _ []string) error {
			bad := func(err error) error { return &usageError{cmd: "patra sim", err: err} }
			var err error
			cfg.Faults, err = sim.ParseFaults(faults)
			if err != nil {
				return bad(err)
			}
			cfg.Span, err = control.ParseDuration(span)
			if err != nil {
				return bad(fmt.Errorf("--span: %w", err))
			}
			cfg.Now, err = parseTime("now", now)
			if err != nil {
				return err
			}
			cfg.Sources = strings.Split(sourcesFlag, ",")
			if cfg.Records == 0 {
				cfg.Records = sim.None
			}
			s, err := sim.New(cfg)
			if err != nil {
				return bad(err)
			}
			return serveSim(cmd.Context(), s, listen, func(addr string) error {
				return c.printJSON(map[string]string{"listen": addr})
			})
		},
	}
	f := cmd.Flags()
	f.StringVar(&listen, "listen", "127.0.0.1:0", "address to serve on")
	f.StringVar(&sourcesFlag, "sources", "pubmed,crossref", "sources to simulate")
	f.IntVar(&cfg.Records, "records", 2000, "records per source")
	f.Uint64Var(&cfg.Seed, "seed", 1, "same seed, same bytes")
	f.StringVar(&faults, "faults", "none", "none, light, heavy or a JSON file")
	f.StringVar(&now, "now", "", "start of the simulated clock (default 60 days ago)")
	f.StringVar(&span, "span", "30d", "time before --now over which records are spread")
	f.Float64Var(&cfg.LimitRPS, "limit-rps", 0, "requests a second for each source; 0: the real limits, -1: none")
	f.DurationVar(&cfg.Latency, "latency", 0, "wait before every answer")
	return cmd
}

// serveSim serves until ctx ends.
func serveSim(ctx context.Context, h http.Handler, listen string, ready func(addr string) error) error {
	l, err := net.Listen("tcp", listen)
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	srv := &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second}
	gone := make(chan error, 1)
	go func() { gone <- srv.Serve(l) }()
	if err := ready(l.Addr().String()); err != nil {
		return errors.Join(err, srv.Close())
	}
	select {
	case err := <-gone:
		return err
	case <-ctx.Done():
	}
	stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	if srv.Shutdown(stop) != nil {
		return srv.Close()
	}
	return nil
}
