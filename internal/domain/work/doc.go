// Package work says which records are of one work.
//
// A record is what one source has of a text under the id it gave it. A work is the
// records of one text in one state of publication: the article, the preprint, the
// dataset. A family is works that are related and yet not the same: a preprint and its
// article, versions, a notice and what it corrects. Identity joins records into works,
// relations never do.
//
// What the records say gives edges, each with the rule that made it and its evidence.
// Works are a pure function of the edges and of what people decided: neither the order
// in which records came nor that of earlier runs matters. Nothing here reads a clock or
// a store.
package work

// RulesVersion is the version of the rules below. Edges carry it; where it has changed
// all records are looked at again.
const RulesVersion = 4
