package proctest

import (
	"bytes"
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/papertrace/patra/internal/app/relay"
)

// brokers are a NATS server with a stream and a Kafka cluster, both in this process, and what
// was read of them so far.
type brokers struct {
	nats  *server.Server
	kafka *kfake.Cluster

	stream  jetstream.Stream
	nextSeq uint64
	reader  *kgo.Client

	byNATS, byKafka *told
}

// told is what a consumer knows who drops what he has seen.
type told struct {
	broker string
	last   map[string]int64 // newest revision, by record
	came   int
	wrong  []string
}

// hear takes an event: the next revision of its record, or one that has come before.
func (d *told) hear(body []byte) {
	var e struct {
		Key  string `json:"partitionkey"`
		Data struct {
			Revision int64 `json:"revision"`
		} `json:"data"`
	}
	if err := json.Unmarshal(body, &e); err != nil {
		d.wrong = append(d.wrong, err.Error())
		return
	}
	d.came++
	seen := d.last[e.Key]
	if e.Data.Revision > seen+1 {
		d.wrong = append(d.wrong, e.Key)
	}
	if e.Data.Revision > seen {
		d.last[e.Key] = e.Data.Revision
	}
}

// lacks is how many records have revisions that did not come.
func (d *told) lacks(want map[string]int64) (n int) {
	for key, revision := range want {
		if d.last[key] < revision {
			n++
		}
	}
	return n
}

func startBrokers(t *testing.T) *brokers {
	t.Helper()
	b := &brokers{nextSeq: 1}
	b.byNATS = &told{broker: "NATS", last: map[string]int64{}}
	b.byKafka = &told{broker: "Kafka", last: map[string]int64{}}
	var err error
	b.nats, err = server.NewServer(&server.Options{Host: "127.0.0.1", Port: -1, JetStream: true, StoreDir: t.TempDir(), NoLog: true, NoSigs: true})
	if err != nil {
		t.Fatal(err)
	}
	b.nats.Start()
	t.Cleanup(func() {
		b.nats.Shutdown()
		b.nats.WaitForShutdown()
	})
	if !b.nats.ReadyForConnections(patience) {
		t.Fatal("the NATS server is not ready")
	}
	conn, err := nats.Connect(b.nats.ClientURL())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	js, err := jetstream.New(conn)
	if err != nil {
		t.Fatal(err)
	}
	// The window is too short to drop anything: that is left to the consumer here.
	b.stream, err = js.CreateStream(t.Context(), jetstream.StreamConfig{Name: "CHAOS", Subjects: []string{"patra.>"}, Duplicates: 100 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	b.kafka, err = kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(3, "records"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.kafka.Close)
	b.reader, err = kgo.NewClient(kgo.SeedBrokers(b.kafka.ListenAddrs()...), kgo.ConsumeTopics("records"), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.reader.Close)
	return b
}

// targets is how relays are told of them.
func (b *brokers) targets() string {
	return b.nats.ClientURL() + " kafka://" + b.kafka.ListenAddrs()[0] + "/records"
}

// waitFor reads what was sent until both brokers have every revision, and holds it to its order.
func (b *brokers) waitFor(t *testing.T, want map[string]int64) {
	t.Helper()
	for end := time.Now().Add(patience); b.byNATS.lacks(want)+b.byKafka.lacks(want) > 0; pause(100 * time.Millisecond) {
		b.readNATS(t)
		b.readKafka(t)
		if time.Now().After(end) {
			t.Fatalf("revisions of %d records did not come to NATS, of %d to Kafka", b.byNATS.lacks(want), b.byKafka.lacks(want))
		}
	}
	revisions := int64(0)
	for _, n := range want {
		revisions += n
	}
	for _, d := range []*told{b.byNATS, b.byKafka} {
		if len(d.wrong) > 0 {
			t.Errorf("%s: %d revisions came before the one before them, such as of %q", d.broker, len(d.wrong), d.wrong[0])
		}
		if len(d.last) != len(want) {
			t.Errorf("%s: %d records, %d are held", d.broker, len(d.last), len(want))
		}
		t.Logf("%s: %d messages for %d revisions of %d records", d.broker, d.came, revisions, len(want))
	}
}

func (b *brokers) readNATS(t *testing.T) {
	t.Helper()
	info, err := b.stream.Info(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for ; b.nextSeq <= info.State.LastSeq; b.nextSeq++ {
		m, err := b.stream.GetMsg(t.Context(), b.nextSeq)
		if err != nil {
			t.Fatal(err)
		}
		b.byNATS.hear(m.Data)
	}
}

// readKafka reads what is there now.
func (b *brokers) readKafka(t *testing.T) {
	t.Helper()
	for {
		within, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
		polled := b.reader.PollFetches(within)
		cancel()
		if polled.NumRecords() == 0 {
			return
		}
		polled.EachRecord(func(r *kgo.Record) { b.byKafka.hear(r.Value) })
	}
}

// revisions is how many each record has, as it is exported.
func (l *lab) revisions() map[string]int64 {
	l.t.Helper()
	out, err := l.command("export", "--source", l.source, "--out", "-").Output()
	if err != nil {
		l.t.Fatalf("export: %v", err)
	}
	all := map[string]int64{}
	for line := range bytes.Lines(out) {
		var r struct {
			Type, ID string
			Revision int64
		}
		if err := json.Unmarshal(line, &r); err != nil {
			l.t.Fatalf("export %q: %v", line, err)
		}
		all[relay.KeyOf(l.source, r.Type, r.ID)] = r.Revision
	}
	return all
}
