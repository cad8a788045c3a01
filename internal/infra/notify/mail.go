package notify

import (
	"cmp"
	"context"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"mime"
	"net"
	"net/mail"
	"net/smtp"
	"net/url"
	"strings"
	"time"

	"github.com/papertrace/patra/internal/app/alert"
	"github.com/papertrace/patra/internal/domain/credential"
)

// mailbox is where mail goes, and by which server.
type mailbox struct {
	host, port string
	user       string
	password   credential.Secret
	from       string
	to         []string
	// implicit: the connection is encrypted from its first byte (smtps). Otherwise it
	// becomes so by STARTTLS, unless open says that it need not.
	implicit bool
	open     bool
	// trust, if set, is whom certificates are believed from.
	trust *tls.Config
}

// parseMail reads smtp://USER:PASSWORD@HOST:PORT?from=ADDRESS&to=ADDRESS,ADDRESS.
func parseMail(t *target, u *url.URL) (*target, error) {
	if u.Scheme != "smtp" && u.Scheme != "smtps" {
		return nil, fmt.Errorf("%q is no kind of target: use webhook+https, slack+https, dingtalk+https, feishu+https, smtp or smtps", u.Scheme)
	}
	t.kind = Mail
	m := mailbox{host: u.Hostname(), implicit: u.Scheme == "smtps", user: u.User.Username()}
	m.port = cmp.Or(u.Port(), map[bool]string{true: "465", false: "587"}[m.implicit])
	password, _ := u.User.Password()
	m.password = credential.NewSecret(password)
	q := u.Query()
	if m.host == "" {
		return nil, errors.New("it names no host")
	}
	from, err := mail.ParseAddress(q.Get("from"))
	if err != nil {
		return nil, errors.New("its from= is no mail address")
	}
	m.from = from.Address
	for _, list := range q["to"] {
		all, err := mail.ParseAddressList(list)
		if err != nil {
			return nil, errors.New("its to= is no list of mail addresses")
		}
		for _, a := range all {
			m.to = append(m.to, a.Address)
		}
	}
	if len(m.to) == 0 {
		return nil, errors.New("it has no to=")
	}
	switch q.Get("tls") {
	case "", "required":
	case "none":
		m.open = true
	default:
		return nil, errors.New("its tls= is neither required nor none")
	}
	if m.open && m.user != "" && !isLoopback(m.host) {
		return nil, errors.New("it would send a password without encryption: leave tls=none away")
	}
	t.mail = m
	return t, nil
}

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// send hands a message to the mail server.
func (b mailbox) send(ctx context.Context, m alert.Message) (err error) {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", net.JoinHostPort(b.host, b.port))
	if err != nil {
		return err
	}
	if until, is := ctx.Deadline(); is {
		if err := conn.SetDeadline(until); err != nil {
			return errors.Join(err, conn.Close())
		}
	}
	if b.implicit {
		conn = tls.Client(conn, b.tls())
	}
	c, err := smtp.NewClient(conn, b.host)
	if err != nil {
		return errors.Join(err, conn.Close())
	}
	defer c.Close() //nolint:errcheck // what matters was answered by then
	if err := b.greet(c); err != nil {
		return err
	}
	if err := c.Mail(b.from); err != nil {
		return err
	}
	for _, to := range b.to {
		if err := c.Rcpt(to); err != nil {
			return err
		}
	}
	w, err := c.Data()
	if err != nil {
		return err
	}
	if _, err := w.Write(b.letter(m)); err != nil {
		return err
	}
	if err := w.Close(); err != nil { // here the server takes it
		return err
	}
	_ = c.Quit() // it has been taken
	return nil
}

// greet makes the connection safe and says who we are.
func (b mailbox) greet(c *smtp.Client) error {
	if !b.implicit {
		offered, _ := c.Extension("STARTTLS")
		switch {
		case offered:
			if err := c.StartTLS(b.tls()); err != nil {
				return fmt.Errorf("STARTTLS: %w", err)
			}
		case !b.open:
			return errors.New("the mail server offers no encryption (STARTTLS); use smtps://, or tls=none for a server on a trusted network")
		}
	}
	if b.user == "" {
		return nil
	}
	return c.Auth(smtp.PlainAuth("", b.user, b.password.Reveal(), b.host))
}

func (b mailbox) tls() *tls.Config {
	c := &tls.Config{MinVersion: tls.VersionTLS12}
	if b.trust != nil {
		c = b.trust.Clone()
	}
	c.ServerName = b.host
	return c
}

// letter is a message as mail: text in UTF-8, and headers that nothing in it can add
// to.
func (b mailbox) letter(m alert.Message) []byte {
	var out strings.Builder
	header := func(name, value string) { out.WriteString(name + ": " + value + "\r\n") }
	header("From", b.from)
	header("To", strings.Join(b.to, ", "))
	header("Subject", mime.BEncoding.Encode("utf-8", m.Title()))
	header("Date", time.Now().UTC().Format(time.RFC1123Z))
	header("Message-ID", "<"+m.ID+"."+fmt.Sprint(m.At.UnixMicro())+"@patra>")
	header("Auto-Submitted", "auto-generated")
	header("MIME-Version", "1.0")
	header("Content-Type", "text/plain; charset=utf-8")
	header("Content-Transfer-Encoding", "base64")
	out.WriteString("\r\n")
	text := base64.StdEncoding.EncodeToString([]byte(plain(m) + "\n"))
	const width = 76
	for len(text) > width {
		out.WriteString(text[:width] + "\r\n")
		text = text[width:]
	}
	out.WriteString(text + "\r\n")
	return []byte(out.String())
}
