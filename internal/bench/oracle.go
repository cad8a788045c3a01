package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/papertrace/patra/internal/sim"
)

// The population is born in the span before born, and the clock then moves on
// until the last of it lies behind every source's safety lag.
var born = time.Date(2024, 6, 1, 0, 0, 0, 0, time.UTC)

const (
	span = 30 * 24 * time.Hour
	// margin covers safety lags and days that begin elsewhere on Earth.
	margin = 3 * 24 * time.Hour
)

// serveOracle serves simulated upstreams until standard input ends.
func serveOracle(_ context.Context, j job, _ *meter) (figures, error) {
	s, err := sim.New(sim.Config{
		Sources: strings.Split(j.Source, ","), Records: j.Records, Seed: 1, Now: born, Span: span, Churn: &sim.Churn{}, LimitRPS: -1, KeepLog: 1,
	})
	if err != nil {
		return figures{}, err
	}
	s.Advance(margin)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return figures{}, fmt.Errorf("listen: %w", err)
	}
	srv := &http.Server{Handler: s, ReadHeaderTimeout: 10 * time.Second}
	gone := make(chan error, 1)
	go func() { gone <- srv.Serve(l) }()
	first, _, _ := strings.Cut(j.Source, ",")
	fmt.Printf("http://%s/%s\n", l.Addr(), first)
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		_ = srv.Close()
	}()
	if err := <-gone; err != http.ErrServerClosed {
		return figures{}, err
	}
	return figures{}, nil
}
