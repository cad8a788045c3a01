package control_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/source"
)

// library is a store of as many made-up records as are wanted; of sixteen two are of one work.
type library struct {
	control.Store
	records int
	// words are those of each abstract; reached is told before each record how many there were.
	words   string
	reached func(n int)
	reads   *int // how often records of works were asked for
}

func (l library) Now(context.Context) (time.Time, error) {
	return time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), nil
}

func (l library) LoadSource(context.Context, string) (source.Contents, error) {
	return source.Contents{}, harvest.ErrNotFound
}

func (l library) fields(n int) []byte {
	return fmt.Appendf(nil, `{"title":"Title %d of many","abstract":"BACKGROUND: %d %s","pmid":"%d","doi":"10.1000/%d","journal":"Journal %d",`+
		`"published":"2020-01-02","authors":[{"family":"Family%d","given":"G. %d"}],"keywords":["b%d"]}`, n, n, l.words[n%100:], n+1, n, n%5000, n, n, n)
}

func (l library) Export(ctx context.Context, _ control.ExportQuery, f func(*control.Exported) error) error {
	for n := range l.records {
		l.reached(n)
		e := control.Exported{
			Number: int64(n), Provenance: "pubmed", Type: "article", ID: strconv.Itoa(n), Status: harvest.RecordActive, Revision: 1,
			RawSHA256: strings.Repeat("a", 64), Fields: l.fields(n),
		}
		if err := f(&e); err != nil {
			return err
		}
	}
	return ctx.Err()
}

func (l library) Doubles(context.Context, control.ExportQuery) (control.Doubles, error) {
	var out control.Doubles
	for n := range int64(l.records) {
		if n%16 < 2 {
			out.Add(control.WorkMember{Work: n - n%16, Record: n})
		}
	}
	out.Settle()
	return out, nil
}

// AlikeWorks: of sixteen the first is like the seventh, and less like the eighth.
func (l library) AlikeWorks(context.Context) (out []control.AlikeWorks, err error) {
	for n := int64(0); n+16 <= int64(l.records); n += 16 {
		out = append(out, control.AlikeWorks{One: n + 6, Other: n}, control.AlikeWorks{One: n, Other: n + 7})
	}
	return out, nil
}

func (l library) SelectedOf(_ context.Context, _ control.ExportQuery, works []int64) (out []control.WorkMember, err error) {
	for _, w := range works {
		out = append(out, control.WorkMember{Work: w, Record: w})
		if w%16 == 0 {
			out = append(out, control.WorkMember{Work: w, Record: w + 1})
		}
	}
	return out, nil
}

func (l library) WorkRecords(_ context.Context, numbers []int64) (out []control.WorkRecord, err error) {
	if l.reads != nil {
		*l.reads++
	}
	for _, n := range numbers {
		out = append(out, control.WorkRecord{
			Number: n, Source: "pubmed", Type: "article", ID: strconv.FormatInt(n, 10), Status: harvest.RecordActive, Revision: 1, Fields: l.fields(int(n)),
		})
	}
	return out, nil
}

// mostMemory is what an export may take, however many records there are, and mostGrowth by how
// much more it may hold when four times as many are written: twenty bytes for each double, and
// what a Parquet file has to tell at its end.
const (
	mostMemory = 150 << 20
	mostGrowth = 4 << 20
)

// TestScale_ExportDoesNotGrow: an export of 80,000 records holds what one of 20,000 does. The
// formats are those that are written by ways of their own; the test of whole processes takes all
// of them to a million.
func TestScale_ExportDoesNotGrow(t *testing.T) {
	for _, o := range []control.ExportOrder{{Format: control.JSONL}, {Format: "parquet"}, {Format: "ris", Dedupe: control.DedupeExact}} {
		t.Run(o.Format, func(t *testing.T) {
			few := heldByExport(t, 20_000, o)
			many := heldByExport(t, 80_000, o)
			t.Logf("it held %.1f and %.1f MiB", float64(few)/(1<<20), float64(many)/(1<<20))
			if many > few+mostGrowth {
				t.Errorf("it held %d MiB for 20,000 records and %d MiB for 80,000", few>>20, many>>20)
			}
			if peak := peakMemory(t); peak > mostMemory {
				t.Errorf("the process has taken %d MiB", peak>>20)
			}
		})
	}
}

