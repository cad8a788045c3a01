package bus

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/papertrace/patra/internal/app/relay"
	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
)

// ledger is a store that is only a list of revisions, and that dies: at its n-th call, and
// after it took effect or before. It is what a relay has to go by.
type ledger struct {
	mu     sync.Mutex
	stream []relay.Revision
	at     int64
	owner  string
	fence  int64
	until  time.Time
	calls  int
	dieAt  int
}

var errDead = errors.New("the process was killed")

// call counts a call, and reports whether the process dies at it.
func (l *ledger) call() (dies bool) {
	l.calls++
	return l.calls == l.dieAt
}

func (l *ledger) EnsureTarget(context.Context, string, string) (bool, error) { return false, nil }

func (l *ledger) ClaimTarget(_ context.Context, c relay.Claim) (relay.Lease, bool, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.owner != "" && l.owner != c.Owner && time.Now().Before(l.until) {
		return relay.Lease{}, false, nil
	}
	l.owner = c.Owner
	l.fence++
	l.until = time.Now().Add(c.TTL)
	return relay.Lease{Target: 1, Name: c.Target, Owner: c.Owner, Fence: l.fence, TTL: c.TTL}, true, nil
}

func (l *ledger) NextRevisions(_ context.Context, _ relay.Lease, most int) (relay.Batch, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.call() {
		return relay.Batch{}, errDead
	}
	b := relay.Batch{From: l.at, To: l.at}
	for _, r := range l.stream {
		if r.No > l.at && len(b.Fresh) < most {
			b.Fresh = append(b.Fresh, r)
			b.To = r.No
		}
	}
	return b, nil
}

func (l *ledger) Settle(_ context.Context, lease relay.Lease, o relay.Outcome) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.fence != lease.Fence {
		return harvest.ErrLeaseLost
	}
	dies := l.call()
	if dies && l.calls%2 == 0 {
		return errDead // what was sent is not noted
	}
	if o.Out != "" || len(o.Refused) > 0 {
		return fmt.Errorf("%s%v", o.Out, o.Refused)
	}
	if o.To >= 0 {
		l.at = o.To
	}
	if dies {
		return errDead // it is, and nobody learns of it
	}
	if o.Leave {
		l.owner = ""
	}
	return nil
}

// few lets a target take only a few messages at a time, so that there are many batches.
type few struct{ relay.Target }

func (few) Most() int { return 7 }

// TestR34_EveryRevisionArrives: a relay that is killed a hundred times, before and after it
// noted what it sent, in front of each kind of target. Whoever drops what he has seen ends
// with every revision, those of a record in order; what came again came only because it was
// sent again.
func TestR34_EveryRevisionArrives(t *testing.T) {
	const records, revisions = 110, 5
	for name, start := range map[string]func(*testing.T) (address string, read func() []string){
		"file": fileToRead, "nats": natsToRead, "kafka": kafkaToRead, "webhook": webhookToRead,
	} {
		t.Run(name, func(t *testing.T) {
			address, read := start(t)
			to := few{only(t, address)}
			l := new(ledger)
			for revision := range revisions {
				for record := range records {
					m := message(t, record, int64(revision+1))
					m.No = int64(len(l.stream) + 1)
					l.stream = append(l.stream, m.Revision)
				}
			}
			kills := 0
			for l.at < int64(len(l.stream)) {
				l.dieAt = l.calls + 1 + kills%4 // sometimes at once, sometimes after a few batches
				owner := fmt.Sprint("relay ", kills)
				err := relay.New(relay.Config{Owner: owner, TTL: time.Minute}, l, []relay.Target{to}, slog.New(slog.DiscardHandler)).Drain(t.Context())
				if err != nil && !errors.Is(err, errDead) {
					t.Fatal(err)
				}
				l.until = time.Time{} // the lease of the dead one has run out
				kills++
				if kills > 1000 {
					t.Fatal("it does not get on")
				}
			}
			last := map[string]int64{}
			came := 0
			for _, body := range read() {
				var e struct {
					Key  string `json:"partitionkey"`
					Data struct {
						Revision int64 `json:"revision"`
					} `json:"data"`
				}
				if err := json.Unmarshal([]byte(body), &e); err != nil {
					t.Fatalf("%s: %v", body, err)
				}
				came++
				switch seen := last[e.Key]; {
				case e.Data.Revision <= seen: // again
				case e.Data.Revision == seen+1:
					last[e.Key] = e.Data.Revision
				default:
					t.Errorf("%s: %d after %d", e.Key, e.Data.Revision, seen)
				}
			}
			for record := range records {
				if got := last[message(t, record, 1).Key]; got != revisions {
					t.Errorf("record %d ends with revision %d", record, got)
				}
			}
			if len(last) != records || came > records*revisions+7*kills {
				t.Errorf("%d records, %d messages after %d kills", len(last), came, kills)
			}
			if kills < 100 {
				t.Errorf("only %d kills", kills)
			}
			t.Logf("%d kills, %d messages for %d revisions", kills, came, records*revisions)
		})
	}
}

