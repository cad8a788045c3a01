package sqlstore_test

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
	"github.com/papertrace/patra/internal/app/control"
	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/source"
	"github.com/papertrace/patra/internal/infra/sqlstore"
	"github.com/papertrace/patra/internal/patratest"
)

// likely are records that are alike as those of a source are.
func (l *Lab) likely(from, n int) []harvest.Record {
	at := l.Begin().Add(time.Minute)
	out := make([]harvest.Record, n)
	for i := range out {
		id := fmt.Sprint("rec", from+i)
		r := Rec(id, at, at.Add(time.Hour), id)
		r.Raw = fmt.Appendf(nil, `{"DOI":"10.1/%s","publisher":"Example University Press","type":"journal-article","title":["On %x"],"container-title":["Journal"]}`,
			id, sha256.Sum256([]byte(id)))
		r.RawSHA256 = sha256.Sum256(r.Raw)
		r.Fields = fmt.Appendf(nil, `{"title":"On %x","publisher":"Example University Press","doi":"10.1/%s"}`, sha256.Sum256([]byte(id)), id)
		out[i] = r
	}
	return out
}

// reopen opens the store as another process does, which knows nothing.
func (l *Lab) reopen() *sqlstore.Store { return patratest.Open(l, l.DSN, sqlstore.Options{}) }

// fieldsOf are the fields of a record as it is held.
func (l *Lab) fieldsOf(id string) (fields string) {
	l.Helper()
	err := l.Store.Export(l.ctx(), control.ExportQuery{}, func(e *control.Exported) error {
		if e.ID == id {
			fields = string(e.Fields)
		}
		return nil
	})
	if err != nil {
		l.Fatal(err)
	}
	return fields
}

// heldAs compares what a store gives back with what came, by export and by itself.
func (l *Lab) heldAs(s *sqlstore.Store, recs []harvest.Record) {
	l.Helper()
	want := map[string]harvest.Record{}
	for _, r := range recs {
		want[r.ID] = r
	}
	err := s.Export(l.ctx(), control.ExportQuery{Raw: true}, func(e *control.Exported) error {
		r := want[e.ID]
		if string(e.Raw) != string(r.Raw) || string(e.Fields) != string(r.Fields) {
			l.Errorf("%s is %q with %q", e.ID, e.Raw, e.Fields)
		}
		delete(want, e.ID)
		raw, err := s.RecordRaw(l.ctx(), e.Number, e.Revision)
		if err != nil || string(raw) != string(r.Raw) {
			l.Errorf("%s alone is %q, %v", e.ID, raw, err)
		}
		return nil
	})
	if err != nil || len(want) > 0 {
		l.Errorf("%d are missing, %v", len(want), err)
	}
	findings, _, err := s.VerifyBodies(l.ctx(), 0, func(control.DeepCheck) {})
	if err != nil || len(findings) > 0 {
		l.Errorf("deep check: %v, %v", findings, err)
	}
	l.MustVerify()
}

// oldRow makes a version what it was before bodies were one: the item in a zstd frame, and its
// fields beside it.
func (l *Lab) oldRow(r harvest.Record) {
	l.Helper()
	enc, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest))
	if err != nil {
		l.Fatal(err)
	}
	defer enc.Close()
	l.Exec(`UPDATE ing_record_version SET raw=?, fields=?, codec_code='apart', dictionary_id=NULL
		WHERE record_id=(SELECT id FROM ing_record WHERE ext_id=?)`, enc.EncodeAll(r.Raw, nil), string(r.Fields), r.ID)
}

// codecs tells how many bodies are packed how.
func (l *Lab) codecs() string {
	l.Helper()
	list, err := l.Store.Packing(l.ctx())
	if err != nil {
		l.Fatal(err)
	}
	var out []string
	for _, p := range list {
		out = append(out, fmt.Sprintf("%s:%d", p.Codec, p.Bodies))
	}
	return strings.Join(out, " ")
}

// TestR89_Bodies: raw and fields are one body, which is read alone, with a dictionary that is
// in the store. Each case has a database of its own, for a store that has taken up a
// dictionary keeps it.
func TestR89_Bodies(t *testing.T) {
	t.Parallel()
	patratest.EachEngine(t, func(t *testing.T, e patratest.Engine) {
		for _, c := range []struct {
			name string
			hold func(*Lab)
		}{
			{"ReadAloneWithTheDictionaryOfTheStore", bodiesWithDictionary},
			{"LostDictionariesAreTold", lostDictionaries},
			{"OldAndMixedRows", oldAndMixedRows},
			{"CompactingKilledAtEveryCall", killedCompact},
			{"TrainedBesideOthers", trainedBesideOthers},
		} {
			t.Run(c.name, func(t *testing.T) { c.hold(NewLab(t, e)) })
		}
	})
}

