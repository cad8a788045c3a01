package httpapi_test

import (
	"bytes"
	"cmp"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/papertrace/patra/internal/patratest"
)

// schemathesis is the program that reads an OpenAPI document and tries what it declares,
// where `make test-deps` puts it.
func schemathesis(t *testing.T) string {
	t.Helper()
	at := filepath.Join(cmp.Or(os.Getenv("PATRA_SCHEMATHESIS"), "/opt/patra-schemathesis"), "bin", "st")
	if _, err := os.Stat(at); err != nil {
		t.Skipf("schemathesis is not installed (make test-deps): %v", err)
	}
	return at
}

// TestDocumentIsTrueForStrangers lets a program that knows nothing but the document call
// every route of it, with the most and the least rights: nothing breaks, and every answer has a declared
// status, type, header and form. What it sends follows from a seed, so that it is the same
// every time.
func TestDocumentIsTrueForStrangers(t *testing.T) {
	program := schemathesis(t)
	r := newRig(t, nil)
	r.harvest()
	server := httptest.NewServer(r.door)
	t.Cleanup(server.Close)
	tokens := map[control.Access]string{}
	for _, role := range []control.Access{control.Viewer, control.Operator, control.Admin} {
		tokens[role] = r.token(role)
	}
	// The document's example is a source that is really there: nobody outside is asked.
	example := r.send(ask("GET", "/api/v1/openapi.json", "")).Body.Bytes()
	example = bytes.ReplaceAll(example, []byte("crossref"), []byte("generic"))
	document := filepath.Join(t.TempDir(), "openapi.json")
	if err := os.WriteFile(document, example, 0o600); err != nil {
		t.Fatal(err)
	}
	// The long form tries every bound and every form of each value that is declared.
	phases := "examples,fuzzing"
	examples := 2
	if patratest.Soak() {
		phases = "examples,coverage,fuzzing"
		examples = 100
	}
	run := func(role control.Access, examples int) {
		t.Run(string(role), func(t *testing.T) {
			t.Parallel()
			cmd := exec.CommandContext(t.Context(), program,
				"run", document, "--url", server.URL, "--header", "Authorization:Bearer "+tokens[role],
				"--checks", "not_a_server_error,status_code_conformance,content_type_conformance,response_headers_conformance,"+
					"response_schema_conformance,unsupported_method,allow_header_conformance",
				"--phases", phases, "--max-examples", strconv.Itoa(examples), "--seed", "12", "--generation-database", "none",
				"--suppress-health-check", "all", "--no-shrink", "--continue-on-failure", "--warnings", "off", "--no-color")
			cmd.Dir = t.TempDir()
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			t.Logf("%s of processor time; %s", cmd.ProcessState.UserTime(), regexp.MustCompile(`\d+ generated, \d+ passed`).Find(out))
		})
	}
	run(control.Admin, examples)
	if patratest.Soak() {
		// What others may not do is asked route by route elsewhere.
		run(control.Viewer, 1)
		run(control.Operator, 1)
	}
}
