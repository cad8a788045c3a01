// Package alert tells people what they should look at, without being asked.
//
// Rules (rules.go) are held against what is known of the sources, once a minute, by
// every process that has the role of the scheduler. It promises one alert for a rule
// and what it is about, however many pages, requests or processes see the same; one
// message when it begins and one when it is over; and no message every minute about
// what comes and goes. What an alert has become and what is to be sent about it are
// written in one transaction: who dies between the two loses neither, and a message
// that cannot be sent is tried again.
//
// What is known comes from a [Look], messages leave by a [Sender]; both are others'.
package alert

import (
	"slices"
	"time"
)

// State of an alert.
type State string

// The states.
const (
	Pending State = "PENDING" // it holds, but not for long enough to be told
	Firing  State = "FIRING"
	Cleared State = "CLEARED"
)

// Severity says how much it hurries.
type Severity string

// The severities, the worst first.
const (
	Critical Severity = "critical" // nothing goes on before a person has done something
	Warning  Severity = "warning"  // something goes wrong that may mend itself
	Notice   Severity = "notice"   // nothing is wrong yet
)

// Alert is what a rule says of one subject, and what became of it.
type Alert struct {
	ID   int64
	Rule Code
	// Subject is what it is about: a source, one of its operations, or one of its
	// schedules. Source is the source.
	Subject string
	Source  string
	State   State
	// Text says what is wrong, Measured and Threshold what was found and what may be
	// at the most or least, Next what to do.
	Severity  Severity
	Text      string
	Measured  string
	Threshold string
	Next      string
	// Since is when it began to hold, FiredAt when it was found to have held for long
	// enough, CalmSince since when a firing one no longer holds, ClearedAt its end.
	Since     time.Time
	FiredAt   time.Time
	CalmSince time.Time
	ClearedAt time.Time
	// Firings is how often it fired, Flaps how often in a row soon after its end.
	Firings int
	Flaps   int
	// Told is what was last sent about it, and when; empty: nothing yet.
	Told   State
	ToldAt time.Time
	// Somebody knows of it, or wants to hear nothing of it until then.
	AckedBy      string
	AckedAt      time.Time
	AckReason    string
	SnoozedUntil time.Time
	SnoozedBy    string
}

// Snoozed reports whether nothing is to be sent about it now.
func (a Alert) Snoozed(now time.Time) bool { return a.SnoozedUntil.After(now) }

const (
	// calm is how long what an alert is about must be gone before the alert is over.
	calm = time.Minute
	// longestCalm bounds how long that becomes for one that comes and goes.
	longestCalm = time.Hour
	// soon is how long after its end an alert that fires again is taken for one that
	// comes and goes.
	soon = time.Hour
)

// calmFor is how long it must be gone this time: twice as long with each time that it
// came back soon.
func (a Alert) calmFor() time.Duration {
	return min(calm<<min(a.Flaps, 10), longestCalm)
}

// Change is what became of an alert in one look.
type Change struct {
	Alert
	// Was is the state before; empty: the alert is new.
	Was State
	// Tell is what is to be sent about it; empty: nothing.
	Tell State
}

// Judge holds what was found against the alerts there are, and returns those that
// have changed or of which something is to be told: new ones, those that fire by now,
// those that are over. Where nobody can be told, nothing counts as told.
func Judge(now time.Time, held []Alert, found []Finding, canTell bool) (out []Change) {
	found = slices.Clone(found)
	quieten(now, held, found)
	byKey := map[key]Finding{}
	for _, f := range found {
		byKey[key{f.Rule, f.Subject}] = f
	}
	add := func(before, after Alert) {
		c := Change{Alert: after, Was: before.State}
		if canTell {
			c.Tell = after.tell(now)
		}
		if c.Tell != "" {
			c.Told = c.Tell
			c.ToldAt = now
		}
		if c.Alert != before {
			out = append(out, c)
		}
	}
	for _, a := range held {
		k := key{a.Rule, a.Subject}
		f, holds := byKey[k]
		delete(byKey, k)
		if holds {
			add(a, a.holds(now, f))
		} else {
			add(a, a.isGone(now))
		}
	}
	for _, f := range found { // in their order
		k := key{f.Rule, f.Subject}
		if _, isNew := byKey[k]; isNew && !f.Lingers {
			delete(byKey, k)
			add(Alert{}, Alert{}.holds(now, f))
		}
	}
	return out
}

type key struct {
	rule    Code
	subject string
}

// holds is the alert after a look that found it to hold.
func (a Alert) holds(now time.Time, f Finding) Alert {
	if f.Lingers && a.State != Firing {
		return a.isGone(now)
	}
	a.Rule = f.Rule
	a.Subject = f.Subject
	a.Source = f.Source
	a.Severity = f.Severity
	a.Text = f.Text
	a.Measured = f.Measured
	a.Threshold = f.Threshold
	a.Next = f.Next
	a.CalmSince = time.Time{}
	if a.State != Pending && a.State != Firing {
		a.State = Pending
		a.Since = now
		if !f.Since.IsZero() && f.Since.Before(now) {
			a.Since = f.Since
		}
	}
	if a.State == Pending && now.Sub(a.Since) >= f.For {
		a = a.fire(now)
	}
	return a
}

// fire is the alert from when it is to be told.
func (a Alert) fire(now time.Time) Alert {
	if !a.ClearedAt.IsZero() && now.Sub(a.ClearedAt) < soon {
		a.Flaps++
	} else {
		a.Flaps = 0
	}
	a.State = Firing
	a.FiredAt = now
	a.ClearedAt = time.Time{}
	a.Firings++
	return a
}

// isGone is the alert after a look that did not find it to hold.
func (a Alert) isGone(now time.Time) Alert {
	switch {
	case a.State == Pending:
		a.State = Cleared // nobody was told of it
	case a.State == Firing && a.CalmSince.IsZero():
		a.CalmSince = now
	case a.State == Firing && now.Sub(a.CalmSince) >= a.calmFor():
		a.State = Cleared
		a.ClearedAt = now
		a.CalmSince = time.Time{}
		a.AckedBy = ""
		a.AckedAt = time.Time{}
		a.AckReason = ""
	}
	return a
}

// tell is what is to be sent about the alert now, empty if nothing is: that it fires,
// if that was not told, or that it is over, if it was. It depends on nothing but
// what was sent last, so that a message that was missed, by whoever was away or
// wanted to hear nothing for a while, is sent with the next look.
func (a Alert) tell(now time.Time) State {
	switch {
	case a.Snoozed(now):
		return ""
	case a.State == Firing && a.Told != Firing:
		return Firing
	case a.State == Cleared && a.Told == Firing:
		return Cleared
	}
	return ""
}
