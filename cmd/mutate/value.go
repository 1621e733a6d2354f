package main

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"
)

// literal changes a number: by one in comparisons, slices and sums, by a large amount
// elsewhere.
func (f *finder) literal(n *ast.BasicLit, stack []ast.Node) {
	if n.Kind != token.INT && n.Kind != token.FLOAT && n.Kind != token.CHAR || f.besideError(n, stack) {
		return
	}
	class, becomes := constant, []string{"(" + n.Value + " * 2)"}
	switch parent := stack[len(stack)-1].(type) {
	case *ast.BinaryExpr:
		switch parent.Op {
		case token.SHL, token.SHR:
			becomes = []string{"(" + n.Value + " + 1)"}
		case token.MUL, token.QUO, token.REM, token.AND, token.OR, token.AND_NOT, token.XOR:
		default:
			class, becomes = bound, around(n)
		}
	case *ast.SliceExpr, *ast.IndexExpr:
		class, becomes = bound, around(n)
	}
	switch {
	case class == bound:
	case n.Value == "0":
		becomes = []string{"1"}
	case n.Kind == token.CHAR:
		becomes = []string{"(" + n.Value + " + 1)"}
	case f.isType(n, "time", "Duration"):
		becomes = []string{"(" + n.Value + " * 10)"}
	case strings.HasPrefix(n.Value, "0o"): // file modes: add rights for group and others
		becomes = []string{"(" + n.Value + " | 0o066)"}
	}
	for _, b := range becomes {
		f.add(class, n.Pos(), n.End(), b, "")
	}
}

// around returns the neighbours of a number, without negative ones.
func around(n *ast.BasicLit) []string {
	if n.Value == "0" {
		return []string{"1"}
	}
	return []string{"(" + n.Value + " + 1)", "(" + n.Value + " - 1)"}
}

// truth inverts true and false.
func (f *finder) truth(n *ast.Ident, stack []ast.Node) {
	if n.Name != "true" && n.Name != "false" || f.info.Uses[n] != types.Universe.Lookup(n.Name) || f.besideError(n, stack) {
		return
	}
	other := map[string]string{"true": "false", "false": "true"}
	f.add(constant, n.Pos(), n.End(), other[n.Name], "")
}

var errorType = types.Universe.Lookup("error").Type().Underlying().(*types.Interface)

// besideError reports whether a value is returned with an error, so that callers ignore
// it.
func (f *finder) besideError(n ast.Expr, stack []ast.Node) bool {
	r, is := stack[len(stack)-1].(*ast.ReturnStmt)
	if !is {
		return false
	}
	last := r.Results[len(r.Results)-1]
	return last != n && types.Implements(f.info.TypeOf(last), errorType)
}

func (f *finder) isType(n ast.Expr, path, name string) bool {
	named, is := f.info.TypeOf(n).(*types.Named)
	return is && named.Obj().Name() == name && named.Obj().Pkg() != nil && named.Obj().Pkg().Path() == path
}

// counts reports whether constants are numbered by iota; other numbers change nothing.
func counts(n *ast.GenDecl) bool {
	found := false
	ast.Inspect(n, func(n ast.Node) bool {
		id, is := n.(*ast.Ident)
		found = found || is && id.Name == "iota"
		return !found
	})
	return found && n.Tok == token.CONST
}

func (f *finder) builtin(c *ast.CallExpr, names ...string) bool {
	id, is := ast.Unparen(c.Fun).(*ast.Ident)
	if !is || !slices.Contains(names, id.Name) {
		return false
	}
	_, is = f.info.Uses[id].(*types.Builtin)
	return is
}

// words reports whether a call only produces text for people: a log line or a formatted
// error. Tests should not have to check such text.
func (f *finder) words(c *ast.CallExpr) bool {
	if sig, is := f.info.TypeOf(c.Fun).(*types.Signature); is && sig.Variadic() && sig.Results().Len() == 1 {
		last, is := sig.Params().At(sig.Params().Len() - 1).Type().(*types.Slice) // excludes append, which may take a string
		if is && types.Identical(last.Elem(), types.Universe.Lookup("any").Type()) && types.Implements(sig.Results().At(0).Type(), errorType) {
			return true
		}
	}
	var id *ast.Ident
	switch fun := ast.Unparen(c.Fun).(type) {
	case *ast.Ident:
		id = fun
	case *ast.SelectorExpr:
		id = fun.Sel
	default:
		return false
	}
	of := f.info.Uses[id]
	if of == nil || of.Pkg() == nil {
		return false
	}
	switch of.Pkg().Path() {
	case "log", "log/slog":
		return true
	case "errors":
		return of.Name() == "New"
	}
	return false
}

// onlyWords reports whether a block contains only calls that produce text.
func (f *finder) onlyWords(b *ast.BlockStmt) bool {
	for _, s := range b.List {
		e, is := s.(*ast.ExprStmt)
		if !is {
			return false
		}
		if c, is := e.X.(*ast.CallExpr); !is || !f.words(c) {
			return false
		}
	}
	return true
}
