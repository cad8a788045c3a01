package control

import (
	"context"
	"slices"
	"time"

	"github.com/papertrace/patra/internal/domain/problem"
	"github.com/papertrace/patra/internal/domain/source"
)

// Throughput is what came of a source in the last part of some time.
type Throughput struct {
	// Since is from when on its pages were summed up. It is later than what was asked for
	// where there are more pages than are looked at: then the newest are told of.
	Since Time `json:"since"`
	// Records are new or changed ones, PerHour as many of them as in an hour.
	Records int64   `json:"records"`
	PerHour float64 `json:"records_per_hour"`
	Pages   int64   `json:"pages"`
	Failed  int64   `json:"failed"`
	Sent    int64   `json:"requests"`
	HTTP429 int64   `json:"http_429"`
}

// Throttled is the share of requests that were answered 429.
func (t Throughput) Throttled() float64 { return float64(t.HTTP429) / float64(max(t.Sent, 1)) }

// PageSums are the newest pages of a source that ended in some time.
type PageSums struct {
	Stored, Failed, Records, Sent, HTTP429 int64
	// First is when the first of them ended, and More that there are others before it.
	First time.Time
	More  bool
}

// ThroughputStore sums up what came of sources.
type ThroughputStore interface {
	// PageSums sums up the newest pages of sources that ended since an instant. Of a source
	// with more than are looked at the sums begin where those of every kind are known.
	PageSums(ctx context.Context, codes []string, since time.Time) (map[string]PageSums, error)
}

// Times that the throughput can be told of.
const (
	shortestRange = time.Minute
	longestRange  = 31 * 24 * time.Hour
)

// errRange says which times can be told of.
var errRange = problem.New("this is no time that can be looked back over", problem.Problem{
	Code: "usage", Kind: problem.Usage, Next: "write a length from 1m to 31d, such as 1h, 6h, 24h or 7d",
})

// StatusOver is [Control.Status] with what came of each source in the last part of some
// time, such as 24h.
func (c *Control) StatusOver(ctx context.Context, code, over string) (Status, error) {
	length, err := source.ParseDuration(over)
	if err != nil || length < shortestRange || length > longestRange {
		return Status{}, errRange
	}
	out, err := c.Status(ctx, code)
	if err != nil {
		return out, err
	}
	var codes []string
	for _, s := range out.Sources {
		if !s.Never {
			codes = append(codes, s.Source)
		}
	}
	now, err := c.store.Now(ctx)
	if err != nil {
		return out, err
	}
	since := now.Add(-length)
	sums, err := c.store.PageSums(ctx, codes, since)
	if err != nil {
		return out, err
	}
	for i := range out.Sources {
		s := &out.Sources[i]
		if slices.Contains(codes, s.Source) {
			s.Throughput = throughputOf(sums[s.Source], since, now)
		}
	}
	return out, nil
}

// throughputOf is what pages came to since an instant, or since the first of those that
// were looked at.
func throughputOf(p PageSums, since, now time.Time) *Throughput {
	if p.More && p.First.After(since) {
		since = p.First
	}
	out := &Throughput{Since: Time(since.Truncate(time.Second)), Records: p.Records, Pages: p.Stored, Failed: p.Failed, Sent: p.Sent, HTTP429: p.HTTP429}
	if hours := now.Sub(since).Hours(); hours > 0 {
		out.PerHour = float64(p.Records) / hours
	}
	return out
}
