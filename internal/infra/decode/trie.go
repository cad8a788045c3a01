package decode

// node is a place in a reply that some path goes through or ends at. Tries are
// built by Compile and read-only from then on.
type node struct {
	names []named // by key or element name
	index map[string]int
	sizes uint64 // lengths of names, one bit each
	any   []edge // names, whatever they are
	elems []edge // JSON array elements
	ends  []end  // what ends here
	attrs []attrEnd
	npos  int  // XML: counters needed for positions among the children
	leaf  bool // nothing but plain ends; set when the trie is complete
	done  bool // leaf is set
}

type named struct {
	name  string
	edges []edge
}

type edge struct {
	step step
	to   *node
}

// end says that the value at a node is wanted.
type end struct {
	slot  int32
	level level
	// under is the trie of paths relative to this value, for items, repeated
	// elements and labelled texts.
	under *node
	outer bool // XML: the whole element, not what is in it
	// JSON: what the value may be.
	notArray   bool
	objectOnly bool
}

type attrEnd struct {
	step step
	end  end
}

// level says to which list of matches a slot belongs.
type level uint8

const (
	ofReply level = iota
	ofItem        // inside an item
	isItem        // the item itself
)

// seal marks the leaves of a finished trie.
func (n *node) seal() {
	if n.done {
		return
	}
	n.done = true
	n.leaf = n.names == nil && n.any == nil && n.elems == nil && n.attrs == nil
	for _, e := range n.ends {
		if e.under != nil || e.level == isItem || e.notArray || e.objectOnly {
			n.leaf = false
		}
		if e.under != nil {
			e.under.seal()
		}
	}
	for _, list := range n.names {
		sealAll(list.edges)
	}
	sealAll(n.any)
	sealAll(n.elems)
}

func sealAll(edges []edge) {
	for i := range edges {
		edges[i].to.seal()
	}
}

// linear is the number of names up to which comparing beats hashing.
const linear = 6

// find returns the edges for a name.
func (n *node) find(name []byte) []edge {
	if n.sizes>>(len(name)&63)&1 == 0 {
		return nil
	}
	if n.index != nil {
		if i, ok := n.index[string(name)]; ok {
			return n.names[i].edges
		}
		return nil
	}
	for i := range n.names {
		if n.names[i].name == string(name) {
			return n.names[i].edges
		}
	}
	return nil
}

// add puts a path into the trie.
func (n *node) add(steps []step, e end) {
	for i := range steps {
		if steps[i].kind == stepAttr {
			n.attrs = append(n.attrs, attrEnd{steps[i], e})
			return
		}
		n = n.child(steps[i])
	}
	n.ends = append(n.ends, e)
}

func (n *node) child(s step) *node {
	list := n.list(s)
	for i := range *list {
		if (*list)[i].step.equal(s) {
			return (*list)[i].to
		}
	}
	to := new(node)
	// Tests are copied: the number of the counter belongs to this node.
	tests := make([]test, len(s.tests))
	for i, t := range s.tests {
		if t.kind == testPos {
			t.cnt = n.npos
			n.npos++
		}
		tests[i] = t
	}
	s.tests = tests
	*list = append(*list, edge{s, to})
	if s.numeric {
		// The same place by position; its name keeps it apart from [0].
		n.elems = append(n.elems, edge{step{kind: stepIndex, name: s.name, index: s.index, numeric: true}, to})
	}
	return to
}

func (n *node) list(s step) *[]edge {
	switch {
	case s.kind != stepName:
		return &n.elems
	case s.name == "":
		return &n.any
	}
	for i := range n.names {
		if n.names[i].name == s.name {
			return &n.names[i].edges
		}
	}
	n.names = append(n.names, named{name: s.name})
	n.sizes |= 1 << (len(s.name) & 63)
	if len(n.names) > linear {
		if n.index == nil {
			n.index = make(map[string]int)
			for i := range n.names {
				n.index[n.names[i].name] = i
			}
		}
		n.index[s.name] = len(n.names) - 1
	}
	return &n.names[len(n.names)-1].edges
}
