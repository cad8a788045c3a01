package source

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/papertrace/patra/internal/domain/harvest"
)

// grain of a precision.
func grain(p harvest.Precision) time.Duration {
	switch p {
	case harvest.PrecisionDay:
		return 24 * time.Hour
	case harvest.PrecisionSecond:
		return time.Second
	case harvest.PrecisionMilli:
		return time.Millisecond
	}
	return time.Microsecond
}

func (c *compiler) window() {
	const path = "window"
	cfg, out := c.def.Window, &c.spec.Window
	needed := c.t.Operation == harvest.Harvest || c.t.Operation == harvest.Backfill
	if cfg == nil {
		if needed {
			c.failListless()
		}
		return
	}
	*out = Window{Key: cfg.Key, Precision: cfg.Precision, Target: cfg.Target, PerDay: cfg.PerDay}
	if cfg.Key == "" {
		c.fail(path+".key", "is required: the date the source is harvested by")
	}
	if c.byID() && cfg.Precision == "" {
		out.Precision = harvest.PrecisionMicro // of what is not told by time
	}
	precise := coded(c, path+".precision", DictPrecision, out.Precision)
	c.zone(cfg)
	undated := c.undated(cfg) || c.newestFirst() || c.byID()
	if (cfg.Bound != "" || !undated) && coded(c, path+".bound", DictBound, cfg.Bound) {
		out.Bound = cfg.Bound
		if needed && !undated {
			c.windowTemplates(cfg)
		}
	}
	c.updatedAt(cfg)
	if precise && !c.byID() {
		c.lengths(cfg)
	}
	if precise && needed && !undated {
		c.layouts()
	}
	c.target()
	c.cutting(cfg)
}

// failListless refuses to list what a source lists nothing of. Where it can be asked for single
// records that is no mistake of its description.
func (c *compiler) failListless() {
	instead := fmt.Sprintf("patra refresh %s --ids FILE", c.def.Source)
	bad := Violation{
		Path: "window",
		Text: fmt.Sprintf("is required for %s: without it the source lists nothing, and no field of a query can be asked for; records are read by their ids: %s", c.t.Operation, instead),
	}
	if c.def.OnlyByIDs() {
		bad.Instead = instead
	}
	c.bad = append(c.bad, bad)
}

// undated reports whether the source has no date at all: it is read as a whole,
// by hash buckets, and its requests say nothing of the window.
func (c *compiler) undated(cfg *WindowConfig) bool {
	if cfg.Strategy != harvest.StrategyHash || cfg.UpdatedAt != UpdatedNever {
		return false
	}
	for _, usage := range []Usage{UsageSearch, UsageCount} {
		if slices.ContainsFunc([]string{"window.from", "window.to", "window.last"}, c.used[usage].uses) {
			return false
		}
	}
	return true
}

// cutting checks how a window is cut: the strategy, the second dimension and
// the budgets.
func (c *compiler) cutting(cfg *WindowConfig) {
	const path = "window."
	out := &c.spec.Window
	if cfg.Strategy != "" && coded(c, path+"strategy", DictStrategy, cfg.Strategy) {
		out.Strategy = cfg.Strategy
	}
	c.split(cfg)
	if cfg.MaxRequests < 0 || cfg.MaxRecords < 0 || cfg.MaxDuration < 0 || cfg.MaxOpen < 0 || cfg.Pages < 0 || cfg.PerDay < 0 {
		c.fail("window", "maxRequests, maxRecords, maxDuration, maxOpen, pages and perDay are not below zero")
	}
	b := harvest.BudgetSpec{MaxRequests: cfg.MaxRequests, MaxRecords: cfg.MaxRecords, MaxDurationSec: int(cfg.MaxDuration.D() / time.Second)}
	if b != (harvest.BudgetSpec{}) {
		out.Budget = &b
	}
	if cfg.Priority < 0 || cfg.Priority > maxPriority {
		c.fail(path+"priority", "%d is not within [1, %d]", cfg.Priority, maxPriority)
	}
	out.Priority = cfg.Priority
	out.MaxOpen, out.Pages = cmp.Or(cfg.MaxOpen, defaultMaxOpen), cfg.Pages
	c.strategy(out)
}

