// Package gate lets requests out at the pace a source allows.
//
// It promises that all processes over one [StateStore] together keep to the
// rate and to the number of requests in flight: every permit is a slot of its own
// and a seat, taken in the store under its lock and by its clock. A permit is used
// when its slot has come or, if this process or the store was too slow for that,
// not at all. It is looked at once more shortly before, so that a 429 seen by
// anyone stops everyone; after that the store is not asked, so one that stands
// still delays the next permits and not those that were handed out (R86). Seats
// are renewed while their requests last, and those of a process that died run
// out. Restarting the gate gives nothing for free, since nothing but convenience
// is kept in it. Quotas are used up when a permit is taken and given back only if
// no connection was made (R38). A store that cannot be reached means no permit,
// unless it is told how many processes there are and the provider allows more than
// the store hands out; then each has its share of the rest (R40).
//
// What the numbers mean is the business of package pace; what a reply means,
// that of upstream.
package gate
