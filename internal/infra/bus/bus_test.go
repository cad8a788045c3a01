package bus

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/papertrace/patra/internal/app/relay"
	"github.com/papertrace/patra/internal/domain/credential"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
)

const secret = "SIGN-0123456789abcdef"

// message is a revision of a record with an odd id.
func message(t testing.TB, record int, revision int64) relay.Message {
	t.Helper()
	m, err := relay.MessageOf(relay.Revision{
		Record: int64(record), Source: "lab", Type: "work", ID: fmt.Sprintf("10.1/(é)<%d> \u00a0x", record), Number: revision, Effect: "updated", Status: "ACTIVE",
		Fields: []byte(`{"title":"a < b"}`), StoredAt: time.Date(2026, 11, 18, 1, 2, 3, 0, time.UTC),
	})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func messages(t testing.TB, n int) (out []relay.Message) {
	for i := range n {
		out = append(out, message(t, i, 1))
	}
	return out
}

// only is the one target that a text names.
func only(t testing.TB, text string) relay.Target {
	t.Helper()
	b := New(Config{Version: "test"}, FromText(text))
	if err := b.Check(); err != nil {
		t.Fatal(err)
	}
	out := b.Targets()[0]
	t.Cleanup(func() {
		if err := out.Close(); err != nil {
			t.Error(err)
		}
	})
	return out
}

func mustTake(t testing.TB, to relay.Target, ms []relay.Message) {
	t.Helper()
	for i, err := range to.Publish(t.Context(), ms) {
		if err != nil {
			t.Fatalf("message %d: %v", i, err)
		}
	}
}

// readLines are the ids and revisions of the events in a file.
func readLines(t testing.TB, path string) (out []string) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var e struct {
			ID   string `json:"id"`
			Spec string `json:"specversion"`
			Data struct {
				Fields map[string]string `json:"fields"`
			} `json:"data"`
		}
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil || e.Spec != "1.0" || e.Data.Fields["title"] != "a < b" {
			t.Fatalf("%s: %v", lines.Text(), err)
		}
		out = append(out, e.ID)
	}
	return out
}

// TestFile_CutLineIsTakenOff: what a crash left of a line is gone before the next is
// written, wherever it was cut: every line is an event, and the one that was cut comes
// again.
func TestFile_CutLineIsTakenOff(t *testing.T) {
	path := filepath.Join(t.TempDir(), "events.jsonl")
	to := only(t, "file:"+path)
	ms := messages(t, 3)
	mustTake(t, to, ms[:2])
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, keep := range []int{len(whole) - 1, len(whole) - 20, len(whole)/2 + 1, 1, 0} {
		if err := os.WriteFile(path, whole[:keep], 0o600); err != nil {
			t.Fatal(err)
		}
		mustTake(t, to, ms)
		got := readLines(t, path)
		if tail := got[len(got)-3:]; tail[0] != ms[0].EventID || tail[2] != ms[2].EventID {
			t.Errorf("cut at %d: %q", keep, got)
		}
	}
}

// TestFile_OfSomebodyElseStaysAsItIs: a text without an end of its last line is no cut event.
func TestFile_OfSomebodyElseStaysAsItIs(t *testing.T) {
	path := filepath.Join(t.TempDir(), "notes.txt")
	to := only(t, "file:"+path)
	for _, text := range []string{"a thesis", "a thesis\nits end"} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		for i, err := range to.Publish(t.Context(), messages(t, 2)) {
			if !errors.Is(err, errOtherText) {
				t.Errorf("%q: message %d: %v", text, i, err)
			}
		}
		if b, err := os.ReadFile(path); err != nil || string(b) != text {
			t.Errorf("%q became %q, %v", text, b, err)
		}
	}
}