// split checks the second dimension.
func (c *compiler) split(cfg *WindowConfig) {
	const path = "window.split"
	s := cfg.Split
	ids, buckets := s != nil && s.Buckets == 0, s != nil && s.Buckets != 0
	switch {
	case ids:
		if s.Key == "" || slices.Contains([]string{harvest.RangeOrdinal, harvest.RangePage, harvest.RangeBucket}, s.Key) || s.Max < 1 {
			c.fail(path, "needs a key of its own and the greatest id there can be, or buckets")
		}
		c.spec.Window.Split = &harvest.Split{Key: s.Key, Max: s.Max}
	case buckets:
		if s.Key != "" || s.Max != 0 {
			c.fail(path, "is by ids that are numbers (key and max) or by hash buckets (buckets), not by both")
		}
		if s.Buckets < 2 || s.Buckets > harvest.MaxBuckets {
			c.fail(path+".buckets", "%d is not a number of buckets from 2 to %d", s.Buckets, harvest.MaxBuckets)
		}
		c.spec.Window.Split = &harvest.Split{Key: harvest.RangeBucket, Buckets: s.Buckets}
	}
	if p := c.def.Pagination; s != nil && cfg.Strategy != harvest.StrategyHash && p != nil && p.MaxItems == 0 {
		c.fail(path, "has no use without pagination.maxItems: without a wall nothing needs it")
	}
	c.splitTemplates(ids, buckets)
}

// splitTemplates checks that requests ask for a range of ids, or for a bucket, where
// the window is split by these, and nowhere else.
func (c *compiler) splitTemplates(ids, buckets bool) {
	for _, usage := range []Usage{UsageSearch, UsageCount} {
		e, known := c.cfg[usage]
		if !known {
			continue
		}
		at, used := join("endpoints", e.Name), c.used[usage]
		inRange := used.uses("range.on") || used.uses("range.from") || used.uses("range.last")
		switch {
		case ids && !inRange:
			c.fail(at, "window.split needs ${range.on ? ... range.from ... range.last : ''} in a template")
		case !ids && inRange && !c.byID():
			c.fail(at, "range.* is known with window.split by key and max only")
		}
		switch inBucket := used.uses("bucket"); {
		case buckets && (!inBucket || !used.uses("buckets")):
			c.fail(at, "window.split.buckets needs ${bucket} and ${buckets} in a template")
		case !buckets && (inBucket || used.uses("buckets")):
			c.fail(at, "${bucket} and ${buckets} are known with window.split.buckets only")
		}
	}
}

// strategy checks that a strategy has what it needs.
func (c *compiler) strategy(w *Window) {
	const path = "window.strategy"
	p := c.def.Pagination
	if p == nil {
		return
	}
	switch w.Strategy {
	case harvest.StrategyHybrid:
		if w.Split == nil {
			c.fail(path, "HYBRID needs window.split")
		}
	case harvest.StrategyHash:
		if w.Split == nil || w.Split.Buckets == 0 {
			c.fail(path, "HASH needs window.split.buckets: into how many hash buckets the source parts its ids")
		}
	case harvest.StrategyVolume:
		if w.Budget == nil {
			c.fail(path, "VOLUME_BUDGET needs maxRequests, maxRecords or maxDuration")
		}
	case harvest.StrategyLandmark:
		if w.Budget == nil || p.Type != harvest.PageToken || p.TokenStateful {
			c.fail(path, "CURSOR_LANDMARK needs a budget and tokens that are not stateful")
		}
		if p.MaxItems > 0 {
			c.fail(path, "CURSOR_LANDMARK goes on at a token: there may be no maxItems behind which tokens end")
		}
		if !slices.ContainsFunc(p.End, func(e harvest.EndProof) bool { return e != harvest.EndTotal }) {
			c.fail(path, "CURSOR_LANDMARK needs an end proof besides TOTAL: a part of a walk does not see all of it")
		}
	case harvest.StrategyPage:
		if w.Pages == 0 || p.Type != harvest.PageNumber || !p.Snapshot {
			c.fail(path, "PAGE needs pages, paging PAGE and a snapshot: pages that shift cannot be read apart")
		}
	}
}

