package source

// Retry is the dimension of how often and how patiently a request is repeated.
type Retry struct {
	Attempts int      `yaml:"maxAttempts" json:"maxAttempts" doc:"default 5, at most 20"`
	Base     Duration `yaml:"base" json:"base" doc:"first wait, multiplied by factor each time; default 100ms"`
	Max      Duration `yaml:"max" json:"max" doc:"longest wait, default 30s"`
	// Factor and Jitter are 0 where waits grow as the platform has it.
	Factor float64 `yaml:"factor" json:"factor,omitzero" doc:"what each wait is multiplied by for the next, 1 to 10; default 2"`
	Jitter int     `yaml:"jitter" json:"jitter,omitzero" doc:"percent by which each wait is made shorter or longer by chance, at most 100; default 20"`
	// The breaker is as the platform has it where these are 0.
	BreakAfter int      `yaml:"breakAfter" json:"breakAfter,omitzero" doc:"questions in a row that may fail, each after its repetitions, before nothing more is asked for a while; default 3"`
	BreakRest  Duration `yaml:"breakRest" json:"breakRest,omitzero" doc:"for how long nothing is asked then, doubled each time one try fails; default 60s"`
	BreakMost  Duration `yaml:"breakMost" json:"breakMost,omitzero" doc:"longest of these rests, default 30m"`
	// RetryOn and GiveUpOn become the last of the fault rules.
	RetryOn  []int `yaml:"retryOn" json:"retryOn,omitempty" doc:"statuses after which a request is repeated, besides 408, 429 and 5xx; rules under faults go before"`
	GiveUpOn []int `yaml:"giveUpOn" json:"giveUpOn,omitempty" doc:"statuses after which it is not, although others of their kind are; rules under faults go before"`
}

// Cuts are the thresholds at which a slice is cut while it is walked, to spare the
// source.
type Cuts struct {
	PagesSoft       int      `yaml:"pagesSoft" json:"pagesSoft,omitzero" doc:"pages of a walk that can be cut without walking again; default 1000"`
	PagesHard       int      `yaml:"pagesHard" json:"pagesHard,omitzero" doc:"pages of a walk that must be walked again when it is cut; default 2000"`
	PageBytes       Size     `yaml:"pageBytes" json:"pageBytes,omitzero" doc:"size of a page; default 5 MB, or half of maxBody where that is over 32 MiB"`
	Throttled       int      `yaml:"throttled" json:"throttled,omitzero" doc:"replies with status 429; default 5"`
	ThrottledWithin Duration `yaml:"throttledWithin" json:"throttledWithin,omitzero" doc:"within how long that many; default 300s"`
	FailedPercent   int      `yaml:"failedPercent" json:"failedPercent,omitzero" doc:"failed tries for a hundred pages; default 5"`
	FailedOver      int      `yaml:"failedOver" json:"failedOver,omitzero" doc:"over how many of the newest pages; default 50"`
	// RetryAfterSum and WalkTime are 0 in snapshots from before: nothing was cut for them.
	RetryAfterSum Duration `yaml:"retryAfterSum" json:"retryAfterSum,omitzero" doc:"for how long the source has asked to be left alone, all in all; default 30m"`
	WalkTime      Duration `yaml:"walkTime" json:"walkTime,omitzero" doc:"how long a slice is walked without a pause; default 6h"`
	// OverEstimate is 0 in snapshots from before: nothing was cut for it.
	OverEstimate int `yaml:"overEstimate" json:"overEstimate,omitzero" doc:"how many times as many records as were expected a slice may bring, after 50 pages; default 10"`
	// SlowPage is 0 where slices are not cut for it.
	SlowPage Duration `yaml:"slowPage" json:"slowPage,omitzero" doc:"how long ten pages may take in the mean before fewer slices are worked on at once, default 3s; where it is given, slices are cut for it too, with smaller pages"`
}
