package e2e_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/sluicelb/sluice/mgmt/certs/certstest"
)

// digs sends one query to a farm on loopback.
func digs(t *testing.T, port int, more ...string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "dig", append([]string{"@127.0.0.1", "-p", fmt.Sprint(port), "+short", "+tries=3", "+time=2"}, more...)...).Output()
	if err != nil {
		t.Fatalf("dig %v: %v", more, err)
	}
	return strings.TrimSpace(string(out))
}

// Queries can be logged, watched and counted, and clients are sent to the backend with the
// fastest checks.
func TestQueriesAreLoggedAndTheFastestBackendAnswers(t *testing.T) {
	t.Parallel()
	needs(t, "dig")
	who := asOne()
	a := start(t, who, dataDir(t, who))
	port := freePorts(t, 1)[0]
	a.must("farm", "create", "names", "--profile", "gslb", "vip=127.0.0.1", fmt.Sprintf("vport=%d", port), "logs=true")
	a.must("zone", "create", "names", "example.com")
	a.must("service", "create", "names", "web", "algorithm=fastest")
	a.must("check", "create", "speed", "command=check_http -I HOST -p PORT -u /", "interval=1", "timeout=1")

	// Both use one port, at two addresses.
	at := servesAfter(t, "127.0.0.1:0", 200*time.Millisecond)
	_, number, _ := net.SplitHostPort(at)
	servesAfter(t, "127.0.0.2:"+number, 0)
	a.must("service", "set", "names", "web", "deftcpport="+number)
	a.must("check", "link", "speed", "names", "web")
	a.must("backend", "create", "names", "web", "127.0.0.1")
	a.must("backend", "create", "names", "web", "127.0.0.2")
	a.must("record", "create", "names", "example.com", "www", "DYNA", "web")
	within(t, 20*time.Second, "the faster one is answered alone", func() error {
		for range 6 {
			if got := digs(t, port, "www.example.com"); got != "127.0.0.2" {
				return fmt.Errorf("answered %q", got)
			}
		}
		return nil
	})
	// The slower one's first probe ends later.
	within(t, 20*time.Second, "both are explained", func() error {
		if out := a.must("explain", "names", "www.example.com"); !strings.Contains(out, "others answer their checks sooner") || !strings.Contains(out, "it answers its checks as soon as any") {
			return errors.New(out)
		}
		return nil
	})

	type told struct {
		Questions int
		Names     []struct {
			Name, Type string
			Times      int
		}
		Services []struct{ Service string }
	}
	counted := make(chan string)
	go func() { out, _ := a.run("questions", "names", "--for", "4s", "--json"); counted <- out }()
	watched := make(chan string)
	go func() {
		out, _ := a.run("trace", "names", "--filter", "rcode=NXDOMAIN", "--count", "1")
		watched <- out
	}()
	for range 20 {
		digs(t, port, "+tcp", "none.example.com", "MX")
		digs(t, port, "www.example.com")
		time.Sleep(100 * time.Millisecond)
	}
	var body struct{ Params told }
	if out := <-counted; json.Unmarshal([]byte(out), &body) != nil || body.Params.Questions < 10 || len(body.Params.Names) != 2 || len(body.Params.Services) != 1 || body.Params.Services[0].Service != "web" {
		t.Errorf("counted: %s", out)
	}
	if out := <-watched; !strings.Contains(out, "MX") || !strings.Contains(out, "none.example.com.") || strings.Contains(out, "www.") {
		t.Errorf("watched:\n%s", out)
	}
	var line map[string]any
	within(t, 5*time.Second, "the log has the question", func() error {
		for _, line = range a.logged("names.log") {
			if line["name"] == "www.example.com." && line["backend"] == "127.0.0.2" {
				return nil
			}
		}
		return fmt.Errorf("the last line is %v", line)
	})
	if line["service"] != "web" || line["rcode"] != "NOERROR" || line["type"] != "A" || line["protocol"] != "DNS/UDP" || line["client"] != "127.0.0.1" {
		t.Errorf("logged: %v", line)
	}
	if out := a.must("stats", "names", "--json"); !regexp.MustCompile(`"service_answers": [1-9]`).MatchString(out) {
		t.Errorf("the statistics have no answer by a service:\n%s", out)
	}
}