// zoneUnknown is the zone of a source that does not say whose days it counts.
const zoneUnknown = "unknown"

func (c *compiler) zone(cfg *WindowConfig) {
	const path = "window.zone"
	zone := cmp.Or(cfg.Zone, c.def.Zone)
	switch zone {
	case "":
		if cfg.Precision == harvest.PrecisionDay {
			c.fail(path, "is required: precision DAY needs to know whose days; `unknown` takes them as UTC and reads each twice")
			return
		}
		c.note(path, "not given, taken as UTC")
		zone = "UTC"
	case zoneUnknown:
		zone = "UTC"
	}
	if _, err := time.LoadLocation(zone); err != nil || zone == "Local" {
		c.fail(path, "%q is not a time zone such as America/New_York", zone)
	}
	c.spec.Window.Zone = zone
}

// lengths checks the durations of the window against the grain.
func (c *compiler) lengths(cfg *WindowConfig) {
	const path = "window."
	out, g := &c.spec.Window, grain(cfg.Precision)
	out.SafetyLag = Duration(defaultSafetyLag)
	if cfg.SafetyLag != nil {
		out.SafetyLag = *cfg.SafetyLag
	} else {
		c.note(path+"safetyLag", "not given, taken as %s", defaultSafetyLag)
	}
	// No zone is further than a day from another: what a day was asked for too
	// early is there when it is asked for with the next.
	const day = Duration(24 * time.Hour)
	unknown := cmp.Or(cfg.Zone, c.def.Zone) == zoneUnknown
	if unknown {
		out.Overlap = day
	}
	if cfg.Overlap != nil {
		out.Overlap = *cfg.Overlap
	}
	if unknown && out.Overlap < day {
		c.fail(path+"overlap", "%s is less than a day, though the zone is unknown", out.Overlap.D())
	}
	out.Step = c.step(cfg, g)
	out.Align = c.align(cfg, g)
	out.MinStep = c.duration(path+"minStep", cfg.MinStep, g)
	out.Baseline = c.duration(path+"baseline", cfg.Baseline, defaultBaseline)
	out.Beginning = cfg.Beginning
	if _, err := time.Parse(time.DateOnly, cfg.Beginning); err != nil && cfg.Beginning != "" {
		c.fail(path+"beginning", "%q is no day, such as 1966-01-01", out.Beginning)
	}
	for _, x := range []struct {
		name string
		d    Duration
		min  time.Duration
	}{
		{"align", out.Align, g},
		{"step", out.Step, g},
		{"minStep", out.MinStep, g},
		{"baseline", out.Baseline, g},
		{"overlap", out.Overlap, 0},
	} {
		switch {
		case x.name == "step" && x.d == 0 && cfg.Step == 0: // none: a plan is one slice
		case x.d.D() < x.min:
			c.fail(path+x.name, "%s is below %s, the grain of %s", x.d.D(), g, cfg.Precision)
		case x.d.D()%g != 0:
			c.fail(path+x.name, "%s is not a multiple of %s, the grain of %s", x.d.D(), g, cfg.Precision)
		}
	}
	out.LagLeast = cfg.LagLeast
	out.LagMost = cfg.LagMost
	if b := out.LagBounds().Filled(); b.Least < 0 || b.Most < b.Least {
		c.fail(path+"lagMost", "%s is below lagLeast, %s, or that below zero", b.Most, b.Least)
	}
	if out.SafetyLag < 0 {
		c.fail(path+"safetyLag", "is below zero")
	}
	if out.Step > 0 && out.MinStep > out.Step {
		c.fail(path+"minStep", "%s is longer than the step of %s", out.MinStep.D(), out.Step.D())
	}
}

