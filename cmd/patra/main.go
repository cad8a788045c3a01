// Command patra harvests scholarly literature. See `patra help`.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/papertrace/patra/internal/node"
)

func main() {
	node.SetCollector()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // told a second time, it ends at once
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}
