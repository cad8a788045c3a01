package alert

import (
	"fmt"
	"strings"
	"time"
)

// Message is what is sent about an alert.
type Message struct {
	// ID is the same for everything that is sent about one beginning or end, so that
	// who gets it twice can tell.
	ID    string `json:"id"`
	State State  `json:"state"`
	// Test: nothing is wrong, somebody tries whether messages arrive.
	Test      bool      `json:"test,omitzero"`
	Rule      Code      `json:"rule"`
	Severity  Severity  `json:"severity"`
	Source    string    `json:"source,omitempty"`
	Subject   string    `json:"subject"`
	Text      string    `json:"text"`
	Measured  string    `json:"measured,omitempty"`
	Threshold string    `json:"threshold,omitempty"`
	Next      string    `json:"next,omitempty"`
	At        time.Time `json:"at"`
	Since     time.Time `json:"since"`
	ClearedAt time.Time `json:"cleared_at,omitzero"`
	// Alert is its number: patra alert show N.
	Alert int64 `json:"alert,omitzero"`
}

// Message is what is sent about a change, of which something is to be told.
func (c Change) Message() Message {
	a := c.Alert
	m := Message{
		ID: fmt.Sprintf("%d-%d-%s", a.ID, a.Firings, strings.ToLower(string(c.Tell))), State: c.Tell, Rule: a.Rule, Severity: a.Severity,
		Source: a.Source, Subject: a.Subject, Text: a.Text, Measured: a.Measured, Threshold: a.Threshold, Next: a.Next, At: a.ToldAt,
		Since: a.Since, Alert: a.ID,
	}
	if c.Tell == Cleared {
		m.ClearedAt = a.ClearedAt
		m.Next = ""
	}
	return m
}

// TestMessage says that nothing is wrong and somebody tries whether messages arrive.
func TestMessage(now time.Time, by string) Message {
	return Message{
		ID: fmt.Sprintf("test-%d", now.UnixMicro()), State: Firing, Test: true, Rule: "test", Severity: Notice, Subject: "test",
		Text: "This is a test that " + by + " asked for. Alerts of patra arrive here.", At: now, Since: now,
	}
}

// Title is the message in a line.
func (m Message) Title() string {
	switch {
	case m.Test:
		return "patra: a test, nothing is wrong"
	case m.State == Cleared:
		return fmt.Sprintf("patra: over: %s: %s", m.Subject, m.Rule)
	}
	return fmt.Sprintf("patra: %s: %s: %s", m.Severity, m.Subject, m.Rule)
}

// Lines are the message in full, for people.
func (m Message) Lines() []string {
	lines := []string{m.Title()}
	switch {
	case m.Test:
		return append(lines, m.Text)
	case m.State == Cleared:
		lines = append(lines, "It was: "+m.Text)
		lines = append(lines, fmt.Sprintf("From %s to %s (%s).", stamp(m.Since), stamp(m.ClearedAt), m.ClearedAt.Sub(m.Since).Round(time.Second)))
	default:
		lines = append(lines, m.Text)
		if m.Measured != "" {
			lines = append(lines, fmt.Sprintf("Found: %s, limit: %s.", m.Measured, m.Threshold))
		}
		lines = append(lines, "Since "+stamp(m.Since)+".")
	}
	if m.Next != "" {
		lines = append(lines, "Next: "+m.Next)
	}
	return append(lines, fmt.Sprintf("More: patra alert show %d", m.Alert))
}

func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05Z") }
