package control

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"time"

	"github.com/papertrace/patra/internal/domain/pace"
	"github.com/papertrace/patra/internal/domain/problem"
)

// LowerOrder says to what a source's ceiling is lowered, and for how long. With Lift the
// registry's ceiling holds again at once.
type LowerOrder struct {
	By
	Source string
	// To is in requests a second.
	To     float64
	For    time.Duration
	Lift   bool
	DryRun bool
}

// ErrLength says that a text is no length of time.
var ErrLength = problem.New("that is no length of time", problem.Problem{
	Code: "bad_length", Kind: problem.Usage, Next: "write it as 30m, 2h or 3d; nothing was changed",
})

// longestLowered is the longest time for which a rate is lowered: what is to last belongs
// into the source's description.
const longestLowered = 30 * 24 * time.Hour

// RateChange is what was done to the rate of a source, or would be.
type RateChange struct {
	Applied bool   `json:"applied"`
	Source  string `json:"source"`
	// Changes: something is, or would be, other than it was.
	Changes bool        `json:"changes"`
	Keys    []KeyChange `json:"keys"`
	// Until is when the registry's ceiling holds again by itself.
	Until *Time  `json:"until,omitempty"`
	Token string `json:"token,omitempty"`
}

// KeyChange is what becomes of one rate key. Sources are all that share it.
type KeyChange struct {
	Key     string       `json:"key"`
	Sources []string     `json:"sources"`
	Limit   float64      `json:"limit"`
	Before  *LoweredRate `json:"before,omitempty"`
	To      float64      `json:"to"`
}

// LowerRate lowers what a source may be asked for a time, never above what the registry
// allows. It does not touch the time for which a source asked to be left alone.
func (c *Control) LowerRate(ctx context.Context, o LowerOrder) (RateChange, error) {
	if err := o.check(); err != nil {
		return RateChange{}, err
	}
	out, limits, err := c.lowering(ctx, o)
	if err != nil {
		return out, err
	}
	object := "source/" + o.Source
	shown := []any{out.Keys, o.To, o.For, o.Lift}
	if err := c.checkSeen(ctx, o.Token, "RATE_LOWER", object, shown); err != nil {
		return out, err
	}
	if o.DryRun {
		out.Token, err = c.seenToken(ctx, "RATE_LOWER", object, shown)
		return out, err
	}
	if !out.Changes {
		return out, nil
	}
	keys := make([]string, len(out.Keys))
	for i, k := range out.Keys {
		keys[i] = k.Key
	}
	action := "RATE_LOWER"
	if o.Lift {
		action = "RATE_LIFT"
	}
	after := map[string]any{"keys": keys, "to": o.To, "for": o.For.String()}
	err = c.store.ChangeGates(ctx, keys, o.line(action, object), after, func(key string, raw []byte, now time.Time) []byte {
		s := pace.SetCeiling(parseGate(raw), limits[key], o.ceiling(now), now)
		if !o.Lift {
			out.Until = optional(s.Ceiling.Until)
		}
		b, err := json.Marshal(s)
		if err != nil { // numbers and instants only
			return raw
		}
		return b
	})
	out.Applied = err == nil
	return out, err
}

func (o LowerOrder) ceiling(now time.Time) pace.Ceiling {
	if o.Lift {
		return pace.Ceiling{}
	}
	return pace.Ceiling{PerSecond: o.To, Until: now.Add(o.For)}
}

func (o LowerOrder) check() error {
	refuse := func(format string, args ...any) error {
		return problem.New(fmt.Sprintf(format, args...), problem.Problem{
			Code: "bad_rate", Kind: problem.Usage, Next: "patra rate lower --help; nothing was changed",
		})
	}
	switch {
	case o.Lift:
		return nil
	case !(o.To > 0) || math.IsInf(o.To, 0):
		return refuse("%g requests a second is no rate: to ask nothing at all, pause the source", o.To)
	case o.For <= 0 || o.For > longestLowered:
		return refuse("a rate is lowered for a time of up to %s; what is to last belongs into the source's description", daysText(longestLowered))
	}
	return nil
}

// lowering is what an order would do to each key of its source.
func (c *Control) lowering(ctx context.Context, o LowerOrder) (RateChange, map[string]pace.Limit, error) {
	out := RateChange{Source: o.Source, Keys: []KeyChange{}}
	list, err := c.Rates(ctx, o.Source)
	if err != nil {
		return out, nil, err
	}
	all, err := c.Rates(ctx, "")
	if err != nil {
		return out, nil, err
	}
	shared := map[string][]string{}
	for _, r := range all.Rates {
		shared[r.Key] = r.Sources
	}
	limits := map[string]pace.Limit{}
	for _, r := range list.Rates {
		k := KeyChange{Key: r.Key, Sources: r.Sources, Limit: r.Limit, Before: r.Lowered, To: o.To}
		if len(shared[r.Key]) > 0 {
			k.Sources = shared[r.Key]
		}
		switch {
		case r.Limit <= 0:
			return out, nil, problem.New(o.Source+" declares no rate that could be lowered", problem.Problem{
				Code: "no_rate", Kind: problem.Conflict, Next: "declare one under rateLimit in its description, or pause it; nothing was changed",
			})
		case o.Lift:
			k.To = r.Limit
			out.Changes = out.Changes || r.Lowered != nil
		case o.To >= r.Limit:
			return out, nil, problem.New(fmt.Sprintf("%g a second is not below the %g that the registry allows %s, and only the registry can raise that", o.To, r.Limit, r.Key), problem.Problem{
				Code: "bad_rate", Kind: problem.Usage, Next: "choose less, or --lift to end what a person lowered; nothing was changed",
			})
		default:
			out.Changes = true
		}
		out.Keys = append(out.Keys, k)
		limits[r.Key] = limitOf(r.rate)
	}
	return out, limits, nil
}