func fileToRead(t *testing.T) (string, func() []string) {
	path := filepath.Join(t.TempDir(), "events.jsonl")
	return "file:" + path, func() []string {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return strings.Split(strings.TrimSuffix(string(b), "\n"), "\n")
	}
}

func natsToRead(t *testing.T) (string, func() []string) {
	s := startNATS(t, t.TempDir(), -1)
	t.Cleanup(s.Shutdown)
	address := "nats://t0ken-of-the-stream@" + strings.TrimPrefix(s.ClientURL(), "nats://")
	conn, err := nats.Connect(address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	js, err := jetstream.New(conn)
	if err != nil {
		t.Fatal(err)
	}
	// The window is too short to drop anything: that is left to the consumer here.
	stream, err := js.CreateStream(t.Context(), jetstream.StreamConfig{Name: "LAB", Subjects: []string{"patra.>"}, Duplicates: 100 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	return address, func() (out []string) {
		info, err := stream.Info(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for seq := info.State.FirstSeq; seq <= info.State.LastSeq; seq++ {
			m, err := stream.GetMsg(t.Context(), seq)
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, string(m.Data))
		}
		return out
	}
}

func kafkaToRead(t *testing.T) (string, func() []string) {
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(3, "records"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cluster.Close)
	return "kafka://" + cluster.ListenAddrs()[0] + "/records", func() (out []string) {
		reader, err := kgo.NewClient(kgo.SeedBrokers(cluster.ListenAddrs()...), kgo.ConsumeTopics("records"), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
		if err != nil {
			t.Fatal(err)
		}
		defer reader.Close()
		// A mark in each partition tells that it was read to its end.
		for p := range int32(3) {
			mark := &kgo.Record{Topic: "records", Partition: p, Value: []byte("end")}
			writer, err := kgo.NewClient(kgo.SeedBrokers(cluster.ListenAddrs()...), kgo.RecordPartitioner(kgo.ManualPartitioner()))
			if err != nil {
				t.Fatal(err)
			}
			if err := writer.ProduceSync(t.Context(), mark).FirstErr(); err != nil {
				t.Fatal(err)
			}
			writer.Close()
		}
		within, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		for ends := 0; ends < 3; {
			polled := reader.PollFetches(within)
			if err := polled.Err(); err != nil {
				t.Fatal(err)
			}
			polled.EachRecord(func(r *kgo.Record) {
				if string(r.Value) == "end" {
					ends++
					return
				}
				out = append(out, string(r.Value))
			})
		}
		return out
	}
}

func webhookToRead(t *testing.T) (string, func() []string) {
	h := newHook(t)
	var all []string
	h.answer = func(body []byte) (int, map[string]string) {
		all = append(all, string(body))
		return 200, nil
	}
	return "webhook+" + h.URL + "/in?private=allow", func() []string {
		h.mu.Lock()
		defer h.mu.Unlock()
		return all
	}
}
