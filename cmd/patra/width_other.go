//go:build !unix

package main

// terminalWidth is how many columns the terminal has, 0 if that is not known.
func terminalWidth(any) int { return 0 }