// servesAfter serves HTTP with a delay.
func servesAfter(t *testing.T, address string, after time.Duration) string {
	t.Helper()
	l, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { time.Sleep(after) }))
	s.Listener.Close()
	s.Listener = l
	s.Start()
	t.Cleanup(s.Close)
	return l.Addr().String()
}

// A client that verifies the server and pads its queries uses DNS over TLS.
func TestDNSOverTLSIsAnswered(t *testing.T) {
	t.Parallel()
	needs(t, "kdig")
	who := asOne()
	a := start(t, who, dataDir(t, who))
	ports := freePorts(t, 2)
	authority := certstest.NewAuthority(t, "authority", time.Now())
	leaf := authority.Issue("ns1.example.com")
	a.must("certificate", "upload", "ns1", file(t, leaf.FullPEM()))
	ca := file(t, authority.CertPEM())
	a.must("farm", "create", "names", "--profile", "gslb", "vip=127.0.0.1", fmt.Sprintf("vport=%d", ports[0]))
	a.must("zone", "create", "names", "example.com")
	a.must("record", "create", "names", "example.com", "www", "A", "192.0.2.10")
	if out, code := a.run("certificate", "add", "names", "ns1"); code == 0 || !strings.Contains(out, "set its dot to true first") {
		t.Errorf("a certificate for a farm without TLS: %d, %s", code, out)
	}
	if out, code := a.run("farm", "set", "names", "dot=true", fmt.Sprintf("dot_port=%d", ports[0])); code == 0 || !strings.Contains(out, "must be another port than vport") {
		t.Errorf("one port for both: %d, %s", code, out)
	}
	a.must("farm", "set", "names", "dot=true", fmt.Sprintf("dot_port=%d", ports[1]), "certificates=ns1.pem")
	ask := func(more ...string) (string, error) {
		arguments := append([]string{"@127.0.0.1", "-p", fmt.Sprint(ports[1]), "+tls-ca=" + ca, "+tls-host=ns1.example.com", "+time=3", "+retry=0"}, more...)
		out, err := exec.CommandContext(t.Context(), "kdig", arguments...).CombinedOutput()
		return string(out), err
	}
	for _, more := range [][]string{{"www.example.com"}, {"+padding", "www.example.com", "A"}} {
		if out, err := ask(more...); err != nil || !strings.Contains(out, "192.0.2.10") || !strings.Contains(out, "TLS session (TLS1.3)") {
			t.Errorf("%v: %v\n%s", more, err, out)
		}
	}
	if out, _ := ask("+padding", "www.example.com"); !strings.Contains(out, "Received 468 B") {
		t.Errorf("a padded query gets an answer of another size:\n%s", out)
	}
	if out, err := ask("+tls-host=other.example.com", "www.example.com"); err == nil && strings.Contains(out, "192.0.2.10") {
		t.Errorf("another name is believed:\n%s", out)
	}
	if out, code := a.run("certificate", "delete", "ns1.pem"); code == 0 || !strings.Contains(out, "names") {
		t.Errorf("a certificate in use is deleted: %d, %s", code, out)
	}
	if got := digs(t, ports[0], "www.example.com"); got != "192.0.2.10" {
		t.Errorf("without TLS: got %s, want %s", got, "192.0.2.10")
	}
	a.must("farm", "set", "names", "dot=false")
	if out, err := ask("www.example.com"); err == nil && strings.Contains(out, "192.0.2.10") {
		t.Errorf("after its end:\n%s", out)
	}
}

