package source

// Kept is the address of a plan that asks nobody: its questions are answered with
// items of the source that are in quarantine.
const Kept = "quarantine:"

// keptIDs is how many items in quarantine are read for one page.
const keptIDs = 100

// FromKept is the description by which items in quarantine are read again: as they
// came, one by one, by the endpoint whose replies hold records. What is not in
// quarantine any more says nothing about the source.
func (s *Spec) FromKept() *Spec {
	k := *s
	items := *s.Items()
	items.Name = "quarantine"
	items.IDPattern = ""
	items.Response.Complete = false
	k.Detail = &items
	k.Lookup = nil
	k.Count = nil
	k.Batching = Batching{IDs: keptIDs}
	return &k
}
