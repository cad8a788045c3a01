package harvest

import (
	"fmt"
	"strconv"
	"strings"
)

// Code is a stable word for what happened to a request, a walk, a slice or an item.
// It is stored, printed in brackets behind messages, and explained by `patra explain`.
// A source's description may declare further ones in its rules on faults.
type Code string

// Codes of work that waits or was given back; [Meanings] says what each means.
const (
	CodeRate       Code = "rate_wait"
	CodeQuota      Code = "quota_wait"
	CodeQuotaKept  Code = "quota_kept"
	CodeQuiet      Code = "quiet_hours"
	CodeBroken     Code = "circuit_open"
	CodeCancelled  Code = "cancelled"
	CodeHeld       Code = "held"
	CodeSourceHeld Code = "source_held"
	CodeShutdown   Code = "shutdown"
	CodeUnrenewed  Code = "lease_unrenewed"
	CodeAbandoned  Code = "abandoned"
	CodeUnknown    Code = "outcome_unknown"
	CodeUnasked    Code = "not asked" // with a space since it was first stored
	CodeBeside     Code = "asked_beside"
)

// Codes of the way to a source; [Meanings] says what each means.
const (
	CodeConnect         Code = "connect"
	CodeNetwork         Code = "network"
	CodeTimeout         Code = "timeout"
	CodeProxy           Code = "proxy_refused"
	CodeAddress         Code = "address_refused"
	CodeCertificate     Code = "certificate_refused"
	CodeHostile         Code = "hostile_url"
	CodeRedirect        Code = "unexpected_redirect"
	CodeRedirectRefused Code = "redirect_refused"
	CodeGateLost        Code = "gate_lost"
	CodeSeatLost        Code = "seat_lost"
)

// Codes of credentials; [Meanings] says what each means.
const (
	CodeAuthRefused          Code = "auth_refused"
	CodeNoCredential         Code = "no_credential"
	CodeWithheld             Code = "credential_withheld"
	CodeCredentialUnreadable Code = "credential_unreadable"
	CodeCredentialsLost      Code = "credentials_lost"
	CodeAuthInPlain          Code = "auth_in_plain"
	CodeTokenMissing         Code = "token_missing"
)

// Codes of replies; [Meanings] says what each means.
const (
	CodeForbidden      Code = "http_403"
	CodeThrottled      Code = "throttled"
	CodeBadReply       Code = "bad_reply"
	CodeUnreadable     Code = "unreadable"
	CodeErrorInReply   Code = "error_in_reply"
	CodeUnexpectedHTML Code = "unexpected_html"
	CodeTooLarge       Code = "reply_too_large"
	CodeSchemaDrift    Code = "schema_drift"
	CodeQueryWidened   Code = "query_widened"
	CodeDetailsMissing Code = "details_missing"
	CodeClockBehind    Code = "upstream_clock_behind"
	CodeHook           Code = "hook_failed"
	CodeBadSpec        Code = "bad_spec"
	CodeBadRequest     Code = "bad_request"
	CodeNotMarked      Code = "reply_not_marked"
)

// Codes of walks that begin again; [Meanings] says what each means.
const (
	CodeTokenExpired    Code = "token_expired"
	CodePageUnknown     Code = "page_outcome_unknown"
	CodeUnconfirmed     Code = "walk_unconfirmed"
	CodeWalksDiffer     Code = "walks_differ"
	CodeOffsetShift     Code = "offset_shift"
	CodeNotSorted       Code = "not_sorted"
	CodePageRepeats     Code = "page_repeats"
	CodeLastPageDiffers Code = "last_page_differs"
	CodeEmptyPage       Code = "empty_page"
	CodeNextURLMissing  Code = "next_url_missing"
	CodeNoNextKey       Code = "no_next_key"
	CodeTotalMissed     Code = "total_not_reached"
	CodeCountMissed     Code = "count_not_reached"
)

// Codes of slices that are cut; [Meanings] says what each means.
const (
	CodeOverWall   Code = "over_wall"
	CodeMaxPages   Code = "max_pages"
	CodeNothingNew Code = "nothing_new"
	CodeOneReply   Code = "more_than_one_reply"
	CutDepth       Code = "walk_too_deep"
	CutThrottled   Code = "throttled_often"
	CutHeavy       Code = "page_too_heavy"
	CutErrors      Code = "errors_often"
	CutBudget      Code = "budget_spent"
	CutEstimate    Code = "beyond_estimate"
	CutSlow        Code = "pages_slow"
)

