//go:build unix

package main

import "golang.org/x/sys/unix"

// isTerminal reports whether a person sits at a stream. Only a terminal has a size, while
// /dev/null too is a device of characters.
func isTerminal(stream any) bool {
	_, known := windowSize(stream)
	return known
}

// terminalWidth is how many columns the terminal has, 0 if that is not known.
func terminalWidth(stream any) int {
	columns, _ := windowSize(stream)
	return columns
}

// windowSize is how many columns a terminal has, 0 if it does not say; any other stream has no size.
func windowSize(stream any) (columns int, known bool) {
	f, ok := stream.(interface{ Fd() uintptr })
	if !ok {
		return 0, false
	}
	size, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ)
	if err != nil {
		return 0, false
	}
	return int(size.Col), true
}