// bodiesWithDictionary: bodies are read alone, with the dictionary that the store has, by
// a process that has never seen it made.
func bodiesWithDictionary(l *Lab) {
	recs := l.likely(0, 620)
	l.Plan(0, 3)
	l.Walk(l.LeaseOne(), recs[:300]...)
	if n := l.Int(`SELECT COUNT(*) FROM ing_dictionary WHERE provenance_code=? AND trained_from=256 AND LENGTH(content_sha256)=32`, prov); n != 1 {
		l.Fatalf("%d dictionaries", n)
	}
	l.Walk(l.LeaseOne(), recs[300:600]...)
	j := l.LeaseOne()
	b := Last(l.Open(j, l.Start(j)), recs[600:]...)
	if _, err := l.reopen().CommitBatch(l.ctx(), j, b, nil, nil); err != nil {
		l.Fatal(err)
	}
	if got := l.codecs(); got != "s2:320 zstd:300" {
		l.Errorf("packed as %s", got)
	}
	if n := l.Int(`SELECT COUNT(*) FROM ing_record_version WHERE fields<>'' OR (codec_code='s2') <> (dictionary_id IS NOT NULL)`); n != 0 {
		l.Errorf("%d bodies have fields beside them, or no dictionary", n)
	}
	before := l.Int(`SELECT SUM(LENGTH(raw)) FROM ing_record_version WHERE codec_code='zstd'`)
	after := l.Int(`SELECT SUM(LENGTH(raw)) FROM ing_record_version WHERE codec_code='s2'`)
	if after/320*10 > before/300*8 {
		l.Errorf("%d bytes in 320 bodies with a dictionary, %d in 300 without", after, before)
	}
	l.heldAs(l.reopen(), recs)
	// One that stands alone is read: all that came with it are gone.
	l.Exec(`DELETE FROM ing_record_version WHERE record_id<>(SELECT id FROM ing_record WHERE ext_id='rec619')`)
	id := l.Int(`SELECT id FROM ing_record WHERE ext_id='rec619'`)
	if raw, err := l.reopen().RecordRaw(l.ctx(), id, 1); err != nil || string(raw) != string(recs[619].Raw) {
		l.Errorf("alone it is %q, %v", raw, err)
	}
}

// lostDictionaries: a dictionary that is damaged or gone is told, and nothing else is read in
// its place.
func lostDictionaries(l *Lab) {
	recs := l.likely(0, 310)
	l.Plan(0, 2)
	l.Walk(l.LeaseOne(), recs[:300]...)
	l.Walk(l.LeaseOne(), recs[300:]...)
	for _, spoil := range []string{`UPDATE ing_dictionary SET content=content_sha256`, `DELETE FROM ing_dictionary`} {
		l.Exec(spoil)
		s := l.reopen()
		found, _, err := s.VerifyBodies(l.ctx(), 0, func(control.DeepCheck) {})
		if err != nil || len(found) != 10 || !strings.Contains(found[0].Detail, "dictionary") {
			l.Errorf("after %s: %d findings, %v", spoil, len(found), err)
		}
		err = s.Export(l.ctx(), control.ExportQuery{}, func(*control.Exported) error { return nil })
		if err == nil {
			l.Errorf("after %s everything was exported", spoil)
		}
	}
	found, err := l.Store.Verify(l.ctx())
	if err != nil || len(found) == 0 || found[0].Invariant != "ORPHANS" {
		l.Errorf("a dictionary that is gone: %v, %v", found, err)
	}
}

// oldAndMixedRows: rows of every codec are read side by side, written over, archived and
// compacted.
func oldAndMixedRows(l *Lab) {
	recs := l.likely(0, 330)
	l.Plan(0, 3)
	l.Walk(l.LeaseOne(), recs[:300]...)
	l.Walk(l.LeaseOne(), recs[300:320]...)
	for _, r := range recs[:5] {
		l.oldRow(r)
	}
	for _, r := range recs[310:315] {
		l.oldRow(r)
	}
	if got := l.codecs(); got != "apart:10 s2:15 zstd:295" {
		l.Fatalf("packed as %s", got)
	}
	l.heldAs(l.reopen(), recs[:320])
	// A version that differs in volatile parts only is written over the old row.
	recs[0].Version.UpdatedAt = recs[0].Version.UpdatedAt.Add(time.Minute)
	recs[0].Raw = append(recs[0].Raw, ' ')
	recs[0].RawSHA256 = sha256.Sum256(recs[0].Raw)
	l.Walk(l.LeaseOne(), append(recs[320:], recs[0])...)
	if got := l.codecs(); got != "apart:9 s2:26 zstd:295" {
		l.Errorf("packed as %s", got)
	}
	l.heldAs(l.reopen(), recs)
	out := l.compact(l.Store)
	left := l.Int(`SELECT COUNT(*) FROM ing_record_version WHERE codec_code IN ('apart', 'zstd')`)
	if left != 0 || out.Packed < 320 || out.Now >= out.Before || out.Unreadable != 0 {
		l.Errorf("packed as %s: %+v", l.codecs(), out)
	}
	l.heldAs(l.reopen(), recs)
	if again := l.compact(l.Store); again.Packed != 0 || again.Bodies != 330 {
		l.Errorf("once more: %+v", again)
	}
}

