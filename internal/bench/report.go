package main

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
)

// What is asked of a harvest.
const (
	leastRatio    = 0.5 // of the bare loop's throughput
	mostMiB       = 200
	mostGrowth    = 1.25 // of a record's CPU cost, from the smallest to the largest harvest
	planWithin    = 10   // seconds for ten years of hours
	mostYardstick = 1.0  // of the CPU of the bare loop of another build
	mostStored    = 0.6  // bytes in the database for a byte that came
)

// report is everything measured.
type report struct {
	Contests []contest `json:"contests"`
	Sizes    []size    `json:"sizes"`
	// Plan is the planning of ten years of hours, Short and Long the work on
	// plans of few and of many slices.
	Plan       figures   `json:"plan"`
	PlanServer *figures  `json:"plan_server,omitempty"`
	Short      []figures `json:"short_plan"`
	Long       []figures `json:"long_plan"`
	// Queue is the leasing of tasks where very many are queued.
	Queue       figures  `json:"queue"`
	QueueServer *figures `json:"queue_server,omitempty"`
	// Views are what operators ask of a full store while a harvest runs.
	Views       figures  `json:"views"`
	ViewsServer *figures `json:"views_server,omitempty"`
	// Links are what linking costs beside the harvest of what it links.
	Links     []figures  `json:"links"`
	Decodings []decoding `json:"decodings"`
	Seconds   float64    `json:"seconds"`
	Ratios    ratios     `json:"ratios"`
}

// ratios are what counts.
type ratios struct {
	// Throughput and CPU of a harvest against the bare loop, by source.
	Throughput map[string]float64 `json:"throughput"`
	CPU        map[string]float64 `json:"cpu"`
	// Yardstick is the CPU of a harvest against the bare loop of another build.
	Yardstick map[string]float64 `json:"yardstick,omitempty"`
	// Stored are the bytes of the database for a byte that came.
	Stored map[string]float64 `json:"stored"`
	// Growth of a record's cost from the smallest to the largest harvest.
	CPUGrowth  float64 `json:"cpu_growth"`
	WallGrowth float64 `json:"wall_growth"`
	PeakMiB    float64 `json:"peak_mib"`
}

func (r *report) compute() {
	r.compareContests()
	r.compareSizes()
}

// compareContests holds harvests against bare loops.
func (r *report) compareContests() {
	r.Ratios = ratios{Throughput: map[string]float64{}, CPU: map[string]float64{}, Stored: map[string]float64{}, Yardstick: map[string]float64{}}
	for _, c := range r.Contests {
		r.Ratios.Throughput[c.Source] = median(c.Harvest, figures.rate) / median(c.Bare, figures.rate)
		r.Ratios.CPU[c.Source] = median(c.Harvest, cpu) / median(c.Bare, cpu)
		r.Ratios.Stored[c.Source] = median(c.Harvest, figures.storedShare)
		r.Ratios.PeakMiB = max(r.Ratios.PeakMiB, peak(c.Harvest))
		if len(c.Yardstick) > 0 {
			r.Ratios.Yardstick[c.Source] = median(c.Harvest, cpu) / median(c.Yardstick, cpu)
		}
	}
}

// judgeContests tells how harvests compare with bare loops.
func (r *report) judgeContests(verdict func(ok bool, format string, args ...any)) {
	for _, c := range r.Contests {
		v := r.Ratios.Throughput[c.Source]
		verdict(v >= leastRatio, "%s: %.2f of the bare loop's throughput (at least %.2f)", c.Source, v, leastRatio)
		stored := r.Ratios.Stored[c.Source]
		verdict(stored <= mostStored, "%s: %.2f bytes are stored for a byte that came (at most %.2f), %.0f for a record; CPU %.2f of the bare loop's",
			c.Source, stored, mostStored, float64(c.Harvest[0].Stored)/float64(c.Records), r.Ratios.CPU[c.Source])
		if y, held := r.Ratios.Yardstick[c.Source]; held {
			verdict(y <= mostYardstick, "%s: CPU %.2f of the other build's bare loop (at most %.2f): %.1f us a record against %.1f", c.Source, y, mostYardstick,
				median(c.Harvest, cpuEach), median(c.Yardstick, cpuEach))
		}
	}
}

// printContests prints how harvests compare with bare loops, if that alone was measured.
func (r *report) printContests(out io.Writer) error {
	r.compareContests()
	r.judgeContests(verdicts(out))
	return json.NewEncoder(out).Encode(r.Contests)
}

// compareSizes holds the largest harvest against the smallest.
func (r *report) compareSizes() {
	first := r.Sizes[0].Harvest
	last := r.Sizes[len(r.Sizes)-1].Harvest
	r.Ratios.CPUGrowth = median(last, cpuEach) / median(first, cpuEach)
	r.Ratios.WallGrowth = median(last, wallEach) / median(first, wallEach)
	for _, s := range r.Sizes {
		r.Ratios.PeakMiB = max(r.Ratios.PeakMiB, peak(s.Harvest))
	}
}