// TestExport_AsksForManyWorksAtOnce: records of works are read a few hundred at a time and
// stand in the export where they would stand alone, each with the other's evidence.
func TestExport_AsksForManyWorksAtOnce(t *testing.T) {
	const records = 3200
	reads := 0
	ctl := control.New(control.Parts{Store: library{records: records, words: strings.Repeat("word ", 25), reached: func(int) {}, reads: &reads}})
	x, err := ctl.Export(t.Context(), control.ExportOrder{Format: control.JSONL, Dedupe: control.DedupeExact})
	if err != nil {
		t.Fatal(err)
	}
	var written bytes.Buffer
	if _, err := x.Write(t.Context(), func(control.ExportFile) (io.Writer, error) { return &written, nil }); err != nil {
		t.Fatal(err)
	}
	want := 0
	for text := range strings.Lines(written.String()) {
		var line control.ExportLine
		if err := json.Unmarshal([]byte(text), &line); err != nil {
			t.Fatal(err)
		}
		if want%16 == 1 { // the second of a work
			want++
		}
		if line.ID != strconv.Itoa(want) {
			t.Fatalf("record %s stands where %d should", line.ID, want)
		}
		if both := fmt.Sprintf("[pubmed/%d pubmed/%d]", want, want+1); want%16 == 0 && (line.Work == nil || fmt.Sprint(line.Work.Records) != both) {
			t.Fatalf("record %s stands for %+v, want %s", line.ID, line.Work, both)
		}
		want++
	}
	if want != records || reads > records/150 {
		t.Errorf("up to record %d were written, with %d reads of works", want, reads)
	}
}

// TestExport_ProbableJoinsWhatIsMostAlike: each work takes the one that it is most like and no
// third one, and the export tells which records were joined for their likeness.
func TestExport_ProbableJoinsWhatIsMostAlike(t *testing.T) {
	const records = 160
	ctl := control.New(control.Parts{Store: library{records: records, words: strings.Repeat("word ", 25), reached: func(int) {}}})
	x, err := ctl.Export(t.Context(), control.ExportOrder{Format: control.JSONL, Dedupe: control.DedupeProbable})
	if err != nil {
		t.Fatal(err)
	}
	var written bytes.Buffer
	s, err := x.Write(t.Context(), func(control.ExportFile) (io.Writer, error) { return &written, nil })
	if err != nil {
		t.Fatal(err)
	}
	left := map[string]int64{}
	for _, l := range s.LeftOut {
		left[l.Reason] = l.Records
	}
	if s.Records != records-20 || left["the same work as a record that is written"] != 10 || left["probably the same work as a record that is written"] != 10 {
		t.Errorf("%d records were written, left out were %v", s.Records, left)
	}
	first, _, _ := strings.Cut(written.String(), "\n")
	var line control.ExportLine
	if err := json.Unmarshal([]byte(first), &line); err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(line.Work.Records, line.Work.Probable); got != "[pubmed/0 pubmed/1 pubmed/6] [pubmed/6]" {
		t.Errorf("the first stands for %s", got)
	}
}

// heldByExport is the most that an export of so many records holds towards its end.
func heldByExport(t *testing.T, records int, o control.ExportOrder) (most int64) {
	t.Helper()
	look := func(n int) {
		if n%1000 == 0 && n > records-6000 {
			most = max(most, heldMemory())
		}
	}
	words := "insulin resistance and other words of an abstract, of which there are some hundred in all, so that it has a length "
	runtime.GC() // pools of the export before are emptied at the second time
	before := heldMemory()
	ctl := control.New(control.Parts{Store: library{records: records, words: words, reached: look}})
	x, err := ctl.Export(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	s, err := x.Write(t.Context(), func(control.ExportFile) (io.Writer, error) { return io.Discard, nil })
	if err != nil {
		t.Fatal(err)
	}
	want := int64(records)
	if o.Dedupe == control.DedupeExact {
		want -= want / 16
	}
	if s.Records != want {
		t.Errorf("%d of %d records were written", s.Records, want)
	}
	return most - before
}

// heldMemory is what is in use after what is not was thrown away.
func heldMemory() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

var highWater = regexp.MustCompile(`VmHWM:\s+(\d+) kB`)

// peakMemory is the most that this process has taken so far.
func peakMemory(t *testing.T) int64 {
	t.Helper()
	b, err := os.ReadFile("/proc/self/status")
	m := highWater.FindSubmatch(b)
	if err != nil || m == nil {
		t.Skip("how much memory a process takes is not told here")
	}
	kib, err := strconv.ParseInt(string(m[1]), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return kib << 10
}