var compacting = source.Audit{Actor: "test", Reason: "test", Action: "COMPACT", Object: "bodies"}

// compact compacts to the end.
func (l *Lab) compact(s *sqlstore.Store) (out control.Compacted) {
	l.Helper()
	out, err := s.BeginCompact(l.ctx(), compacting)
	for err == nil && !out.Done {
		var some control.Compacted
		some, err = s.CompactSome(l.ctx())
		out.Packed += some.Packed
		out.Bodies += some.Bodies
		out.Before += some.Before
		out.Now += some.Now
		out.Unreadable += some.Unreadable
		out.Done = some.Done
	}
	if err != nil {
		l.Fatal(err)
	}
	return out
}

// killedCompact kills compacting at each of its calls to the store: every body can be read,
// and the next one goes on where it was.
func killedCompact(l *Lab) {
	recs := l.likely(0, 520)
	l.Plan(0, 2)
	l.Walk(l.LeaseOne(), recs[:260]...)
	l.Walk(l.LeaseOne(), recs[260:]...)
	killed := errors.New("killed")
	const mostCalls = 5000
	step := 1
	if l.small() {
		step = 61
	}
	for at := 1; at < mostCalls; at += step {
		for _, r := range recs[:4] {
			l.oldRow(r)
		}
		for _, r := range recs[255:265] {
			l.oldRow(r)
		}
		calls := 0
		s := patratest.Open(l, l.DSN, sqlstore.Options{Hook: func(string) error {
			calls++
			if calls >= at {
				return killed
			}
			return nil
		}})
		out, err := s.BeginCompact(l.ctx(), compacting)
		for err == nil && !out.Done {
			out, err = s.CompactSome(l.ctx())
		}
		if err == nil {
			l.heldAs(l.Store, recs)
			return
		}
		if !errors.Is(err, killed) {
			l.Fatalf("call %d: %v", at, err)
		}
		if at%40 == 1 || l.small() {
			l.heldAs(l.Store, recs)
		}
		if at > 40 { // it has seen every kind of call; those that follow are the same for other rows
			step = 61
		}
	}
	l.Errorf("it was not over after %d calls", mostCalls)
}

// trainedBesideOthers: whoever commits while a dictionary is made by several at once is not
// disturbed, and all take up the same one.
func trainedBesideOthers(l *Lab) {
	recs := l.likely(0, 1200)
	l.Plan(0, 4)
	jobs := l.Lease(4)
	var all sync.WaitGroup
	for i, j := range jobs {
		s := l.reopen()
		b := Last(l.Open(j, l.Start(j)), recs[i*300:(i+1)*300]...)
		all.Go(func() {
			if _, err := s.CommitBatch(l.ctx(), j, b, nil, nil); err != nil {
				l.Errorf("commit: %v", err)
			}
		})
	}
	all.Wait()
	if n := l.Int(`SELECT COUNT(*) FROM ing_dictionary`); n != 1 {
		l.Errorf("%d dictionaries", n)
	}
	l.heldAs(l.reopen(), recs)
}

func TestR89_LargeBodiesAreReadBack(t *testing.T) {
	t.Parallel()
	l := NewLab(t, patratest.SQLite)
	recs := l.likely(0, 300)
	l.Plan(0, 2)
	l.Walk(l.LeaseOne(), recs...)
	for i, size := range []int{60 << 10, 70 << 10, 5 << 20} {
		r := l.likely(300+i, 1)[0]
		r.Raw = append(r.Raw, strings.Repeat(fmt.Sprint("text", i, " "), size/6)...)
		r.RawSHA256 = sha256.Sum256(r.Raw)
		recs = append(recs, r)
	}
	l.Walk(l.LeaseOne(), recs[300:]...)
	if got := l.codecs(); got != "s2:1 zstd:302" {
		t.Errorf("packed as %s", got)
	}
	l.heldAs(l.reopen(), recs)
	l.compact(l.Store)
	l.heldAs(l.reopen(), recs)
}