// Codes of slices that are given up; [Meanings] says what each means.
const (
	CodePoison      Code = "poison"
	CodeStore       Code = "store_error"
	CodeUnplannable Code = "unplannable"
)

// Codes of items in quarantine; [Meanings] says what each means.
const (
	ProblemNoID         Code = "no_id"
	ProblemBadDate      Code = "bad_date"
	ProblemMissingField Code = "missing_field"
	ProblemBadValue     Code = "bad_value"
	ProblemBadText      Code = "bad_text"
	ProblemTooLong      Code = "too_long"
	ProblemTooLarge     Code = "too_large"
	ProblemNoDetails    Code = "no_details"
)

// codeHTTP is how the code of an HTTP status begins that has no other.
const codeHTTP = "http_"

// HTTPCode is the code of an HTTP status that the source's rules say nothing of.
func HTTPCode(status int) Code { return Code(codeHTTP + strconv.Itoa(status)) }

// Meaning explains a code to a person.
type Meaning struct {
	Code Code
	// Group of codes that it belongs to.
	Group string
	// Means is what happened, Does what patra does about it, Do what a person can.
	Means, Does, Do string
}

// Meanings explains every code of patra's own, group by group.
func Meanings() []Meaning {
	var out []Meaning
	for _, g := range groups {
		for _, e := range g.codes {
			out = append(out, Meaning{Code: e.code, Group: g.name, Means: e.means, Does: e.does, Do: e.do})
		}
	}
	return out
}

// Meaning explains a code, also one that stands for an HTTP status.
func (c Code) Meaning() (Meaning, bool) {
	for _, m := range Meanings() {
		if m.Code == c {
			return m, true
		}
	}
	digits, isHTTP := strings.CutPrefix(string(c), codeHTTP)
	status, err := strconv.Atoi(digits)
	if !isHTTP || err != nil || status < 100 || status > 599 {
		return Meaning{}, false
	}
	return statusMeaning(status), true
}

// statusMeaning explains a status by its kind.
func statusMeaning(status int) Meaning {
	m := Meaning{Code: HTTPCode(status), Group: "what came", Means: fmt.Sprintf("The source answered with HTTP status %d.", status)}
	switch {
	case status == 429:
		m.Does = "slows down, waits as long as the source asks for, and asks again."
		m.Do = "Nothing; if it lasts, lower the rate in the source's description."
	case status >= 500 || status == 408 || status == 425:
		m.Does = "asks again with growing rests; a slice that fails for long becomes a gap and is tried again later."
		m.Do = "Nothing, unless it lasts: then see whether the source is down."
	case status >= 400:
		m.Does = "gives the request up, since asking again does not mend it; the slice is a gap."
		m.Do = "`patra source check NAME --show http` shows the request and the reply."
	default:
		m.Does = "asks once more, then stops the source, since no such answer is expected."
		m.Do = "`patra source check NAME --show http` shows the request and the reply."
	}
	return m
}

// group is a kind of codes with what they mean, what patra does, and what a person can do.
type group struct {
	name  string
	codes []explained
}

type explained struct {
	code            Code
	means, does, do string
}

