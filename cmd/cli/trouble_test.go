package cli_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/cmd/cli"
	"github.com/sluicelb/sluice/cmd/cli/client"
	"github.com/sluicelb/sluice/core/explain"
)

// everyCommand returns one use of each command that needs the appliance, in an order in
// which all of them have work.
func everyCommand(p papers) []string {
	return []string{
		"farm list", "farm show shop", "farm create new vip=192.0.2.10 vport=99", "farm create twin vip=192.0.2.10 vport=98 copy_from=shop", "farm set twin contimeout=5",
		"farm rename twin other", "farm delete other", "farm stop new", "farm start new", "farm restart new", "farm explain mail",
		"service list shop", "service show shop web", "service create shop api", "service set shop api urlp=^/a", "service move shop api 0", "service delete shop api",
		"backend list shop", "backend list shop web", "backend show shop 0", "backend show mail 0", "backend create shop 10.0.0.3:80", "backend add shop web ip=10.0.0.5 port=80",
		"backend set shop 10.0.0.3 weight=2", "backend maintenance shop 10.0.0.3", "backend delete shop 10.0.0.3",
		"session list mail", "session create mail 192.0.2.7 10.0.0.1", "session delete mail 192.0.2.7", "session flush mail",
		"conn list", "conn list mail --backend 10.0.0.1 --limit 1", "conn flush mail --backend 10.0.0.1",
		"header create shop addrequestheader X-A:1", "header list shop", "header list shop --service web", "header set shop addrequestheader 0 X-A:2", "header delete shop addrequestheader 0",
		"rewrite add shop web ^/a /b", "rewrite add shop web ^/c /d", "rewrite list shop web", "rewrite set shop web 0 last=true", "rewrite move shop web 1 0", "rewrite delete shop web 0", "rollback",
		"certificate upload shop " + p.full, "certificate replace shop.pem " + p.full, "certificate list", "certificate show shop.pem", "certificate download shop.pem",
		"farm set shop listener=https", "certificate add shop shop.pem", "certificate move shop shop.pem 0", "certificate remove shop shop.pem", "certificate delete shop.pem",
		"certificate csr new fqdn=new.example country=DE state=Bayern locality=Ulm organization=Ltd division=Web mail=a@example.com",
		"certificate ca upload clients " + p.ca, "certificate ca replace clients " + p.ca, "certificate ca list", "certificate ca show clients", "certificate ca download clients",
		"certificate ca crl clients " + p.crl, "certificate ca crl clients --none", "certificate ca delete clients", "certificate ocsp", "certificate ocsp enabled=true",
		"acme config", "acme config email=a@example.com", "acme list", "system config", "system config resolve_min_ttl=6", "system kernel",
		"user create tim", "user create bob --ldap", "user set tim webgui_permissions=true", "user password tim", "user list", "user show tim",
		"role create ops --copy-from management", "role set ops farm.create=true", "role show ops", "role list", "group create shops", "group role shops ops", "group set shops all_farms=true", "group add shops tim", "group add-farm shops shop",
		"group list", "group show shops", "group remove-farm shops shop", "group remove shops tim", "group role shops", "group delete shops", "role delete ops", "user delete tim",
		"notification list", "notification email", "notification email from=lb@example.com to=ops@example.com", "notification disable cluster", "notification enable cluster", "notification backends",
		"notification backends prefix=[prod] avoidflappingtime=30", "notification cluster", "notification interfaces", "system language", "system language de", "system packages",
		"certificate activation upload " + p.ca, "certificate activation show", "certificate activation download", "certificate activation delete",
		"audit --limit 2", "audit export",
		"key create x", "key list", "key delete 2", "status", "stats", "stats shop", "stats mail", "explain shop /", "history", "tag create fair", "tag list", "tag delete fair", "diff", "diff 2 3", "lint", "farm copy shop copied vport=8089", "export",
		"apply -f - --yes", // without farms
	}
}

// asItIs are the commands that print a response unmodified, or not at all, and thus accept
// any response.
var asItIs = []string{"audit export", "farm rename", "certificate download", "certificate ca show", "certificate ca download", "certificate activation download", "export"}

// relay is between a command and the appliance, and spoils one response.
type relay struct {
	data   string
	spoils int // index of the spoiled response, from 0; negative: none
	with   func(http.ResponseWriter)
	seen   int
	// Requests are passed to sees, and the last response is kept in answers, if set.
	sees    func(*http.Request)
	answers *bytes.Buffer
}

func newRelay(t *testing.T, a *appliance) *relay {
	t.Helper()
	r := &relay{data: dataDirectory(t), spoils: -1}
	ln, err := net.Listen("unix", filepath.Join(r.data, client.Socket))
	if err != nil {
		t.Fatal(err)
	}
	forward := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: "localhost"})
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "unix", filepath.Join(a.data, client.Socket))
	}}
	forward.Transport = transport
	forward.ModifyResponse = func(resp *http.Response) error {
		if r.answers == nil {
			return nil
		}
		r.answers.Reset()
		body, err := io.ReadAll(io.TeeReader(resp.Body, r.answers))
		resp.Body = io.NopCloser(bytes.NewReader(body))
		return err
	}
	srv := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		r.seen++
		if r.seen-1 == r.spoils {
			r.with(w)
			return
		}
		if r.sees != nil {
			r.sees(req)
		}
		forward.ServeHTTP(w, req)
	})}
	go srv.Serve(ln)
	t.Cleanup(func() { srv.Close(); transport.CloseIdleConnections() })
	return r
}

