package source

import (
	"bytes"
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/papertrace/patra/internal/domain/harvest"
)

// HeadSize is how much of a body fault rules look at.
const HeadSize = 4 << 10

// Reply is what a fault is read from before the body is decoded.
type Reply struct {
	Purpose Purpose
	Status  int
	// Type is the Content-Type header.
	Type string
	// RetryAfter is what the Retry-After header says; whether it counts is
	// decided here.
	RetryAfter time.Duration
	// Head is the beginning of the decompressed body, up to [HeadSize].
	Head []byte
}

// TokenExpired is the fault of a token whose declared life is over: what the
// source's own rule says of dead tokens, a new walk where it has none (R23).
func (s *Spec) TokenExpired() harvest.Fault {
	f := harvest.Fault{Level: harvest.Transient, Reaction: harvest.RestartWalk, Code: harvest.CodeTokenExpired}
	for _, r := range s.Faults {
		if harvest.Code(r.Code) == harvest.CodeTokenExpired && r.Reaction == harvest.CutSlice {
			f.Reaction = r.Reaction
		}
	}
	return f
}

// Classifier says what the replies of one source mean. Its methods are asked in
// this order: [Classifier.Ruled], the source's own rules on status and head;
// [Classifier.Signalled], its rules on what decoding brought to light;
// [Classifier.Default], the table of R42.
type Classifier struct {
	spec  *Spec
	rules []rule
}

type rule struct {
	FaultRule
	body, match *regexp.Regexp
}

// NewClassifier compiles the rules of s. It fails on a pattern that is none.
func NewClassifier(s *Spec) (*Classifier, error) {
	c := &Classifier{spec: s}
	for i, r := range s.Faults {
		body, err := pattern(r.Body)
		if err != nil {
			return nil, fmt.Errorf("faults[%d].body: %w", i, err)
		}
		match, err := pattern(r.Match)
		if err != nil {
			return nil, fmt.Errorf("faults[%d].match: %w", i, err)
		}
		c.rules = append(c.rules, rule{r, body, match})
	}
	return c, nil
}

func pattern(s string) (*regexp.Regexp, error) {
	if s == "" {
		return nil, nil
	}
	return regexp.Compile(s)
}

// Ruled applies the source's own rules that need no signal.
func (c *Classifier) Ruled(r Reply) (harvest.Fault, bool) {
	r.RetryAfter = c.counted(r)
	for _, u := range c.rules {
		if u.Signal == "" && u.fits(c.spec, r) {
			return u.fault(r), true
		}
	}
	return harvest.Fault{}, false
}

// NeedsSignals reports whether a rule wants to see the signals of a reply with
// this status, although it is not 200.
func (c *Classifier) NeedsSignals(r Reply) bool {
	return slices.ContainsFunc(c.rules, func(u rule) bool {
		return u.Signal != "" && len(u.Status) > 0 && u.fits(c.spec, r)
	})
}

// Signalled applies the rules about signals, in their order. A signal that no
// rule speaks of is an error in a good reply's clothes.
func (c *Classifier) Signalled(r Reply, signals map[string]string) (harvest.Fault, bool) {
	r.RetryAfter = c.counted(r)
	for _, u := range c.rules {
		text, there := signals[u.Signal]
		if u.Signal == "" || !there || !u.fits(c.spec, r) || (u.match != nil && !u.match.MatchString(text)) {
			continue
		}
		return u.fault(r), true
	}
	if r.Status != 200 {
		return harvest.Fault{}, false
	}
	for _, text := range signals {
		if strings.TrimSpace(text) != "" {
			return reply{harvest.Transient, harvest.Retry, harvest.CodeErrorInReply, true}.fault(r), true
		}
	}
	return harvest.Fault{}, false
}

// Default is R42's table for whatever no rule has spoken of. It returns false
// for a 200 that looks like what was asked for.
func (c *Classifier) Default(r Reply) (harvest.Fault, bool) {
	r.RetryAfter = c.counted(r)
	if r.Status == 200 {
		if !looksHTML(r.Type, r.Head) {
			return harvest.Fault{}, false
		}
		return reply{harvest.Transient, harvest.Retry, harvest.CodeUnexpectedHTML, true}.fault(r), true
	}
	for _, d := range defaults {
		if d.from <= r.Status && r.Status <= d.to {
			return d.reply.fault(r), true
		}
	}
	return reply{harvest.Transient, harvest.Retry, "", true}.fault(r), true
}