// align is what window bounds are multiples of: of windows that lie as the calendar has
// them their length, else the grain unless it is declared.
func (c *compiler) align(cfg *WindowConfig, grain time.Duration) Duration {
	const path = "window.align"
	if cfg.Mode != "" && !coded(c, "window.mode", DictWindowMode, cfg.Mode) || cfg.Mode != WindowCalendar {
		return c.duration(path, cfg.Align, grain)
	}
	switch {
	case cfg.Step == 0:
		c.fail("window.step", "is required: windows of the mode CALENDAR lie at its multiples")
	case cfg.Align != 0 && cfg.Align != cfg.Step:
		c.fail(path, "%s is not the step of %s, at whose multiples windows of the mode CALENDAR lie", cfg.Align.D(), cfg.Step.D())
	}
	return cmp.Or(cfg.Step, Duration(grain))
}

// step is how long a slice is whose records nobody counted. A source that cannot
// count at all has none unless it is declared: cutting its time into days would
// cost a request for each day, however few records there are. Its plan is one
// slice, and the walk shows whether that is too much.
func (c *compiler) step(cfg *WindowConfig, grain time.Duration) Duration {
	const path = "window.step"
	_, counts := c.cfg[UsageCount]
	if cfg.Step == 0 && !counts {
		c.note(path, "not given, and the source cannot count: a plan begins as one slice, which is cut where its walk shows the need")
		return 0
	}
	return c.duration(path, cfg.Step, max(defaultStep, grain))
}

// target defaults to what fits a walk comfortably, and is held against what
// fits at all.
func (c *compiler) target() {
	const path = "window.target"
	p, out := c.spec.Paging, &c.spec.Window
	if out.Target < 0 {
		c.fail(path, "is below zero")
		return
	}
	if p.Type == "" || p.Size <= 0 {
		return
	}
	reach := int64(math.MaxInt64)
	if p.MaxItems > 0 {
		reach = p.MaxItems
	}
	if p.MaxPages > 0 {
		// The walk may need a last, empty page to prove its end.
		reach = min(reach, int64(p.Size)*int64(max(1, p.MaxPages-1)))
	}
	if out.Target == 0 {
		out.Target = int64(p.Size) * defaultTargetPages
		if reach != math.MaxInt64 {
			out.Target = min(out.Target, max(1, reach/10*9))
		}
		c.note(path, "not given, taken as %d records per slice", out.Target)
		return
	}
	if out.Target > reach {
		c.fail(path, "%d records per slice are more than the %d a walk can reach", out.Target, reach)
	}
	if (p.Type == harvest.PageToken || p.Type == harvest.PageScroll) && out.Target > maxTokenPages*int64(p.Size) {
		c.fail(path, "a walk on tokens is planned to at most %d pages, since tokens die: lower target or raise the page size", maxTokenPages)
	}
}

// windowTemplates checks that requests carry the window, by the bound declared.
func (c *compiler) windowTemplates(cfg *WindowConfig) {
	for _, usage := range []Usage{UsageSearch, UsageCount} {
		e, ok := c.cfg[usage]
		if !ok {
			continue
		}
		path, used := join("endpoints", e.Name), c.used[usage]
		begins := used.uses("window.from") || usage == UsageSearch && used.uses("page.after")
		if !begins || !used.uses("window.last") && !used.uses("window.to") {
			c.fail(path, "the templates must ask for ${window.from} and ${window.last}, the bound as sent")
		}
		if cfg.Bound == BoundClosed && used.uses("window.to") {
			c.fail(path, "${window.to} would ask for more than the window: the bound is CLOSED, use ${window.last}")
		}
	}
}