// TestFile_IsRotated: files get numbers, the oldest the smallest, and nothing is lost
// between them, also where another has begun a new one.
func TestFile_IsRotated(t *testing.T) {
	path := filepath.Join(t.TempDir(), "events.jsonl")
	one := only(t, "file:"+path+"?rotate=2K")
	two := only(t, "file:"+path+"?rotate=2K")
	for i := range 20 {
		to := one
		if i%3 == 0 {
			to = two
		}
		mustTake(t, to, []relay.Message{message(t, i, 1)})
	}
	last, err := lastRotated(path)
	if err != nil || last < 2 {
		t.Fatalf("%d files: %v", last, err)
	}
	var all []string
	for n := 1; n <= last; n++ {
		all = append(all, readLines(t, fmt.Sprintf("%s.%d", path, n))...)
	}
	all = append(all, readLines(t, path)...)
	for i := range 20 {
		if i >= len(all) || all[i] != message(t, i, 1).EventID {
			t.Fatalf("%d: %q", i, all)
		}
	}
}

// TestFile_WhoIsLateWritesNothing: a relay whose time is over when it gets at the file
// leaves it as it is.
func TestFile_WhoIsLateWritesNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "events.jsonl")
	to := only(t, "file:"+path)
	mustTake(t, to, messages(t, 1))
	over, cancel := context.WithDeadline(t.Context(), time.Now().Add(-time.Second))
	defer cancel()
	for _, err := range to.Publish(over, messages(t, 2)) {
		if !errors.Is(err, relay.ErrNotTried) {
			t.Errorf("%v", err)
		}
	}
	if got := readLines(t, path); len(got) != 1 {
		t.Errorf("%q", got)
	}
}

// startNATS starts a server with a stream.
func startNATS(t *testing.T, dir string, port int) *server.Server {
	t.Helper()
	s, err := server.NewServer(&server.Options{
		Host: "127.0.0.1", Port: port, JetStream: true, StoreDir: dir, NoLog: true, NoSigs: true, MaxPayload: 64 << 10, Authorization: "t0ken-of-the-stream",
	})
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	if !s.ReadyForConnections(20 * time.Second) {
		t.Fatal("the server is not ready")
	}
	return s
}