// A service of an https farm passes DNS over HTTPS queries to the gslb farm, which knows and
// logs the client.
func TestDNSOverHTTPSIsAnswered(t *testing.T) {
	t.Parallel()
	needs(t, "kdig", "curl")
	who := asOne()
	a := start(t, who, dataDir(t, who))
	ports := freePorts(t, 2)
	authority := certstest.NewAuthority(t, "authority", time.Now())
	a.must("certificate", "upload", "ns1", file(t, authority.Issue("ns1.example.com").FullPEM()))
	ca := file(t, authority.CertPEM())
	a.must("farm", "create", "names", "--profile", "gslb", "vip=127.0.0.1", fmt.Sprintf("vport=%d", ports[0]))
	a.must("zone", "create", "names", "example.com")
	a.must("record", "create", "names", "example.com", "www", "A", "192.0.2.10")
	a.must("farm", "create", "secure", "--profile", "https", "vip=127.0.0.1", fmt.Sprintf("vport=%d", ports[1]), "certificates=ns1.pem")
	if out, code := a.run("service", "create", "secure", "doh", "dns_farm=nobody"); code == 0 || !strings.Contains(out, `there is none named "nobody"`) {
		t.Errorf("a farm that is not there: %d, %s", code, out)
	}
	a.must("service", "create", "secure", "doh", "urlp=^/dns-query", "dns_farm=names")
	if out, code := a.run("backend", "create", "secure", "doh", "192.0.2.1:80"); code == 0 || !strings.Contains(out, "dns_farm must be empty") {
		t.Errorf("a backend of a service with dns_farm: %d, %s", code, out)
	}
	ask := func(more ...string) string {
		arguments := append([]string{"@127.0.0.1", "-p", fmt.Sprint(ports[1]), "+tls-ca=" + ca, "+tls-host=ns1.example.com", "+time=3", "+retry=0", "www.example.com"}, more...)
		out, _ := exec.CommandContext(t.Context(), "kdig", arguments...).CombinedOutput()
		return string(out)
	}
	for _, more := range []string{"+https", "+https-get", "+https=ns1.example.com/dns-query"} {
		if out := ask(more); !strings.Contains(out, "192.0.2.10") || !strings.Contains(out, "HTTP/2") || !strings.Contains(out, "status: 200") {
			t.Errorf("%s:\n%s", more, out)
		}
	}
	a.must("farm", "set", "names", "newfarmname=zones")
	if out := a.must("service", "show", "secure", "doh", "--json"); !strings.Contains(out, `"dns_farm": "zones"`) {
		t.Errorf("after the farm got another name:\n%s", out)
	}
	if out, code := a.run("farm", "delete", "zones"); code == 0 || !strings.Contains(out, "dns_farm") {
		t.Errorf("a farm in use is deleted: %d, %s", code, out)
	}
	a.must("farm", "set", "zones", "logs=true", "log_sample=1")
	within(t, 5*time.Second, "a line of the log", func() error {
		ask("+https")
		if out := a.must("logs", "zones"); !strings.Contains(out, "DNS/HTTPS") || !strings.Contains(out, "www.example.com") {
			return errors.New(out)
		}
		return nil
	})
	out, err := exec.CommandContext(t.Context(), "curl", "-sS", "--cacert", ca, "--resolve", fmt.Sprintf("ns1.example.com:%d:127.0.0.1", ports[1]),
		"--doh-insecure", "--doh-url", fmt.Sprintf("https://127.0.0.1:%d/dns-query", ports[1]), "--connect-timeout", "1", "http://www.example.com:9/").CombinedOutput()
	if err == nil || !strings.Contains(string(out), "www.example.com") || strings.Contains(string(out), "resolve host") {
		t.Errorf("curl should resolve by HTTPS and fail to connect: %v, %s", err, out)
	}
	if out := a.must("explain", "secure", "/dns-query"); !strings.Contains(out, "the gslb farm zones answers") {
		t.Errorf("explained:\n%s", out)
	}
	a.must("farm", "stop", "zones")
	if out := ask("+https"); strings.Contains(out, "192.0.2.10") {
		t.Errorf("a farm that is stopped answers:\n%s", out)
	}
}
