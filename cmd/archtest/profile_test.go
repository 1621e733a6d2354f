package archtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
)

// ofProfiles is code of one profile: what a profile says of its farms stands
// there, and everybody else asks it. Files called http…, l4…, dns… and …profile.go are
// that, too, in the folders of manners.
var (
	ofProfiles = []string{"core/farm", "l7", "l4", "dns", "bench"}
	manners    = []string{"mgmt/api", "mgmt/document", "mgmt/validate"}
)

// reaching are the other files that may know a profile, each with why.
var reaching = map[string]string{
	"sysnet/host/need.go":     "what the machine needs is asked for farms the packet filter carries, which are l4xnat farms",
	"core/snapshot/packed.go": "records of zones travel in packed runs, and only gslb farms have zones",
	"mgmt/acme/responder.go":  "the farm that answers authorities for a while is made here, and is an http farm",
}

func mayKnowProfiles(path string) bool {
	dir, name := filepath.Split(path)
	dir = strings.TrimSuffix(dir, "/")
	own := strings.HasSuffix(name, "profile.go") || strings.HasPrefix(name, "http") || strings.HasPrefix(name, "l4") || strings.HasPrefix(name, "dns")
	return within(dir, ofProfiles) || own && within(dir, manners) || reaching[path] != ""
}

// Another profile is made by descriptors alone if nobody beside them asks which
// one a farm has.
func TestNobodySwitchesOnTheProfile(t *testing.T) {
	seen, unused := 0, map[string]bool{}
	for path := range reaching {
		unused[path] = true
	}
	const root = "../.."
	err := filepath.WalkDir(root, func(file string, e fs.DirEntry, err error) error {
		path, _ := filepath.Rel(root, file)
		switch {
		case err != nil:
			return err
		case e.IsDir() && (path == "bin" || strings.HasPrefix(e.Name(), ".") && path != "."):
			return filepath.SkipDir
		case e.IsDir(), filepath.Ext(path) != ".go", strings.HasSuffix(path, "_test.go"), within(filepath.Dir(path), ofProfiles):
			return nil
		}
		files := token.NewFileSet()
		parsed, err := parser.ParseFile(files, file, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		seen++
		for at, what := range profileSwitches(parsed) {
			delete(unused, path)
			if !mayKnowProfiles(path) {
				t.Errorf("%s:%d %s\n\trule: let the descriptors of profiles say it (core/farm, mgmt/validate, mgmt/document, mgmt/api)", path, files.Position(at).Line, what)
			}
		}
		return nil
	})
	if err != nil || seen < 100 || len(settings) < len(farm.Profiles()) {
		t.Fatalf("%d files looked at: %v", seen, err)
	}
	for path := range unused {
		t.Errorf("%s knows no profile any more: take it out of the list", path)
	}
}

// settings are the members of a farm that one profile alone has.
var settings = func() (names []string) {
	for _, member := range reflect.VisibleFields(reflect.TypeFor[farm.Farm]()) {
		if member.Type.Kind() == reflect.Pointer {
			names = append(names, member.Name)
		}
	}
	return names
}()

// isProfile reports whether a name of core/farm is that of a profile. https is a
// word, no farm has it.
func isProfile(name string) bool {
	of, is := strings.CutPrefix(name, "Profile")
	return is && of != "" && of != "s" && of != "HTTPS"
}

// profileSwitches finds where code depends on what the profile of a farm is.
func profileSwitches(f *ast.File) map[token.Pos]string {
	out := map[token.Pos]string{}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			pkg, plain := n.X.(*ast.Ident)
			switch ofFarm := plain && pkg.Name == "farm"; {
			case slices.Contains(settings, n.Sel.Name) && !ofFarm:
				out[n.Pos()] = "reaches into the settings of one profile (." + n.Sel.Name + ")"
			case isProfile(n.Sel.Name) && ofFarm:
				out[n.Pos()] = "names a profile (farm." + n.Sel.Name + ")"
			}
		case *ast.BinaryExpr:
			if (n.Op == token.EQL || n.Op == token.NEQ) && (asksProfile(n.X) && isWord(n.Y) || asksProfile(n.Y) && isWord(n.X)) {
				out[n.Pos()] = "compares a profile with one of them"
			}
		case *ast.SwitchStmt:
			if n.Tag != nil && asksProfile(n.Tag) {
				out[n.Pos()] = "switches on a profile"
			}
		}
		return true
	})
	return out
}

// asksProfile reports whether an expression is called a profile: a member, a
// variable, an index, or a conversion of one.
func asksProfile(e ast.Expr) bool {
	named := func(s string) bool { return strings.HasSuffix(strings.ToLower(s), "profile") }
	switch e := e.(type) {
	case *ast.SelectorExpr:
		return named(e.Sel.Name)
	case *ast.Ident:
		return named(e.Name)
	case *ast.IndexExpr:
		return isText(e.Index, "profile") || isText(e.Index, "listener")
	case *ast.CallExpr:
		return len(e.Args) == 1 && asksProfile(e.Args[0])
	}
	return false
}

func isWord(e ast.Expr) bool {
	return slices.ContainsFunc(farm.Profiles(), func(p farm.Profile) bool { return isText(e, string(p)) })
}

func isText(e ast.Expr, text string) bool {
	b, is := e.(*ast.BasicLit)
	return is && b.Kind == token.STRING && strings.Trim(b.Value, "\"`") == text
}

// What the rule has to find is what stood here before there was one.
func TestSwitchesOnTheProfileAreFound(t *testing.T) {
	for source, want := range map[string]int{
		`f.HTTP != nil`:                             1,
		`f.L4.StopGrace`:                            1,
		`cfg.Farms[0].HTTP`:                         1,
		`f.Profile == farm.ProfileL4`:               1,
		`v.Profile == "l4xnat"`:                     1,
		`"http" != string(body.Profile)`:            1,
		`p.Params["listener"] == "l4xnat"`:          1,
		`func() { switch f.Profile { default: } }`:  1,
		`func(h *farm.HTTP) *bool { return &h.On }`: 0,
		`f.Carries() == farm.TrafficRequests`:       0,
		`u.Scheme == "http"`:                        0,
		`f.Profile == other.Profile`:                0,
	} {
		parsed, err := parser.ParseFile(token.NewFileSet(), "", "package p; var _ = "+source, 0)
		if err != nil {
			t.Fatal(source, err)
		}
		if got := profileSwitches(parsed); len(got) != want {
			t.Errorf("%s: found %v, want %d", source, got, want)
		}
	}
}
