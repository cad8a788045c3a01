package main

import (
	"bufio"
	"errors"
	"io"
	"strings"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/papertrace/patra/internal/domain/harvest"
)

// askAbove is how many records are read without a word.
const askAbove = 10_000

// approve shows how much the first plan of a selection is going to read, if that is much or nobody can
// say, and where a person sits at the terminal asks whether to go on.
func (c *cli) approve(in io.Reader, yes bool) func(harvest.Forecast) error {
	return func(f harvest.Forecast) error {
		if f.Records <= askAbove && !f.Uncounted {
			return nil
		}
		c.asking.Store(true) // the progress line would write over the question
		defer c.asking.Store(false)
		atTerminal := isTerminal(in) && isTerminal(c.err)
		if atTerminal {
			c.notef("\r\x1b[K")
		}
		if f.Uncounted {
			c.notef("%s does not say how many records are read for this query: all that it gives, changed from %s to %s\n", f.Source, f.Span.From, f.Span.To)
		} else {
			c.notef("%s tells of %d records, changed from %s to %s\n", f.Source, f.Records, f.Span.From, f.Span.To)
		}
		if yes || !atTerminal {
			return nil
		}
		c.notef("read them all? [y/N] ")
		answer, err := bufio.NewReader(in).ReadString('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		switch strings.ToLower(strings.TrimSpace(answer)) {
		case "y", "yes":
			return nil
		}
		return &control.DeclinedError{}
	}
}
