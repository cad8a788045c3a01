package notify

import (
	"bufio"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/big"
	"mime"
	"net"
	"net/http"
	"net/http/httptest"
	"net/mail"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/papertrace/patra/internal/app/alert"
	"github.com/papertrace/patra/internal/domain/credential"
)

const secret = "SEC-0123456789abcdef-signing"

// message is one that tries to write more than it may.
func message() alert.Message {
	at := time.Date(2026, 11, 16, 9, 0, 0, 0, time.UTC)
	return alert.Message{
		ID: "7-1-firing", State: alert.Firing, Rule: alert.SourceOut, Severity: alert.Warning, Source: "crossref", Subject: "crossref\r\nBcc: all",
		Text: `crossref says: <!channel> <at user_id="all">all</at> & more – é`, Measured: "71 in a row", Threshold: "30s", Next: "patra status crossref",
		At: at, Since: at.Add(-time.Minute), Alert: 7,
	}
}

// bot is a server that keeps the last request and answers as it is told.
type bot struct {
	*httptest.Server
	status int
	answer string
	query  url.Values
	header http.Header
	body   map[string]any
	calls  int
}

func newBot(t *testing.T, answer string) *bot {
	t.Helper()
	b := &bot{status: 200, answer: answer}
	b.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b.calls++
		b.query = r.URL.Query()
		b.header = r.Header
		b.body = nil
		if err := json.NewDecoder(r.Body).Decode(&b.body); err != nil || r.Method != http.MethodPost {
			t.Errorf("%s, %v", r.Method, err)
		}
		if b.calls < 5 { // who follows comes to an end
			w.Header().Set("Location", "/elsewhere")
		}
		w.WriteHeader(b.status)
		_, _ = io.WriteString(w, b.answer)
	}))
	t.Cleanup(b.Close)
	return b
}

func send(t *testing.T, target string) error {
	t.Helper()
	s := New(Config{Version: "test"}, FromText(target))
	if err := s.Check(); err != nil {
		t.Fatal(err)
	}
	return s.Send(t.Context(), s.Targets()[0].Name, message())
}

// mac is what a server that knows the secret computes for itself.
func mac(key, text string) string {
	h := hmac.New(sha256.New, []byte(key))
	h.Write([]byte(text))
	return base64.StdEncoding.EncodeToString(h.Sum(nil))
}

// TestWebhook_IsACloudEvent: the attributes that the standard asks for, and the message
// as its data.
func TestWebhook_IsACloudEvent(t *testing.T) {
	b := newBot(t, "")
	b.status = 204
	if err := send(t, "webhook+"+b.URL+"/in?x=1"); err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]string{
		"specversion": "1.0", "id": "7-1-firing", "source": "patra", "type": "patra.alert.firing", "datacontenttype": "application/json",
		"time": "2026-11-16T09:00:00Z",
	} {
		if b.body[key] != want {
			t.Errorf("%s is %v", key, b.body[key])
		}
	}
	data, _ := b.body["data"].(map[string]any)
	if data["rule"] != "source_out" || data["severity"] != "warning" || data["state"] != "FIRING" || data["since"] != "2026-11-16T08:59:00Z" || data["next"] == "" {
		t.Errorf("data %v", data)
	}
	if kind := b.header.Get("Content-Type"); kind != "application/cloudevents+json" || b.query.Get("x") != "1" {
		t.Errorf("%s, %v", kind, b.query)
	}
}

// TestSlack_EscapesMarkup: nothing in a message calls anybody.
func TestSlack_EscapesMarkup(t *testing.T) {
	b := newBot(t, "ok")
	if err := send(t, "slack+"+b.URL+"/services/T/B/x"); err != nil {
		t.Fatal(err)
	}
	text, _ := b.body["text"].(string)
	if !strings.Contains(text, "&lt;!channel&gt;") || strings.Contains(text, "<!") || !strings.Contains(text, "&amp; more") || !strings.Contains(text, "Next: patra status crossref") {
		t.Errorf("%q", text)
	}
}

