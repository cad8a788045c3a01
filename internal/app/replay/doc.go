// Package replay explains a page long after it was fetched. Its black box is all that is
// kept of the page: what was asked, what came, what was done with it. To replay it is to
// make the request again from what its plan has frozen, to map the items again that were
// kept, and to compare; with a probe the request is sent, too.
//
// It promises that nothing is stored and no cursor moves, whatever comes out: only a
// report is made. A probe passes the rate gate like every request. Requests are made and
// items mapped by the code that an executor uses, never by a copy of it.
//
// Where black boxes are kept, and what a person may do with them, is left to others.
package replay
