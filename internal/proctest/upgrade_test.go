package proctest

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/papertrace/patra/internal/patratest"
)

// patraBefore builds the patra that came before the newest migration, or that PATRA_UPGRADE_FROM names, and
// skips the test where there is no history to take it from.
func patraBefore(t *testing.T) (bin, commit string) {
	t.Helper()
	git := func(args ...string) string {
		out, err := exec.Command("git", args...).Output()
		if err != nil {
			t.Skipf("git %s: %v: no history to take an older patra from", args[0], err)
		}
		return strings.TrimSpace(string(out))
	}
	root := git("rev-parse", "--show-toplevel")
	commit = os.Getenv("PATRA_UPGRADE_FROM")
	if commit == "" {
		migrations, err := filepath.Glob(filepath.Join(root, "internal/infra/sqlstore/migrations/mysql/*.sql"))
		if err != nil || len(migrations) == 0 {
			t.Fatalf("no migrations: %v", err)
		}
		added := git("log", "-1", "--format=%H", "--diff-filter=A", "--", slices.Max(migrations))
		if added == "" {
			t.Skip("the newest migration is not committed yet")
		}
		commit = added + "^"
	}
	dir := t.TempDir()
	tree, err := exec.Command("git", "-C", root, "archive", commit).Output()
	if err != nil {
		t.Fatalf("git archive %s: %v", commit, err)
	}
	unpack := exec.Command("tar", "x", "-C", dir)
	unpack.Stdin = bytes.NewReader(tree)
	if out, err := unpack.CombinedOutput(); err != nil {
		t.Fatalf("unpack %s: %v\n%s", commit, err, out)
	}
	bin = filepath.Join(dir, "patra-before")
	build := exec.Command("go", "build", "-o", bin, "./cmd/patra")
	build.Dir = dir
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build %s: %v\n%s", commit, err, out)
	}
	return bin, commit
}

// TestProcess_RollingUpgrade: processes of the patra before the newest migration are at work when the schema is
// migrated, go on, and are replaced one by one, so that old and new ones work side by side. Nobody waits for all to be
// stopped, and what they did together is judged as every campaign is.
func TestProcess_RollingUpgrade(t *testing.T) {
	t.Parallel()
	if !patratest.Soak() && os.Getenv("PATRA_UPGRADE_FROM") == "" {
		t.Skip("it builds an older patra: PATRA_SOAK=1 or PATRA_UPGRADE_FROM=COMMIT runs it")
	}
	before, commit := patraBefore(t)
	l := newLab(t, "crossref", patratest.MySQL.EmptyDSN(t), 700, "--records", "6000", "--faults", "light")
	// The packs are those of before: an older process knows no key that came later.
	l.packs = packsOf(t, os.DirFS(filepath.Join(filepath.Dir(before), "sources")))
	l.schedule("* * * * *")
	l.slowDown(20)
	l.bin = before
	l.mustRun("db", "migrate")
	had := l.ask(`SELECT MAX(version_id) FROM goose_db_version`)
	roles := []string{"executor", "executor", "planner", "scheduler", "relay"}
	team := make([]*process, len(roles))
	for i, role := range roles {
		team[i] = l.serve(role)
	}
	// getOn waits until so many more pages are stored, by whoever runs.
	getOn := func(pages int) {
		t.Helper()
		stored := `SELECT COUNT(*) FROM ing_task_run_batch WHERE status_code='SUCCEEDED'`
		until := l.ask(stored) + pages
		for end := time.Now().Add(patience); l.ask(stored) < until; pause(50 * time.Millisecond) {
			for i, p := range team {
				if p.ended() {
					t.Fatalf("%s ended with %d\n%s", roles[i], p.code(), tail(p.err.String()))
				}
			}
			if time.Now().After(end) {
				t.Fatalf("nothing gets on\n%s", tail(team[0].err.String()))
			}
		}
	}
	getOn(10)
	l.bin = binary
	l.mustRun("db", "migrate")
	has := l.ask(`SELECT MAX(version_id) FROM goose_db_version`)
	getOn(20) // by old processes over the new schema
	for i, role := range roles {
		old := team[i]
		old.signal(syscall.SIGTERM)
		select {
		case <-old.done:
		case <-time.After(patience):
			t.Fatalf("%s did not end after SIGTERM\n%s", role, tail(old.err.String()))
		}
		if old.code() != 0 {
			t.Errorf("the old %s ended with %d\n%s", role, old.code(), tail(old.err.String()))
		}
		team[i] = l.serve(role)
		if i == 0 {
			l.waitUntilBothWork(team[0], team[1])
		}
		if l.openTasks() > 0 {
			getOn(5)
		}
	}
	for end := time.Now().Add(patience); l.openTasks() > 0; pause(100 * time.Millisecond) {
		l.quicken()
		if time.Now().After(end) {
			t.Fatalf("%d tasks are left open\n%s", l.openTasks(), tail(team[0].err.String()))
		}
	}
	for i, p := range team {
		p.signal(syscall.SIGTERM)
		<-p.done
		if p.code() != 0 {
			t.Errorf("%s ended with %d\n%s", roles[i], p.code(), tail(p.err.String()))
		}
	}
	l.judge()
	t.Logf("from %s with schema %d to %d", commit, had, has)
}

// waitUntilBothWork waits until each of two processes has a task in hand.
func (l *lab) waitUntilBothWork(a, b *process) {
	l.t.Helper()
	hasWorked := map[*process]bool{}
	for end := time.Now().Add(patience); !hasWorked[a] || !hasWorked[b]; pause(20 * time.Millisecond) {
		for _, p := range []*process{a, b} {
			if l.holds(p) > 0 {
				hasWorked[p] = true
			}
		}
		if time.Now().After(end) {
			l.t.Fatalf("old and new do not work side by side: %v", fmt.Sprint(hasWorked[a], hasWorked[b]))
		}
	}
}

// mustRun runs a command to its end.
func (l *lab) mustRun(args ...string) {
	l.t.Helper()
	cmd := exec.Command(l.bin, args...)
	cmd.Env = append(os.Environ(), "PATRA_DB="+l.dsn)
	if out, err := cmd.CombinedOutput(); err != nil {
		l.t.Fatalf("patra %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}