// TestNATS_IsAcknowledgedAndDropsRepeats: each event is in the stream once, though it came
// twice; one that is too large is refused alone; a server that is away is no refusal, and
// when it is back nothing has to be begun anew.
func TestNATS_IsAcknowledgedAndDropsRepeats(t *testing.T) {
	dir := t.TempDir()
	s := startNATS(t, dir, -1)
	address := fmt.Sprintf("t0ken-of-the-stream@%s", strings.TrimPrefix(s.ClientURL(), "nats://"))
	conn, err := nats.Connect("nats://" + address)
	if err != nil {
		t.Fatal(err)
	}
	js, err := jetstream.New(conn)
	if err != nil {
		t.Fatal(err)
	}
	to := only(t, "nats://"+address+"?subject=lab.records#stream")
	for i, err := range to.Publish(t.Context(), messages(t, 2)) {
		if err == nil {
			t.Errorf("%d: no stream took it", i)
		}
	}
	stream, err := js.CreateStream(t.Context(), jetstream.StreamConfig{Name: "LAB", Subjects: []string{"lab.>"}, Duplicates: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	ms := messages(t, 300)
	mustTake(t, to, ms)
	mustTake(t, to, ms[100:])
	large := message(t, 900, 1)
	large.Body = append(large.Body, strings.Repeat(" ", 64<<10)...)
	errs := to.Publish(t.Context(), []relay.Message{message(t, 901, 1), large, message(t, 902, 1)})
	if errs[0] != nil || !errors.Is(errs[1], relay.ErrRefused) || errs[2] != nil {
		t.Errorf("beside one that is too large: %v", errs)
	}
	info, err := stream.Info(t.Context())
	if err != nil || info.State.Msgs != 302 {
		t.Errorf("%+v, %v", info.State, err)
	}
	first, err := stream.GetMsg(t.Context(), 1)
	if err != nil || first.Header.Get("Nats-Msg-Id") != ms[0].EventID || string(first.Data) != string(ms[0].Body) {
		t.Errorf("%v, %v", first, err)
	}
	conn.Close()
	port := s.Addr().(*net.TCPAddr).Port
	s.Shutdown()
	s.WaitForShutdown()
	for i, err := range to.Publish(t.Context(), messages(t, 2)) {
		if err == nil || errors.Is(err, relay.ErrRefused) || errors.Is(err, relay.ErrFailed) || strings.Contains(err.Error(), "t0ken") {
			t.Errorf("%d, while the server is away: %v", i, err)
		}
	}
	back := startNATS(t, dir, port)
	defer back.Shutdown()
	mustTake(t, to, []relay.Message{message(t, 903, 1)})
}

// TestKafka_KeyIsTheRecord: revisions of a record are in one partition, in order, with
// the record as key; brokers that are away refuse nothing.
func TestKafka_KeyIsTheRecord(t *testing.T) {
	cluster, err := kfake.NewCluster(kfake.NumBrokers(3), kfake.SeedTopics(5, "records"))
	if err != nil {
		t.Fatal(err)
	}
	defer cluster.Close()
	brokers := strings.Join(cluster.ListenAddrs(), ",")
	to := only(t, "kafka://"+brokers+"/records")
	for revision := range 4 {
		var wave []relay.Message
		for record := range 100 {
			wave = append(wave, message(t, record, int64(revision+1)))
		}
		mustTake(t, to, wave)
	}
	reader, err := kgo.NewClient(kgo.SeedBrokers(cluster.ListenAddrs()...), kgo.ConsumeTopics("records"), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	within, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	last := map[string]int64{}
	home := map[string]int32{}
	for came := 0; came < 400; {
		polled := reader.PollFetches(within)
		if err := polled.Err(); err != nil {
			t.Fatal(err)
		}
		polled.EachRecord(func(r *kgo.Record) {
			came++
			var e struct {
				Key  string `json:"partitionkey"`
				Data struct {
					Revision int64 `json:"revision"`
				} `json:"data"`
			}
			if err := json.Unmarshal(r.Value, &e); err != nil || e.Key != string(r.Key) {
				t.Errorf("%s: %v", r.Key, err)
			}
			if p, known := home[e.Key]; known && p != r.Partition {
				t.Errorf("%s is in two partitions", e.Key)
			}
			home[e.Key] = r.Partition
			if e.Data.Revision != last[e.Key]+1 {
				t.Errorf("%s: %d after %d", e.Key, e.Data.Revision, last[e.Key])
			}
			last[e.Key] = e.Data.Revision
		})
	}
	if len(last) != 100 {
		t.Errorf("%d records", len(last))
	}
	cluster.Close()
	short, stop := context.WithTimeout(t.Context(), time.Second)
	defer stop()
	for _, err := range to.Publish(short, messages(t, 2)) {
		if err == nil || errors.Is(err, relay.ErrRefused) || errors.Is(err, relay.ErrFailed) {
			t.Errorf("while the brokers are away: %v", err)
		}
	}
}

// hook is a server that keeps what it is sent and answers as it is told.
type hook struct {
	*httptest.Server
	mu     sync.Mutex
	calls  int
	last   http.Header
	body   []byte
	answer func(body []byte) (status int, header map[string]string)
}

func newHook(t *testing.T) *hook {
	h := new(hook)
	h.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		h.mu.Lock()
		defer h.mu.Unlock()
		h.calls++
		h.last = r.Header
		h.body = body
		status := http.StatusNoContent
		if h.answer != nil {
			var header map[string]string
			status, header = h.answer(body)
			for k, v := range header {
				w.Header().Set(k, v)
			}
		}
		w.WriteHeader(status)
	}))
	t.Cleanup(h.Close)
	return h
}

