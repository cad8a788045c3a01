// Package gate lets requests out at the pace a source allows.
//
// A permit is a slot, the instant at which its request may go out, and a seat, the right
// to have one request in flight. The gate promises that all processes over one
// [StateStore] together keep to the rate and to the number of requests in flight:
//
//   - Every permit is taken in the store, under its lock and by its clock. One such
//     update of a key's state is a visit. It takes permits, too, for some of the callers of
//     this process that wait behind the one that visits, so that a slow store does not
//     make for fewer requests.
//
//   - A permit is used when its slot has come or, if this process or the store was too
//     slow for that, not at all. It is looked at once more shortly before, so that a 429
//     seen by anyone stops everyone. After that the store is not asked, so a store that
//     stands still delays the next permits and not those that were handed out (R86).
//
//   - Seats are renewed while their requests last; those of a process that died run out.
//
//   - Quotas are used up when a permit is taken, and given back only if no connection
//     was made (R38).
//
//   - Restarting the gate gives nothing for free, since nothing but convenience is kept
//     in it.
//
//   - A store that cannot be reached means no permit, unless the gate is told how many
//     processes there are and the provider allows more than the store hands out: then
//     each process sends its share of what is left over, by a state of its own, the
//     fallback (R40).
//
//     Acquire --> reserve (a visit: slot and seat) --> await the slot --> one last look --> send
//     ^                                       |                 |
//     '---------- void, or too late <---------+-----------------'
//
// What the numbers mean is the business of package pace; what a reply means,
// that of upstream.
package gate
