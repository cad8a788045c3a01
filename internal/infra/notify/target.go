// Package notify sends alerts to where an operator wants to read them: a webhook, a
// chat of Slack, DingTalk or Feishu, or a mailbox.
//
// It promises that a message is taken or an error says why not: a chat that answers
// 200 with an error inside has not taken it. No error holds the address of a target,
// which is a secret wherever its holder may write into a chat. When and how often a
// message is tried is left to others.
package notify

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"regexp"
	"strings"

	"github.com/papertrace/patra/internal/domain/credential"
	"github.com/papertrace/patra/internal/domain/problem"
)

// Where targets are named: in the variable itself, or in the file that the other
// names.
const (
	EnvTargets     = "PATRA_ALERTS"
	EnvTargetsFile = "PATRA_ALERTS_FILE"
)

// Settings are the targets of an instance. They do not print.
type Settings struct {
	text credential.Secret
	err  error
}

// FromEnvironment reads where alerts go. What is wrong with it is told by [New].
func FromEnvironment(getenv func(string) string) Settings {
	text := getenv(EnvTargets)
	path := getenv(EnvTargetsFile)
	switch {
	case text != "" && path != "":
		return Settings{err: bad("%s and %s are both set: use one of them", EnvTargets, EnvTargetsFile)}
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

// ErrTargets is the mistake in how targets are written.
type ErrTargets struct{ err error }

func bad(format string, args ...any) error { return &ErrTargets{fmt.Errorf(format, args...)} }

func (e *ErrTargets) Error() string { return "where alerts go cannot be read: " + e.err.Error() }

func (e *ErrTargets) Unwrap() error { return e.err }

// Problem implements problem.Error.
func (e *ErrTargets) Problem() problem.Problem {
	return problem.Problem{
		Code: "alert_targets", Kind: problem.Usage,
		Next: "write each as KIND+https://ADDRESS#NAME, KIND being webhook, slack, dingtalk or feishu, or as " +
			"smtp://USER:PASSWORD@HOST:587?from=ADDRESS&to=ADDRESS#NAME, in " + EnvTargets + " or in the file that " + EnvTargetsFile + " names",
	}
}

// target is where messages go.
type target struct {
	name, kind string
	// address is all of it, with what nobody else may know.
	address credential.Secret
	// signs is the secret by which a chat knows who writes; may be empty.
	signs credential.Secret
	mail  mailbox
}

// kinds of targets that are asked over HTTP, by the scheme they are written with.
const (
	Webhook  = "webhook"
	Slack    = "slack"
	DingTalk = "dingtalk"
	Feishu   = "feishu"
	Mail     = "mail"
)

var targetName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

// parse reads all targets. Errors tell the number of a target and never its text.
func (s Settings) parse() ([]*target, error) {
	if s.err != nil {
		return nil, s.err
	}
	var out []*target
	taken := map[string]bool{}
	for line := range strings.Lines(s.text.Reveal()) {
		if strings.HasPrefix(strings.TrimSpace(line), "#") {
			continue
		}
		for word := range strings.FieldsSeq(line) {
			t, err := parseTarget(word)
			if err != nil {
				return nil, bad("target %d: %w", len(out)+1, err)
			}
			if t.name == "" {
				t.name = t.kind
				for n := 2; taken[t.name]; n++ {
					t.name = fmt.Sprintf("%s-%d", t.kind, n)
				}
			}
			if taken[t.name] {
				return nil, bad("target %d: another one is named %s too", len(out)+1, t.name)
			}
			taken[t.name] = true
			out = append(out, t)
		}
	}
	return out, nil
}

func parseTarget(text string) (*target, error) {
	u, err := url.Parse(text)
	if err != nil {
		return nil, errors.New("it is no address") // whose text is a secret
	}
	t := &target{name: u.Fragment}
	if t.name != "" && !targetName.MatchString(t.name) {
		return nil, errors.New("its name, behind #, has other characters than letters, digits, dots, dashes and underscores")
	}
	u.Fragment = ""
	kind, scheme, split := strings.Cut(u.Scheme, "+")
	if !split {
		return parseMail(t, u)
	}
	t.kind = kind
	u.Scheme = scheme
	if scheme != "https" && scheme != "http" || u.Host == "" {
		return nil, fmt.Errorf("after %s+ it must go on with https://HOST or http://HOST", kind)
	}
	switch kind {
	case Webhook, Slack:
	case DingTalk, Feishu:
		q := u.Query()
		t.signs = credential.NewSecret(q.Get("secret"))
		q.Del("secret")
		u.RawQuery = q.Encode()
	default:
		return nil, fmt.Errorf("%q is no kind of target: use webhook, slack, dingtalk, feishu or smtp", kind)
	}
	t.address = credential.NewSecret(u.String())
	return t, nil
}

// secrets are the parts of a target that nobody may read: what stands behind its
// host, and what it signs with.
func (t *target) secrets() []credential.Secret {
	if t.kind == Mail {
		return []credential.Secret{t.mail.password}
	}
	out := []credential.Secret{t.address, t.signs}
	u, err := url.Parse(t.address.Reveal())
	if err != nil {
		return out
	}
	if password, has := u.User.Password(); has {
		out = append(out, credential.NewSecret(password))
	}
	out = append(out, credential.NewSecret(u.RequestURI()))
	for _, values := range u.Query() {
		for _, v := range values {
			out = append(out, credential.NewSecret(v))
		}
	}
	for part := range strings.SplitSeq(u.Path, "/") {
		if len(part) >= credential.MinSecret {
			out = append(out, credential.NewSecret(part))
		}
	}
	return out
}
