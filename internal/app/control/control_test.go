package control_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/source"
)

// kept is a store with one cursor and its gaps, in memory.
type kept struct {
	control.Store
	cursor control.CursorRow
	gaps   []control.Gap
	audit  []source.Audit
}

func (k *kept) Cursor(context.Context, harvest.CursorID) (control.CursorRow, error) {
	return k.cursor, nil
}

func (k *kept) Gaps(context.Context, control.GapQuery) ([]control.Gap, harvest.SliceID, error) {
	return slices.Clone(k.gaps), 0, nil
}

func (k *kept) Now(context.Context) (time.Time, error) { return day(1).Time(), nil }

func (k *kept) AcceptGap(_ context.Context, id harvest.SliceID, a source.Audit) (harvest.Mark, error) {
	k.audit = append(k.audit, a)
	return harvest.Mark{}, nil
}

func day(n int) harvest.Mark {
	return harvest.TimeMark(time.Date(2026, 3, n, 0, 0, 0, 0, time.UTC))
}

// slicesOf are the numbers of the slices that gaps are.
func slicesOf(gaps []control.Gap) []harvest.SliceID {
	var out []harvest.SliceID
	for _, g := range gaps {
		out = append(out, g.Slice)
	}
	return out
}

// TestSkip_AcceptsGapsAsFarAsAPlace: of the gaps before a cursor those are accepted
// that end by the place, in the direction it goes; each leaves its own line in the
// audit, and looking first leaves none.
func TestSkip_AcceptsGapsAsFarAsAPlace(t *testing.T) {
	for _, c := range []struct {
		direction harvest.Direction
		until     harvest.Mark
		want      []harvest.SliceID
	}{
		{harvest.Forward, day(4), []harvest.SliceID{1, 2}},
		{harvest.Forward, day(3), []harvest.SliceID{1}},
		{harvest.Forward, day(1), nil},
		{harvest.Backward, day(3), []harvest.SliceID{2, 3}},
		{harvest.Backward, day(4), []harvest.SliceID{3}},
	} {
		store := &kept{
			cursor: control.CursorRow{ID: 7, Direction: c.direction},
			gaps:   []control.Gap{{Slice: 1, From: day(1), To: day(2)}, {Slice: 2, From: day(3), To: day(4)}, {Slice: 3, From: day(5), To: day(6)}},
		}
		ctl := control.New(control.Parts{Store: store})
		preview, err := ctl.PreviewSkip(t.Context(), 7, c.until)
		if err != nil || !slices.Equal(slicesOf(preview.Gaps), c.want) || preview.Applied || len(store.audit) != 0 {
			t.Errorf("%s to %s: preview %+v, audit %v, %v", c.direction, c.until, preview, store.audit, err)
		}
		done, err := ctl.Skip(t.Context(), 7, c.until, control.By{Actor: "tester", Reason: "not needed"})
		if err != nil || done.Accepted != len(c.want) || done.Applied != (len(c.want) > 0) {
			t.Errorf("%s to %s: %+v, %v", c.direction, c.until, done, err)
		}
		var want []source.Audit
		for _, id := range c.want {
			want = append(want, source.Audit{Actor: "tester", Reason: "not needed", Action: "GAP_ACCEPT", Object: fmt.Sprintf("slice/%d", id)})
		}
		if !slices.Equal(store.audit, want) {
			t.Errorf("%s to %s: audit %+v, want %+v", c.direction, c.until, store.audit, want)
		}
	}
}

// TestPreviewRetry_ListsOnlyWhatCanBeQueued: what was cancelled one by one is listed
// if that is said, and never a slice whose whole plan is not open any more.
func TestPreviewRetry_ListsOnlyWhatCanBeQueued(t *testing.T) {
	ctl := control.New(control.Parts{Store: &kept{gaps: []control.Gap{
		{Slice: 1, Status: "FAILED"},
		{Slice: 2, Status: "CANCELLED"},
		{Slice: 3, Status: "FAILED", Whole: true},
		{Slice: 4, Status: "CANCELLED", Whole: true},
	}}})
	for cancelled, want := range map[bool][]harvest.SliceID{false: {1}, true: {1, 2}} {
		v, err := ctl.PreviewRetry(t.Context(), "crossref", cancelled)
		if err != nil || !slices.Equal(slicesOf(v.Gaps), want) || v.Slices != len(want) || v.Applied {
			t.Errorf("with cancelled %t: %+v, %v; want %v", cancelled, v, err, want)
		}
	}
}

// TestReport_UpdateCountsCandidates: window, watermark and gaps of an UPDATE are
// numbers of candidates, as texts where others have instants.
func TestReport_UpdateCountsCandidates(t *testing.T) {
	b, err := json.Marshal(control.Report{
		Operation: harvest.Update, Window: harvest.OrdinalSpan(0, 12), Watermark: new(harvest.OrdinalMark(5)),
		Gaps: []control.ReportGap{{From: harvest.OrdinalMark(5), To: harvest.OrdinalMark(7), Status: "FAILED"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		Window    struct{ From, To string }
		Watermark string
		Gaps      []struct{ From, To string }
	}
	if err := json.Unmarshal(b, &got); err != nil {
		t.Fatalf("%v in %s", err, b)
	}
	if got.Window.From != "0" || got.Window.To != "12" || got.Watermark != "5" {
		t.Errorf("%s", b)
	}
	if len(got.Gaps) != 1 || got.Gaps[0].From != "5" || got.Gaps[0].To != "7" {
		t.Errorf("gaps of %s", b)
	}
}

// TestWaitReason_SaysWordsAndCode: a reason is said in words with its code behind
// them; a code that is none is what became of the last try.
func TestWaitReason_SaysWordsAndCode(t *testing.T) {
	for code, want := range map[harvest.Code]string{
		harvest.CodeQuota: "the quota is used up (" + string(harvest.CodeQuota) + ")",
		"http_503":        "the last try failed (http_503)",
		"":                "not due yet",
	} {
		if got := control.WaitReason(code); got != want {
			t.Errorf("%q: %q, want %q", code, got, want)
		}
	}
}
