package bus

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/papertrace/patra/internal/app/relay"
	"github.com/papertrace/patra/internal/domain/cloudevent"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"
)

const (
	// kafkaAtOnce is how many events are produced before they are waited for.
	kafkaAtOnce = 1000
	// produceWithin bounds how long the brokers may take for them.
	produceWithin = 20 * time.Second
)

// kafkaTarget produces events to a topic of Kafka. The key is that of the record: its
// revisions are in one partition, in order. Brokers acknowledge when all replicas in sync
// have them.
type kafkaTarget struct {
	name    string
	options []kgo.Opt
	client  *kgo.Client
}

var topicName = regexp.MustCompile(`^[A-Za-z0-9._-]{1,249}$`)

func newKafka(a *address) (relay.Target, error) {
	if err := a.only("sasl"); err != nil {
		return nil, err
	}
	topic := strings.Trim(a.url.Path, "/")
	if a.url.Host == "" || !topicName.MatchString(topic) {
		return nil, errors.New("write kafka://HOST:9092,HOST:9092/TOPIC")
	}
	t := &kafkaTarget{name: a.name, options: []kgo.Opt{
		kgo.SeedBrokers(strings.Split(a.url.Host, ",")...), kgo.DefaultProduceTopic(topic), kgo.ClientID("patra"),
		kgo.RequiredAcks(kgo.AllISRAcks()), kgo.ProducerLinger(0), kgo.RecordDeliveryTimeout(produceWithin),
		kgo.ProducerBatchCompression(kgo.ZstdCompression(), kgo.NoCompression()),
		kgo.RecordPartitioner(kgo.StickyKeyPartitioner(nil)),
	}}
	if a.url.Scheme == "tls" {
		t.options = append(t.options, kgo.DialTLS())
	}
	user := a.url.User.Username()
	password, _ := a.url.User.Password()
	if user == "" {
		return t, nil
	}
	auth := scram.Auth{User: user, Pass: password}
	switch a.options.Get("sasl") {
	case "", "scram-sha-256":
		t.options = append(t.options, kgo.SASL(auth.AsSha256Mechanism()))
	case "scram-sha-512":
		t.options = append(t.options, kgo.SASL(auth.AsSha512Mechanism()))
	case "plain":
		if a.url.Scheme != "tls" {
			return nil, errors.New("it would send a password without encryption: use kafka+tls, or sasl=scram-sha-256")
		}
		t.options = append(t.options, kgo.SASL(plain.Auth{User: user, Pass: password}.AsMechanism()))
	default:
		return nil, errors.New("its sasl= is none of scram-sha-256, scram-sha-512 and plain")
	}
	return t, nil
}

func (t *kafkaTarget) Name() string { return t.name }

func (t *kafkaTarget) Kind() string { return kindKafka }

func (t *kafkaTarget) Most() int { return kafkaAtOnce }

// Close implements relay.Target.
func (t *kafkaTarget) Close() error {
	if t.client != nil {
		t.client.Close()
		t.client = nil
	}
	return nil
}

// Publish produces all events and waits until the brokers have answered for each.
func (t *kafkaTarget) Publish(ctx context.Context, ms []relay.Message) []error {
	if isOver(ctx) {
		return same(len(ms), relay.ErrNotTried)
	}
	if t.client == nil {
		client, err := kgo.NewClient(t.options...)
		if err != nil {
			return same(len(ms), err)
		}
		t.client = client
	}
	within, cancel := context.WithTimeout(ctx, produceWithin)
	defer cancel()
	errs := make([]error, len(ms))
	var all sync.WaitGroup
	for i, m := range ms {
		all.Add(1)
		t.client.Produce(within, &kgo.Record{
			Key: []byte(m.Key), Value: m.Body, // the time is that of sending: by it the client gives up
			Headers: []kgo.RecordHeader{{Key: "content-type", Value: []byte(cloudevent.MediaType)}, {Key: "ce_id", Value: []byte(m.EventID)}},
		}, func(_ *kgo.Record, err error) {
			errs[i] = judgeProduced(err)
			all.Done()
		})
	}
	t.waitFor(within, &all)
	return errs
}

// waitFor waits until the brokers have answered for all events. What they may have got
// and do not answer for the client would hold on to for ever: when the time is over, it
// ends with its connections, and the next is another.
func (t *kafkaTarget) waitFor(ctx context.Context, all *sync.WaitGroup) {
	answered := make(chan struct{})
	go func() {
		all.Wait()
		close(answered)
	}()
	select {
	case <-answered:
		return
	case <-ctx.Done():
	}
	t.client.Close()
	t.client = nil
	<-answered
}

// judgeProduced says what the end of an event means.
func judgeProduced(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, kerr.MessageTooLarge), errors.Is(err, kerr.RecordListTooLarge), errors.Is(err, kerr.InvalidRecord), errors.Is(err, kerr.CorruptMessage):
		return fmt.Errorf("%w: %w", relay.ErrRefused, err)
	}
	return err
}
