package alert

// Limits are the thresholds of the rules, for those who hold other numbers against them.
var Limits = struct {
	// Shares of pages, replies, items and quotas.
	Errors, Throttled, Spoilt float64
	// Leases lost within [TrafficOver]; how far a queue surges.
	Lost, Deviations, Surge int
}{
	Errors: mostErrors, Throttled: mostThrottled, Spoilt: mostSpoilt,
	Lost: mostLost, Deviations: deviations, Surge: leastSurge,
}
