package node_test

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"os"
	"testing"

	"github.com/papertrace/patra/internal/patratest"
)

// TestMain gives the process the key that credentials are sealed with. It is the same
// for all tests, so that they may run at once.
func TestMain(m *testing.M) {
	if err := os.Setenv("PATRA_KEY", base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{7}, 32))); err != nil {
		fmt.Fprintln(os.Stderr, "set the key of the tests:", err)
		os.Exit(1)
	}
	patratest.Main(m)
}
