package proctest

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// openTasks is how many tasks are not over.
func (l *lab) openTasks() int {
	l.t.Helper()
	return l.ask(`SELECT COUNT(*) FROM ing_task WHERE status_code IN ('QUEUED','DISPATCHED','EXECUTING')`)
}

// schedule gives the pack a cron line, and the address of the simulator.
func (l *lab) schedule(line string) {
	l.t.Helper()
	name := filepath.Join(l.packs, l.source+".yaml")
	b, err := os.ReadFile(name)
	if err != nil {
		l.t.Fatal(err)
	}
	text := strings.Replace(string(b), "baseUrl: https://api.crossref.org", "baseUrl: "+l.sim+"/"+l.source, 1)
	text = regexp.MustCompile(`(?m)^( *)http:\n`).ReplaceAllString(text, "${0}${1}  allowHttp: true\n${1}  allowPrivate: true\n")
	text = strings.Replace(text, "schedule:\n  sentinel: true\n", "", 1)
	text += fmt.Sprintf("\nschedule:\n  harvest: %q\n", line)
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		l.t.Fatal(err)
	}
}

// serve begins a process of some roles.
func (l *lab) serve(roles string) *process {
	l.t.Helper()
	args := append([]string{"serve"}, strings.Fields(roles)...)
	return l.begin(append(args, "--poll", "200ms", "--workers", fmt.Sprint(l.workers))...)
}

// slowDown gives the pack the pace of so many requests a second.
func (l *lab) slowDown(qps int) {
	l.t.Helper()
	l.rewrite(fmt.Sprintf("qps: %d\n", packRate), fmt.Sprintf("qps: %d\n", qps))
}
