package archtest

import (
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"strings"
	"testing"
)

const module = "github.com/sluicelb/sluice/"

// pkg is a package of this module in the output of `go list -json`. Imports holds the imports
// of the program, TestImports the imports of the tests.
type pkg struct {
	ImportPath   string
	Doc          string
	GoFiles      []string
	Imports      []string
	TestImports  []string
	XTestImports []string
}

func (p *pkg) path() string { return strings.TrimPrefix(p.ImportPath, module) }

// packages lists every package of the module.
func packages(t *testing.T) []pkg {
	t.Helper()
	cmd := exec.Command("go", "list", "-pgo=off", "-e", "-json=ImportPath,Doc,GoFiles,Imports,TestImports,XTestImports", "./...")
	cmd.Dir = "../.."
	out, err := cmd.Output()
	if err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			t.Fatalf("go list: %v: %s", err, exit.Stderr)
		}
		t.Skipf("not shown: the go command is not here: %v", err)
	}
	var all []pkg
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p pkg
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		if within(p.path(), []string{"bin"}) {
			continue // build output, not part of the repository
		}
		all = append(all, p)
	}
	if len(all) < 10 {
		t.Fatalf("only %d packages found: the rules would check too little", len(all))
	}
	return all
}

// within reports whether path is one of the folders or below one. A folder that ends in
// "!" does not include folders below it.
func within(path string, folders []string) bool {
	for _, f := range folders {
		if only, ok := strings.CutSuffix(f, "!"); ok {
			if path == only {
				return true
			}
			continue
		}
		if path == f || strings.HasPrefix(path, f+"/") {
			return true
		}
	}
	return false
}

// rule lists the packages of this module that those in a folder may import. The first
// matching rule applies.
type rule struct {
	folder string
	may    []string
	why    string
}

// ofCommands are the packages that groups of commands share.
var ofCommands = []string{"cmd/cli/client", "cmd/cli/command", "cmd/cli/show", "cmd/cli/terminal", "core", "mgmt"}

