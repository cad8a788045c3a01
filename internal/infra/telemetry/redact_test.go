package telemetry

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/papertrace/patra/internal/domain/credential"
)

// TestR48_LogLinesLoseSecrets, whatever part of a line holds them.
func TestR48_LogLinesLoseSecrets(t *testing.T) {
	const secret = "canary-0a1b2c"
	r := new(Redactor)
	r.Learn(credential.NewSecret(secret))
	var out bytes.Buffer
	log := slog.New(Redacting(slog.NewJSONHandler(&out, nil), r))
	log.With("a", secret, "n", 1).WithGroup("g").Info("said "+secret, "err", errors.New("bad "+secret), "text", secret,
		"group", slog.GroupValue(slog.String("in", secret)), "any", struct{ S string }{secret}, "plain", "stays", "key", credential.NewSecret(secret))
	if strings.Contains(out.String(), secret) {
		t.Errorf("line: %s", out.String())
	}
	for _, s := range []string{`"a":"***","n":1`, `"msg":"said ***"`, `"err":"bad ***"`, `"plain":"stays"`} {
		if !strings.Contains(out.String(), s) {
			t.Errorf("%s is not in %s", s, out.String())
		}
	}
}
