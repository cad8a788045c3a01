package notify

import (
	"context"
	"crypto/tls"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/papertrace/patra/internal/app/alert"
)

// TestWebhook_TypeTellsWhatItIs: who sorts events by their type can tell a beginning, an
// end and a test apart.
func TestWebhook_TypeTellsWhatItIs(t *testing.T) {
	b := newBot(t, "")
	s := New(Config{}, FromText("webhook+"+b.URL))
	over := message()
	over.State = alert.Cleared
	for want, m := range map[string]alert.Message{
		"patra.alert.firing": message(), "patra.alert.cleared": over, "patra.alert.test": alert.TestMessage(time.Now(), "ann"),
	} {
		if err := s.Send(t.Context(), "webhook", m); err != nil || b.body["type"] != want {
			t.Errorf("%v, not %s: %v", b.body["type"], want, err)
		}
	}
}

// TestSend_EndsWithItsTime: a server that takes the connection and says nothing holds
// nobody up for longer than the message may take.
func TestSend_EndsWithItsTime(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for _, to := range []string{
		"webhook+http://" + l.Addr().String() + "/v3ry-s3cret-path",
		"smtp://" + l.Addr().String() + "?from=patra@lab.example&to=a@lab.example",
		"smtps://" + l.Addr().String() + "?from=patra@lab.example&to=a@lab.example",
	} {
		s := New(Config{}, FromText(to))
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		ended := make(chan error, 1)
		go func() { ended <- s.Send(ctx, s.Targets()[0].Name, message()) }()
		select {
		case err := <-ended:
			if err == nil || strings.Contains(err.Error(), "v3ry") {
				t.Errorf("%s: %v", s.Targets()[0].Kind, err)
			}
		case <-time.After(20 * time.Second):
			t.Errorf("%s is still waited for", s.Targets()[0].Kind)
		}
		cancel()
	}
}

// TestMail_RefusedLetterIsNotSent: a server that has heard the whole letter and does not
// take it has not got it. The connection is encrypted from its first byte.
func TestMail_RefusedLetterIsNotSent(t *testing.T) {
	config, pool := certificate(t)
	for _, full := range []bool{false, true} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		p := &postOffice{Listener: l, config: config, secured: true, full: full}
		ended := make(chan error, 1)
		go func() { ended <- p.serve() }()
		s := New(Config{}, FromText("smtps://"+l.Addr().String()+"?from=patra@lab.example&to=a@lab.example"))
		s.targets[0].mail.trust = &tls.Config{RootCAs: pool}
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		err = s.Send(ctx, "mail", message())
		cancel()
		if full != (err != nil) || full && !strings.Contains(err.Error(), "552") {
			t.Errorf("full %v: %v", full, err)
		}
		l.Close()
		<-ended
		if p.letter == "" {
			t.Errorf("full %v: it heard no letter", full)
		}
	}
}
