package decode

import (
	"cmp"
	"slices"
)

// node is a place in a reply that some path goes through or ends at. Tries are
// built by Compile and read-only from then on.
type node struct {
	names []named // by key or element name, once sealed the short ones first
	// sized says where in names those of each length begin, once sealed: mostly there is one,
	// so that comparing beats hashing.
	sized []int
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

// seal marks the leaves of a finished trie, and puts its names in order.
func (n *node) seal() {
	if n.done {
		return
	}
	n.done = true
	n.sortNames()
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

// sortNames puts names in the order in which find looks for them.
func (n *node) sortNames() {
	slices.SortStableFunc(n.names, func(a, b named) int { return cmp.Compare(len(a.name), len(b.name)) })
	for i := range n.names {
		for len(n.sized) <= len(n.names[i].name) {
			n.sized = append(n.sized, i)
		}
	}
	n.sized = append(n.sized, len(n.names))
}

// find returns the edges for a name.
func (n *node) find(name []byte) []edge {
	size := len(name)
	if size+1 >= len(n.sized) {
		return nil
	}
	for i := n.sized[size]; i < n.sized[size+1]; i++ {
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
	return &n.names[len(n.names)-1].edges
}