// TestDingTalk_SignsAndReadsTheAnswer: time and signature as the robot checks them; an
// error in a reply of 200 is one.
func TestDingTalk_SignsAndReadsTheAnswer(t *testing.T) {
	b := newBot(t, `{"errcode":0,"errmsg":"ok"}`)
	to := "dingtalk+" + b.URL + "/robot/send?access_token=t0ken-t0ken-t0ken&secret=" + secret
	if err := send(t, to); err != nil {
		t.Fatal(err)
	}
	at := b.query.Get("timestamp")
	ms, err := strconv.ParseInt(at, 10, 64)
	if err != nil || time.Since(time.UnixMilli(ms)).Abs() > time.Hour || b.query.Get("sign") != mac(secret, at+"\n"+secret) {
		t.Errorf("%v", b.query)
	}
	if b.query.Get("access_token") != "t0ken-t0ken-t0ken" || b.query.Has("secret") {
		t.Errorf("%v", b.query)
	}
	text, _ := b.body["text"].(map[string]any)
	if b.body["msgtype"] != "text" || !strings.Contains(fmt.Sprint(text["content"]), "crossref says") {
		t.Errorf("%v", b.body)
	}
	b.answer = `{"errcode":310000,"errmsg":"sign not match"}`
	if err := send(t, to); err == nil || !strings.Contains(err.Error(), "310000") {
		t.Errorf("a refusal in a good reply: %v", err)
	}
	b.answer = `<html>welcome</html>`
	if err := send(t, to); err == nil {
		t.Error("a page for people was taken for a yes")
	}
}

// TestFeishu_SignsAndReadsTheAnswer: likewise, as the bot of Feishu checks them.
func TestFeishu_SignsAndReadsTheAnswer(t *testing.T) {
	b := newBot(t, `{"code":0,"msg":"success","data":{}}`)
	to := "feishu+" + b.URL + "/open-apis/bot/v2/hook/0123?secret=" + secret
	if err := send(t, to); err != nil {
		t.Fatal(err)
	}
	at, _ := b.body["timestamp"].(string)
	seconds, err := strconv.ParseInt(at, 10, 64)
	if err != nil || time.Since(time.Unix(seconds, 0)).Abs() > time.Hour || b.body["sign"] != mac(at+"\n"+secret, "") || b.query.Has("secret") {
		t.Errorf("%v", b.body)
	}
	content, _ := b.body["content"].(map[string]any)
	text := fmt.Sprint(content["text"])
	if b.body["msg_type"] != "text" || !strings.Contains(text, "crossref says") || strings.Contains(text, "<at") {
		t.Errorf("%v", b.body)
	}
	b.answer = `{"StatusCode":0,"StatusMessage":"success"}`
	if err := send(t, to); err != nil {
		t.Errorf("an older bot: %v", err)
	}
	b.answer = `{"StatusCode":9499,"StatusMessage":"Bad Request"}`
	if err := send(t, to); err == nil || !strings.Contains(err.Error(), "9499") {
		t.Errorf("an older bot that refuses: %v", err)
	}
	b.answer = `{"code":19021,"msg":"sign match fail or timestamp is not within one hour from current time"}`
	if err := send(t, to); err == nil || !strings.Contains(err.Error(), "19021") {
		t.Errorf("a refusal in a good reply: %v", err)
	}
}

// TestSend_FailuresHoldNoAddress: a status that is no success, a redirect, which is not
// followed, and a server that is not there are errors without the address.
func TestSend_FailuresHoldNoAddress(t *testing.T) {
	b := newBot(t, "no such hook")
	for _, status := range []int{302, 400, 500} {
		b.status = status
		b.calls = 0
		err := send(t, "slack+"+b.URL+"/services/T000/B000/v3ry-s3cret-path")
		if err == nil || !strings.Contains(err.Error(), strconv.Itoa(status)) || strings.Contains(err.Error(), "v3ry") || b.calls != 1 {
			t.Errorf("%d: %v after %d calls", status, err, b.calls)
		}
	}
	gone := b.URL
	b.Close()
	err := send(t, "webhook+"+gone+"/v3ry-s3cret-path?token=t0ken-t0ken-t0ken")
	if err == nil || strings.Contains(err.Error(), "v3ry") || strings.Contains(err.Error(), "t0ken") {
		t.Errorf("%v", err)
	}
}

