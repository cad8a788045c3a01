package replay_test

import (
	"bytes"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/zstd"
	"github.com/papertrace/patra/internal/app/replay"
)

// smallBox is a box with two items, one of which is no text.
func smallBox() *replay.Box {
	box := &replay.Box{
		Format: replay.Format, Batch: "17/3", Correlation: "ing-17-3", Cursor: []replay.Move{},
		Frozen: &replay.Frozen{Spec: []byte(`{"specVersion":5}`), Slice: []byte(`{}`)},
		Export: &replay.Exports{Actor: "cli/x", Reason: "why", At: time.Unix(0, 0).UTC(), ExpiresAt: time.Unix(1, 0).UTC(), AuditID: 4},
		Items:  []replay.Item{{ID: "a", Effect: "inserted"}, {ID: "b", Effect: "updated"}},
	}
	box.Items[0].SetRaw([]byte(`{"a": "<é>"}`))
	box.Items[1].SetRaw([]byte("\xff\x00"))
	return box
}

func written(t *testing.T, box *replay.Box) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := box.Write(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestFile_HoldsTheBoxExactly, bytes of items included.
func TestFile_HoldsTheBoxExactly(t *testing.T) {
	t.Parallel()
	box := smallBox()
	got, err := replay.Read(bytes.NewReader(written(t, box)))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(box, got); diff != "" {
		t.Error(diff)
	}
}

// TestFile_CutOrChangedIsNotReproduced, wherever it is cut, and also where that leaves
// whole lines.
func TestFile_CutOrChangedIsNotReproduced(t *testing.T) {
	t.Parallel()
	whole := written(t, smallBox())
	unpacked, err := newReader(t).DecodeAll(whole, nil)
	if err != nil {
		t.Fatal(err)
	}
	broken := map[string][]byte{}
	for _, n := range []int{0, 1, len(whole) / 2, len(whole) - 1} {
		broken["cut at "+string(rune('0'+n%10))] = whole[:n]
	}
	lines := bytes.SplitAfter(unpacked, []byte("\n"))
	broken["without its end"] = repacked(t, bytes.Join(lines[:len(lines)-2], nil))
	broken["without an item"] = repacked(t, bytes.Join([][]byte{lines[0], lines[1], lines[3]}, nil))
	broken["with another item"] = repacked(t, bytes.Replace(unpacked, []byte(`"id":"a"`), []byte(`"id":"c"`), 1))
	broken["of a later version"] = repacked(t, bytes.Replace(unpacked, []byte(`{"blackbox":1`), []byte(`{"blackbox":99`), 1))
	for name, b := range broken {
		_, err := replay.Read(bytes.NewReader(b))
		e, ok := errors.AsType[*replay.BrokenError](err)
		if !ok {
			t.Errorf("%s: %v", name, err)
			continue
		}
		r := e.Report("box.zst", false)
		if r.Verdict != replay.NotReproduced || r.Effect != replay.NothingWritten {
			t.Errorf("%s: %+v", name, r)
		}
	}
}

func newReader(t *testing.T) *zstd.Decoder {
	t.Helper()
	d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(d.Close)
	return d
}

func repacked(t *testing.T, b []byte) []byte {
	t.Helper()
	e, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	return e.EncodeAll(b, nil)
}
