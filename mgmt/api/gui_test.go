package api_test

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/sluicelb/sluice/mgmt/api"
	"github.com/sluicelb/sluice/mgmt/api/apitest"
	"github.com/sluicelb/sluice/mgmt/rbac"
)

// The GUI needs no listener of its own. Its pages are public on the API's address; the data
// they show needs a credential.
func TestTheGUIIsServedBesideTheAPI(t *testing.T) {
	a := newAppliance(t, func(d *apitest.Parts) { d.Host.GUI = fstest.MapFS{"index.html": {Data: []byte("the page")}} })
	_, address, cert, _ := serve(t, a)
	roots := x509.NewCertPool()
	roots.AddCert(cert.Leaf)
	overTLS := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}}
	for path, want := range map[string]struct {
		key    string
		status int
		says   string
	}{
		"/":                           {"", 302, ""},
		"/gui/":                       {"", 200, "the page"},
		"/gui/farms/shop.example.org": {"", 200, "the page"},
		"/gui/assets/old.js":          {"", 404, "404 page"},
		"/guide":                      {"", 401, "message"},
		api.Base + "/farms":           {"", 401, "message"},
		api.Base + "/system/version":  {a.key, 200, "params"},
	} {
		if status, body := get(t, overTLS, "https://"+address+path, want.key); status != want.status || !strings.Contains(body, want.says) {
			t.Errorf("%s: %d, want %d\n%s", path, status, want.status, body)
		}
	}
	without := newAppliance(t)
	without.send("GET", "/gui/", "", "ZAPI_KEY", without.key).refused(t, 404, "/gui/")
}

// The login page offers the provider if there is one.
func TestTheGUIKnowsWhetherAProviderVouchesForPeople(t *testing.T) {
	pages := func(d *apitest.Parts) { d.Host.GUI = fstest.MapFS{"index.html": {Data: []byte("provider: __OIDC__")}} }
	a, _ := provided(t, pages)
	says := func(want string) {
		t.Helper()
		if r := a.send("GET", "/gui/", ""); r.raw != want {
			t.Errorf("the page is %q, want %q", r.raw, want)
		}
	}
	says("provider: true")
	a.must(200, "POST", "/rbac/oidc", `{"enabled":"false"}`)
	says("provider: false")
}

// The GUI's types are generated from the part of the OpenAPI document that it uses. A copy
// of that part lies beside its sources, so a change of it shows up in this test.
func TestTheGUIIsBuiltFromTheDocumentOfToday(t *testing.T) {
	const folder = "../../web/src/api/"
	used, err := os.ReadFile(folder + "used.txt")
	if err != nil {
		t.Fatal(err)
	}
	a := newAppliance(t)
	var document map[string]any
	if err := json.Unmarshal([]byte(a.must(200, "GET", "/openapi.json", "").raw), &document); err != nil {
		t.Fatal(err)
	}
	sameFile(t, folder+"rights.json", rightsOf(document))
	paths, kept := document["paths"].(map[string]any), map[string]any{}
	for _, path := range strings.Fields(string(used)) {
		if kept[path] = paths[path]; kept[path] == nil {
			t.Errorf("used.txt: there is no %s", path)
		}
	}
	document["paths"], document["info"] = kept, map[string]any{"title": "Sluice", "version": "0"}
	document["components"] = reached(document, kept)
	sameFile(t, folder+"openapi.json", document)
}

// sameFile compares a file of the GUI with the JSON of v, or updates it.
func sameFile(t *testing.T, path string, v any) {
	t.Helper()
	got := &bytes.Buffer{}
	e := json.NewEncoder(got)
	e.SetIndent("", " ")
	if err := e.Encode(v); err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile(path, got.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if want, err := os.ReadFile(path); err != nil || !bytes.Equal(got.Bytes(), want) {
		t.Errorf("%s is another one (%v): run go test ./mgmt/api -run GUI -update, and make build", path, err)
	}
}

// rightsOf extracts the permissions that the GUI needs from the document: the permission of
// each restricted operation, and the permissions valid only for users who see all farms.
func rightsOf(document map[string]any) any {
	operations, whole, partly := map[string]map[string]any{}, map[string]bool{}, map[string]bool{}
	for path, methods := range document["paths"].(map[string]any) {
		for method, o := range methods.(map[string]any) {
			operation := o.(map[string]any)
			needs, _ := operation["x-permission"].(string)
			all, _ := operation["x-all-farms"].(bool)
			whole[needs] = whole[needs] || all
			partly[needs] = partly[needs] || !all
			if !all && (needs == string(rbac.Open) || needs == string(rbac.Public)) {
				continue
			}
			name := strings.ToUpper(method) + " " + path
			operations[name] = map[string]any{"permission": needs}
			if all {
				operations[name]["all_farms"] = true
			}
		}
	}
	maps.DeleteFunc(whole, func(needs string, all bool) bool { return !all || partly[needs] })
	return map[string]any{"operations": operations, "whole": slices.Sorted(maps.Keys(whole))}
}

// reached returns all components that from refers to, transitively.
func reached(document, from map[string]any) map[string]any {
	all, out := document["components"].(map[string]any), map[string]any{}
	var follow func(v any)
	follow = func(v any) {
		switch v := v.(type) {
		case []any:
			for _, e := range v {
				follow(e)
			}
		case map[string]any:
			for k, e := range v {
				if k != "$ref" {
					follow(e)
					continue
				}
				parts := strings.Split(strings.TrimPrefix(e.(string), "#/components/"), "/")
				kind, _ := out[parts[0]].(map[string]any)
				if kind == nil {
					kind = map[string]any{}
					out[parts[0]] = kind
				}
				if _, known := kind[parts[1]]; !known {
					kind[parts[1]] = all[parts[0]].(map[string]any)[parts[1]]
					follow(kind[parts[1]])
				}
			}
		}
	}
	follow(from)
	if schemes, ok := all["securitySchemes"]; ok {
		out["securitySchemes"] = schemes
	}
	return out
}
