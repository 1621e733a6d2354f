package document

// node is one value of a document with its position, whatever syntax it came in.
type node struct {
	kind         nodeKind
	line, column int
	text         string  // of a scalar
	entries      []entry // of a mapping, in document order
	items        []*node // of a list
}

type entry struct {
	key   string
	at    *node // the key itself
	value *node
}

type nodeKind uint8

const (
	null nodeKind = iota
	scalar
	mapping
	list
)

// raw returns the value as mgmt/validate takes it: a text or a list of texts.
// Numbers and truth values stay text: the rule of the field says how to read
// it. What nests deeper is no value and comes out empty.
func (n *node) raw() any {
	switch n.kind {
	case scalar:
		return n.text
	case mapping:
		return map[string]any{}
	case list:
		items := make([]any, len(n.items))
		for i, item := range n.items {
			items[i] = []any{} // no value is a list of lists
			if item.kind != list {
				items[i] = item.raw()
			}
		}
		return items
	}
	return nil
}

// down moves the positions of a node and all below it by some lines.
func (n *node) down(lines int) {
	if n == nil || lines == 0 {
		return
	}
	if n.line > 0 {
		n.line += lines
	}
	for i := range n.entries {
		n.entries[i].at.down(lines)
		n.entries[i].value.down(lines)
	}
	for _, item := range n.items {
		item.down(lines)
	}
}

func (k nodeKind) String() string {
	return [...]string{"null", "a single value", "an object", "a list"}[k]
}
