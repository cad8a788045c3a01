package control

// Change is a revision of a record in the feed.
type Change struct {
	// No is its place in the feed.
	No int64 `json:"no"`
	// Effect is inserted, updated or remapped.
	Effect string `json:"effect"`
	ExportLine
}

// ChangeList is a part of the feed, in its order.
type ChangeList struct {
	Changes []Change `json:"changes"`
	// Next is what to ask for after these; it stays what was asked for where nothing new is there.
	Next int64 `json:"next"`
	// More: there is more already.
	More bool `json:"more"`
}
