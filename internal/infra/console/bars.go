package console

import (
	"cmp"
	"fmt"
	"html/template"
	"slices"
	"strings"
	"time"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/papertrace/patra/internal/domain/harvest"
)

// Sizes of a drawing of pages: a line for each, the names at the left.
const (
	barLine  = 24
	barLeft  = 64
	barWidth = 560
	barRight = 220
)

// bars draw the pages of a run on a common axis of time. Stretches in which nothing
// happened are folded.
type bars struct {
	v     *visit
	all   []control.BatchItem
	begin time.Time
	// folds are where time was left out, in their order.
	folds []fold
	span  time.Duration // of the axis without what was left out
}

// fold is a stretch of time that is left out.
type fold struct {
	at  time.Time // where it begins
	cut time.Duration
}

// foldAfter is how much of an idle stretch is drawn.
const foldAfter = 2 * time.Second

func newBars(v *visit, batches []control.BatchItem) *bars {
	b := &bars{v: v, all: slices.Clone(batches)}
	slices.SortStableFunc(b.all, func(a, z control.BatchItem) int { return a.Opened.Compare(z.Opened) })
	b.begin = b.all[0].Opened
	until := b.begin
	for _, one := range b.all {
		if idle := one.Opened.Sub(until); idle > 2*foldAfter {
			b.folds = append(b.folds, fold{until.Add(foldAfter), idle - foldAfter})
		}
		if end := b.end(one); end.After(until) {
			until = end
		}
	}
	b.span = max(b.along(until), time.Millisecond)
	slices.SortStableFunc(b.all, func(a, z control.BatchItem) int { return cmp.Compare(a.No, z.No) })
	return b
}

// end is when a page ended; one that is open ends now.
func (b *bars) end(one control.BatchItem) time.Time {
	if one.Ended.IsZero() {
		return b.v.now
	}
	return one.Ended
}

// along is how far on the axis an instant lies.
func (b *bars) along(t time.Time) time.Duration {
	d := t.Sub(b.begin)
	for _, f := range b.folds {
		if !f.at.Before(t) {
			break
		}
		d -= min(f.cut, t.Sub(f.at))
	}
	return max(d, 0)
}

// x is where a place on the axis is drawn.
func (b *bars) x(d time.Duration) float64 {
	return barLeft + barWidth*float64(d)/float64(b.span)
}

// summary says in a sentence what the bars show.
func (b *bars) summary() string {
	var wait, network, processing, retried, failed, items int64
	for _, one := range b.all {
		wait += one.Wait
		network += one.Network
		processing += one.Processing
		retried += one.Retried
		items += one.Items
		if one.Status == string(harvest.BatchFailed) {
			failed++
		}
	}
	spent := func(ms int64) string {
		zero := time.Time{}.Add(time.Hour)
		return b.v.took(zero, zero.Add(time.Duration(ms)*time.Millisecond))
	}
	text := b.v.t("bars.summary", len(b.all), grouped(items), spent(wait), spent(network), spent(processing), retried, failed)
	if len(b.folds) > 0 {
		var idle time.Duration
		for _, f := range b.folds {
			idle += f.cut
		}
		text += " " + b.v.t("bars.folded", spent(idle.Milliseconds()))
	}
	return text
}

// draw makes the drawing.
func (b *bars) draw() template.HTML {
	var out strings.Builder
	height := (len(b.all) + 1) * barLine
	fmt.Fprintf(&out, `<svg class="bars" role="group" aria-label="%s" width="%d" height="%d" data-grid="1">`,
		template.HTMLEscapeString(b.v.t("run.bars")), barLeft+barWidth+barRight, height)
	fmt.Fprintf(&out, `<text class="muted" x="%d" y="15">%s</text>`, barLeft, b.begin.UTC().Format("15:04:05Z"))
	fmt.Fprintf(&out, `<text class="muted end" x="%d" y="15">+ %s</text>`, barLeft+barWidth, template.HTMLEscapeString(b.v.took(b.begin, b.begin.Add(b.span))))
	for _, f := range b.folds {
		x := b.x(b.along(f.at))
		fmt.Fprintf(&out, `<line class="fold" x1="%.1f" y1="20" x2="%.1f" y2="%d"/><text class="muted small" x="%.1f" y="%d">%s</text>`,
			x, x, height, x+3, height-4, template.HTMLEscapeString(b.v.t("bars.idle", b.v.took(f.at, f.at.Add(f.cut)))))
	}
	for i, one := range b.all {
		b.bar(&out, one, (i+1)*barLine, i == 0)
	}
	out.WriteString(`</svg>`)
	return template.HTML(out.String()) //nolint:gosec // made of numbers and of escaped texts
}

// bar draws a page: what it waited, what the network took, and what was left of its time.
func (b *bars) bar(out *strings.Builder, one control.BatchItem, y int, first bool) {
	family := control.BatchFamily(harvest.BatchState(one.Status))
	stop := -1
	if first {
		stop = 0
	}
	name := b.v.t("bars.page", one.No, b.v.stateWord(one.Status), grouped(one.Items), grouped(one.Wait), grouped(one.Network), grouped(one.Processing))
	escaped := template.HTMLEscapeString(name)
	fmt.Fprintf(out, `<text class="f-%s" x="2" y="%d">%s</text><text x="18" y="%d">%d</text>`, family, y+16, family.Glyph(), y+16, one.No)
	at := b.along(one.Opened)
	until := b.along(b.end(one))
	for _, part := range []struct {
		class string
		ms    int64
	}{{"f-waiting", one.Wait}, {"f-active", one.Network}, {"f-ok", one.Processing}} {
		to := min(at+time.Duration(part.ms)*time.Millisecond, until)
		if to > at {
			fmt.Fprintf(out, `<rect class="%s" x="%.1f" y="%d" width="%.1f" height="14"/>`, part.class, b.x(at), y+5, max(b.x(to)-b.x(at), 0.8))
			at = to
		}
	}
	fmt.Fprintf(out, `<text class="muted" x="%.1f" y="%d">%s</text>`, b.x(until)+6, y+16, template.HTMLEscapeString(b.marks(one)))
	// The whole line leads to the page, and says more than is written on it.
	fmt.Fprintf(out, `<a href="%s" tabindex="%d" aria-label="%s"><title>%s</title><rect class="line" x="0" y="%d" width="%d" height="%d"/></a>`,
		template.HTMLEscapeString(b.v.path("/runs/%d/batches/%d", one.Run, one.No)), stop, escaped, escaped, y, barLeft+barWidth+barRight, barLine)
}

// marks say in short what is special about a page.
func (b *bars) marks(one control.BatchItem) string {
	parts := []string{b.v.t("bars.items", grouped(one.Items))}
	if one.HTTP429 > 0 {
		parts = append(parts, fmt.Sprintf("429 ×%d", one.HTTP429))
	}
	if one.HTTP5xx > 0 {
		parts = append(parts, fmt.Sprintf("5xx ×%d", one.HTTP5xx))
	}
	if one.Retried > 0 {
		parts = append(parts, fmt.Sprintf("↻ %d", one.Retried))
	}
	if one.Code != "" {
		parts = append(parts, one.Code)
	}
	return strings.Join(parts, " · ")
}
