package sim

// Meaning says in a sentence what a fault does.
func (f Fault) Meaning() string { return meanings[f] }

var meanings = map[Fault]string{
	HTTP500:           "An error page with status 500.",
	HTTP502HTML:       "Status 502 with a page in HTML, as proxies send.",
	HTTP503:           "Status 503 with Retry-After in seconds.",
	HTTP503Date:       "Status 503 with Retry-After as a date by the simulator's clock.",
	HTTP504HTML:       "Status 504 with a page in HTML.",
	HTTP429:           "Status 429, although the limit was kept.",
	HTTP429RetryAfter: "Status 429 with Retry-After.",
	ResetBeforeHeader: "The connection is reset before anything of an answer came.",
	ResetMidBody:      "The connection is reset in the middle of the body.",
	TruncatedBody:     "The connection ends before the body does.",
	ServedLost:        "The request takes effect, and its answer never comes.",
	Slow:              "The answer comes half a second late.",
	HTML200:           "Status 200 with a page in HTML in place of data.",
	Empty200:          "Status 200 with an empty body.",
	Error200:          "Status 200 with the source's own error in the body.",
	Viewer400:         "A 400 of PubMed's EFetch that is over by itself.",
	InvalidUTF8:       "An item holds bytes that are no text.",
	BadJSON:           "The body, JSON or XML, stops in the middle of a proper answer.",
	ShortPage:         "A page has fewer items than it should; the rest comes with the next.",
	EmptyMiddlePage:   "A page in the middle has no items.",
	RepeatedPage:      "A page comes a second time in place of the next.",
	CursorExpired:     "The token of the next page is refused.",
	WebEnvLost:        "PubMed has forgotten the session of a search.",
	DetailMissing:     "An answer to a list of ids leaves one out.",
	DetailExtra:       "An answer to a list of ids has one that nobody asked for.",
	DetailBadItem:     "An item of an answer to a list of ids cannot be read.",
	TotalWrong:        "The total that a page announces is wrong.",
	Errorlist:         "PubMed dropped a part of the query, and says so beside its hits.",
	RetryAfterOn200:   "A proper answer asks for a pause before the next request.",
	TokenDropped:      "A page comes without the token or link of the next one.",
	TokenDroppedShort: "The same, of a page that lacks items too.",
	TotalDropped:      "A page comes without its total.",
}
