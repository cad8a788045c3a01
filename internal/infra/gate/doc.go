// Package gate lets requests out at the pace a source allows.
//
// It promises that all processes over one [StateStore] together keep to the
// rate: every permit is a slot of its own, taken in the store under its lock and
// by its clock, and a slot is looked at again after the wait, so that a 429 seen
// by anyone stops everyone. Restarting the gate gives nothing for free, since
// nothing but convenience is kept in it. Quotas are used up when a permit is
// taken and given back only if no connection was made (R38). A store that cannot
// be reached means no permit, unless it is told how many processes there are and
// the provider allows more than the store hands out; then each has its share of
// the rest (R40).
//
// What the numbers mean is the business of package pace; what a reply means,
// that of upstream. The bound on requests in flight holds per process only.
package gate