var rules = []rule{
	{"core/farm", nil, "farm is the vocabulary: it imports nothing of ours"},
	{"core/ascii", nil, "ascii imports nothing of ours"},
	{"core/shm", nil, "shm imports nothing of ours"},
	{"core/rdata", []string{"core/farm"}, "rdata imports farm only"},
	{"core/explain", nil, "explain imports nothing of ours"},
	{"core/marks", []string{"core/farm", "core/shm"}, "marks imports farm and shm only"},
	{"core/loop", nil, "loop knows no farms and no neighbours"},
	{"core/health", []string{"core/farm", "core/shm"}, "health imports farm and shm only"},
	{"core/stats", []string{"core/farm", "core/shm"}, "stats imports farm and shm only"},
	{"core/regexcost", nil, "regexcost imports nothing of ours"},
	{"core/registry", nil, "registry imports nothing of ours"},
	{"core/list", nil, "list imports nothing of ours"},
	{"core/stacks", nil, "stacks imports nothing of ours"},
	{"core/logpipe", nil, "logpipe imports nothing of ours"},
	{"core/password", nil, "password imports nothing of ours"},
	{"core/ratelimit", nil, "ratelimit imports nothing of ours"},
	{"core/session", []string{"core/farm", "core/shm"}, "session imports farm and shm only"},
	{"core/ports", []string{"core/farm"}, "ports imports farm only"},
	{"core/snapshot", []string{"core/farm", "core/shm"}, "snapshot imports farm and shm only"},
	{"core/tlsconf", []string{"core/farm"}, "tlsconf imports farm only"},
	{"core/balance", []string{"core/farm", "core/shm", "core/health"}, "balance imports health, farm and shm only"},
	{"core", []string{"core"}, "core imports only core"},
	{"l7/client", []string{"core", "l7/dial", "l7/http1", "l7/http2", "l7/rejected", "l7/state", "l7/table"}, "who asks knows neither exchanges nor who answers"},
	{"l7/backend", []string{"core", "l7/dial", "l7/http1", "l7/http2"}, "who answers knows neither exchanges nor who asks"},
	{"l7", []string{"core", "l7"}, "l7 imports only core and itself"},
	{"dns", []string{"core", "dns"}, "dns imports only core and itself"},
	{"l4/kernel!", []string{"core", "l4/kernel/rules", "sysnet/addr", "sysnet/conntrack", "sysnet/ctl", "sysnet/neigh", "sysnet/reset"}, "the Reconciler knows filters and the ICMP relay by its interfaces"},
	{"l4/kernel/rules", []string{"core/farm", "sysnet"}, "the compiler knows nothing of who uses it"},
	{"l4/kernel/carry", []string{"core/farm", "l4/kernel/rules"}, "carry is what filters share"},
	{"l4/kernel/icmprelay", []string{"core/farm", "l4/kernel/rules", "sysnet"}, "the ICMP relay knows rules alone"},
	{"l4/kernel/nftables", []string{"core/farm", "l4/kernel/carry", "l4/kernel/rules", "sysnet"}, "filters know neither the Reconciler nor each other"},
	{"l4/kernel/iptables", []string{"core/farm", "l4/kernel/carry", "l4/kernel/rules", "sysnet"}, "filters know neither the Reconciler nor each other"},
	{"l4/kernel", []string{"core", "sysnet", "l4"}, "l4/kernel may use sysnet"},
	{"l4/uplink", []string{"core", "sysnet", "l4"}, "l4/uplink may use sysnet"},
	{"l4", []string{"core", "l4"}, "l4 imports only core and itself; sysnet is for l4/kernel and l4/uplink"},
	{"mgmt", []string{"core", "sysnet", "mgmt"}, "mgmt imports core and sysnet, never a data path"},
	{"sysnet", []string{"sysnet", "core/farm", "core/shm", "core/marks"}, "sysnet imports only itself, core/farm, core/shm and core/marks"},
	{"web", nil, "web imports nothing"},
	{"github.com/sluicelb/sluice", nil, "the root carries the notice and imports nothing"},
	{"bench/proxytest", []string{"bench", "sysnet/housetest"}, "proxytest lays networks out for tests of the bench"},
	{"bench", []string{"bench", "core", "mgmt", "cmd/inherit", "cmd/supervisor"}, "bench uses public surfaces"},
	{"cmd/cli/client", nil, "a client knows requests, not commands"},
	{"cmd/cli/command", []string{"cmd/cli/client", "cmd/cli/excerpt", "cmd/cli/shell", "cmd/cli/show", "cmd/cli/terminal", "mgmt"}, "the toolkit knows no group of commands"},
	{"cmd/cli/zones", ofCommands, "a group of commands knows no other"},
	{"cmd/cli/people", ofCommands, "a group of commands knows no other"},
	{"cmd/cli/certificates", ofCommands, "a group of commands knows no other"},
	{"cmd/cli/show", []string{"cmd/cli/terminal"}, "how answers look knows no command"},
	{"cmd/cli/shell", []string{"cmd/cli/terminal"}, "what is typed becomes words, not commands"},
	{"cmd/cli/excerpt", nil, "a document and a difference are texts"},
	{"cmd/cli/terminal", nil, "a terminal knows nobody"},
	{"cmd", []string{"cmd", "core", "l7", "l4", "dns", "mgmt", "sysnet", "web"}, "nothing imports bench"},
}

func TestImportsPointOneWay(t *testing.T) {
	for _, p := range packages(t) {
		r := ruleFor(p.path())
		if r == nil {
			t.Errorf("%s is outside of the known folders: add a rule", p.path())
			continue
		}
		for _, imported := range p.Imports {
			of, ours := strings.CutPrefix(imported, module)
			if ours && !within(of, r.may) && (strings.HasSuffix(r.folder, "!") || !within(of, family(p.path()))) {
				t.Errorf("%s imports %s\n\trule: %s", p.path(), of, r.why)
			}
		}
	}
}

