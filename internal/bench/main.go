// Command bench measures a harvest against a bare loop, as ratios within one
// run: absolute times say more about the machine than about patra.
//
// The oracle, every harvest and every bare loop are processes of their own
// (this binary under another name, see roles), so that each one's CPU time and
// peak memory can be told apart. Harvest and bare loop ask the same oracle the
// same questions through the same client, decode with the same decoder and
// write to SQLite with the same durability; they take turns, and medians are
// compared.
//
//	go run ./internal/bench          about a quarter of an hour on two cores that have nothing else to do
//	go run ./internal/bench -quick   about 20 seconds, too short to judge by
//	go run ./internal/bench -only views   what operators ask of a full store, while a harvest runs
//	go run ./internal/bench -only views-server   the same of the server alone that PATRA_BENCH_MYSQL names
//	go run ./internal/bench -only queue   leases from a long queue, and commits of pages; PATRA_BENCH_MYSQL names a server for it
//	go run ./internal/bench -only size    what a record costs among 10,000,000 against 100,000; -records says how many
//	go run ./internal/bench -only link    what linking costs beside the harvest; -records says how many
//	go run ./internal/bench -only contests -yardstick BINARY   harvest against bare loop, and against that of another build of this program; -records says how many
//	go run ./internal/bench -profile DIR   leaves CPU and allocation profiles of all runs there
//
// Decoding alone is compared with the standard library by the benchmarks of
// internal/infra/decode, which are run as the last part. PATRA_BENCH_MYSQL names
// an empty database for which a large plan and a long queue are measured too.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"time"
)

// options of a whole run.
type options struct {
	quick    bool
	rounds   int
	dir      string
	profiles string
	only     string
	records  int
	// yardstick is another build of this program, whose bare loop stays as it is while
	// this one's gets faster with the client and the decoder that it shares with harvests.
	yardstick string
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	var err error
	if len(os.Args) > 1 && roles[os.Args[1]] != nil {
		err = child(ctx, os.Args[1], os.Args[2:])
	} else {
		err = parent(ctx, os.Args[1:])
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		stop()
		os.Exit(1) //nolint:gocritic // stop was called
	}
}