// TestTargets_AreReadAndDoNotPrint: names, mistakes that tell where they are and not
// what stands there, and secrets that the redactor learns.
func TestTargets_AreReadAndDoNotPrint(t *testing.T) {
	text := "# where alerts go\nslack+https://hooks.example/services/T000/B000/v3ry-s3cret-path#team\n" +
		"slack+https://hooks.example/b slack+https://hooks.example/c\ndingtalk+https://ding.example/send?access_token=t0ken-t0ken-t0ken&secret=" + secret +
		"\nsmtp://ann:p4ssw0rd-of-ann@mail.example?from=patra@lab.example&to=a@lab.example,b@lab.example\n"
	learnt := ""
	s := New(Config{Learn: func(c credential.Secret) { learnt += c.Reveal() + "\n" }}, FromText(text))
	if err := s.Check(); err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(s.Targets()); got != "[{team slack} {slack slack} {slack-2 slack} {dingtalk dingtalk} {mail mail}]" {
		t.Error(got)
	}
	for _, hidden := range []string{"v3ry-s3cret-path", "t0ken-t0ken-t0ken", secret, "p4ssw0rd-of-ann"} {
		if !strings.Contains("\n"+learnt, "\n"+hidden+"\n") {
			t.Errorf("%s was not learnt", hidden)
		}
		if printed := fmt.Sprintf("%v %+v %#v", FromText(text), s, *s.targets[0]); strings.Contains(printed, hidden) {
			t.Errorf("%s was printed", hidden)
		}
	}
	for bad, says := range map[string]string{
		"telegram+https://x/s3cret":                      "no kind of target",
		"https://x/s3cret":                               "no kind of target",
		"slack+ftp://x/s3cret":                           "https://HOST",
		"slack+https://x/s3cret#a slack+https://y#a":     "named a too",
		"slack+https://x/s3cret#a/b":                     "its name",
		"smtp://x:s3cret@h?to=a@b.c":                     "from=",
		"smtp://x:s3cret@h?from=a@b.c":                   "no to=",
		"smtp://x:s3cret@h?from=a@b.c&to=d@e.f&tls=none": "without encryption",
		"slack+https://%zz/s3cret":                       "no address",
	} {
		err := New(Config{}, FromText(bad)).Check()
		if err == nil || !strings.Contains(err.Error(), says) || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%s: %v", bad, err)
		}
	}
	both := FromEnvironment(func(string) string { return "x" })
	if err := New(Config{}, both).Check(); err == nil || !strings.Contains(err.Error(), EnvTargetsFile) {
		t.Errorf("%v", err)
	}
}

// post office is an SMTP server that keeps what it is given.
type postOffice struct {
	net.Listener
	config  *tls.Config // nil: it offers no encryption
	full    bool        // it takes no letter
	auth    string      // what was said for AUTH
	secured bool        // before the first byte: the whole connection is encrypted
	from    string
	to      []string
	letter  string
}

// certificate is one for 127.0.0.1, and a pool that trusts it.
func certificate(t *testing.T) (*tls.Config, *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(leaf)
	return &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}}, pool
}

