package httpapi

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"time"
)

// How long a connection may take over what.
const (
	headerWithin = 10 * time.Second
	bodyWithin   = 30 * time.Second
	answerWithin = 2 * time.Minute
	idleFor      = 2 * time.Minute
	maxHeader    = 64 << 10
	// endWithin is how long requests in hand may go on once the process is to end.
	endWithin = 5 * time.Second
)

// Serve answers what comes to a listener until ctx ends, then lets what is in hand
// finish, and closes it.
func (d *Door) Serve(ctx context.Context, l net.Listener) error {
	srv := &http.Server{
		Handler: d, ReadHeaderTimeout: headerWithin, ReadTimeout: bodyWithin, WriteTimeout: answerWithin, IdleTimeout: idleFor,
		MaxHeaderBytes: maxHeader, ErrorLog: slog.NewLogLogger(d.log.Handler(), slog.LevelWarn),
	}
	ended := make(chan error, 1)
	go func() { ended <- srv.Serve(l) }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), endWithin)
	defer cancel()
	err := srv.Shutdown(last)
	if errors.Is(err, context.DeadlineExceeded) {
		err = srv.Close()
	}
	if end := <-ended; !errors.Is(end, http.ErrServerClosed) {
		err = errors.Join(err, end)
	}
	return err
}
