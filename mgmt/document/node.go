package document

// node is one value of a document with its position, independent of the syntax.
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

// raw returns the value for mgmt/validate: a text or a list of texts. Numbers and booleans stay
// text, as the rule of the field parses them. Deeper nesting is invalid and comes out empty.
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

// down moves the positions of a node and its descendants by some lines.
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
