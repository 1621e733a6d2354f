package dns_test

import (
	"net"
	"strings"
	"testing"

	"github.com/miekg/dns"

	"github.com/sluicelb/sluice/core/porttest"
	"github.com/sluicelb/sluice/mgmt/probe"
	ours "github.com/sluicelb/sluice/mgmt/probe/dns"
	"github.com/sluicelb/sluice/mgmt/probe/probetest"
)

// serve answers by UDP and TCP on one port of loopback.
func serve(t *testing.T, answer dns.HandlerFunc) probe.Target {
	t.Helper()
	l, p := porttest.ListenBoth(t)
	for _, s := range []*dns.Server{{Listener: l, Handler: answer}, {PacketConn: p, Handler: answer}} {
		ready, done := make(chan struct{}), make(chan struct{})
		s.NotifyStartedFunc = func() { close(ready) }
		go func() { defer close(done); _ = s.ActivateAndServe() }()
		<-ready
		t.Cleanup(func() { _ = s.Shutdown(); <-done })
	}
	return probetest.At(uint16(l.Addr().(*net.TCPAddr).Port))
}

func zone(w dns.ResponseWriter, r *dns.Msg) {
	m := new(dns.Msg).SetReply(r)
	add := func(text string) {
		rr, err := dns.NewRR(text)
		if err != nil {
			panic(err)
		}
		m.Answer = append(m.Answer, rr)
	}
	_, byUDP := w.RemoteAddr().(*net.UDPAddr)
	switch name := r.Question[0].Name; {
	case name == "www.example." && r.Question[0].Qtype == dns.TypeA:
		add("www.example. 60 IN CNAME one.example.")
		add("one.example. 60 IN A 192.0.2.1")
		add("one.example. 60 IN A 192.0.2.2")
		m.Authoritative = true
	case name == "www.example." && r.Question[0].Qtype == dns.TypeMX:
		add("www.example. 60 IN MX 10 mail.example.")
	case name == "www.example.":
	case name == "long.example." && byUDP:
		m.Truncated = true
	case name == "long.example.":
		add("long.example. 60 IN A 192.0.2.3")
	case name == "broken.example.":
		m.Rcode = dns.RcodeServerFailure
	case name == "other.example.":
		m.Question[0].Name = "else.example."
	case name == "id.example.":
		m.Id++
	default:
		m.Rcode = dns.RcodeNameError
	}
	_ = w.WriteMsg(m)
}

func TestAnswersAreCompared(t *testing.T) {
	to := serve(t, zone)
	for args, reason := range map[string]string{
		"-H www.example": "", "-H www.example -a 192.0.2.2": "", "-H www.example -a 192.0.2.9,192.0.2.1": "", "-H www.example -A": "",
		"-H www.example -a 192.0.2.9":              "answered 192.0.2.1, 192.0.2.2, wanted 192.0.2.9",
		"-H www.example -L -a 192.0.2.2,192.0.2.1": "", "-H www.example -L -a 192.0.2.2": "wanted 192.0.2.2", "-H www.example -L -a 192.0.2.2,192.0.2.1,192.0.2.3": "wanted",
		"-H www.example -q MX -a '10 mail.example'": "", "-H www.example -q AAAA": "without a record of type AAAA", "-H www.example -q MX -A": "no authority",
		"-H none.example": "answered NXDOMAIN", "-H none.example -n": "", "-H www.example -n": "answered NOERROR, wanted NXDOMAIN", "-H broken.example": "answered SERVFAIL",
		"-H long.example -a 192.0.2.3": "", "-H www.example --tcp": "",
	} {
		words, err := probe.Words(args)
		if err != nil {
			t.Fatal(err)
		}
		got := probetest.Check(t, "check_dns", ours.Check, to, append([]string{"-s", "HOST", "-p", "PORT"}, words...)...)
		if (got.Err == nil) != (reason == "") || got.Err != nil && !strings.Contains(got.Err.Error(), reason) {
			t.Errorf("%s: %v, wanted %q", args, got.Err, reason)
		}
	}
	probetest.Check(t, "check_dig", ours.Dig, to, "-H", "HOST", "-p", "PORT", "-l", "www.example", "-T", "a", "-a", "192.0.2.1").Healthy(t)
}

func TestAnswersToOtherQuestionsAreIgnored(t *testing.T) {
	to := serve(t, zone)
	for _, name := range []string{"other.example", "id.example"} {
		probetest.In(t, 300e6, "check_dig", ours.Dig, to, "-p", "PORT", "-l", name).Down(t, "no")
		probetest.In(t, 300e6, "check_dig", ours.Dig, to, "-p", "PORT", "-l", name, "--tcp").Down(t, "")
	}
}

func TestInvalidQuestionsAreRefused(t *testing.T) {
	for args, want := range map[string]string{"": "the name to ask for is missing", "-H a..b": "is no name", "-H a -q X": "is no type", "-H a -n -a 1.2.3.4": "not to exist"} {
		if got := probetest.Refused(t, "check_dns", ours.Check, strings.Fields(args)...); !strings.Contains(got, want) {
			t.Errorf("%s: %s", args, got)
		}
	}
}
