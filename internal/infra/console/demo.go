package console

// Demo is the simulator behind a demonstration.
type Demo interface {
	// Kinds are the faults that can be made to happen.
	Kinds() []string
	// Sources are those it plays.
	Sources() []string
	// Inject makes a fault happen to the next requests of a source; 0 ends it.
	Inject(source, kind string, requests int) error
}