// serve answers one client.
func (p *postOffice) serve() error {
	conn, err := p.Accept()
	if err != nil {
		return err
	}
	defer func() { conn.Close() }()
	if p.secured {
		conn = tls.Server(conn, p.config)
	}
	in := bufio.NewReader(conn)
	say := func(line string) { _, _ = io.WriteString(conn, line+"\r\n") }
	say("220 post office")
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			return err
		}
		line = strings.TrimRight(line, "\r\n")
		switch verb, rest, _ := strings.Cut(line, " "); strings.ToUpper(verb) {
		case "EHLO":
			say("250-post office")
			if p.config != nil && !p.secured {
				say("250-STARTTLS")
			}
			say("250 AUTH PLAIN")
		case "STARTTLS":
			say("220 go on")
			conn = tls.Server(conn, p.config)
			in = bufio.NewReader(conn)
			p.secured = true
		case "AUTH":
			p.auth = rest
			say("235 welcome")
		case "MAIL":
			p.from = rest
			say("250 ok")
		case "RCPT":
			p.to = append(p.to, rest)
			say("250 ok")
		case "DATA":
			say("354 go on")
			for {
				line, err := in.ReadString('\n')
				if err != nil {
					return err
				}
				if line == ".\r\n" {
					break
				}
				p.letter += line
			}
			if p.full {
				say("552 the mailbox is full")
				continue
			}
			say("250 taken")
		case "QUIT":
			say("221 bye")
			return nil
		default:
			return errors.New("what is " + line)
		}
	}
}

// TestMail_IsSentSafely: over STARTTLS, with the password only behind it; the letter has
// one subject whatever the message holds; a server that offers no encryption gets
// nothing.
func TestMail_IsSentSafely(t *testing.T) {
	open := func(config *tls.Config) (*postOffice, chan error) {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { l.Close() })
		p := &postOffice{Listener: l, config: config}
		ended := make(chan error, 1)
		go func() { ended <- p.serve() }()
		return p, ended
	}
	config, pool := certificate(t)
	p, ended := open(config)
	to := "smtp://ann:p4ssw0rd-of-ann@" + p.Addr().String() + "?from=patra@lab.example&to=a@lab.example,b@lab.example"
	s := New(Config{}, FromText(to))
	if err := s.Check(); err != nil {
		t.Fatal(err)
	}
	s.targets[0].mail.trust = &tls.Config{RootCAs: pool}
	if err := s.Send(t.Context(), "mail", message()); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	login, _ := base64.StdEncoding.DecodeString(strings.TrimPrefix(p.auth, "PLAIN "))
	if !p.secured || string(login) != "\x00ann\x00p4ssw0rd-of-ann" || !strings.Contains(p.from, "<patra@lab.example>") || len(p.to) != 2 {
		t.Errorf("secured %v, %q, from %s to %v", p.secured, login, p.from, p.to)
	}
	letter, err := mail.ReadMessage(strings.NewReader(p.letter))
	if err != nil {
		t.Fatal(err)
	}
	subject, err := new(mime.WordDecoder).DecodeHeader(letter.Header.Get("Subject"))
	if err != nil || !strings.Contains(subject, "warning: crossref") || letter.Header.Get("Bcc") != "" {
		t.Errorf("%q, %v", subject, letter.Header)
	}
	body, err := io.ReadAll(base64.NewDecoder(base64.StdEncoding, letter.Body))
	if err != nil || !strings.Contains(string(body), "& more – é") || !strings.Contains(string(body), "patra alert show 7") {
		t.Errorf("%q, %v", body, err)
	}

	// Not trusted, and not encrypted.
	p, _ = open(config)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	err = New(Config{}, FromText(strings.Replace(to, s.targets[0].mail.port, port(p), 1))).Send(ctx, "mail", message())
	if err == nil || p.auth != "" || p.letter != "" {
		t.Errorf("a stranger's certificate: %v, %q", err, p.auth)
	}
	p, _ = open(nil)
	err = New(Config{}, FromText(strings.Replace(to, s.targets[0].mail.port, port(p), 1))).Send(ctx, "mail", message())
	if err == nil || !strings.Contains(err.Error(), "STARTTLS") || p.auth != "" || p.letter != "" {
		t.Errorf("no encryption: %v, %q", err, p.auth)
	}
}

func port(l net.Listener) string {
	_, port, _ := net.SplitHostPort(l.Addr().String())
	return port
}
