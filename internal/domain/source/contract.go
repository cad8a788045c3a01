package source

// Contract is a source's description in force at an instant, compiled for one
// operation.
type Contract struct {
	Spec *Spec
	// ConfigHash is the hash of the description as written, used or not (C14).
	ConfigHash string
	Warnings   []Warning
}