func parent(ctx context.Context, args []string) (err error) {
	var o options
	f := flag.NewFlagSet("bench", flag.ContinueOnError)
	f.BoolVar(&o.quick, "quick", false, "few records: a fast look, too short to judge by")
	f.IntVar(&o.rounds, "rounds", 0, "turns of harvest and bare loop (default 3, quick 1)")
	f.StringVar(&o.dir, "dir", "", "folder for the databases (default: a temporary one)")
	f.StringVar(&o.only, "only", "", "measure one part only: contests, queue, views, views-server, size or link")
	f.IntVar(&o.records, "records", 0, "how many records to link (default 100000, quick 6000), or to harvest for -only size and -only contests")
	f.StringVar(&o.yardstick, "yardstick", "", "another build of this program: its bare loop takes turns with this one's")
	f.StringVar(&o.profiles, "profile", "", "folder for CPU and allocation profiles of every run")
	if err := f.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return nil
		}
		return err
	}
	if !slices.Contains([]string{"", "contests", "queue", "views", "views-server", "size", "link"}, o.only) {
		return fmt.Errorf("-only %s is not known: use contests, queue, views, views-server, size or link", o.only)
	}
	if o.rounds == 0 {
		o.rounds = 3
		if o.quick {
			o.rounds = 1
		}
	}
	if o.profiles != "" {
		if err := os.MkdirAll(o.profiles, 0o755); err != nil {
			return fmt.Errorf("folder of profiles: %w", err)
		}
	}
	dir, err := os.MkdirTemp(o.dir, "patra-bench-")
	if err != nil {
		return fmt.Errorf("folder of databases: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	o.dir = dir

	began := time.Now()
	r := &report{}
	switch o.only {
	case "contests":
		if err := r.contests(ctx, o); err != nil {
			return err
		}
		return r.printContests(os.Stdout)
	case "queue":
		if err := r.queues(ctx, o); err != nil {
			return err
		}
		return r.printQueues(os.Stdout)
	case "views", "views-server":
		err := r.views(ctx, o)
		return errors.Join(err, r.printViews(os.Stdout)) // also what was measured before it failed
	case "size":
		if err := r.sizes(ctx, o, []int{100_000, cmp.Or(o.records, 10_000_000)}); err != nil {
			return err
		}
		return r.printSizes(os.Stdout)
	case "link":
		if err := r.links(ctx, o); err != nil {
			return err
		}
		return r.printLinks(os.Stdout)
	}
	r, err = measure(ctx, o)
	if err != nil {
		return err
	}
	r.Seconds = time.Since(began).Seconds()
	return r.print(os.Stdout)
}

// measure runs everything.
func measure(ctx context.Context, o options) (*report, error) {
	sizes := []int{20_000, 200_000, 1_000_000}
	if o.quick {
		sizes = []int{5_000, 20_000}
	}
	r := &report{}
	if err := r.contests(ctx, o); err != nil {
		return nil, err
	}
	if err := r.sizes(ctx, o, sizes); err != nil {
		return nil, err
	}
	if err := r.plans(ctx, o); err != nil {
		return nil, err
	}
	if err := r.queues(ctx, o); err != nil {
		return nil, err
	}
	if err := r.views(ctx, o); err != nil {
		return nil, err
	}
	if err := r.links(ctx, o); err != nil {
		return nil, err
	}
	var err error
	r.Decodings, err = decodings(ctx, o)
	return r, err
}

// contests holds harvests against bare loops.
func (r *report) contests(ctx context.Context, o options) error {
	records := cmp.Or(o.records, 200_000)
	if o.quick {
		records = 20_000
	}
	contests := []contest{
		{Name: "Crossref, 1,000 a page", job: job{Source: "crossref", Records: records}},
		{Name: "PubMed, two phases, XML", job: job{Source: "pubmed", Records: records / 4}},
	}
	for _, c := range contests {
		if err := c.hold(ctx, o); err != nil {
			return err
		}
		r.Contests = append(r.Contests, c)
	}
	return nil
}

// sizes measures what a record costs where there are more and more of them.
func (r *report) sizes(ctx context.Context, o options, sizes []int) error {
	for _, n := range sizes {
		s := size{job: job{Source: "crossref", Records: n}}
		if err := s.measure(ctx, o, sizes[len(sizes)-1]); err != nil {
			return err
		}
		r.Sizes = append(r.Sizes, s)
	}
	return nil
}

// plans measures the planning of ten years of hours, on SQLite and on the server
// that PATRA_BENCH_MYSQL names, and what a page costs in a short and a long plan.
func (r *report) plans(ctx context.Context, o options) error {
	hours := 87_600
	short := 400
	long := 40_000
	if o.quick {
		hours = 8_760
		short = 200
		long = 2_000
	}
	var err error
	r.Plan, err = run(ctx, o, "plan", job{Source: "plan", Records: hours}, "")
	if err != nil {
		return err
	}
	if dsn := os.Getenv("PATRA_BENCH_MYSQL"); dsn != "" {
		f, err := run(ctx, o, "plan", job{Source: "plan", Records: hours, db: dsn}, "")
		if err != nil {
			return err
		}
		r.PlanServer = &f
	}
	for range o.rounds {
		for n, into := range map[int]*[]figures{short: &r.Short, long: &r.Long} {
			f, err := run(ctx, o, "plan", job{Source: "work", Records: n}, "")
			if err != nil {
				return err
			}
			*into = append(*into, f)
		}
	}
	return nil
}

// queues measures leasing from a queue of a million tasks.
func (r *report) queues(ctx context.Context, o options) (err error) {
	tasks := 1_000_000
	if o.quick {
		tasks = 50_000
	}
	r.Queue, err = run(ctx, o, "queue", job{Source: "queue", Records: tasks}, "")
	if err != nil {
		return err
	}
	if dsn := os.Getenv("PATRA_BENCH_MYSQL"); dsn != "" {
		f, err := run(ctx, o, "queue", job{Source: "queue", Records: tasks, db: dsn}, "")
		if err != nil {
			return err
		}
		r.QueueServer = &f
	}
	return nil
}

// contest is a harvest against the bare loop.
type contest struct {
	Name string `json:"name"`
	job
	Harvest []figures `json:"harvest"`
	Bare    []figures `json:"bare"`
	// Yardstick is the bare loop of another build.
	Yardstick []figures `json:"yardstick,omitempty"`
}

// turn is one of those who take turns in a contest.
type turn struct {
	role   string
	binary string // empty for this one
	into   *[]figures
}

func (c *contest) hold(ctx context.Context, o options) error {
	turns := []turn{{"harvest", "", &c.Harvest}, {"bare", "", &c.Bare}}
	if o.yardstick != "" {
		turns = append(turns, turn{"bare", o.yardstick, &c.Yardstick})
	}
	return withOracle(ctx, c.job, func(base string) error {
		for range o.rounds {
			for _, t := range turns {
				j := c.job
				j.binary = t.binary
				f, err := run(ctx, o, t.role, j, base)
				if err != nil {
					return err
				}
				*t.into = append(*t.into, f)
			}
			slices.Reverse(turns) // whoever is first finds the machine as the one before left it
		}
		return nil
	})
}

// size is a harvest of some number of records, to see what a record costs.
type size struct {
	job
	Harvest []figures `json:"harvest"`
}

// measure repeats small harvests, whose figures vary the most.
func (s *size) measure(ctx context.Context, o options, largest int) error {
	return withOracle(ctx, s.job, func(base string) error {
		for range min(5, max(1, largest/s.Records/4)) {
			f, err := run(ctx, o, "harvest", s.job, base)
			if err != nil {
				return err
			}
			s.Harvest = append(s.Harvest, f)
		}
		return nil
	})
}
