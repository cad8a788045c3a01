package notify

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"

	"github.com/papertrace/patra/internal/app/alert"
	"github.com/papertrace/patra/internal/domain/cloudevent"
	"github.com/papertrace/patra/internal/domain/credential"
)

// Config of a sender.
type Config struct {
	// Transport, if set, replaces the network.
	Transport http.RoundTripper
	// Learn is told the secrets of targets, so that they can be kept out of logs.
	Learn   func(credential.Secret)
	Version string
}

// Sender sends messages to the targets of an instance.
type Sender struct {
	targets []*target
	err     error
	client  *http.Client
	agent   string
}

var _ alert.Sender = (*Sender)(nil)

// New makes a sender. If the targets cannot be read it has none, and [Sender.Check]
// says why.
func New(cfg Config, s Settings) *Sender {
	out := &Sender{agent: "patra/" + cfg.Version}
	out.targets, out.err = s.parse()
	for _, t := range out.targets {
		for _, secret := range t.secrets() {
			if cfg.Learn != nil {
				cfg.Learn(secret)
			}
		}
	}
	// A redirect would take a message, or its signature, to whom it was not written for.
	follow := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	out.client = &http.Client{Transport: cfg.Transport, CheckRedirect: follow}
	return out
}

// Check says what is wrong with the targets, if anything is.
func (s *Sender) Check() error { return s.err }

// Targets implements alert.Sender.
func (s *Sender) Targets() []alert.Target {
	out := []alert.Target{}
	for _, t := range s.targets {
		out = append(out, alert.Target{Name: t.name, Kind: t.kind})
	}
	return out
}

// Send implements alert.Sender.
func (s *Sender) Send(ctx context.Context, name string, m alert.Message) error {
	for _, t := range s.targets {
		if t.name != name {
			continue
		}
		var err error
		switch t.kind {
		case Mail:
			err = t.mail.send(ctx, m)
		case Slack:
			err = s.sendSlack(ctx, t, m)
		case DingTalk:
			err = s.sendDingTalk(ctx, t, m)
		case Feishu:
			err = s.sendFeishu(ctx, t, m)
		default:
			err = s.sendWebhook(ctx, t, m)
		}
		if err != nil {
			return fmt.Errorf("send to %s: %w", name, err)
		}
		return nil
	}
	return fmt.Errorf("there is no target %s", name)
}

// mostRead is how much of an answer is read.
const mostRead = 64 << 10

// post sends a document, and returns what was answered if that was a success.
func (s *Sender) post(ctx context.Context, address, kind string, doc any) ([]byte, error) {
	body, err := json.Marshal(doc)
	if err != nil {
		return nil, fmt.Errorf("marshal message: %w", err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(body))
	if err != nil {
		return nil, withoutAddress(err)
	}
	req.Header.Set("Content-Type", kind)
	req.Header.Set("User-Agent", s.agent)
	resp, err := s.client.Do(req)
	if err != nil {
		return nil, withoutAddress(err)
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(resp.Body, mostRead))
	if err != nil {
		return nil, fmt.Errorf("read the answer: %w", withoutAddress(err))
	}
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		return nil, fmt.Errorf("answered %d: %s", resp.StatusCode, excerpt(answer))
	}
	return answer, nil
}

// withoutAddress is the error without the address that was asked, which may hold
// secrets.
func withoutAddress(err error) error {
	if e, is := errors.AsType[*url.Error](err); is {
		return fmt.Errorf("%s: %w", e.Op, withoutAddress(e.Err))
	}
	return err
}

// excerpt is the beginning of an answer.
func excerpt(b []byte) string {
	const most = 200
	return string(bytes.ToValidUTF8(b[:min(len(b), most)], []byte("?")))
}

// sendWebhook sends the message as an event of CloudEvents.
func (s *Sender) sendWebhook(ctx context.Context, t *target, m alert.Message) error {
	doc := cloudevent.New(m.ID, "patra", eventType(m), string(m.Rule)+"/"+m.Subject, m.At, m)
	_, err := s.post(ctx, t.address.Reveal(), cloudevent.MediaType, doc)
	return err
}

// eventType is what the message is about, for those who sort events by it.
func eventType(m alert.Message) string {
	switch {
	case m.Test:
		return "patra.alert.test"
	case m.State == alert.Cleared:
		return "patra.alert.cleared"
	}
	return "patra.alert.firing"
}
