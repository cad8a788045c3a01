package control

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/papertrace/patra/internal/domain/harvest"
)

// Spoken are the ends of a window as a person wrote them, empty where nothing was said.
// Which instants dates among them mean is only known with the source they are told to.
type Spoken struct{ From, To string }

// in reads both ends as a source counts its days, and says so of the days that are
// another time than in UTC.
func (s Spoken) in(cal harvest.Calendar, now time.Time) (from, to time.Time, notes []string, err error) {
	days := dayNames{cal: daysOf(cal)}
	from, err = days.read(s.From, cal, now)
	if err != nil {
		return from, to, nil, err
	}
	to, err = days.read(s.To, cal, now)
	if err != nil {
		return from, to, nil, err
	}
	if !from.IsZero() && !to.IsZero() {
		_, err = harvest.NewWindow(from, to)
	}
	return from, to, days.notes(), err
}

// dayNames collects the days that were named to a source.
type dayNames struct {
	cal   harvest.Calendar
	names []string
}

// read reads an end of a window, and keeps the name of the day if it is one.
func (d *dayNames) read(text string, cal harvest.Calendar, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	t, isDay, err := readTime(text, cal, now)
	if err == nil && isDay {
		d.add(text, t)
	}
	return t, err
}

// add keeps the name of a day that begins at an instant.
func (d *dayNames) add(text string, begins time.Time) {
	date := begins.In(d.cal.Zone).Format(time.DateOnly)
	if text != date {
		text += " (" + date + ")"
	}
	d.names = append(d.names, text)
}

// notes says whose days were meant, unless they are those of UTC.
func (d *dayNames) notes() []string {
	zone := d.cal.Zone.String()
	switch {
	case len(d.names) == 0 || zone == time.UTC.String():
		return nil
	case len(d.names) == 1:
		return []string{fmt.Sprintf("%s is that day in %s, as the source counts days", d.names[0], zone)}
	}
	return []string{fmt.Sprintf("%s are those days in %s, as the source counts days", strings.Join(d.names, " and "), zone)}
}

// calendar is how a source counts time in what an operation reads of it. Of a source that
// cannot be used it is that of UTC: what is asked of it next says what is wrong.
func (c *Control) calendar(ctx context.Context, code string, op harvest.Operation, endpoint, query string) harvest.Calendar {
	con, err := c.contracts.Through(c.leaveNoTrace(ctx), code, op, endpoint, query)
	if err != nil {
		return harvest.Calendar{}
	}
	cal, err := con.Spec.Window.Calendar()
	if err != nil {
		return harvest.Calendar{}
	}
	return cal
}

// settleSpan turns the words of a window into instants, as of now.
func (c *Control) settleSpan(ctx context.Context, s Spoken, cal harvest.Calendar) (from, to time.Time, notes []string, err error) {
	now, err := c.store.Now(ctx)
	if err != nil {
		return from, to, nil, err
	}
	return s.in(cal, now)
}

// settle turns the words of a request into instants, as its source counts days, names the
// activity of a BACKFILL, and keeps what there is to say of that. A request without words is left as it is.
func (r *HarvestRequest) settle(ctx context.Context, c *Control) (err error) {
	if r.Spoken == (Spoken{}) {
		return nil
	}
	cal := c.calendar(ctx, r.Source, r.Operation, r.Endpoint, r.Query)
	r.From, r.To, r.notes, err = c.settleSpan(ctx, r.Spoken, cal)
	if err != nil {
		return err
	}
	return r.settleActivity(ctx, c, cal)
}