// family returns the package whose subtree path may import without a rule: itself, or the
// parent of a test helper (stats/statstest).
func family(path string) []string {
	if strings.HasSuffix(path, "test") {
		return []string{path[:strings.LastIndex(path, "/")]}
	}
	return []string{path}
}

func ruleFor(path string) *rule {
	for i := range rules {
		if within(path, []string{rules[i].folder}) {
			return &rules[i]
		}
	}
	return nil
}

// door lists the only packages that may import a dependency.
type door struct {
	dependency string
	folders    []string
	testsToo   bool // tests of other packages must not import it either
}

var doors = []door{
	{"github.com/panjf2000/gnet", []string{"core/loop"}, true},
	{"github.com/posteo/go-agentx", []string{"mgmt/snmp"}, true},
	{"github.com/fxamacker/cbor", []string{"core/snapshot", "core/link", "mgmt/store"}, true},
	{"golang.org/x/sys/unix", []string{"core/loop", "core/shm", "sysnet", "cmd/harden", "cmd/supervisor"}, false},
	{"golang.org/x/crypto/bcrypt", []string{"core/password"}, false},
	{"github.com/alexedwards/argon2id", []string{"mgmt/rbac"}, true},
	{"github.com/pquerna/otp", []string{"mgmt/totp"}, false},
	{"github.com/go-ldap/ldap", []string{"mgmt/directory", "mgmt/probe/ldap"}, true},
	{"github.com/go-asn1-ber/asn1-ber", []string{"mgmt/directory"}, true},
	{"github.com/coreos/go-oidc", []string{"mgmt/oidc"}, true},
	{"golang.org/x/oauth2", []string{"mgmt/oidc"}, true},
	{"filippo.io/age", []string{"mgmt/backup"}, true},
	{"software.sslmate.com/src/go-pkcs12", []string{"mgmt/certs"}, true},
	{"golang.org/x/term", []string{"cmd/cli/terminal"}, true},
	{"golang.org/x/crypto/ocsp", []string{"mgmt/certs"}, false},
	{"github.com/mholt/acmez", []string{"mgmt/acme"}, true},
	{"github.com/letsencrypt/pebble", nil, false},
	{"github.com/sluicelb/sluice!", []string{"mgmt/api/system", "cmd/cli"}, false},
	{"github.com/wneessen/go-mail", []string{"mgmt/notify/mail"}, true},
	{"github.com/oschwald/maxminddb-golang", []string{"mgmt/geoip"}, true},
	{"github.com/maxmind/mmdbwriter", nil, false},
	{"github.com/dchest/siphash", []string{"dns/wire"}, false},
	{"github.com/miekg/dns", []string{"core/rdata", "mgmt/acme", "mgmt/probe/dns", "mgmt/resolve"}, false},
	{"github.com/jackc/pgx", []string{"mgmt/probe/postgres"}, true},
	{"github.com/go-sql-driver/mysql", []string{"mgmt/probe/mysql"}, true},
	{"github.com/gosnmp/gosnmp", []string{"mgmt/probe/snmp"}, true},
	{"layeh.com/radius", []string{"mgmt/probe/radius"}, true},
	{"github.com/beevik/ntp", []string{"mgmt/probe/ntp"}, true},
	{"github.com/icholy/digest", []string{"mgmt/probe/sip"}, true},
	{"go.etcd.io/bbolt", []string{"mgmt/store"}, true},
	{"github.com/labstack/echo", []string{"mgmt/api!"}, true},
	{"github.com/danielgtaylor/huma", []string{"mgmt/api/rest"}, true},
	{"github.com/prometheus", []string{"mgmt/metrics", "sysnet/usage"}, true},
	{"gonum.org/v1/plot", []string{"mgmt/graph"}, true},
	{"github.com/spf13/cobra", []string{"cmd/cli", "cmd/appliance", "cmd/manual"}, true},
	{"github.com/cpuguy83/go-md2man", []string{"cmd/manual"}, true},
	{"github.com/spf13/pflag", []string{"cmd/cli", "cmd/manual"}, true},
	{"github.com/jedib0t/go-pretty", []string{"cmd/cli"}, true},
	{"github.com/goccy/go-yaml", []string{"mgmt/document", "cmd/cli"}, true},
	{"golang.org/x/tools", []string{"cmd/mutate"}, true},
	{"golang.org/x/mod", []string{"cmd/fixes"}, true},
	{"golang.org/x/net", []string{"l7/http2", "mgmt/probe/ping"}, false},
	{"github.com/klauspost/compress", []string{"l7/compress", "mgmt/metrics"}, false},
	{"github.com/andybalholm/brotli", []string{"l7/compress"}, false},
	{"github.com/ti-mo/conntrack", []string{"sysnet/conntrack"}, false},
	{"github.com/ti-mo/netfilter", []string{"sysnet/conntrack"}, false},
	{"github.com/mdlayher/netlink", []string{"sysnet/conntrack"}, false},
	{"github.com/google/nftables", []string{"sysnet/nft"}, false},
	{"github.com/vishvananda/netlink", []string{"sysnet/addr", "sysnet/neigh", "sysnet/route"}, false},
	{"github.com/gopacket/gopacket", []string{"sysnet/announce", "sysnet/reset"}, false},
	{"github.com/mdlayher/packet", []string{"sysnet/announce"}, false},
	{"github.com/coreos/go-iptables", []string{"sysnet/firewall"}, false},
	{"github.com/coreos/go-systemd", []string{"cmd/supervisor"}, true},
	{"github.com/summerwind/h2spec", nil, false},
	{"github.com/leodido/go-syslog", nil, false},
	{"github.com/valyala/fasthttp", []string{"l7", "bench", "cmd/demo"}, false},
	{"google.golang.org/grpc", nil, false},
	{"pgregory.net/rapid", nil, false},
	{"github.com/getkin/kin-openapi", []string{"mgmt/api/contracttest"}, true},
	{"github.com/santhosh-tekuri/jsonschema", []string{"mgmt/api/contracttest"}, true},
	{"go.uber.org/goleak", nil, false},
	{"github.com/quic-go/quic-go", nil, false},
}

