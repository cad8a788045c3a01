package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/pprof"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/papertrace/patra/internal/node"
)

// job is what a process is to do.
type job struct {
	Source  string `json:"source"`
	Records int    `json:"records"`
	base    string // of the oracle
	db      string // file, or the address of a server
	binary  string // the build that is to do it, empty for this one
}

// roles are what this binary can be besides the one that starts the others.
var roles = map[string]func(context.Context, job, *meter) (figures, error){
	"oracle":  serveOracle,
	"harvest": harvestUnderTest,
	"bare":    bareLoop,
	"plan":    planUnderTest,
	"queue":   queueUnderTest,
	"views":   viewsUnderTest,
	"fill":    fillUnderTest,
	"link":    linkUnderTest,
}

// figures are what one process measured of itself.
type figures struct {
	Records  int64   `json:"records"`
	Pages    int64   `json:"pages"` // that brought records
	Requests int64   `json:"requests"`
	Bytes    int64   `json:"bytes"`
	Wall     float64 `json:"wall_s"`
	CPU      float64 `json:"cpu_s"`
	PeakMiB  float64 `json:"peak_mib"`
	DBMiB    float64 `json:"db_mib"`
	// Stored is how many bytes the pages of the database have, without its log.
	Stored int64 `json:"stored"`
	// Linked is what linking costs beside the harvest of what it links.
	Linked *linked `json:"linked,omitempty"`
	// Leases from a short and a long queue.
	Leases []leases `json:"leases,omitempty"`
	// Views are the answers of a full store while a harvest runs, and Beside what that
	// harvest took beside them as a multiple of what it takes alone.
	Views  []view  `json:"views,omitempty"`
	Beside float64 `json:"beside,omitzero"`
	// BesideFast and BesideCPU are that of a harvest that keeps all processors busy, and of
	// its CPU time.
	BesideFast float64 `json:"beside_fast,omitzero"`
	BesideCPU  float64 `json:"beside_cpu,omitzero"`
}

// storedShare is how many bytes are stored for a byte that came.
func (f figures) storedShare() float64 { return float64(f.Stored) / float64(f.Bytes) }

// rate is records a second.
func (f figures) rate() float64 { return float64(f.Records) / f.Wall }

// meter measures this process from start to stop, so that neither opening the
// database nor checking it afterwards counts.
type meter struct {
	profile string // prefix of the profiles' names, empty for none
	began   time.Time
	cpu     time.Duration
	file    *os.File
}

func (m *meter) start() error {
	if m.profile != "" {
		f, err := os.Create(m.profile + ".cpu.pprof")
		if err != nil {
			return err
		}
		if err := pprof.StartCPUProfile(f); err != nil {
			return errors.Join(err, f.Close())
		}
		m.file = f
	}
	var err error
	m.cpu, err = cpuTime()
	m.began = time.Now()
	return err
}

func (m *meter) stop(f *figures) error {
	f.Wall = time.Since(m.began).Seconds()
	cpu, err := cpuTime()
	if err != nil {
		return err
	}
	f.CPU = (cpu - m.cpu).Seconds()
	f.PeakMiB, err = peakMemory()
	if err != nil {
		return err
	}
	if m.file == nil {
		return nil
	}
	pprof.StopCPUProfile()
	heap, err := os.Create(m.profile + ".heap.pprof")
	if err != nil {
		return errors.Join(err, m.file.Close())
	}
	runtime.GC()
	return errors.Join(pprof.Lookup("allocs").WriteTo(heap, 0), heap.Close(), m.file.Close())
}

// cpuTime is what this process has used, in user and kernel mode.
func cpuTime() (time.Duration, error) {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0, fmt.Errorf("read CPU time: %w", err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()), nil
}

// peakMemory is the most this process has held resident, in MiB. Not
// ru_maxrss: a process that was forked and replaced by exec inherits that of
// the one it was forked from.
func peakMemory() (float64, error) {
	b, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0, fmt.Errorf("read peak memory: %w", err)
	}
	_, rest, _ := bytes.Cut(b, []byte("VmHWM:"))
	line, _, _ := bytes.Cut(rest, []byte("kB"))
	kb, err := strconv.ParseFloat(strings.TrimSpace(string(line)), 64)
	if err != nil {
		return 0, fmt.Errorf("read peak memory: %w", err)
	}
	return kb / 1024, nil
}

// child does its part and prints its figures.
func child(ctx context.Context, role string, args []string) error {
	var j job
	var m meter
	f := flag.NewFlagSet(role, flag.ContinueOnError)
	f.StringVar(&j.Source, "source", "", "source")
	f.IntVar(&j.Records, "records", 0, "records of the oracle")
	f.StringVar(&j.base, "base", "", "address of the oracle")
	f.StringVar(&j.db, "db", "", "database file")
	f.StringVar(&m.profile, "profile", "", "prefix of profiles")
	if err := f.Parse(args); err != nil {
		return err
	}
	node.SetCollector() // as patra does; the bare loop has the same
	out, err := roles[role](ctx, j, &m)
	if err != nil {
		return fmt.Errorf("%s of %d %s records: %w", role, j.Records, j.Source, err)
	}
	return json.NewEncoder(os.Stdout).Encode(out)
}

func command(ctx context.Context, role string, j job, more ...string) (*exec.Cmd, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find myself: %w", err)
	}
	cmd := exec.CommandContext(ctx, cmp.Or(j.binary, self), append([]string{role, "-source", j.Source, "-records", strconv.Itoa(j.Records)}, more...)...)
	cmd.Stderr = os.Stderr
	return cmd, nil
}

// run starts a harvest or a bare loop and waits for its figures.
func run(ctx context.Context, o options, role string, j job, base string) (figures, error) {
	dir, err := os.MkdirTemp(o.dir, role+"-")
	if err != nil {
		return figures{}, err
	}
	defer os.RemoveAll(dir)
	db := filepath.Join(dir, "bench.db")
	if j.db != "" {
		db = j.db
	}
	more := []string{"-base", base, "-db", db}
	if o.profiles != "" && j.binary == "" {
		more = append(more, "-profile", filepath.Join(o.profiles, fmt.Sprintf("%s-%s-%d", role, j.Source, j.Records)))
	}
	cmd, err := command(ctx, role, j, more...)
	if err != nil {
		return figures{}, err
	}
	var f figures
	b, err := cmd.Output()
	if err == nil {
		err = json.Unmarshal(b, &f)
	}
	if err != nil {
		return f, fmt.Errorf("%s: %w", role, err)
	}
	if j.binary != "" {
		role = "other"
	}
	fmt.Fprintf(os.Stderr, "%-8s %-9s %9d records %8.2f s %8.2f s CPU %6.0f MiB\n", role, j.Source, f.Records, f.Wall, f.CPU, f.PeakMiB)
	return f, nil
}

// withOracle has an oracle serve j while f runs.
func withOracle(ctx context.Context, j job, f func(base string) error) (err error) {
	cmd, err := command(ctx, "oracle", j)
	if err != nil {
		return err
	}
	// It serves until its standard input ends: also when this process is killed.
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start oracle: %w", err)
	}
	base, err := bufio.NewReader(out).ReadString('\n')
	if err == nil {
		err = f(strings.TrimSpace(base))
	} else {
		err = fmt.Errorf("start oracle: %w", err)
	}
	in.Close()
	_, _ = io.Copy(io.Discard, out)
	return errors.Join(err, cmd.Wait())
}
