package sqlstore

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"modernc.org/libc"
	sqlite3 "modernc.org/sqlite/lib"
)

// It begins a process of its own, in which the store makes the first connection.
func TestPagesOfCaches_LieInMemoryThatIsSetAside(t *testing.T) {
	const first = "PATRA_TEST_FIRST_CONNECTION"
	if os.Getenv(first) == "" {
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$") //nolint:gosec // this binary
		cmd.Env = append(os.Environ(), first+"=1")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		return
	}
	s, err := Open(t.Context(), "sqlite:"+filepath.Join(t.TempDir(), "p.db"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	used, beyond := statusOf(t, sqlite3.SQLITE_STATUS_PAGECACHE_USED), statusOf(t, sqlite3.SQLITE_STATUS_PAGECACHE_OVERFLOW)
	if used == 0 || beyond != 0 {
		t.Errorf("%d pages lie in what is set aside, %d bytes of pages elsewhere", used, beyond)
	}
}

// statusOf is the value that SQLite has for one of its counters.
func statusOf(t *testing.T, counter int32) int32 {
	t.Helper()
	tls := libc.NewTLS()
	defer tls.Close()
	now := libc.Xcalloc(tls, 2, 8)
	defer libc.Xfree(tls, now)
	if rc := sqlite3.Xsqlite3_status(tls, counter, now, now+8, 0); rc != sqlite3.SQLITE_OK {
		t.Fatalf("status %d: %d", counter, rc)
	}
	return libc.AtomicLoadPInt32(now)
}
