package main

import (
	"net"
	"os"
	"strings"
)

// notifySystemd tells systemd how a service fares, if it was begun by it and wants to
// know (Type=notify). Whoever does not listen misses nothing.
func notifySystemd(state string) {
	name := os.Getenv("NOTIFY_SOCKET")
	if name == "" {
		return
	}
	if rest, abstract := strings.CutPrefix(name, "@"); abstract {
		name = "\x00" + rest
	}
	conn, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: name, Net: "unixgram"})
	if err != nil {
		return
	}
	defer conn.Close()               //nolint:errcheck // there is nothing to lose
	_, _ = conn.Write([]byte(state)) // see above
}
