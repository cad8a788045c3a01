package main

import (
	"os"
	"os/exec"
	"runtime"
)

// openBrowser shows an address in the browser of this desktop. Where there is none,
// whoever sits there has the address.
func (c *cli) openBrowser(address string) {
	name, args := browserCommand()
	if name == "" {
		return
	}
	found, err := exec.LookPath(name)
	if err != nil {
		return
	}
	show := exec.Command(found, append(args, address)...)
	if err := show.Start(); err != nil {
		c.notef("patra: no browser opens (%v); open the address yourself\n", err)
		return
	}
	go show.Wait() //nolint:errcheck // it shows the page, or somebody sees that it does not
}

// browserCommand is how a desktop opens an address; empty where there is no desktop.
func browserCommand() (name string, args []string) {
	switch runtime.GOOS {
	case "darwin":
		return "open", nil
	case "windows":
		return "rundll32", []string{"url.dll,FileProtocolHandler"}
	}
	if os.Getenv("DISPLAY") == "" && os.Getenv("WAYLAND_DISPLAY") == "" {
		return "", nil
	}
	return "xdg-open", nil
}
