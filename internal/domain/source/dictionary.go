package source

import (
	"slices"
	"strings"
)

// Dict names a kind of codes.
type Dict string

// The kinds of codes. The first group is what packs say, the second what
// credentials say, the third what the store says.
const (
	DictOperation   Dict = "ing_operation"
	DictScope       Dict = "scope"
	DictPaging      Dict = "paging_type"
	DictEndProof    Dict = "end_proof"
	DictTokenRepeat Dict = "token_repeat"
	DictTotal       Dict = "total"
	DictBound       Dict = "bound_style"
	DictPrecision   Dict = "time_precision"
	DictUpdatedAt   Dict = "updated_at"
	DictWindowMode  Dict = "window_mode"
	DictOffset      Dict = "offset_type"
	DictUsage       Dict = "endpoint_usage"
	DictMethod      Dict = "http_method"
	DictFormat      Dict = "response_format"
	DictIdentity    Dict = "identity"
	DictLevel       Dict = "fault_level"
	DictReaction    Dict = "reaction"
	DictOrigin      Dict = "origin"
	DictResetUnit   Dict = "reset_unit"
	DictRateScope   Dict = "rate_scope"

	DictAuth      Dict = "auth_type"
	DictInbound   Dict = "inbound_location"
	DictTokenBody Dict = "token_body"
	DictSecret    Dict = "secret_kind"
	DictLifecycle Dict = "lifecycle_status"

	DictPlanStatus   Dict = "plan_status"
	DictSliceStatus  Dict = "slice_status"
	DictTaskStatus   Dict = "task_status"
	DictRunStatus    Dict = "run_status"
	DictBatchStatus  Dict = "batch_status"
	DictRecordStatus Dict = "record_status"
	DictCursorType   Dict = "ing_cursor_type"
	DictDirection    Dict = "direction"
	DictNamespace    Dict = "ing_namespace_scope"
	DictStrategy     Dict = "slice_strategy"
	DictTrigger      Dict = "trigger_type"
	DictOutcome      Dict = "trigger_outcome"
	DictPhase        Dict = "phase"
	DictPriority     Dict = "priority"
	DictOwnEnd       Dict = "own_end"
	DictEffect       Dict = "record_effect"
	DictSignal       Dict = "signal_kind"
	DictEstimation   Dict = "estimation"
	DictGateDecision Dict = "gate_decision"
	DictErrorState   Dict = "error_state"
	DictRemedy       Dict = "remedy"
)

// DictType is one kind of codes with all codes of it.
type DictType struct {
	Code  Dict
	Name  string
	Items []DictItem
}

// DictItem is a code, what it means, and other words for it.
type DictItem struct {
	Code    string
	Name    string
	Aliases []string
}

