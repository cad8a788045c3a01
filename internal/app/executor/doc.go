// Package executor turns leased tasks into committed pages.
//
// A worker leases a task, learns from the store where the last committed page
// of its walk ended, and goes on from there: ask the upstream for a page, work
// out what it means for the walk, commit it under the lease, until a page
// proves the slice complete. Beside the work the lease is renewed; when that is
// refused, the request in flight is cancelled and nothing more is written.
//
//	lease -> start run -> open page -> ask -> step -> commit -+-> slice done
//	                          ^                               |
//	                          +---------- next page <---------+
//
// The next page is opened in the transaction that commits the one before, and
// asked for as soon as that transaction needs nothing but its commit. So the
// request travels while the commit is made durable, a page is never asked for
// under a lease that is already lost, and a crash costs one page. Where a source says so
// several pages of details are asked for side by side; they are committed in their order
// all the same, and a crash costs as many pages as were asked for and not stored.
//
// A walk by page numbers is not believed until a second one saw the same: its end
// is committed, the slice is begun again, and the two are compared (R25). If an
// upstream refuses a request for details of many ids, they are asked for in halves
// until the guilty ids stand alone; those go to the list of bad ids with the page, the
// others are kept (R27).
//
// The task of an UPDATE has no walk: its ids were frozen with its plan, and only
// their details are asked for. An id that is not there, or is answered with
// another record, is an answer too; what it means for the stored record is decided
// with the page's commit (R31).
//
// What a fault asks for (retry, a new walk, smaller slices, giving up) is
// decided by the domain's rules; the executor only carries it out. It knows
// neither the registry nor the database: a plan's snapshot is all it sees.
package executor
