package tape_test

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/papertrace/patra/internal/app/sourcecheck"
	"github.com/papertrace/patra/internal/domain/credential"
	"github.com/papertrace/patra/internal/infra/tape"
	"github.com/papertrace/patra/internal/infra/telemetry"
)

var kept tape.Fixtures

const secret = "canary/Q+7=x" //nolint:gosec // of nobody

type reply struct {
	header http.Header
	body   []byte
}

func (r reply) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: 200, Header: r.header, Body: io.NopCloser(bytes.NewReader(r.body))}, nil
}

func packed(s string) []byte {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, _ = io.WriteString(z, s)
	_ = z.Close()
	return b.Bytes()
}

// TestRecorder_NothingLeavesUnmasked sends a secret in every place there is and
// has it written back.
func TestRecorder_NothingLeavesUnmasked(t *testing.T) {
	live := new(telemetry.Redactor)
	live.Learn(credential.NewSecret(secret))
	rt := reply{
		http.Header{"Content-Encoding": {"gzip"}, "Content-Type": {"application/json"}, "Set-Cookie": {"session=unknown-secret"}, "X-Echo": {secret}},
		packed(`{"you":"canary\/Q+7=x","again":"canary%2FQ%2B7%3Dx","ok":1}`),
	}
	rec := tape.NewRecorder(tape.Mask{Redactors: []tape.Redactor{live}, Names: []string{"X-Own"}})
	for _, label := range []string{"check-search", ""} { // the second is a request for a token
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://user:pw@api.example.org/x?a=1&api_key=unknown-secret&q=canary%2FQ%2B7%3Dx", strings.NewReader("b=2&password=unknown-secret&z="+secret))
		if err != nil {
			t.Fatal(err)
		}
		req.Header = http.Header{
			"Authorization": {"Basic " + base64.StdEncoding.EncodeToString([]byte("u:"+secret))}, "X-Own": {"unknown-secret"}, "Accept": {"*/*"}, "X-Ingest-Correlation-Id": {label},
		}
		res, err := rec.Over(rt).RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		if b, err := io.ReadAll(res.Body); err != nil || len(b) == 0 {
			t.Fatal(err)
		}
	}
	all := rec.Exchanges()
	dir := filepath.Join(t.TempDir(), "f")
	if err := kept.Claim(dir); err != nil {
		t.Fatal(err)
	}
	if err := kept.Save(dir, sourcecheck.Fixture{Source: "s"}, all); err != nil {
		t.Fatal(err)
	}
	shown, err := json.Marshal(sourcecheck.Show(all))
	if err != nil {
		t.Fatal(err)
	}
	files := 0
	err = fs.WalkDir(os.DirFS(dir), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		files++
		b, err := os.ReadFile(filepath.Join(dir, name))
		shown = append(shown, b...)
		return err
	})
	if err != nil || files != 3 { // the token's exchange is not saved
		t.Errorf("%d files, %v", files, err)
	}
	for _, s := range []string{"canary", "unknown-secret", "user:pw", base64.StdEncoding.EncodeToString([]byte(secret))[:8]} {
		if strings.Contains(string(shown), s) {
			t.Errorf("%q is shown: %s", s, shown)
		}
	}
	if string(all[0].Body) != `{"you":"***","again":"***","ok":1}` || all[0].Form != "b=2&password=***&z=***" || all[1].Label != "token" || all[1].Body != nil {
		t.Errorf("%+v", all)
	}
}

// TestLoad_LeadsNowhereElse: a fixture is a file of somebody else's.
func TestLoad_LeadsNowhereElse(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"check.json": `{"version":1,"exchanges":["a.json"]}`, "a.json": `{"label":"search","status":200,"body":"../../../../etc/hostname"}`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if f, err := kept.Load(dir); err == nil {
		t.Errorf("read %+v", f)
	}
	if err := os.WriteFile(filepath.Join(dir, "check.json"), []byte(`{"version":2}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := kept.Load(dir); err == nil || !strings.Contains(err.Error(), "version 2") {
		t.Errorf("%v", err)
	}
}