// TestWebhook_IsSigned: a server that knows the secret finds the same signature, which
// holds for this time and body alone; the secret itself is not sent.
func TestWebhook_IsSigned(t *testing.T) {
	h := newHook(t)
	to := only(t, "webhook+"+h.URL+"/in?x=1&secret="+secret+"&private=allow")
	m := message(t, 1, 1)
	mustTake(t, to, []relay.Message{m})
	at := h.last.Get("Patra-Timestamp")
	if at == "" || h.last.Get("Patra-Signature") != "sha256="+signature(secret, at, m.Body) || string(h.body) != string(m.Body) {
		t.Errorf("%v", h.last)
	}
	if h.last.Get("Content-Type") != "application/cloudevents+json" || h.last.Get("Idempotency-Key") != m.EventID || strings.Contains(fmt.Sprint(h.last), secret) {
		t.Errorf("%v", h.last)
	}
	if signature(secret, at, m.Body) == signature(secret, at+"1", m.Body) || signature(secret, at, m.Body) == signature(secret+"x", at, m.Body) {
		t.Error("another time or secret has the same signature")
	}
}

// TestWebhook_WhatAnswersMean: which are about the message, which about the target, and
// for how long that wants to be left alone.
func TestWebhook_WhatAnswersMean(t *testing.T) {
	h := newHook(t)
	to := only(t, "webhook+"+h.URL+"/v3ry-s3cret-path?private=allow")
	for status, want := range map[int]string{
		200: "taken", 204: "taken", 302: "out", 400: "refused", 401: "out", 403: "out", 404: "out", 408: "out", 413: "refused", 422: "refused",
		429: "busy 7s", 500: "failed", 502: "out", 503: "busy 7s", 504: "out",
	} {
		h.answer = func([]byte) (int, map[string]string) {
			return status, map[string]string{"Retry-After": "7", "Location": "/elsewhere"}
		}
		err := to.Publish(t.Context(), messages(t, 1))[0]
		got := "out"
		busy, isBusy := errors.AsType[*relay.BusyError](err)
		switch {
		case err == nil:
			got = "taken"
		case isBusy:
			got = "busy " + busy.For.String()
		case errors.Is(err, relay.ErrRefused):
			got = "refused"
		case errors.Is(err, relay.ErrFailed):
			got = "failed"
		}
		if got != want || err != nil && strings.Contains(err.Error(), "v3ry") {
			t.Errorf("%d is %s, want %s: %v", status, got, want, err)
		}
	}
	now := time.Date(2026, 11, 18, 1, 0, 0, 0, time.UTC)
	for text, want := range map[string]time.Duration{
		"": 0, "0": 0, "-5": 0, "30": 30 * time.Second, "999999999": time.Hour, now.Add(time.Minute).Format(http.TimeFormat): time.Minute, "soon": 0,
	} {
		if got := retryAfter(text, now); got != want {
			t.Errorf("%q is %s", text, got)
		}
	}
}

// TestWebhook_OthersAreTried: one message that fails keeps no other from being sent, and
// a server that is away is asked no more than a few times.
func TestWebhook_OthersAreTried(t *testing.T) {
	h := newHook(t)
	to := only(t, "webhook+"+h.URL+"/in?private=allow")
	ms := messages(t, 50)
	h.answer = func(body []byte) (int, map[string]string) {
		if strings.Contains(string(body), `"subject":"work/`+ms[3].ID) || strings.Contains(string(body), ms[3].EventID) {
			return 500, nil
		}
		return 200, nil
	}
	for i, err := range to.Publish(t.Context(), ms) {
		if (err != nil) != (i == 3) {
			t.Errorf("%d: %v", i, err)
		}
	}
	h.calls = 0
	h.answer = func([]byte) (int, map[string]string) { return 503, nil }
	for i, err := range to.Publish(t.Context(), ms) {
		if err == nil {
			t.Errorf("%d was taken", i)
		}
	}
	if h.calls > 3*hooksAtOnce {
		t.Errorf("a server that is away was called %d times", h.calls)
	}
}