// dictionary is every code the documents use. Codes are read in any case and
// by their aliases, and written in the form given here (C9, C10).
var dictionary = []DictType{
	{DictOperation, "kinds of collecting", []DictItem{
		{"HARVEST", "go on from the watermark", nil},
		{"BACKFILL", "read a window of the past again", nil},
		{"UPDATE", "read known records again", []string{"REFRESH"}},
	}},
	{DictScope, "what a row holds for", []DictItem{
		{"SOURCE", "every operation of the source", nil},
		{"TASK", "one operation", nil},
	}},
	{DictPaging, "how pages follow each other", []DictItem{
		{"OFFSET", "by the number of items before", nil},
		{"PAGE", "by page number", []string{"PAGE_NUMBER"}},
		{"TOKEN", "by a token of the page before", []string{"CURSOR"}},
		{"URL", "by a link in the page before", nil},
		{"SCROLL", "by a token of a walk the server holds", nil},
		{"TIME", "one answer per slice", nil},
		{"KEYSET", "by the date and the id of the last record of the page before", []string{"SEEK"}},
	}},
	{DictEndProof, "what proves that a walk is over", []DictItem{
		{"EMPTY_PAGE", "a page without items", []string{"EMPTY"}},
		{"NO_TOKEN", "a page without a next token; asked for once more unless something else proves the end", nil},
		{"NO_URL", "a page without a next link; asked for once more unless something else proves the end", nil},
		{"NEXT_EMPTY", "the place of the next token or link is there and empty, as the source always says the end", nil},
		{"SHORT_PAGE", "no next token or link and fewer items than asked for, of a source that fills every page but the last", nil},
		{"TOKEN_REPEAT", "a token that comes again", []string{"REPEAT"}},
		{"HAS_MORE_FALSE", "the page says there is no more", []string{"HAS_MORE"}},
		{"TOTAL_REACHED", "as many items as the exact total", []string{"TOTAL"}},
		{"ONE_REPLY", "the only answer is whole", nil},
		{"SORTED_PAST", "a whole page before the window, of a list that has its newest records first and cannot be asked for a window", []string{"SORTED"}},
	}},
	{DictTokenRepeat, "what a token that comes again means", []DictItem{
		{"END", "the walk is over", nil},
		{"CONTINUE", "the server holds the place; go on", nil},
	}},
	{DictTotal, "what a total is worth", []DictItem{
		{"EXACT", "a walk must reach it, which can prove an end", nil},
		{"ABOUT", "a walk may miss so many percent of it, as in ABOUT 5%", nil},
		{"UNKNOWN", "it is worth nothing", []string{"ROUGH"}},
	}},
	{DictBound, "the upper bound as sent", []DictItem{
		{string(BoundClosed), "it includes itself", nil},
		{string(BoundOpen), "it does not", nil},
	}},
	{DictPrecision, "how finely a source tells time", []DictItem{
		{"DAY", "days of the source's zone", nil},
		{"SECOND", "seconds", nil},
		{"MILLI", "milliseconds", nil},
		{"MICRO", "microseconds", nil},
	}},
	{DictUpdatedAt, "where an item's update time is", []DictItem{
		{string(UpdatedInItem), "in the item", nil},
		{string(UpdatedByWindow), "nowhere: the slice's window stands for it", nil},
		{string(UpdatedNever), "the source has none: no HARVEST", nil},
	}},
	{DictWindowMode, "how windows lie", []DictItem{
		{string(WindowSliding), "from where the last ended", nil},
		{string(WindowCalendar), "at whole multiples of their length", nil},
	}},
	{DictOffset, "what tells how far a source was read", []DictItem{
		{string(OffsetDate), "a date", nil},
		{string(OffsetID), "an id that grows", nil},
		{string(OffsetComposite), "a date, and an id among the records of one date", nil},
	}},
	{DictUsage, "what an endpoint is for", []DictItem{
		{string(UsageSearch), "pages of a window", nil},
		{string(UsageCount), "how many a window holds", nil},
		{string(UsageDetail), "records by their ids", []string{"FETCH"}},
		{"LOOKUP", "one record by its id, where DETAIL cannot be asked for it or leaves it out", nil},
		{string(UsageHead), "the greatest id there is, of a source that is harvested by ids that grow", nil},
		{string(UsageMetrics), "what the source tells of itself; described, and asked by no run", nil},
		{string(UsageToken), "where tokens are had; described, and asked by no run: auth.token says where a token is fetched", nil},
	}},
	{DictMethod, "HTTP methods", []DictItem{
		{"GET", "parameters in the query", nil},
		{"POST", "parameters in a form as well", nil},
	}},
	{DictFormat, "formats of a reply", []DictItem{
		{"JSON", "JSON", nil},
		{"XML", "XML", nil},
	}},
	{DictIdentity, "canonical forms of ids", []DictItem{
		{"TEXT", "as given", nil},
		{"DOI", "a DOI: lower case, without a resolver", nil},
		{"NUMBER", "digits without leading zeros", nil},
	}},
	{DictLevel, "how bad a fault is", []DictItem{
		{"L1", "passes: ask again", []string{"TRANSIENT"}},
		{"L2", "the request is refused as it is", []string{"REJECTED"}},
		{"L3", "one item is spoilt", []string{"CORRUPT"}},
		{"L4", "stops the source until a person has looked", []string{"FATAL"}},
	}},
	{DictReaction, "what a fault asks for", []DictItem{
		{"RETRY", "the request again", nil},
		{"RESTART", "the walk from its beginning", nil},
		{"CUT", "the slice in halves", nil},
		{"STOP", "end the run", nil},
		{"EMPTY", "nothing: the reply is an empty page", nil},
	}},
	{DictOrigin, "where a source's rows come from", []DictItem{
		{"SHIPPED", "a pack that ships with patra", nil},
		{"FILE", "a pack in a file", nil},
		{"API", "the interface", nil},
		{OriginSQL, "statements of SQL", nil},
	}},
	{DictAuth, "kinds of credentials", []DictItem{
		{"NONE", "anonymous", nil},
		{"API_KEY", "a key", nil},
		{"BEARER", "a bearer token", nil},
		{"BASIC", "user and password", nil},
		{"OAUTH2", "client credentials, refreshed", nil},
		{"LOGIN", "a token got by a login, renewed when refused", nil},
		{"CUSTOM", "a named signing hook", nil},
	}},
	{DictInbound, "where a credential is put", []DictItem{
		{"HEADER", "a header", nil},
		{"QUERY", "a parameter", nil},
		{"BODY", "a form field", []string{"FORM"}},
	}},
	{DictResetUnit, "what a reset header counts", []DictItem{
		{"SECONDS", "seconds from now", nil},
		{"EPOCH_S", "seconds since 1970", nil},
		{"EPOCH_MS", "milliseconds since 1970", nil},
		{"HTTP_DATE", "a date as in HTTP", nil},
	}},
	{DictRateScope, "what limits are counted for", []DictItem{
		{RateGlobal, "the whole source", nil},
		{RatePerKey, "each credential", nil},
		{RatePerEndpoint, "each endpoint", nil},
	}},
	{DictTokenBody, "how a token is asked for", []DictItem{
		{"FORM", "form fields", nil},
		{"JSON", "a JSON object", nil},
	}},
	{DictSecret, "how a secret is kept", []DictItem{
		{"ENV", "in an environment variable", nil},
		{"FILE", "in a file", nil},
		{"SEALED", "encrypted in the store", nil},
	}},
	{DictLifecycle, "life of a credential", []DictItem{
		{"ACTIVE", "may be used", nil},
		{"DISABLED", "may not", nil},
	}},
	{DictPlanStatus, "states of a plan", []DictItem{
		{"DRAFT", "being made", nil},
		{"SLICING", "being cut", nil},
		{"READY", "all slices are there", nil},
		{"PARTIAL", "slicing goes on later", nil},
		{"FAILED", "could not be made", nil},
		{"COMPLETED", "every slice is done", nil},
		{"CANCELLED", "given up by a person", nil},
	}},
	{DictSliceStatus, "states of a slice", []DictItem{
		{"PENDING", "being made", nil},
		{"READY", "has its task", nil},
		{"FAILED", "a gap that may be tried again", nil},
		{"DONE", "proven", nil},
		{"RESLICED", "cut into smaller ones", nil},
		{"CANCELLED", "given up by a person", nil},
	}},
	{DictTaskStatus, "states of a task", []DictItem{
		{"QUEUED", "waits for a worker", nil},
		{"DISPATCHED", "leased", nil},
		{"EXECUTING", "worked on", nil},
		{"SUCCEEDED", "done", nil},
		{"FAILED", "given up", nil},
		{"PARTIAL", "done in part, the rest re-sliced", nil},
		{"CANCELLED", "given up by a person", nil},
	}},
	{DictRunStatus, "states of an attempt", []DictItem{
		{"RUNNING", "under way", nil},
		{"SUCCEEDED", "done", nil},
		{"PARTIAL", "done in part", nil},
		{"FAILED", "ended by a fault", nil},
		{"CANCELLED", "ended by a person", nil},
	}},
	{DictBatchStatus, "states of a page", []DictItem{
		{"RUNNING", "asked for", nil},
		{"SUCCEEDED", "committed", nil},
		{"FAILED", "ended by a fault", nil},
		{"SKIPPED", "never asked for, or given up with a page before it", nil},
	}},
	{DictRecordStatus, "states of a record", []DictItem{
		{"ACTIVE", "as the source has it", nil},
		{"RETRACTED", "retracted", nil},
		{"MERGED", "goes on under another id", nil},
		{"GONE", "gone upstream", nil},
	}},
	{DictCursorType, "what a cursor counts", []DictItem{
		{"TIME", "an instant", nil},
		{"ID", "a number", nil},
		{"TOKEN", "a token within a batch", nil},
	}},
	{DictDirection, "which way a cursor moves", []DictItem{
		{"FORWARD", "to later times", nil},
		{"BACKFILL", "down from the upper end", nil},
	}},
	{DictNamespace, "what a cursor is kept for", []DictItem{
		{"GLOBAL", "the source; not for HARVEST", nil},
		{"EXPR", "endpoint, date and selection", nil},
		{"CUSTOM", "an activity", nil},
	}},
	{DictStrategy, "how a window is cut", []DictItem{
		{"TIME", "by time", nil},
		{"ID_RANGE", "by ranges of ids", nil},
		{"CURSOR_LANDMARK", "by landmarks of a cursor", nil},
		{"VOLUME_BUDGET", "by expected volume", nil},
		{"HYBRID", "by time, and by ids or hash buckets where that is not enough", nil},
		{"PAGE", "by numbers of pages", nil},
		{"HASH", "by hash buckets of the ids", nil},
	}},
	{DictTrigger, "what set a plan off", []DictItem{
		{"MANUAL", "a person", nil},
		{"SCHEDULED", "the scheduler", []string{"CRON", "SCHEDULE"}},
		{"API", "an outside scheduler", nil},
	}},
	{DictOutcome, "what came of a trigger", []DictItem{
		{"RECEIVED", "not answered yet", nil},
		{"PLANNED", "a plan", nil},
		{"EXISTING", "a plan that was there", nil},
		{"NOOP", "nothing to do", nil},
		{"REFUSED", "no plan: what was asked for cannot be done, or not now", nil},
		{"FAILED", "no plan: the source or the store did not do its part", nil},
	}},
	{DictPhase, "phases of a walk", []DictItem{
		{"SEARCH", "pages", nil},
		{"DETAIL", "records by id", nil},
	}},
	{DictPriority, "places in the queue", []DictItem{
		{"HIGH", "100", nil},
		{"MEDIUM", "200", []string{"NORMAL"}},
		{"LOW", "300", nil},
	}},
	{DictOwnEnd, "ends of a walk that no source declares", []DictItem{
		{"PAGE_RANGE", "the slice is a range of pages, and the last of them was read", nil},
		{"FROZEN", "the ids were known before, and the last of them is accounted for", nil},
	}},
	{DictEffect, "what an item did to the record held", []DictItem{
		{"inserted", "it was the first of this record", nil},
		{"updated", "it is a newer version, which was taken up", nil},
		{"remapped", "the same version, with fields read in another way", nil},
		{"unchanged", "the version that is held already", nil},
		{"stale", "an older version than the one held, which was left", nil},
	}},
	{DictSignal, "what a record says about another", []DictItem{
		{"RETRACTION", "that it is retracted", nil},
		{"CORRECTION", "that it is corrected", nil},
	}},
	{DictErrorState, "states of an error group", []DictItem{
		{"OPEN", "nobody has decided anything about it", nil},
		{"ACKNOWLEDGED", "somebody knows of it and looks after it", nil},
		{"MUTED", "kept out of the list until a time, by a person", nil},
		{"RESOLVED", "its cause is mended, as a person says", nil},
		{"CAME_BACK", "it was seen again after it was resolved", nil},
	}},
	{DictRemedy, "what patra did by itself about a fault", []DictItem{
		{"QUEUED_AGAIN", "put the task back, to be tried again later", nil},
		{"WALKED_AGAIN", "began the slice again from its first page", nil},
		{"CUT_SMALLER", "put smaller slices in the place of the slice", nil},
		{"LEFT_GAP", "gave the slice up as a gap, to be tried again later", nil},
		{"PUT_ASIDE", "put the item into quarantine, or the id on the list of bad ids", nil},
		{"SOURCE_STOPPED", "stopped the source until a person has looked at it", nil},
	}},
	{DictEstimation, "how it was estimated what a slice holds", []DictItem{
		{"COUNT", "the source counted", nil},
		{"HISTORY", "from what was harvested before", nil},
		{"FIRST_PAGE", "from the total of a larger window", nil},
		{"CONSTANT", "from what the source declares for a day", nil},
	}},
	{DictGateDecision, "what the rate gate said of a request", []DictItem{
		{"ALLOW", "it went out at once", nil},
		{"WAIT", "it waited for its turn", nil},
		{"REJECT", "it was not sent: its turn was further away than one waits here", nil},
	}},
}

// Dictionary is every code there is.
func Dictionary() []DictType { return dictionary }

func (d Dict) items() []DictItem {
	i := slices.IndexFunc(dictionary, func(t DictType) bool { return t.Code == d })
	if i < 0 {
		return nil
	}
	return dictionary[i].Items
}

// Codes lists the codes of a kind.
func (d Dict) Codes() []string {
	var out []string
	for _, it := range d.items() {
		out = append(out, it.Code)
	}
	return out
}

// Canonical is the code meant by a word: any case, and aliases. A word that
// means none is returned in upper case, to be refused by [Compile].
func (d Dict) Canonical(word string) string {
	w := strings.ToUpper(strings.TrimSpace(word))
	for _, it := range d.items() {
		if slices.Contains(it.Aliases, w) {
			return it.Code
		}
	}
	return w
}

// coded checks a code against its kind.
func coded[S ~string](c *compiler, path string, kind Dict, code S) bool {
	return oneOf(c, path, string(code), kind.Codes()...)
}
