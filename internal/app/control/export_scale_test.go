package control_test

import (
	"context"
	"fmt"
	"io"
	"os"
	"regexp"
	"runtime/debug"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/source"
)

// library is a store of as many made-up records as are wanted.
type library struct {
	control.Store
	records int
}

func (l library) Now(context.Context) (time.Time, error) {
	return time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), nil
}

func (l library) LoadSource(context.Context, string) (source.Contents, error) {
	return source.Contents{}, harvest.ErrNotFound
}

func (l library) Export(ctx context.Context, _ control.ExportQuery, f func(*control.Exported) error) error {
	words := strings.Repeat("insulin resistance and other words of an abstract, ", 30)
	for n := range l.records {
		e := control.Exported{
			Provenance: "pubmed", Type: "article", ID: strconv.Itoa(n), Status: harvest.RecordActive, Revision: 1, RawSHA256: strings.Repeat("a", 64),
			Fields: fmt.Appendf(nil, `{"title":"Title <i>%d</i> of many","abstract":"BACKGROUND: %d %s\nMETHODS: %s","pmid":"%d","doi":"10.1000/%d","type":"Journal Article",`+
				`"journal":"Journal %d","volume":"%d","pages":"%d-%d","published":"2020-01-02","authors":[{"family":"Family%d","given":"G. %d"},{"family":"B","given":"C"}],`+
				`"mesh":[{"term":"Humans","qualifiers":["blood"]}],"keywords":["a","b%d"],"issn":["1234-5678"]}`, n, n, words[n%100:], words, n+1, n, n%5000, n%99, n, n+9, n, n, n),
		}
		if err := f(&e); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// mostMemory is what an export may take, however many records there are.
const mostMemory = 150 << 20

// TestScale_ExportDoesNotGrow: a million records go to each format without the process
// taking more memory than a small machine has; in the suite a few hundred do.
func TestScale_ExportDoesNotGrow(t *testing.T) {
	records := 200
	if os.Getenv("PATRA_SOAK") != "" {
		records = 1_000_000
	}
	ctl := control.New(control.Parts{Store: library{records: records}})
	for _, format := range control.ExportFormats() {
		t.Run(format, func(t *testing.T) {
			debug.FreeOSMemory()
			began := time.Now()
			x, err := ctl.Export(t.Context(), control.ExportOrder{Format: format})
			if err != nil {
				t.Fatal(err)
			}
			s, err := x.Write(t.Context(), func(control.ExportFile) (io.Writer, error) { return io.Discard, nil })
			if err != nil || s.Records != int64(records) || len(s.LeftOut) != 0 {
				t.Fatalf("%+v, %v", s, err)
			}
			peak := peakMemory(t)
			t.Logf("%d records, %d bytes, %v, peak so far %d MiB", s.Records, s.Files[0].Bytes, time.Since(began).Round(time.Millisecond), peak>>20)
			if peak > mostMemory {
				t.Errorf("the process has taken %d MiB", peak>>20)
			}
		})
	}
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
