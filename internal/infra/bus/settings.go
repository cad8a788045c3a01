// Package bus hands events to where an operator wants them: a file, NATS JetStream,
// Kafka, or a webhook.
//
// It promises that a message which is told to be taken is so for good: synced to its
// file, acknowledged by the stream, by all replicas in sync, or answered with a success.
// No error holds the address of a target, or a secret of it. When and how often a message
// is tried, and in which order, is left to others.
package bus

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"strings"

	"github.com/papertrace/patra/internal/app/relay"
	"github.com/papertrace/patra/internal/domain/credential"
	"github.com/papertrace/patra/internal/domain/problem"
)

// Where targets are named: in the variable itself, or in the file that the other names.
const (
	EnvTargets     = "PATRA_EVENTS"
	EnvTargetsFile = "PATRA_EVENTS_FILE"
)

// The kinds of targets.
const (
	kindFile    = "file"
	kindStdout  = "stdout"
	kindNATS    = "nats"
	kindKafka   = "kafka"
	kindWebhook = "webhook"
)

// Settings are the targets of an instance. They do not print.
type Settings struct {
	text credential.Secret
	err  error
}

// FromEnvironment reads where events go, from a flag if that was given. What is wrong
// with it is told by [Bus.Check].
func FromEnvironment(flag string, getenv func(string) string) Settings {
	text := flag
	if text == "" {
		text = getenv(EnvTargets)
	}
	path := getenv(EnvTargetsFile)
	switch {
	case text != "" && path != "":
		return Settings{err: bad("--events or %s, and %s are both given: use one of them", EnvTargets, EnvTargetsFile)}
	case path != "":
		b, err := os.ReadFile(path)
		if err != nil {
			return Settings{err: bad("%s: %w", EnvTargetsFile, err)}
		}
		text = string(b)
	}
	return FromText(text)
}

// FromText takes targets as they are written: one in a line, or several with spaces
// between them.
func FromText(text string) Settings { return Settings{text: credential.NewSecret(text)} }

// TargetsError is the mistake in how targets are written.
type TargetsError struct{ err error }

func bad(format string, args ...any) error { return &TargetsError{fmt.Errorf(format, args...)} }

func (e *TargetsError) Error() string { return "where events go cannot be read: " + e.err.Error() }

func (e *TargetsError) Unwrap() error { return e.err }

// Problem implements problem.Error.
func (e *TargetsError) Problem() problem.Problem {
	return problem.Problem{
		Code: "event_targets", Kind: problem.Usage,
		Next: "write each as file:PATH, stdout:, nats://HOST:4222?subject=NAME, kafka://HOST:9092/TOPIC or webhook+https://HOST/PATH, with #NAME behind it if it " +
			"needs a name, in --events, in " + EnvTargets + " or in the file that " + EnvTargetsFile + " names",
	}
}

// Config of a bus.
type Config struct {
	// Transport, if set, replaces the network for webhooks.
	Transport http.RoundTripper
	// Learn is told the secrets of targets, so that they can be kept out of logs.
	Learn   func(credential.Secret)
	Version string
	// Stdout is where the target stdout: writes.
	Stdout *os.File
}

// Bus is the targets of an instance.
type Bus struct {
	targets []relay.Target
	err     error
}

// New makes the targets. If they cannot be read there are none, and [Bus.Check] says why.
func New(cfg Config, s Settings) *Bus {
	b := new(Bus)
	b.targets, b.err = s.parse(cfg)
	return b
}

// Check says what is wrong with the targets, if anything is.
func (b *Bus) Check() error { return b.err }

// Targets are those there are.
func (b *Bus) Targets() []relay.Target { return b.targets }

var targetName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

