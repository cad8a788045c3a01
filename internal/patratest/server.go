package patratest

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// Server is a database server of the test's own, which it may kill and stop.
type Server struct {
	t    testing.TB
	dir  string
	addr string
	// program and args begin it.
	program string
	args    []string
	cmd     *exec.Cmd
}

// StartServer starts a MariaDB server with further options, and skips the test where none
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
	removeAtEnd(t, dir)
	s := &Server{t: t, dir: dir, addr: freeAddress(t), program: "mariadbd"}
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

// StartMySQL is StartServer for the MySQL that `make test-deps` installs, which lives in a root folder of
// its own.
func StartMySQL(t testing.TB) *Server {
	t.Helper()
	root := os.Getenv("PATRA_MYSQL_ROOT")
	if root == "" {
		root = "/opt/patra-mysql"
	}
	if _, err := os.Stat(filepath.Join(root, "usr/sbin/mysqld")); err != nil || os.Getuid() != 0 {
		t.Skip("no MySQL to start: make test-deps, as root")
	}
	dir, err := os.MkdirTemp(root, "patra-data-")
	if err != nil {
		t.Fatal(err)
	}
	removeAtEnd(t, dir)
	inside := "/" + filepath.Base(dir)
	common := []string{root, "mysqld", "--no-defaults", "--user=root", "--datadir=" + inside, "--tmpdir=/tmp", "--skip-log-bin", "--performance-schema=OFF"}
	install := exec.Command("chroot", append(common, "--initialize-insecure")...)
	if out, err := install.CombinedOutput(); err != nil {
		t.Fatalf("install a database: %v\n%s", err, out)
	}
	s := &Server{t: t, dir: dir, addr: freeAddress(t), program: "chroot"}
	_, port, _ := net.SplitHostPort(s.addr)
	s.args = append(common, "--mysqlx=OFF", "--secure-file-priv=", "--bind-address=127.0.0.1", "--port="+port, "--socket="+inside+"/s", "--pid-file="+inside+"/p",
		"--innodb-redo-log-capacity=64M", "--innodb-buffer-pool-size=256M")
	s.Start()
	t.Cleanup(s.Kill)
	return s
}

// StartTiDB is StartServer for the TiDB that PATRA_TIDB names, with the store for tests that it has in itself.
func StartTiDB(t testing.TB) *Server {
	t.Helper()
	program := os.Getenv("PATRA_TIDB")
	if program == "" {
		t.Skip("no TiDB to start: make test-tidb")
	}
	dir, err := os.MkdirTemp("", "patra-db-")
	if err != nil {
		t.Fatal(err)
	}
	removeAtEnd(t, dir)
	s := &Server{t: t, dir: dir, addr: freeAddress(t), program: program}
	_, port, _ := net.SplitHostPort(s.addr)
	_, status, _ := net.SplitHostPort(freeAddress(t))
	s.args = []string{
		"-host", "127.0.0.1", "-P", port, "-status-host", "127.0.0.1", "-status", status, "-socket", filepath.Join(dir, "s"),
		"-store", "unistore", "-path", filepath.Join(dir, "store"), "-log-file", filepath.Join(dir, "log"), "-log-slow-query", filepath.Join(dir, "slow"),
	}
	s.Start()
	t.Cleanup(s.Kill)
	return s
}

func removeAtEnd(t testing.TB, dir string) {
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Errorf("remove the server's folder: %v", err)
		}
	})
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
	s.cmd = exec.Command(s.program, s.args...)
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

// Pause stops the server where it stands: it holds its connections and answers nobody.
func (s *Server) Pause() { s.cmd.Process.Signal(syscall.SIGSTOP) } //nolint:errcheck // it may have ended

// Resume lets it go on.
func (s *Server) Resume() { s.cmd.Process.Signal(syscall.SIGCONT) } //nolint:errcheck // likewise

// Engine is the server as tests know others.
func (s *Server) Engine() Engine {
	return Engine{Name: "own server", address: "mysql://root@" + s.addr}
}
