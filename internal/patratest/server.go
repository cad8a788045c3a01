package patratest

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// Server is a MariaDB server of the test's own, which it may kill.
type Server struct {
	t    testing.TB
	dir  string
	addr string
	args []string
	cmd  *exec.Cmd
}

// StartServer starts a server with further options, and skips the test where none
// is installed. It is gone when the test ends.
func StartServer(t testing.TB, options ...string) *Server {
	t.Helper()
	if _, err := exec.LookPath("mariadbd"); err != nil {
		t.Skip("no mariadbd to start: install MariaDB")
	}
	// A socket's path must be short, which that of t.TempDir is not; and in memory
	// what is made durable is so at once.
	dir, err := os.MkdirTemp("/dev/shm", "patra-db-")
	if err != nil {
		dir, err = os.MkdirTemp("", "patra-db-")
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Errorf("remove the server's folder: %v", err)
		}
	})
	s := &Server{t: t, dir: dir, addr: freeAddress(t)}
	// A server that starts removes the temporary tables it finds in its folder for them.
	common := []string{"--no-defaults", "--datadir=" + dir, "--tmpdir=" + dir}
	if os.Getuid() == 0 {
		common = append(common, "--user=root")
	}
	install := exec.Command("mariadb-install-db", append(common, "--auth-root-authentication-method=normal", "--skip-test-db", "--innodb-log-file-size=8M")...)
	if out, err := install.CombinedOutput(); err != nil {
		t.Fatalf("install a database: %v\n%s", err, out)
	}
	_, port, _ := net.SplitHostPort(s.addr)
	s.args = append(common, "--bind-address=127.0.0.1", "--port="+port, "--socket="+filepath.Join(dir, "s"), "--innodb-log-file-size=8M", "--innodb-buffer-pool-size=64M")
	s.args = append(s.args, options...)
	s.Start()
	t.Cleanup(s.Kill)
	return s
}

func freeAddress(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// Start starts the server, or starts it again, and waits until it can be reached.
func (s *Server) Start() {
	s.t.Helper()
	log, err := os.OpenFile(filepath.Join(s.dir, "server.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		s.t.Fatal(err)
	}
	defer log.Close()
	s.cmd = exec.Command("mariadbd", s.args...)
	s.cmd.Stdout, s.cmd.Stderr = log, log
	if err := s.cmd.Start(); err != nil {
		s.t.Fatalf("start the server: %v", err)
	}
	for end := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		c, err := net.Dial("tcp", s.addr)
		if err == nil {
			c.Close() //nolint:errcheck // only looked
			return
		}
		if time.Now().After(end) {
			said, _ := os.ReadFile(filepath.Join(s.dir, "server.log"))
			s.t.Fatalf("the server cannot be reached: %v\n%s", err, said)
		}
	}
}

// Kill ends the server without giving it time for anything.
func (s *Server) Kill() {
	s.cmd.Process.Kill() //nolint:errcheck // it may have ended
	s.cmd.Wait()         //nolint:errcheck // killed
}

// Engine is the server as tests know others.
func (s *Server) Engine() Engine {
	return Engine{Name: "own server", address: "mysql://root@" + s.addr}
}
