package console

// dataPages are those about what was harvested, and how far.
func (c *Console) dataPages() []page {
	return []page{}
}
