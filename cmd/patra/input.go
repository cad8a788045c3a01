package main

import (
	"context"
	"os"
)

// input is a stream that is read until the command is told to stop: somebody who is asked something
// and answers with Ctrl-C has answered.
type input struct {
	*os.File
	ctx context.Context
}

func (i input) Read(p []byte) (int, error) {
	type part struct {
		bytes []byte
		err   error
	}
	read := make(chan part, 1)
	go func() {
		b := make([]byte, len(p)) // whoever was told to stop does not wait, and keeps p
		n, err := i.File.Read(b)
		read <- part{b[:n], err}
	}()
	select {
	case r := <-read:
		return copy(p, r.bytes), r.err
	case <-i.ctx.Done():
		return 0, context.Cause(i.ctx)
	}
}
