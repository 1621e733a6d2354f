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

// ofProfiles lists the folders with code of a single profile. Other code uses the
// descriptors of profiles. In the folders of manners, only files named http…, l4…, dns… and
// …profile.go belong to a profile.
var (
	ofProfiles = []string{"core/farm", "l7", "l4", "dns", "bench",
		"mgmt/validate/httpfarm", "mgmt/validate/l4farm", "mgmt/validate/gslbfarm", "mgmt/validate/validatetest"}
	manners = []string{"mgmt/api", "mgmt/document", "mgmt/validate"}
)

// reaching lists other files that may depend on a profile, with the reason.
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

// Descriptors are all that a new profile needs as long as no other code depends on the
// profile of a farm.
func TestNoCodeSwitchesOnTheProfile(t *testing.T) {
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
				t.Errorf("%s:%d %s\n\trule: use the descriptors of profiles (core/farm, mgmt/validate, mgmt/document, mgmt/api)", path, files.Position(at).Line, what)
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

// settings lists the fields of a farm that belong to one profile.
var settings = func() (names []string) {
	for _, member := range reflect.VisibleFields(reflect.TypeFor[farm.Farm]()) {
		if member.Type.Kind() == reflect.Pointer {
			names = append(names, member.Name)
		}
	}
	return names
}()

// isProfile reports whether a constant of core/farm is a profile. https is only a word of
// the API.
func isProfile(name string) bool {
	of, is := strings.CutPrefix(name, "Profile")
	return is && of != "" && of != "s" && of != "HTTPS"
}

// profileSwitches returns the expressions that depend on the profile of a farm.
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

// asksProfile reports whether an expression has the name of a profile: a field, a variable,
// an index, or a conversion of one.
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

// These expressions existed before the rule.
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
