package main

import (
	"fmt"
	"time"

	"github.com/papertrace/patra/internal/app/control"
)

// watch shows how a run goes until the function it returns is called.
func (c *cli) watch(what string, w *control.Watch) (stop func()) {
	return c.watchLine(func(took time.Duration) string { return progressLine(what, w.Progress(), took) })
}

// watchLine shows on stderr how something goes until the function it returns is called:
// a line that rewrites itself on a terminal, else a line every ten seconds.
func (c *cli) watchLine(shows func(took time.Duration) string) (stop func()) {
	bar := c.progress == "bar" || c.progress == "auto" && isTerminal(c.err)
	if c.progress == "none" {
		return func() {}
	}
	every := 10 * time.Second
	if bar {
		every = 250 * time.Millisecond
	}
	done, gone := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(gone)
		t := time.NewTicker(every)
		defer t.Stop()
		began := time.Now()
		shown := false
		for {
			select {
			case <-done:
				if bar && shown {
					c.notef("\r\x1b[K")
				}
				return
			case <-t.C:
			}
			if c.asking.Load() {
				continue
			}
			shown = true
			line := shows(time.Since(began))
			if bar {
				c.notef("\r\x1b[K%s", cut(line, terminalWidth(c.err)-1))
			} else {
				c.notef("%s\n", line)
			}
		}
	}()
	return func() {
		close(done)
		<-gone
	}
}

// cut shortens a line to n columns, so that a terminal does not wrap it; n below
// 1 leaves it as it is.
func cut(line string, n int) string {
	if n < 1 || textWidth(line) <= n {
		return line
	}
	if n <= 2 {
		return ".."
	}
	return line[:bytesWithin(line, n-2)] + ".."
}

// isPaced reports whether most of the time is spent waiting until the source may be asked again.
func isPaced(p control.Progress, took time.Duration) bool { return p.Wait == "" && 2*p.Waited > took }

// progressLine says the share, then why nothing comes or how long the rest takes, then what
// is done of all, trouble and pace: a narrow terminal cuts the end off.
func progressLine(what string, p control.Progress, took time.Duration) string {
	if p.State == "planning" {
		if p.Wait != "" {
			return what + "  planning: " + p.Wait
		}
		return what + "  planning"
	}
	of := ""
	line := what
	rate := float64(p.Items) / max(took.Seconds(), 0.001)
	if p.Expected > 0 {
		of = fmt.Sprintf(" of about %d", max(p.Expected, p.Items))
		line += fmt.Sprintf(" %3d%%", min(100, p.Items*100/p.Expected))
	}
	left := p.Expected - p.Items
	switch {
	case p.Wait != "":
		line += "  " + p.Wait + ";"
	case left > 0 && rate > 0:
		line += fmt.Sprintf(", about %s left;", time.Duration(float64(left)/rate*float64(time.Second)).Round(time.Second))
	}
	if isPaced(p, took) {
		line += "  waits for its turn at the source;"
	}
	line += fmt.Sprintf("  %d%s records, %s done", p.Items, of, control.Count(int(p.Slices), "slice"))
	if p.HTTP429 > 0 {
		line += fmt.Sprintf(", %d x 429", p.HTTP429)
	}
	if p.HTTP5xx > 0 {
		line += fmt.Sprintf(", %d x 5xx", p.HTTP5xx)
	}
	if p.Failed > 0 {
		line += fmt.Sprintf(", %d failed", p.Failed)
	}
	return line + fmt.Sprintf(", %.1f req/s, %.0f records/s", float64(p.Sent)/max(took.Seconds(), 0.001), rate)
}