// judgeSizes tells whether memory and the cost of a record stay within bounds.
func (r *report) judgeSizes(verdict func(ok bool, format string, args ...any)) {
	verdict(r.Ratios.PeakMiB < mostMiB, "peak memory %.0f MiB (under %d)", r.Ratios.PeakMiB, mostMiB)
	verdict(r.Ratios.CPUGrowth <= mostGrowth, "CPU per record at %d against %d records: %.2f (flat: at most %.2f)",
		r.Sizes[len(r.Sizes)-1].Records, r.Sizes[0].Records, r.Ratios.CPUGrowth, mostGrowth)
}

// printSizes prints what a record costs, if that alone was measured.
func (r *report) printSizes(out io.Writer) error {
	r.compareSizes()
	r.judgeSizes(verdicts(out))
	return json.NewEncoder(out).Encode(r.Sizes)
}

func wall(f figures) float64     { return f.Wall }
func cpu(f figures) float64      { return f.CPU }
func wallEach(f figures) float64 { return f.Wall / float64(f.Records) * 1e6 }
func cpuEach(f figures) float64  { return f.CPU / float64(f.Records) * 1e6 }

func median(fs []figures, of func(figures) float64) float64 {
	v := make([]float64, 0, len(fs))
	for _, f := range fs {
		v = append(v, of(f))
	}
	slices.Sort(v)
	return (v[(len(v)-1)/2] + v[len(v)/2]) / 2
}

func peak(fs []figures) float64 {
	p := 0.0
	for _, f := range fs {
		p = max(p, f.PeakMiB)
	}
	return p
}

// verdicts prints lines of what was asked and what was measured.
func verdicts(out io.Writer) func(ok bool, format string, args ...any) {
	return func(ok bool, format string, args ...any) {
		word := "ok   "
		if !ok {
			word = "MISSED"
		}
		fmt.Fprintf(out, "%-6s "+format+"\n", append([]any{word}, args...)...)
	}
}

// print writes a table for people, and all figures as one line of JSON.
func (r *report) print(out io.Writer) error {
	r.compute()
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	line := func(format string, args ...any) { fmt.Fprintf(w, format+"\t\n", args...) }
	line("\n\trecords\tseconds\tCPU s\trecords/s\tpeak MiB\tfile MiB\trequests")
	row := func(name string, fs []figures) {
		f := fs[0]
		line("%s\t%d\t%.2f\t%.2f\t%.0f\t%.0f\t%.0f\t%d", name, f.Records, median(fs, wall), median(fs, cpu), median(fs, figures.rate), peak(fs), f.DBMiB, f.Requests)
	}
	for _, c := range r.Contests {
		row(c.Name+": harvest", c.Harvest)
		row("bare loop", c.Bare)
		if len(c.Yardstick) > 0 {
			row("bare loop of the other build", c.Yardstick)
		}
		line("harvest / bare\t\t%.2f\t%.2f\t%.2f\t\t%.2f\t", median(c.Harvest, wall)/median(c.Bare, wall), r.Ratios.CPU[c.Source], r.Ratios.Throughput[c.Source],
			c.Harvest[0].DBMiB/c.Bare[0].DBMiB)
	}
	line("\n\trecords\tus each\tCPU us each\trecords/s\tpeak MiB\tfile MiB\trequests")
	for _, s := range r.Sizes {
		f := s.Harvest[0]
		line("Crossref harvest\t%d\t%.1f\t%.1f\t%.0f\t%.0f\t%.0f\t%d", f.Records, median(s.Harvest, wallEach), median(s.Harvest, cpuEach), median(s.Harvest, figures.rate), peak(s.Harvest), f.DBMiB, f.Requests)
	}
	line("last / first\t\t%.2f\t%.2f\t\t\t\t", r.Ratios.WallGrowth, r.Ratios.CPUGrowth)
	if err := w.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(out, "\n")
	verdict := verdicts(out)
	r.judgeContests(verdict)
	r.judgeSizes(verdict)
	for _, p := range []*figures{&r.Plan, r.PlanServer} {
		if p != nil {
			verdict(p.Wall < planWithin && p.PeakMiB < mostMiB, "a plan of %d slices: %.1f s, %.0f MiB (under %d s and %d MiB)", p.Records, p.Wall, p.PeakMiB, planWithin, mostMiB)
		}
	}
	g := median(r.Long, cpuEach) / median(r.Short, cpuEach)
	verdict(g <= mostGrowth, "CPU per page in a plan of %d slices against one of %d: %.2f (flat: at most %.2f)", r.Long[0].Records, r.Short[0].Records, g, mostGrowth)
	r.judgeQueues(verdict)
	r.judgeViews(verdict)
	r.judgeLinks(verdict)
	for _, d := range r.Decodings {
		verdict(d.Ratio >= d.Least, "%s: %.1f times the standard library (at least %.0f; %.1f with the hashes of every item), %.2f allocations an item", d.Name, d.Ratio, d.Least, d.Hashed, d.AllocsOf)
	}
	fmt.Fprintf(out, "took %.0f s\n", r.Seconds)
	return json.NewEncoder(out).Encode(r)
}

// judgeQueues tells of the queue of each engine that was tried.
func (r *report) judgeQueues(verdict func(ok bool, format string, args ...any)) {
	r.Queue.judgeQueue("SQLite", verdict)
	if r.QueueServer != nil {
		r.QueueServer.judgeQueue("MySQL", verdict)
	}
}

func (r *report) printQueues(out io.Writer) error {
	r.judgeQueues(verdicts(out))
	return json.NewEncoder(out).Encode(r.Queue.Leases)
}
