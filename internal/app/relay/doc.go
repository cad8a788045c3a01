// Package relay tells other programs of every revision of a record: it takes what the
// store has written down for that, and hands it to the targets of an instance.
//
//	page commit --> row of the outbox --> place in the stream --> target
//	(same transaction)                (given after the commit)
//
// It promises:
//
//   - At least once: where a target stands is written down after the target has taken
//     what comes before. A crash in between sends some again, never skips any.
//   - In order per record: at most one revision of a record is on its way at a time, and
//     the next follows when it was taken or was parked.
//   - One at a time: a relay works for a target under a lease with a fence. Whoever is
//     paused past his lease sends nothing more that he has not begun to, and writes
//     nothing.
//   - A message that its target refuses is tried ten times with growing rests, and then
//     parked. Only later revisions of its own record wait for it, and only while it is
//     tried: they hold all that it says.
//   - A revision that no event can be made of, since what is stored of it is damaged, is
//     parked at once. It holds up nothing else.
//   - A target that is out rests, for longer each time, and nothing is held against the
//     messages that wait for it.
//
// How messages are sent is left to the targets, where they stand to the store.
package relay