func TestEachDependencyHasItsDoor(t *testing.T) {
	for _, p := range packages(t) {
		for _, d := range doors {
			imports := p.Imports
			if d.testsToo {
				imports = append(append(imports, p.TestImports...), p.XTestImports...)
			}
			for _, imported := range imports {
				if within(imported, []string{d.dependency}) && !within(p.path(), d.folders) && !testHelper(p.path(), d) {
					t.Errorf("%s imports %s\n\trule: only %s may", p.path(), imported, allowed(d))
				}
			}
		}
	}
}

// testHelper reports whether path is a package for tests (looptest, l7test), which has the
// imports of tests.
func testHelper(path string, d door) bool { return strings.HasSuffix(path, "test") && !d.testsToo }

func allowed(d door) string {
	if len(d.folders) == 0 {
		return "tests"
	}
	return strings.Join(d.folders, ", ")
}

// Each dependency is a decision, with a line in the table.
func TestEveryDependencyIsListed(t *testing.T) {
	for _, p := range packages(t) {
		for _, imported := range p.Imports {
			first, _, _ := strings.Cut(imported, "/")
			if !strings.Contains(first, ".") || strings.HasPrefix(imported, module) {
				continue // standard library or ours
			}
			known := false
			for _, d := range doors {
				known = known || within(imported, []string{d.dependency})
			}
			if !known && !within(p.path(), []string{"bench"}) {
				t.Errorf("%s imports %s, which has no line in the table of doors", p.path(), imported)
			}
		}
	}
}

func TestEveryPackageHasAComment(t *testing.T) {
	for _, p := range packages(t) {
		if p.Doc == "" && len(p.GoFiles) > 0 {
			t.Errorf("%s has no package comment", p.path())
		}
	}
}