// reply is one row's meaning; an empty code stands for http_ and the status.
type reply struct {
	level    harvest.Level
	reaction harvest.Reaction
	code     harvest.Code
	once     bool
}

// defaults is R42 as data; the first row that holds the status wins. A 404 or
// 410 for one id is what the caller makes of it (R27, R31).
var defaults = []struct {
	from, to int
	reply    reply
}{
	{100, 299, reply{harvest.Transient, harvest.Retry, "", true}}, // 200 is not asked here
	{300, 399, reply{harvest.Transient, harvest.Retry, harvest.CodeRedirect, true}},
	{401, 401, reply{harvest.Fatal, harvest.GiveUp, harvest.CodeAuthRefused, false}},
	{403, 403, reply{harvest.Rejected, harvest.GiveUp, "", false}},
	{404, 404, reply{harvest.Rejected, harvest.GiveUp, "", false}},
	{408, 408, reply{harvest.Transient, harvest.Retry, "", false}},
	{410, 410, reply{harvest.Rejected, harvest.GiveUp, "", false}},
	{425, 425, reply{harvest.Transient, harvest.Retry, "", false}},
	{429, 429, reply{harvest.Transient, harvest.Retry, "", false}},
	{400, 499, reply{harvest.Rejected, harvest.GiveUp, "", false}},
	{500, 599, reply{harvest.Transient, harvest.Retry, "", false}},
}

func (d reply) fault(r Reply) harvest.Fault {
	return harvest.Fault{
		Level: d.level, Reaction: d.reaction, Code: cmp.Or(d.code, harvest.HTTPCode(r.Status)),
		Status: r.Status, RetryAfter: r.RetryAfter, Once: d.once,
	}
}

func (u rule) fault(r Reply) harvest.Fault {
	return reply{u.Level, u.Reaction, harvest.Code(u.Code), false}.fault(r)
}

func (u rule) fits(s *Spec, r Reply) bool {
	if len(u.Status) > 0 && !slices.Contains(u.Status, r.Status) {
		return false
	}
	if u.Endpoint != "" && !strings.EqualFold(u.Endpoint, string(r.Purpose)) {
		if e := s.Endpoint(r.Purpose); e == nil || !strings.EqualFold(u.Endpoint, e.Name) {
			return false
		}
	}
	return u.body == nil || u.body.Match(r.Head[:min(len(r.Head), HeadSize)])
}

// counted is Retry-After where it counts.
func (c *Classifier) counted(r Reply) time.Duration {
	if a := c.spec.Auth; c.spec.Rate.Heeds(r.Status) || a != nil && a.Rate != nil && a.Rate.Heeds(r.Status) {
		return r.RetryAfter
	}
	return 0
}

// Heeds reports whether a Retry-After with that status counts: with refusals,
// and where the source says so; some send it with every 200 (R60).
func (r Rate) Heeds(status int) bool {
	return status == 429 || status == 503 || (status >= 300 && status < 400) || slices.Contains(r.RetryAfterOn, status)
}

// looksHTML reports whether a page for people came where data was asked for.
func looksHTML(contentType string, head []byte) bool {
	head = bytes.TrimLeft(bytes.TrimPrefix(head, []byte("\xef\xbb\xbf")), " \t\r\n")
	for _, tag := range []string{"<!doctype html", "<html"} {
		if len(head) >= len(tag) && strings.EqualFold(string(head[:len(tag)]), tag) {
			return true
		}
	}
	kind, _, _ := strings.Cut(contentType, ";")
	// Data under the wrong label is still data.
	return strings.EqualFold(strings.TrimSpace(kind), "text/html") && !bytes.HasPrefix(head, []byte("{")) &&
		!bytes.HasPrefix(head, []byte("[")) && !bytes.HasPrefix(head, []byte("<?xml"))
}
