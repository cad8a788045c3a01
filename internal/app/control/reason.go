package control

import "github.com/papertrace/patra/internal/domain/harvest"

// Reason is why work waits: one of a closed list, the same everywhere.
type Reason string

// The reasons.
const (
	ReasonRateWait              = Reason(harvest.CodeRate)
	ReasonRateCooldown   Reason = "rate_cooldown"
	ReasonQuota          Reason = "quota_exhausted"
	ReasonQuotaKept      Reason = "quota_held_back"
	ReasonPartitionLimit Reason = "partition_limit"
	ReasonGlobalLimit    Reason = "global_limit"
	ReasonScheduledLater Reason = "scheduled_later"
	ReasonCircuitOpen           = Reason(harvest.CodeBroken)
	ReasonQuietHours            = Reason(harvest.CodeQuiet)
	ReasonSourcePaused   Reason = "source_paused"
	ReasonLineStopped    Reason = "line_stopped"
	ReasonStockBrake     Reason = "stock_brake"
	ReasonNoExecutor     Reason = "no_executor"
	ReasonLeaseHeld      Reason = "lease_held"
	ReasonSafetyLag      Reason = "safety_lag"
	ReasonSpecInvalid    Reason = "spec_invalid"
)

// meanings say each in a sentence.
var meanings = map[Reason]string{
	ReasonRateWait:       "the rate limit of the source has no room before",
	ReasonRateCooldown:   "the source asked for fewer requests and is left alone",
	ReasonQuota:          "the quota of the source is used up",
	ReasonQuotaKept:      "what is left of the quota is kept back, or is the share of other operations",
	ReasonPartitionLimit: "as much of the source is worked on at once as it allows",
	ReasonGlobalLimit:    "every worker is busy with other sources",
	ReasonScheduledLater: "the next try is not due yet",
	ReasonCircuitOpen:    "the source failed again and again and rests; then one request is tried",
	ReasonQuietHours:     "these are quiet hours of the source",
	ReasonSourcePaused:   "somebody paused the source",
	ReasonLineStopped:    "a fatal fault stopped the source until a person has looked at it",
	ReasonStockBrake:     "enough is queued already, so the rest of the window is not planned yet",
	ReasonNoExecutor:     "the work is ready and nobody takes it",
	ReasonLeaseHeld:      "the source is asked again and has not answered yet",
	ReasonSafetyLag:      "what is newer may still change its place and is left alone for a while",
	ReasonSpecInvalid:    "the description of the source cannot be used as it is",
}

// Meaning says the reason in a sentence.
func (r Reason) Meaning() string { return meanings[r] }

// reasonOf is the reason that the code of a waiting task stands for. A code that is
// none of its own is that of the last try, after which the next is scheduled.
func reasonOf(code harvest.Code) Reason {
	f := harvest.Fault{Code: code}
	switch {
	case code == harvest.CodeRate:
		return ReasonRateWait
	case code == harvest.CodeQuota:
		return ReasonQuota
	case code == harvest.CodeQuotaKept:
		return ReasonQuotaKept
	case code == harvest.CodeQuiet:
		return ReasonQuietHours
	case code == harvest.CodeBroken:
		return ReasonCircuitOpen
	case f.Throttled(), code == "http_429":
		return ReasonRateCooldown
	}
	return ReasonScheduledLater
}
