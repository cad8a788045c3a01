// Package sqlstore remembers everything: plans, slices, tasks, runs and
// batches, cursors and their events, records with every accepted version,
// quarantine, bad ids, the outbox, the state of the rate gate and the breakers of
// partitions. One Store serves SQLite and MySQL (8 or later, MariaDB and TiDB); what
// differs between them is in dialect.go and in the migrations.
//
// It promises:
//
//   - Every exported method is one transaction, or one read.
//   - Every write made for a task names its lease. The first statement is a
//     guard on the lease's fence; once the fence has moved, the method changes
//     nothing and returns [harvest.ErrLeaseLost]. A cancelled task or a paused
//     or stopped source gives [harvest.ErrHeld], likewise without a change.
//   - Committed means synced: SQLite runs in WAL mode with FULL sync, MySQL
//     must flush its log at every commit; both are checked when opening.
//   - Time is the store's: the server's clock on MySQL, the process's on
//     SQLite, read once per transaction and never going back.
//   - Keys, ids, tokens and hashes compare as bytes.
//
// The life of a task in the store:
//
//	QUEUED --Lease--> DISPATCHED --StartRun--> EXECUTING --CommitBatch(finish)--> SUCCEEDED
//	   ^                  |                        |------Reslice---------------> PARTIAL
//	   |                  | lease expired          |------EndRun(refused)-------> FAILED (slice: a gap)
//	   +------------------+------------------------+------EndRun(released, spent)
//
// A crash between any two methods leaves the task DISPATCHED or EXECUTING with
// a lease that runs out; the next Lease takes it over under a greater fence,
// and StartRun tells where the last committed page ended.
package sqlstore