// run runs a command with one spoiled response and reports whether it made that many
// requests.
func (r *relay) run(spoils int, with func(http.ResponseWriter), command string) (result, bool) {
	r.seen, r.spoils, r.with = 0, spoils, with
	return execute("farms: [] # 1\n", append([]string{"--data", r.data}, strings.Fields(command)...)...), r.seen > spoils
}

func ready(t *testing.T) *appliance {
	t.Helper()
	a := start(t)
	a.shop()
	a.layer4()
	a.explain = func(explain.Question) (*explain.Explanation, error) { return explained(explain.Forward), nil }
	return a
}

func TestNoCommandTakesAFailureForSuccess(t *testing.T) {
	a := ready(t)
	r := newRelay(t, a)
	refuse := func(w http.ResponseWriter) {
		w.WriteHeader(http.StatusInternalServerError)
		io.WriteString(w, `{"message":"the disk is full"}`)
	}
	garble := func(w http.ResponseWriter) { io.WriteString(w, "<html>") }
	cut := func(w http.ResponseWriter) {
		w.Header().Set("Content-Length", "9")
		io.WriteString(w, "{")
	}
	for _, command := range everyCommand(newPapers(t, "shop.example")) {
		prints := isOneOf(command, asItIs)
		for n := 0; ; n++ {
			said, hit := r.run(n, refuse, command+" --json")
			if !hit {
				if said.code != 0 {
					t.Errorf("%s: %+v", command, said)
				}
				break
			}
			if said.code != 1 || !json.Valid([]byte(said.stderr)) {
				t.Errorf("%s --json, answer %d refused: %+v", command, n, said)
			}
			if said, _ = r.run(n, refuse, command); said.code != 1 || said.stderr != "sluice: the disk is full\n" {
				t.Errorf("%s, answer %d refused: %+v", command, n, said)
			}
			if said, _ = r.run(n, cut, command); said.code != 1 || !strings.Contains(said.stderr, "read the response: unexpected EOF") {
				t.Errorf("%s, answer %d cut: %+v", command, n, said)
			}
			if said, _ = r.run(n, garble, command); !prints && command != "certificate show shop.pem" && (said.code != 1 || !strings.Contains(said.stderr, "invalid response of the appliance")) {
				t.Errorf("%s, answer %d garbled: %+v", command, n, said)
			}
		}
	}
}

// full is an output that accepts that many writes.
type full struct {
	left   int
	failed bool
}

func (f *full) Write(b []byte) (int, error) {
	if f.left--; f.left < 0 {
		f.failed = true
		return 0, errors.New("no space left")
	}
	return len(b), nil
}

func TestNoCommandTakesAnOutputThatIsFullForSuccess(t *testing.T) {
	for _, more := range []string{"", " --json"} {
		a := ready(t)
		for _, command := range append(everyCommand(newPapers(t, "shop.example")), "version") {
			for n := 0; ; n++ {
				out, wrong := &full{left: n}, bytes.Buffer{}
				code := cli.Execute(append([]string{"--data", a.data}, strings.Fields(command+more)...), strings.NewReader("farms: []\n"), out, &wrong)
				if !out.failed {
					break // a change cannot be repeated; its outcome is irrelevant here
				}
				if code != 1 || !strings.Contains(wrong.String(), "no space left") {
					t.Errorf("%s%s, after %d writes: exit %d %s", command, more, n, code, &wrong)
				}
			}
		}
	}
}

// A name that would form another path is refused before any request.
func TestNamesNothingCanHaveAreAskedForByNoCommand(t *testing.T) {
	r := newRelay(t, start(t))
	p := newPapers(t, "shop.example")
	for _, command := range []string{
		"farm show ..", "farm set .. contimeout=5", "farm rename .. x", "farm delete a/b", "farm start ..", "farm explain ..", "farm create x vip=192.0.2.10 vport=1 copy_from=..", "service list ..",
		"service show shop ..", "service create .. web", "service set shop .. urlp=/", "service move shop .. 0", "service delete shop ..",
		"backend list shop ..", "backend list ..", "backend show shop .. 0", "backend create .. 10.0.0.1:80", "backend create .. ip=10.0.0.1", "backend set shop .. 0 weight=1", "backend delete shop .. 0", "backend maintenance shop .. 0",
		"session list shop ..", "session create shop .. x 0", "session delete shop .. x", "session flush shop ..", "session flush ..",
		"header add .. addheader X:1", "header set .. addheader 0 X:1", "header delete .. addheader 0", "header move .. replacerequestheader 0 1", "header list ..",
		"rewrite list shop ..", "rewrite add shop .. a b", "key delete ..", "stats ..", "logs ..", "trace ..", "explain .. /",
		"certificate show ..", "certificate upload .. " + p.full, "certificate download ..", "certificate delete ..", "certificate add .. shop.pem", "certificate remove .. shop.pem", "certificate remove shop ..",
		"certificate move .. shop.pem 0", "certificate ca show ..", "certificate ca show .. --json", "certificate ca upload .. " + p.ca, "certificate ca download ..", "certificate ca delete ..", "certificate ca crl .. --none",
		"acme renew ..", "acme delete ..", "conn list .. --backend x",
	} {
		said, _ := r.run(-1, nil, command)
		if said.code != 1 || !strings.Contains(said.stderr, "is not a valid") || r.seen != 0 {
			t.Errorf("%s: %d requests, %+v", command, r.seen, said)
		}
	}
}
