package main

import "golang.org/x/sys/windows"

// isTerminal reports whether a person sits at a stream: only a console has a mode, while NUL too is
// a device of characters.
func isTerminal(stream any) bool {
	f, ok := stream.(interface{ Fd() uintptr })
	if !ok {
		return false
	}
	var mode uint32
	return windows.GetConsoleMode(windows.Handle(f.Fd()), &mode) == nil
}

// terminalWidth is how many columns the terminal has, 0 if that is not known.
func terminalWidth(any) int { return 0 }
