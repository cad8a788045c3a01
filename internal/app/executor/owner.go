package executor

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// ThisProcess names this process as the owner of leases.
func ThisProcess() string { return fmt.Sprintf("%s/%d", hostname(), os.Getpid()) }

// HasEnded reports whether an owner is a process of this machine that has ended: a
// harvest that was killed and is run again need not wait for itself. Of others
// nothing is known.
func HasEnded(owner string) bool {
	pid, ours := strings.CutPrefix(owner, hostname()+"/")
	id, err := strconv.Atoi(pid)
	if !ours || err != nil {
		return false
	}
	p, err := os.FindProcess(id)
	if err != nil {
		return true
	}
	return errors.Is(p.Signal(syscall.Signal(0)), os.ErrProcessDone)
}

func hostname() string {
	h, err := os.Hostname()
	if err != nil {
		return "unknown"
	}
	return h
}