// TestWebhook_PrivateAddressesAreRefused: a target leads nowhere into the own network
// unless it says so, also by a name.
func TestWebhook_PrivateAddressesAreRefused(t *testing.T) {
	h := newHook(t)
	_, port, _ := strings.Cut(strings.TrimPrefix(h.URL, "http://"), ":")
	for _, host := range []string{"127.0.0.1", "localhost", "[::1]", "169.254.169.254", "10.0.0.1"} {
		to := only(t, "webhook+http://"+host+":"+port+"/in")
		err := to.Publish(t.Context(), messages(t, 1))[0]
		if !errors.Is(err, errPrivate) {
			t.Errorf("%s: %v", host, err)
		}
	}
	if h.calls != 0 {
		t.Errorf("%d calls", h.calls)
	}
}

// TestTargets_AreReadAndDoNotPrint: names, mistakes that tell where they are and not what
// stands there, and secrets that the redactor learns.
func TestTargets_AreReadAndDoNotPrint(t *testing.T) {
	text := "# who is told\nfile:/data/events.jsonl#lake\nnats://ann:p4ssw0rd-of-ann@nats.example:4222 kafka+tls://bob:p4ssw0rd-of-bob@k1:9092,k2:9092/records\n" +
		"webhook+https://hooks.example/v3ry-s3cret-path?secret=" + secret + "\nfile:rel.jsonl stdout:"
	learnt := ""
	b := New(Config{Learn: func(c credential.Secret) { learnt += c.Reveal() + "\n" }}, FromText(text))
	if err := b.Check(); err != nil {
		t.Fatal(err)
	}
	var got strings.Builder
	for _, to := range b.Targets() {
		got.WriteString(to.Name() + "/" + to.Kind() + " ")
	}
	if got.String() != "lake/file nats/nats kafka/kafka webhook/webhook file/file stdout/stdout " {
		t.Error(got.String())
	}
	for _, hidden := range []string{"p4ssw0rd-of-ann", "p4ssw0rd-of-bob", "v3ry-s3cret-path", secret} {
		if !strings.Contains("\n"+learnt, "\n"+hidden+"\n") {
			t.Errorf("%s was not learnt", hidden)
		}
		if printed := fmt.Sprintf("%v %+v", FromText(text), b.Targets()[3]); strings.Contains(printed, hidden) {
			t.Errorf("%s was printed", hidden)
		}
	}
	for bad, says := range map[string]string{
		"ftp://x/s3cret":                  "no kind of target",
		"https://x/s3cret":                "no kind of target",
		"webhook+ftp://x/s3cret":          "no kind of target",
		"file:":                           "names no file",
		"file:/a?s3cret=1":                "no option",
		"file:/a?rotate=s3cret":           "rotate=",
		"nats://u:s3cret@h?subject=a+b":   "subject=",
		"kafka://u:s3cret@h/":             "TOPIC",
		"kafka://u:s3cret@h/t?sasl=plain": "without encryption",
		"file:/a#x file:/b#x":             "named x too",
		"file:/a#feed":                    "named feed too",
		"webhook+https://h/s3cret#a/b":    "its name",
		"webhook+https://%zz/s3cret":      "no address",
	} {
		err := New(Config{}, FromText(bad)).Check()
		if err == nil || !strings.Contains(err.Error(), says) || strings.Contains(err.Error(), "s3cret=") || strings.Contains(err.Error(), ":s3cret") {
			t.Errorf("%s: %v", bad, err)
		}
	}
	both := FromEnvironment("file:/a", func(string) string { return "x" })
	if err := New(Config{}, both).Check(); err == nil || !strings.Contains(err.Error(), EnvTargetsFile) {
		t.Errorf("%v", err)
	}
}
