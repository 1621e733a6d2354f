package document

import (
	"errors"
	"fmt"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// maxDepth is the maximum nesting of collections. A document needs six levels. The parser
// recurses, so the limit is checked on the tokens, before it runs.
const maxDepth = 16

// parseYAML reads one YAML document; it returns nil if that is empty. A panic of the YAML
// library becomes an error.
func parseYAML(text string) (root *node, err error) {
	defer func() {
		if p := recover(); p != nil {
			root, err = nil, fmt.Errorf("the YAML cannot be read: %v", p)
		}
	}()
	tokens := lexer.Tokenize(text)
	if err := checkTokens(tokens); err != nil {
		return nil, err
	}
	file, err := parser.Parse(tokens, 0)
	if err != nil {
		return nil, syntaxError(err)
	}
	for _, doc := range file.Docs {
		if doc.Body == nil {
			continue
		}
		if root != nil {
			return nil, at(doc.Body.GetToken(), "only one document in a file is possible, remove the --- line")
		}
		if root, err = fromAST(doc.Body); err != nil {
			return nil, err
		}
	}
	return root, nil
}

// checkTokens refuses unsupported syntax, deep nesting, and objects with too many fields.
func checkTokens(tokens token.Tokens) error {
	size := shape{fields: map[int]int{}}
	for _, t := range tokens {
		if what := unsupported[t.Type]; what != "" {
			return at(t, "%s are not supported; quote the text if it is none", what)
		}
		size.add(t)
		if size.isTooDeep(t) {
			return at(t, "the document nests deeper than %d levels", maxDepth)
		}
		if size.most > maxFields {
			return at(t, "an object has more than %d fields", maxFields)
		}
	}
	return nil
}

var unsupported = map[token.Type]string{
	token.AnchorType:     "anchors, aliases and merge keys (& * <<)",
	token.AliasType:      "anchors, aliases and merge keys (& * <<)",
	token.MergeKeyType:   "anchors, aliases and merge keys (& * <<)",
	token.TagType:        "tags (!)",
	token.DirectiveType:  "directives (%)",
	token.MappingKeyType: "explicit keys (?)",
}

// maxFields is the maximum number of fields of an object: the parser's work grows with the
// square of their number. A farm has fewer than seventy.
const maxFields = 100

// shape measures a document while its tokens pass.
type shape struct {
	flow   int               // open brackets and braces
	inFlow [maxDepth + 1]int // fields of the innermost one of each
	fields map[int]int       // of block objects, by the column of their keys
	most   int               // of one object so far
	line   int
	nested int // list entries and keys on this line outside brackets
}

func (s *shape) add(t *token.Token) {
	if t.Position.Line != s.line {
		s.line, s.nested = t.Position.Line, 0
	}
	switch t.Type {
	case token.SequenceStartType, token.MappingStartType:
		if s.flow++; s.flow <= maxDepth {
			s.inFlow[s.flow] = 0
		}
	case token.SequenceEndType, token.MappingEndType:
		s.flow = max(0, s.flow-1)
	case token.SequenceEntryType:
		s.nested++
		for column := range s.fields { // a new entry has new objects
			if column > t.Position.Column {
				delete(s.fields, column)
			}
		}
	case token.MappingValueType:
		s.addField(t)
	}
}

func (s *shape) addField(colon *token.Token) {
	if s.flow > 0 {
		s.inFlow[min(s.flow, maxDepth)]++
		s.most = max(s.most, s.inFlow[min(s.flow, maxDepth)])
		return
	}
	s.nested++
	column := colon.Position.Column
	if colon.Prev != nil {
		column = colon.Prev.Position.Column
	}
	s.fields[column]++
	s.most = max(s.most, s.fields[column])
}

func (s *shape) isTooDeep(t *token.Token) bool {
	indented := s.flow == 0 && s.nested == 1 && t.Position.IndentNum > 8*maxDepth
	return s.flow > maxDepth || s.nested > maxDepth || indented
}

// fromAST converts the library's tree.
func fromAST(n ast.Node) (*node, error) {
	out := &node{}
	if t := n.GetToken(); t != nil && t.Position != nil {
		out.line, out.column = t.Position.Line, t.Position.Column
	}
	switch v := n.(type) {
	case *ast.NullNode:
		return out, nil
	case *ast.MappingNode:
		out.kind = mapping
		return out, addEntries(out, v.Values)
	case *ast.MappingValueNode:
		out.kind = mapping
		return out, addEntries(out, []*ast.MappingValueNode{v})
	case *ast.SequenceNode:
		out.kind = list
		for _, item := range v.Values {
			child, err := fromAST(item)
			if err != nil {
				return nil, err
			}
			out.items = append(out.items, child)
		}
		return out, nil
	case *ast.StringNode:
		out.kind, out.text = scalar, v.Value
		return out, nil
	case *ast.LiteralNode:
		out.kind, out.text = scalar, v.Value.Value
		return out, nil
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.InfinityNode, *ast.NanNode:
		out.kind, out.text = scalar, n.GetToken().Value
		return out, nil
	}
	return nil, at(n.GetToken(), "%s is not supported here", n.Type())
}

func addEntries(out *node, values []*ast.MappingValueNode) error {
	for i, v := range values {
		key, err := fromAST(v.Key)
		if err != nil {
			return err
		}
		value, err := fromAST(v.Value)
		if err != nil {
			return err
		}
		if i == 0 {
			out.line, out.column = key.line, key.column
		}
		out.entries = append(out.entries, entry{key: key.text, at: key, value: value})
	}
	return nil
}

func at(t *token.Token, format string, args ...any) error {
	e := &Error{Err: fmt.Errorf(format, args...)}
	if t != nil && t.Position != nil {
		e.Line, e.Column = t.Position.Line, t.Position.Column
	}
	return e
}

// syntaxError keeps the position of a library error and drops its source excerpt.
func syntaxError(err error) error {
	var known yaml.Error
	if errors.As(err, &known) {
		return at(known.GetToken(), "the YAML cannot be read: %s", known.GetMessage())
	}
	return fmt.Errorf("the YAML cannot be read: %w", err)
}
