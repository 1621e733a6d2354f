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

// maxDepth bounds how deep collections nest. A document needs six levels; the
// parser recurses, so the bound is checked on the tokens, before it runs.
const maxDepth = 16

// parseYAML reads one YAML document; nil when it holds nothing. A panic of the
// YAML library is a broken document to us, not the end of the process.
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

// checkTokens refuses the syntax we have no use for and what nests too deep.
func checkTokens(tokens token.Tokens) error {
	flow, line, onLine := 0, 0, 0
	for _, t := range tokens {
		if t.Position.Line != line {
			line, onLine = t.Position.Line, 0
		}
		switch t.Type {
		case token.AnchorType, token.AliasType, token.MergeKeyType:
			return at(t, "anchors, aliases and merge keys (& * <<) are not supported, write the values out; quote the text if it is none")
		case token.TagType:
			return at(t, "tags (!) are not supported; quote the text if it is none")
		case token.DirectiveType:
			return at(t, "directives (%%) are not supported; quote the text if it is none")
		case token.MappingKeyType:
			return at(t, "explicit keys (?) are not supported; quote the text if it is none")
		case token.SequenceStartType, token.MappingStartType:
			flow++
		case token.SequenceEndType, token.MappingEndType:
			flow--
		case token.SequenceEntryType, token.MappingValueType:
			if flow == 0 {
				onLine++
			}
		}
		if flow > maxDepth || onLine > maxDepth || (onLine == 1 && flow == 0 && t.Position.IndentNum > 8*maxDepth) {
			return at(t, "the document nests deeper than %d levels", maxDepth)
		}
	}
	return nil
}

// fromAST turns the library's tree into ours.
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

// syntaxError keeps the place of a library error and drops its source excerpt.
func syntaxError(err error) error {
	var known yaml.Error
	if errors.As(err, &known) {
		return at(known.GetToken(), "the YAML cannot be read: %s", known.GetMessage())
	}
	return fmt.Errorf("the YAML cannot be read: %w", err)
}
