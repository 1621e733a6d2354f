package main

import (
	"go/ast"
	"go/token"
	"go/types"
	"regexp"
)

// finder walks one file and collects its possible faults.
type finder struct {
	*pkg
	*source
	found []*fault
}

// faults returns every possible fault of the package.
func (p *pkg) faults() []*fault {
	var all []*fault
	for _, s := range p.files {
		f := &finder{pkg: p, source: s}
		ast.PreorderStack(s.tree, nil, f.visit)
		all = append(all, f.found...)
	}
	return all
}

// visit adds the faults of one node and reports whether to descend.
func (f *finder) visit(n ast.Node, stack []ast.Node) bool {
	switch n := n.(type) {
	case *ast.FuncDecl:
		return n.Name.Name != "Error" // message text only
	case *ast.GenDecl:
		return n.Tok != token.IMPORT && !counts(n)
	case *ast.ArrayType:
		return false // lengths are layout, often padding
	case *ast.IfStmt:
		f.branch(n)
	case *ast.ForStmt:
		if n.Cond != nil {
			f.negate(n.Cond)
		}
	case *ast.BinaryExpr:
		f.operator(n)
	case *ast.BasicLit:
		f.literal(n, stack)
	case *ast.Ident:
		f.truth(n, stack)
	case *ast.CallExpr:
		if f.words(n) || f.builtin(n, "make", "panic") {
			return false
		}
		f.swap(n)
	case *ast.ExprStmt:
		if c, is := n.X.(*ast.CallExpr); is && !f.words(c) && !f.builtin(c, "panic") {
			f.leaveOut(n, classOf(c))
		}
	case *ast.DeferStmt:
		f.leaveOut(n, deferred)
	case *ast.AssignStmt:
		if n.Tok != token.DEFINE && !blank(n.Lhs) && !inHead(n, stack) {
			f.leaveOut(n, assignment)
		}
	case *ast.IncDecStmt:
		if !inHead(n, stack) {
			f.leaveOut(n, assignment)
		}
	}
	return true
}

// add records a fault that replaces the code between from and to by text.
func (f *finder) add(class string, from, to token.Pos, text, seen string) {
	file := f.fset.File(from)
	f.found = append(f.found, &fault{
		source: f.source, pkg: f.pkg, class: class, line: file.Line(from),
		from: file.Offset(from), to: file.Offset(to), text: text, seen: seen,
	})
}

func (f *finder) code(n ast.Node) string {
	file := f.fset.File(n.Pos())
	return string(f.text[file.Offset(n.Pos()):file.Offset(n.End())])
}

func (f *finder) leaveOut(n ast.Node, class string) {
	f.add(class, n.Pos(), n.End(), "_ = func() { "+f.code(n)+" }", "(left out) ")
}

// negate negates a condition, except a comparison whose operator is mutated instead.
func (f *finder) negate(cond ast.Expr) {
	if b, is := cond.(*ast.BinaryExpr); is && operators[b.Op].class == condition && b.Op != token.LAND && b.Op != token.LOR {
		return
	}
	f.add(condition, cond.Pos(), cond.End(), "!("+f.code(cond)+")", "")
}

// branch negates the condition of an if. If its body leaves the function or loop, another
// fault disables it.
func (f *finder) branch(n *ast.IfStmt) {
	if n.Else == nil && f.onlyWords(n.Body) {
		return
	}
	f.negate(n.Cond)
	if n.Else == nil && leaves(n.Body) {
		f.add(check, n.Cond.Pos(), n.Cond.End(), "false && ("+f.code(n.Cond)+")", "")
	}
}

func leaves(b *ast.BlockStmt) bool {
	if len(b.List) == 0 {
		return false
	}
	switch b.List[len(b.List)-1].(type) {
	case *ast.ReturnStmt, *ast.BranchStmt:
		return true
	}
	return false
}

var operators = map[token.Token]struct{ class, becomes string }{
	token.LAND: {condition, "||"}, token.LOR: {condition, "&&"},
	token.EQL: {condition, "!="}, token.NEQ: {condition, "=="},
	token.LSS: {bound, "<="}, token.LEQ: {bound, "<"},
	token.GTR: {bound, ">="}, token.GEQ: {bound, ">"},
}

func (f *finder) operator(n *ast.BinaryExpr) {
	if o, is := operators[n.Op]; is {
		f.add(o.class, n.OpPos, n.OpPos+token.Pos(len(n.Op.String())), o.becomes, "")
	}
}

// swap exchanges adjacent arguments of the same type.
func (f *finder) swap(n *ast.CallExpr) {
	if n.Ellipsis.IsValid() || f.builtin(n, "min", "max", "append", "complex") || commutes.MatchString(called(n)) {
		return
	}
	for i := 0; i+1 < len(n.Args); i++ {
		a, b := n.Args[i], n.Args[i+1]
		if f.code(a) == f.code(b) || !types.Identical(f.info.TypeOf(a), f.info.TypeOf(b)) {
			continue
		}
		between := string(f.text[f.fset.File(a.End()).Offset(a.End()):f.fset.File(b.Pos()).Offset(b.Pos())])
		f.add(argument, a.Pos(), b.End(), f.code(b)+between+f.code(a), "")
	}
}

var (
	commutes = regexp.MustCompile(`^(Equal|EqualFold|ConstantTimeCompare)$`)
	gives    = regexp.MustCompile(`(?i)^(close|f?(data)?sync|flush|r?unlock|put|release|give|free|done|cancel|recycle|return|stop)`)
)

func classOf(c *ast.CallExpr) string {
	if gives.MatchString(called(c)) {
		return giveBack
	}
	return call
}

// called returns the name of the called function, without its qualifier.
func called(c *ast.CallExpr) string {
	switch fun := ast.Unparen(c.Fun).(type) {
	case *ast.Ident:
		return fun.Name
	case *ast.SelectorExpr:
		return fun.Sel.Name
	}
	return ""
}

func blank(left []ast.Expr) bool {
	for _, e := range left {
		if id, is := e.(*ast.Ident); !is || id.Name != "_" {
			return false
		}
	}
	return true
}

// inHead reports whether a statement is the post statement of a loop or the communication
// of a select case. Without its post statement a loop would run forever.
func inHead(n ast.Node, stack []ast.Node) bool {
	switch parent := stack[len(stack)-1].(type) {
	case *ast.ForStmt:
		return parent.Post == n
	case *ast.CommClause:
		return parent.Comm == n
	}
	return false
}