// parse reads all targets. Errors tell the number of a target and never its text.
func (s Settings) parse(cfg Config) ([]relay.Target, error) {
	if s.err != nil {
		return nil, s.err
	}
	var out []relay.Target
	taken := map[string]bool{"feed": true}
	for line := range strings.Lines(s.text.Reveal()) {
		if strings.HasPrefix(strings.TrimSpace(line), "#") {
			continue
		}
		for word := range strings.FieldsSeq(line) {
			a, err := parseAddress(word)
			if err != nil {
				return nil, bad("target %d: %w", len(out)+1, err)
			}
			if a.name == "" {
				a.name = a.kind
				for n := 2; taken[a.name]; n++ {
					a.name = fmt.Sprintf("%s-%d", a.kind, n)
				}
			}
			if taken[a.name] {
				return nil, bad("target %d: another one is named %s too", len(out)+1, a.name)
			}
			taken[a.name] = true
			a.learn(cfg.Learn)
			t, err := a.target(cfg)
			if err != nil {
				return nil, bad("target %d: %w", len(out)+1, err)
			}
			out = append(out, t)
		}
	}
	return out, nil
}

// address is a target as it is written.
type address struct {
	name, kind string
	url        *url.URL
	options    url.Values
}

func parseAddress(text string) (*address, error) {
	u, err := url.Parse(text)
	if err != nil {
		return nil, errors.New("it is no address") // whose text may hold a secret
	}
	a := &address{name: u.Fragment, url: u, options: u.Query()}
	if a.name != "" && !targetName.MatchString(a.name) {
		return nil, errors.New("its name, behind #, has other characters than letters, digits, dots, dashes and underscores")
	}
	u.Fragment = ""
	kind, scheme, split := strings.Cut(u.Scheme, "+")
	switch {
	case split && kind == kindWebhook && (scheme == "https" || scheme == "http"):
		u.Scheme = scheme
		a.kind = kindWebhook
	case split && kind == kindNATS && scheme == "tls":
		u.Scheme = "tls"
		a.kind = kindNATS
	case split && kind == kindKafka && scheme == "tls":
		u.Scheme = "tls"
		a.kind = kindKafka
	case !split && (kind == kindFile || kind == kindStdout || kind == kindNATS || kind == kindKafka):
		a.kind = kind
	default:
		return nil, fmt.Errorf("%q is no kind of target: use file, stdout, nats, kafka or webhook+https", u.Scheme)
	}
	return a, nil
}

// target makes what the address is about.
func (a *address) target(cfg Config) (relay.Target, error) {
	switch a.kind {
	case kindFile:
		return newFile(a)
	case kindStdout:
		return newStdout(a, cfg.Stdout)
	case kindNATS:
		return newNATS(a)
	case kindKafka:
		return newKafka(a)
	}
	return newWebhook(a, cfg)
}

// learn tells what of an address nobody may read: passwords, what webhooks are signed
// with, and the path of a webhook, which often is a secret.
func (a *address) learn(tell func(credential.Secret)) {
	if tell == nil || a.kind == kindFile {
		return
	}
	if password, has := a.url.User.Password(); has {
		tell(credential.NewSecret(password))
	} else if user := a.url.User.Username(); user != "" && a.kind == kindNATS {
		tell(credential.NewSecret(user)) // a token
	}
	if a.kind != kindWebhook {
		return
	}
	tell(credential.NewSecret(a.url.RequestURI()))
	for _, values := range a.options {
		for _, v := range values {
			tell(credential.NewSecret(v))
		}
	}
	for part := range strings.SplitSeq(a.url.Path, "/") {
		if len(part) >= credential.MinSecret {
			tell(credential.NewSecret(part))
		}
	}
}

// only refuses options that a kind of target does not have.
func (a *address) only(known ...string) error {
	for name := range a.options {
		found := false
		for _, k := range known {
			found = found || k == name
		}
		if !found {
			return fmt.Errorf("a target of kind %s has no option %q", a.kind, name)
		}
	}
	return nil
}

// same is the error of every message of a wave.
func same(n int, err error) []error {
	out := make([]error, n)
	for i := range out {
		out[i] = err
	}
	return out
}
