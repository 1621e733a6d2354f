package role_test

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sluicelb/sluice/cmd/cli"
	"github.com/sluicelb/sluice/cmd/role"
	"github.com/sluicelb/sluice/core/porttest"
)

func TestTheRolesTogetherAreAnAppliance(t *testing.T) {
	hold := make(chan struct{})
	backend := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/slow" {
			<-hold
		}
		io.WriteString(w, "one")
	}))
	t.Cleanup(backend.Close)
	web, mail := porttest.TCP(t), porttest.TCP(t)
	at := netip.MustParseAddrPort(backend.Listener.Addr().String())
	document := fmt.Sprintf(`farms:
- {name: shop, profile: http, vip: %s, vport: %d, logs: true, services: [{name: web, persistence: IP, backends: [{ip: %s, port: %d}]}]}
- {name: mail, profile: l4xnat, vip: %s, vport: %d, protocol: tcp, datapath: userspace, backends: [{ip: 127.0.0.1, port: %d}]}
`, web.Addr(), web.Port(), at.Addr(), at.Port(), mail.Addr(), mail.Port(), echo(t).Port())
	a := start(t, document, true)
	shop := "http://" + web.String()
	if got := get(shop + "/x"); got != "one" {
		t.Fatalf("the farm answers %q\n%s", got, a.log)
	}
	for _, want := range []string{"Sluice 1.2.3, revision 1, the engine runs it as generation", "on 2 event loops", "shop up ", "mail up "} {
		if out := a.must("status"); !strings.Contains(out, want) {
			t.Errorf("status lacks %q: %s", want, out)
		}
	}
	for _, name := range []string{"engine", "mgmt", "netd", "progd"} {
		pid := a.pid(name)
		if comm, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid)); pid == 0 || string(comm) != "sluice-"+name+"\n" {
			t.Errorf("%s is process %d, called %q, %v", name, pid, comm, err)
		}
	}
	if got := get("http://" + a.api); !strings.Contains(got, "HTTPS") {
		t.Errorf("the API answers plain HTTP with %q", got)
	}
	if out := a.must("stats"); !strings.Contains(out, "shop ") || !strings.Contains(out, "mail ") {
		t.Errorf("stats: %s", out)
	}

	a.shows("127.0.0.1 dynamic 0 ", "session", "list", "shop", "web")
	a.shows("127.0.0.1 dynamic 0 ", "session", "list", "shop", "web", "--session", "127.0.0.1")
	if out := a.must("session", "list", "shop", "web", "--session", "127.0.0.9"); strings.Contains(out, "dynamic") {
		t.Errorf("an unknown session: %s", out)
	}
	a.must("session", "delete", "shop", "web", "127.0.0.1")
	a.must("session", "create", "shop", "web", "192.0.2.7", "0", "--ttl", "90")
	a.shows("SESSION TYPE BACKEND IP PORT TTL 192.0.2.7 dynamic 0 ", "session", "list", "shop", "web")
	if out := a.must("session", "flush", "shop", "web"); !strings.HasPrefix(out, "1 ") {
		t.Errorf("flushed: %s", out)
	}
	if out := a.must("explain", "shop", "/x", "--from", "192.0.2.9"); !strings.Contains(out, "forwarded to backend 0 ("+at.String()+") of service web") {
		t.Errorf("explained: %s", out)
	}

	c, err := net.Dial("tcp", mail.String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(time.Minute))
	b := make([]byte, 5)
	if _, err := c.Write([]byte("hello")); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(c, b); err != nil || string(b) != "hello" {
		t.Fatalf("got %q, %v", b, err)
	}
	a.shows("mail 0 tcp ", "conn", "list", "mail")
	a.must("conn", "flush", "mail")
	if n, err := c.Read(b); n != 0 || err == nil {
		t.Errorf("a closed connection returned %q, %v", b[:n], err)
	}

	eventually(t, "the access log", func() bool {
		text, _ := os.ReadFile(filepath.Join(a.data, "log", "shop.log"))
		return strings.Contains(string(text), "/x")
	})
	a.again(document, shop)

	slow := make(chan string)
	go func() { slow <- get(shop + "/slow") }()
	a.shows("shop up 1 ", "stats")
	_ = a.cmd.Process.Signal(syscall.SIGTERM)
	eventually(t, "the engine takes nobody any more", func() bool { return get(shop+"/x") != "one" })
	close(hold)
	if got := <-slow; got != "one" {
		t.Errorf("an exchange in progress got %q", got)
	}
	if err := <-a.exited; err != nil {
		t.Errorf("it ended with %v\n%s", err, a.log)
	}
}

