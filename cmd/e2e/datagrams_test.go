package e2e_test

import (
	"fmt"
	"net"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/miekg/dns"

	"github.com/sluicelb/sluice/core/porttest"
)

// nameServer answers every address query with this address.
func nameServer(t *testing.T, address string) string {
	t.Helper()
	c, err := net.ListenPacket("udp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &dns.Server{PacketConn: c, Handler: dns.HandlerFunc(func(w dns.ResponseWriter, q *dns.Msg) {
		m := new(dns.Msg)
		m.SetReply(q)
		rr, err := dns.NewRR(q.Question[0].Name + " 60 IN A " + address)
		if err == nil {
			m.Answer = append(m.Answer, rr)
		}
		_ = w.WriteMsg(m)
	})}
	done := make(chan struct{})
	go func() { defer close(done); _ = s.ActivateAndServe() }()
	t.Cleanup(func() { _ = s.Shutdown(); <-done })
	return c.LocalAddr().String()
}

// datagramFarm returns the YAML of a farm on 127.0.0.1.
func datagramFarm(name string, port int, more string, backends ...string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "- {name: %s, profile: l4xnat, vip: 127.0.0.1, vport: '%d', protocol: udp, datapath: userspace, algorithm: roundrobin%s, backends: [", name, port, more)
	for _, at := range backends {
		host, p, _ := net.SplitHostPort(at)
		fmt.Fprintf(&b, "{ip: %s, port: %s},", host, p)
	}
	b.WriteString("]}\n")
	return b.String()
}

func TestDNSQueriesPassAFarm(t *testing.T) {
	needs(t, "dig")
	port := int(porttest.UDP(t).Port())
	who := asOne()
	a := start(t, who, dataDir(t, who), "--config",
		file(t, "farms:\n"+datagramFarm("dns", port, ", responses: 1", nameServer(t, "192.0.2.1"), nameServer(t, "192.0.2.2"))))
	seen := map[string]int{}
	for range 10 {
		out, err := exec.Command("dig", "+short", "+tries=1", "+time=5", "@127.0.0.1", "-p", fmt.Sprint(port), "www.example.org").CombinedOutput()
		if err != nil {
			t.Fatalf("dig: %v: %s", err, out)
		}
		seen[strings.TrimSpace(string(out))]++
	}
	if seen["192.0.2.1"] != 5 || seen["192.0.2.2"] != 5 {
		t.Errorf("answers: %v", seen)
	}
	// Each query was a flow that ended with its answer.
	if n := openFiles(a.pid("engine"))["socket"]; n > 40 {
		t.Errorf("the engine has %d sockets left", n)
	}
	if out := a.must("farm", "show", "dns"); !strings.Contains(out, "up") {
		t.Errorf("the farm: %s", out)
	}
	// A cut backend gets no further queries.
	a.must("backend", "maintenance", "dns", "0", "--mode", "cut")
	for range 3 {
		out, err := exec.Command("dig", "+short", "+tries=1", "+time=5", "@127.0.0.1", "-p", fmt.Sprint(port), "www.example.org").CombinedOutput()
		if got := strings.TrimSpace(string(out)); err != nil || got != "192.0.2.2" {
			t.Errorf("after the cut: got %v, %s, want %s", err, got, "192.0.2.2")
		}
	}
}

func TestSyslogDatagramsPassAFarm(t *testing.T) {
	needs(t, "logger")
	sink, err := net.ListenPacket("udp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer sink.Close()
	port := int(porttest.UDP(t).Port())
	who := asOne()
	start(t, who, dataDir(t, who), "--config",
		file(t, "farms:\n"+datagramFarm("syslog", port, ", responses: 0", sink.LocalAddr().String())))
	if out, err := exec.Command("logger", "--server", "127.0.0.1", "--port", fmt.Sprint(port), "--udp", "--tag", "sluice", "one line").CombinedOutput(); err != nil {
		t.Fatalf("logger: %v: %s", err, out)
	}
	_ = sink.SetDeadline(time.Now().Add(5 * time.Second))
	buf := make([]byte, 2048)
	n, _, err := sink.ReadFrom(buf)
	if err != nil || !strings.Contains(string(buf[:n]), "one line") {
		t.Errorf("%q, %v", buf[:n], err)
	}
}

func TestDatagramsContinueAfterAnEngineCrash(t *testing.T) {
	port := int(porttest.UDP(t).Port())
	who := asOne()
	a := start(t, who, dataDir(t, who), "--config",
		file(t, "farms:\n"+datagramFarm("dns", port, "", nameServer(t, "192.0.2.1"))))
	ask := func() error {
		q := new(dns.Msg)
		q.SetQuestion("www.example.org.", dns.TypeA)
		c := &dns.Client{Timeout: 300 * time.Millisecond}
		_, _, err := c.Exchange(q, fmt.Sprintf("127.0.0.1:%d", port))
		return err
	}
	if err := ask(); err != nil {
		t.Fatal(err)
	}
	a.kill("engine")
	within(t, choose(time.Second, 5*time.Second), "an answer", ask)
}
