package bus

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/papertrace/patra/internal/app/relay"
	"github.com/papertrace/patra/internal/domain/cloudevent"
	"github.com/papertrace/patra/internal/domain/credential"
)

const (
	// natsAtOnce is how many events are under way to a stream before they are waited for.
	natsAtOnce = 500
	// ackWithin bounds how long the stream may take to acknowledge them.
	ackWithin = 15 * time.Second
)

// natsTarget publishes events to a stream of NATS JetStream. The id of an event is that
// of its message, so that the stream drops those that come again within its window.
type natsTarget struct {
	name    string
	subject string
	address credential.Secret
	conn    *nats.Conn
	js      jetstream.JetStream
	// closed ends with the connection.
	closed chan struct{}
}

var subjectName = regexp.MustCompile(`^[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*$`)

func newNATS(a *address) (relay.Target, error) {
	if err := a.only("subject"); err != nil {
		return nil, err
	}
	if a.url.Hostname() == "" {
		return nil, errors.New("it names no host: write nats://HOST:4222?subject=NAME")
	}
	t := &natsTarget{name: a.name, subject: "patra.records"}
	if subject := a.options.Get("subject"); subject != "" {
		t.subject = subject
	}
	if !subjectName.MatchString(t.subject) {
		return nil, errors.New("its subject= is no name of a subject, such as patra.records")
	}
	to := url.URL{Scheme: a.url.Scheme, Host: a.url.Host, User: a.url.User}
	t.address = credential.NewSecret(to.String())
	return t, nil
}

func (t *natsTarget) Name() string { return t.name }

func (t *natsTarget) Kind() string { return kindNATS }

func (t *natsTarget) Most() int { return natsAtOnce }

// Close implements relay.Target.
func (t *natsTarget) Close() error {
	if t.conn != nil {
		t.conn.Close()
		t.conn = nil
	}
	return nil
}

// connect is there when the stream can be published to. A connection that is lost ends:
// it is the relay that decides when the next is tried.
func (t *natsTarget) connect(ctx context.Context) error {
	if t.conn != nil && t.conn.IsConnected() {
		return nil
	}
	if err := t.Close(); err != nil {
		return err
	}
	within := 5 * time.Second
	if end, has := ctx.Deadline(); has {
		within = min(within, time.Until(end))
	}
	if within <= 0 {
		return relay.ErrNotTried
	}
	closed := make(chan struct{})
	conn, err := nats.Connect(t.address.Reveal(), nats.Name("patra"), nats.Timeout(within), nats.NoReconnect(),
		nats.ClosedHandler(func(*nats.Conn) { close(closed) }))
	if err != nil {
		return fmt.Errorf("connect: %w", withoutAddress(err))
	}
	js, err := jetstream.New(conn, jetstream.WithPublishAsyncMaxPending(natsAtOnce))
	if err != nil {
		conn.Close()
		return err
	}
	t.conn = conn
	t.js = js
	t.closed = closed
	return nil
}

// Publish sends all events and then waits for the stream to acknowledge each.
func (t *natsTarget) Publish(ctx context.Context, ms []relay.Message) []error {
	if err := t.connect(ctx); err != nil {
		return same(len(ms), err)
	}
	errs := make([]error, len(ms))
	acks := make([]jetstream.PubAckFuture, len(ms))
	for i, m := range ms {
		if isOver(ctx) {
			errs[i] = relay.ErrNotTried
			continue
		}
		if largest := t.conn.MaxPayload(); int64(len(m.Body)) > largest-headerRoom {
			errs[i] = fmt.Errorf("%w: %d bytes are more than the server takes, which is %d", relay.ErrRefused, len(m.Body), largest)
			continue
		}
		msg := nats.NewMsg(t.subject)
		msg.Header.Set("Content-Type", cloudevent.MediaType)
		msg.Header.Set("Patra-Key", m.Key)
		msg.Data = m.Body
		acks[i], errs[i] = t.js.PublishMsgAsync(msg, jetstream.WithMsgID(m.EventID), jetstream.WithRetryAttempts(0))
	}
	within, cancel := context.WithTimeout(ctx, ackWithin)
	defer cancel()
	for i, ack := range acks {
		if errs[i] == nil && ack != nil {
			errs[i] = t.waitForAck(within, ack)
		}
	}
	return errs
}

// headerRoom is what the headers of a message may take of its size.
const headerRoom = 8 << 10

func (t *natsTarget) waitForAck(ctx context.Context, ack jetstream.PubAckFuture) error {
	select {
	case <-ack.Ok():
		return nil
	case err := <-ack.Err():
		if answer, is := errors.AsType[*jetstream.APIError](err); is && answer.Code < 500 {
			return fmt.Errorf("%w: %w", relay.ErrRefused, err)
		}
		if errors.Is(err, nats.ErrMaxPayload) {
			return fmt.Errorf("%w: %w", relay.ErrRefused, err)
		}
		return fmt.Errorf("the stream did not take it: %w", err)
	case <-t.closed:
		return errors.New("the connection was lost before the stream acknowledged it")
	case <-ctx.Done():
		return errors.New("the stream did not acknowledge it in time")
	}
}