// again applies documents and kills roles.
func (a *appliance) again(document, shop string) {
	a.t.Helper()
	config := ""
	for _, v := range a.cmd.Env {
		if path, ok := strings.CutPrefix(v, "RUN_CONFIG="); ok {
			config = path
		}
	}
	write := func(text string) {
		a.t.Helper()
		if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
			a.t.Fatal(err)
		}
	}
	logged := func(text string) {
		a.t.Helper()
		eventually(a.t, text, func() bool { return strings.Contains(a.log.String(), text) })
	}
	logged(`msg="configuration file applied" role=mgmt changed=true revision=1`)
	write(strings.Replace(document, "logs: true", "logs: true, contimeout: 7", 1))
	_ = a.cmd.Process.Signal(syscall.SIGHUP)
	a.shows("contimeout 7", "farm", "show", "shop")
	_ = a.cmd.Process.Signal(syscall.SIGHUP)
	logged(`msg="configuration file applied" role=mgmt changed=false`)
	write("farms: 7\n")
	_ = a.cmd.Process.Signal(syscall.SIGHUP)
	logged(`msg="configuration file not applied" role=mgmt error=`)
	write(document)
	if out := a.must("reload"); !strings.Contains(out, "Applied as revision 3.") {
		a.t.Errorf("reload: %s", out)
	}
	if out := a.must("history"); !strings.Contains(out, "3 ") || !strings.Contains(out, "reload "+config) {
		a.t.Errorf("history: %s", out)
	}
	a.must("session", "create", "shop", "web", "192.0.2.7", "0", "--ttl", "90")
	for _, name := range []string{"engine", "mgmt", "netd", "progd"} {
		was := a.pid(name)
		if err := syscall.Kill(was, syscall.SIGKILL); err != nil {
			a.t.Fatal(err)
		}
		eventually(a.t, name+" is back", func() bool {
			var out bytes.Buffer
			return cli.Execute([]string{"--data", a.data, "status"}, nil, &out, &out) == 0 && a.pid(name) != was && a.pid(name) != 0 && get(shop) == "one"
		})
	}
	a.shows("192.0.2.7 dynamic 0 ", "session", "list", "shop", "web") // the session outlives the engine
	a.must("farm", "stop", "mail")
	a.must("farm", "start", "mail")
}

func TestADocumentThatIsWrongAtTheFirstStartEndsIt(t *testing.T) {
	a := start(t, "farms: [{name: x}]\n", false)
	err := <-a.exited
	for _, want := range []string{"the appliance cannot run: the log above says why", `msg="configuration file not applied"`} {
		if err == nil || !strings.Contains(a.log.String(), want) {
			t.Errorf("%v, without %q\n%s", err, want, a.log)
		}
	}
}

func TestArgumentsNameARole(t *testing.T) {
	for _, c := range []struct {
		args []string
		name string
		ok   bool
	}{{[]string{"sluice: mgmt"}, "mgmt", true}, {[]string{"sluice"}, "", false}, {[]string{"sluice: mgmt", "list"}, "", false}, {nil, "", false}} {
		if name, ok := role.Named(c.args); ok != c.ok || ok && name != c.name {
			t.Errorf("%q: %q, %v", c.args, name, ok)
		}
	}
}
