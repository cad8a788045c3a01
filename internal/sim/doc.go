// Package sim is the oracle: simulated upstreams that know the ground truth.
//
// A [Sim] is an http.Handler that serves PubMed's E-utilities under /pubmed/,
// Crossref's REST works under /crossref/ and, when asked for, Europe PMC's search
// under /europepmc/, where many records are those of the other two, the other sources
// that packs are shipped for, each under its code, and a made-up source
// under /generic/ that speaks every paging style, stop rule and reply shape, asks
// for credentials of every kind and serves OAI-PMH: its parameters are the fields
// of [GenericStyle], its credentials those of [GenericAuth]. Each upstream holds a
// population of records which is born, changes, arrives late, is retracted and
// disappears as the clock moves, so what a harvester stored can be compared,
// byte for byte, with what it should have stored ([Sim.Truth]).
//
// What it promises:
//
//   - Same seed and same calls, same bytes. A record's content is a pure function
//     of (seed, source, index, version); faults and limits never touch it.
//   - The clock is frozen between [Sim.Advance] calls and every answer's Date
//     header follows it. Rate limits, cursor lifetimes and delays run on real
//     time, without goroutines, and so work inside a testing/synctest bubble.
//   - A version that is not visible yet is nowhere: not in a search, not in a
//     fetch, not in the truth. A version that supersedes another takes the record
//     away from the old date.
//   - Limits are strict sliding windows. What arrives above them is answered 429
//     and counted as a breach; nothing is forgiven.
//   - Every fault can be served by rate ([Faults]) or one by one ([Script]). With
//     the presets a patient client always gets through: see [ParseFaults].
//
// What it does not do: it imports nothing of the rest of the project, so that it
// cannot share a mistake with what it judges. Its facts about the real services
// are those of the project's source notes; free-text search is plain substring
// matching and stands in for relevance only.
package sim
