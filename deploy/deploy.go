// Package deploy holds the files with which patra is run as a service: units of
// systemd, a file for Docker Compose and a manifest for Kubernetes. They are made for
// those who use them to read and change; `patra deploy` prints them, and docs/scale-out.md
// tells when each is of use. The Dockerfile beside them builds the image that the last
// two run.
package deploy

import _ "embed"

var (
	// Unit runs all roles in one process.
	//
	//go:embed patra.service
	Unit []byte

	// RoleUnit is a template: an instance of it runs the role that it is named after.
	//
	//go:embed patra@.service
	RoleUnit []byte

	// Compose runs each role in a container of its own, over MySQL, with events to NATS.
	//
	//go:embed compose.yaml
	Compose []byte

	// Kubernetes runs each role as a deployment, over a database that is there.
	//
	//go:embed kubernetes.yaml
	Kubernetes []byte
)

// File is the file that `patra deploy NAME` prints, or nil if another package makes it.
func File(name string) []byte {
	switch name {
	case "systemd":
		return Unit
	case "systemd-by-role":
		return RoleUnit
	case "compose":
		return Compose
	case "kubernetes":
		return Kubernetes
	}
	return nil
}