// groups is the page that `patra explain` prints from.
var groups = []group{
	{"waiting", []explained{
		{
			CodeRate, "No permit of the rate limit was to be had soon.",
			"waits, and goes on when there is one.", "Nothing. If it lasts, `patra source show NAME` tells the limit and who shares it.",
		},
		{
			CodeQuota, "A quota of the source is spent, for the hour, the day or the month.",
			"rests until the quota begins anew.", "Nothing, or set a credential that has a larger quota.",
		},
		{
			CodeQuotaKept, "What is left of a quota is kept back, or is the share of other operations.",
			"rests until there is some for this operation again.",
			"Nothing, or have `quotaReserve` and `quotaShares` of the source leave more to it: `patra source show NAME` tells both.",
		},
		{
			CodeQuiet, "The source's quiet hours have begun.",
			"asks nothing until they are over.", "Nothing; the hours are part of the source's schedule.",
		},
		{
			CodeBroken, "Three questions in a row failed, so that this part of the source rests.",
			"tries again after a minute, then after ever longer rests, up to half an hour.",
			"Look at the fault before it: `patra plan gaps NAME` and `patra source check NAME` show what the source answers.",
		},
		{CodeCancelled, "Whoever had asked does not want the answer any more.", "drops the request.", "Nothing."},
		{
			CodeHeld, "The task was cancelled, or its source was paused or stopped, while it was worked on.",
			"stores nothing of the page in hand and gives the task back.",
			"`patra source list` says why it is held; `patra source resume NAME` ends it.",
		},
		{
			CodeSourceHeld, "The source is paused or stopped, so that it was not asked.",
			"asks nothing of it.", "`patra source list` says why; `patra source resume NAME` ends it.",
		},
		{
			CodeShutdown, "The process was told to stop.",
			"gives the task back; whoever has it next goes on after the last stored page.", "Nothing.",
		},
		{
			CodeUnrenewed, "The store could not be reached in time to renew the lease, so that the task may be another worker's.",
			"asks nothing more and gives the task back.", "See whether the database is up and quick enough.",
		},
		{
			CodeAbandoned, "A worker ended without a word and its lease ran out.",
			"goes on after the last stored page.", "Nothing, unless it happens often: then see what ends the processes.",
		},
		{
			CodeUnknown, "The connection to the database broke while a page was committed, so that nobody knows whether it was.",
			"reads what is there and goes on from it.", "Nothing.",
		},
		{
			CodeUnasked, "The page was begun and given back before a request had gone out for it.",
			"asks for it when the task is taken again.", "Nothing.",
		},
		{
			CodeBeside, "The page was asked for beside one before it, which could not be stored.",
			"stores nothing of it, and asks for it again after the one before it.", "Nothing here; the page before it says what happened.",
		},
	}},
	{"the way there", []explained{
		{
			CodeConnect, "No connection to the source could be made.",
			"asks again with growing rests.", "Is the network up, and the address of the source right?",
		},
		{
			CodeNetwork, "The connection broke before the reply was whole.",
			"asks again; where the server holds the place it begins the walk again.", "Nothing, unless it lasts.",
		},
		{
			CodeTimeout, "The source took longer to answer than its description allows.",
			"asks again with growing rests.",
			"Nothing; if it lasts, ask for smaller pages or allow more time in the source's description.",
		},
		{
			CodeProxy, "The proxy did not let the request through.",
			"asks again with growing rests.", "Look at the proxy named in the source's description; those of the environment are not followed.",
		},
		{
			CodeAddress, "The address is one that a source may not have, such as that of this machine's own network.",
			"asks nothing there; the slice is a gap.", "Mend the address, or allow it in the source's description.",
		},
		{
			CodeCertificate, "The source's certificate cannot be trusted.",
			"gives up: asking again does not mend it.",
			"Is the address right, the clock of this machine, and the authority known that signed it (SSL_CERT_FILE names a file with more, `http.tls.ca` of a description the one of this source alone)?",
		},
		{
			CodeHostile, "The request, or a link that the source gave, leads where it must not.",
			"does not follow it; the slice is a gap.", "`patra source check NAME --show http` shows the link.",
		},
		{
			CodeRedirect, "The source sent the request elsewhere, in a way that is not followed.",
			"asks once more, then stops the source.", "See whether the source has moved, and mend its address.",
		},
		{
			CodeRedirectRefused, "The request was sent on to another host, which refused it.",
			"gives up: no key is sent to another host.", "Mend the address in the source's description.",
		},
		{CodeGateLost, "The rate gate could not be asked.", "tries again.", "See whether the database is up."},
		{CodeSeatLost, "The seat for a request was lost to another process.", "tries again.", "Nothing."},
	}},
	{"credentials", []explained{
		{
			CodeAuthRefused, "The source refused the credential.",
			"tries the next one, and stops the source if there is none.",
			"`patra credential list` shows what there is; patra credential set, then patra source resume.",
		},
		{
			CodeNoCredential, "The source wants a credential and there is none to be used.",
			"does not ask; the source is stopped.", "patra credential set SOURCE NAME --env VARIABLE --reason TEXT",
		},
		{
			CodeWithheld, "The credential is not for the address that would be asked.",
			"does not send it.", "`patra credential allow` binds it to the address; --with-credentials lends it to a --base-url.",
		},
		{
			CodeCredentialUnreadable, "The secret is not where the credential says it is, or cannot be opened by this process.",
			"does not ask: the process leaves the source's tasks to others; if nobody can read it for 15 minutes, the source is stopped.",
			"Put the secret into the environment variable or file that `patra credential list` names, or give the process the PATRA_KEY that the others have.",
		},
		{CodeCredentialsLost, "The list of credentials could not be read.", "tries again.", "See whether the database is up."},
		{
			CodeAuthInPlain, "The credential would travel unencrypted.",
			"does not send it; the source is stopped.", "Use an https address, or allow plain http in the source's description.",
		},
		{
			CodeTokenMissing, "A reply came without the token that has to be in it: the next page's, or one for signing in.",
			"asks once more or begins the walk again, then stops.", "`patra source check NAME --show http` shows the reply.",
		},
	}},
	{"what came", []explained{
		{
			CodeForbidden, "The source forbids the request.",
			"gives the slice up; three in a row stop the source.",
			"See whether a credential is wanted, or whether the source has shut this machine out.",
		},
		{
			CodeThrottled, "The source asks for fewer requests.",
			"slows down and asks again.", "Nothing; if it lasts, lower the rate in the source's description.",
		},
		{
			CodeBadReply, "The reply is not what its head says, or cannot be read.",
			"asks again; a second one alike stops the source.", "`patra source check NAME --show http` shows it.",
		},
		{
			CodeUnreadable, "The reply is written in a way that patra does not read.",
			"gives it up; of a source that was never read it stops the source.", "Mend the format in the source's description.",
		},
		{
			CodeErrorInReply, "A reply that looks good says that something went wrong.",
			"asks once more, then stops the source.",
			"`patra source check NAME --show http` shows it; a rule under faults can say what it means.",
		},
		{
			CodeUnexpectedHTML, "A page for people came where data was asked for.",
			"asks once more, then stops the source.", "Is the address right? Such pages also tell of maintenance or of being shut out.",
		},
		{
			CodeTooLarge, "The reply is larger than allowed.",
			"cuts the slice so that its pages become smaller, or halves the ids asked for.",
			"Nothing; a slice that cannot be cut becomes a gap.",
		},
		{
			CodeSchemaDrift, "Too much of what came cannot be read, or cutting has led nowhere: the source has changed.",
			"stops the source and stores nothing of it.",
			"`patra source check NAME` shows what is different; mend its description, then patra source resume NAME.",
		},
		{
			CodeQueryWidened, "The source does not know a word of the query and would have searched for something else.",
			"takes nothing of the reply.",
			"Mend --query: patra query explain --count names the words. One of several with OR between finds nothing there and can be left out for that source; else write it otherwise.",
		},
		{
			CodeDetailsMissing, "Too many of the records asked for were left out of the reply.",
			"asks again later.", "Nothing, unless it lasts.",
		},
		{CodeClockBehind, "By the source's own clock the end of the window has not come.", "waits until it has.", "Nothing."},
		{CodeHook, "A program that the source's description names could not do its part.", "stops the source.", "Mend the hook."},
		{
			CodeBadSpec, "The source's description cannot be used as it is.",
			"gives the slice up.", "patra source lint FILE, then patra source apply FILE",
		},
		{
			CodeBadRequest, "The request could not be made from the source's description.",
			"gives the slice up.", "patra source lint FILE, then patra source apply FILE",
		},
		{
			CodeNotMarked, "What has to be noted before a reply is taken apart could not be written.",
			"drops the reply and tries again later.", "See whether the database is up.",
		},
	}},
	{"walks", []explained{
		{CodeTokenExpired, "The token of the walk is dead.", "begins the walk again; after three walks it cuts the slice.", "Nothing."},
		{
			CodePageUnknown, "A page may have been served that nobody stored, and the server has moved past it.",
			"begins the walk again.", "Nothing.",
		},
		{CodeUnconfirmed, "The end of the walk is not certain before a second one has seen the same.", "walks once more.", "Nothing."},
		{CodeWalksDiffer, "Two walks of the same slice did not see the same.", "walks until two agree, then cuts.", "Nothing."},
		{CodeOffsetShift, "Records moved between two pages.", "begins the walk again.", "Nothing."},
		{
			CodeNotSorted, "A list has not the order that it is declared to have: newest records first, or with KEYSET by date and id.",
			"begins the walk again; a slice that fails for long becomes a gap, since nothing proves that it is whole.",
			"If it lasts, ask the source for another order, or harvest it by another date.",
		},
		{CodePageRepeats, "The same page came three times in a row.", "begins the walk again.", "Nothing."},
		{CodeLastPageDiffers, "The last page, asked for once more, was another one.", "begins the walk again.", "Nothing."},
		{CodeEmptyPage, "A page without items came where more had to come.", "begins the walk again.", "Nothing."},
		{
			CodeNoNextKey, "A page had no record, with a date and an id that can be read, behind the one that it was asked after (KEYSET).",
			"begins the walk again; a slice that fails for long becomes a gap, since there may be more.",
			"See by `patra source check NAME --show http` what the source understands by after, and what is wrong with its last records.",
		},
		{CodeNextURLMissing, "A page came without the link to the next one.", "begins the walk again.", "Nothing."},
		{
			CodeTotalMissed, "The walk ended before it had seen as many records as the source's total says.",
			"begins the walk again, then cuts the slice.", "If it lasts, say in the source's description how far the total may be missed.",
		},
		{
			CodeCountMissed, "The walk ended before it had seen as many records as were counted for its window.",
			"begins the walk again, then cuts the slice.", "If it lasts, say in the source's description what its counts are worth.",
		},
	}},
	{"cuts", []explained{
		{
			CodeOverWall, "The slice holds more than the source gives out for one question.",
			"cuts it.", "Nothing; where it cannot be cut further it becomes a gap.",
		},
		{CodeMaxPages, "The walk has come to the bound that its source declares.", "cuts the slice.", "Nothing."},
		{CodeNothingNew, "Page after page brought what had come before.", "cuts the slice.", "Nothing."},
		{CodeOneReply, "The window holds more than fits into its one reply.", "cuts the slice.", "Nothing."},
		{CutDepth, "The walk has become longer than is wise.", "cuts what is left of the slice.", "Nothing."},
		{CutThrottled, "The source asked for fewer requests again and again.", "cuts what is left of the slice.", "Nothing."},
		{CutHeavy, "The pages are larger than is wise.", "cuts what is left of the slice.", "Nothing."},
		{CutErrors, "Too many of the last pages had to be asked for again.", "cuts what is left of the slice.", "Nothing."},
		{CutBudget, "The slice has used up the requests, records or time it was given.", "cuts what is left of it.", "Nothing."},
		{CutEstimate, "The walk has brought many times what the slice was expected to hold.", "cuts what is left of it.", "Nothing."},
		{CutSlow, "The source takes longer for a page than it says is wise.", "cuts what is left of the slice, with smaller pages.", "Nothing."},
	}},
	{"gaps", []explained{
		{
			CodePoison, "Process after process ended while it took the same reply apart.",
			"leaves the slice as a gap for a day.", "See what ends the processes, memory for one; the same command again tries once more.",
		},
		{
			CodeStore, "The store would not take a page, though it takes others.",
			"leaves the slice as a gap and tries again later.", "The reason names what the database said; `patra verify` checks it.",
		},
		{
			CodeUnplannable, "The window holds more than the source gives out for one question, and cannot be cut any further.",
			"plans the rest and leaves this window as a gap; it is tried again later.",
			"`patra plan gaps NAME` shows it. A source that can be asked by ids or buckets may say so in its description; else accept the gap.",
		},
	}},
	{"items put aside", []explained{
		{
			ProblemNoID, "The item has no id, or none of the source's form.",
			"puts it into quarantine and goes on.", "`patra source check NAME` shows where the id is looked for.",
		},
		{
			ProblemBadDate, "The item has no update time, or none that can be read.",
			"puts it into quarantine and goes on.", "`patra source check NAME` shows where the date is looked for.",
		},
		{
			ProblemMissingField, "A field that must be there has no value.",
			"puts the item into quarantine and goes on.", "Mend the mapping in the source's description, or do not require the field.",
		},
		{
			ProblemBadValue, "A field has a value that the source's description does not allow.",
			"puts the item into quarantine and goes on.", "Look at the value with `patra quarantine show`; if the source has a new one, allow it in `mapping.fields` and read the items again.",
		},
		{
			ProblemBadText, "The item holds bytes that are no text.",
			"puts it into quarantine and goes on.", "Nothing; the source has to mend it.",
		},
		{
			ProblemTooLong, "An id or a number of values is beyond all measure.",
			"puts the item into quarantine and goes on.", "Nothing; the source has to mend it.",
		},
		{
			ProblemTooLarge, "The item is larger than the database takes.",
			"puts it into quarantine and goes on.", "Raise max_allowed_packet of the server, start patra again and refresh the record.",
		},
		{
			ProblemNoDetails, "The search named an id for which the source has no details.",
			"goes on without it, and asks for it again after a week.", "Nothing; the source has to mend it.",
		},
	}},
}
