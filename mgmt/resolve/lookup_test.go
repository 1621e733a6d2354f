package resolve_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/miekg/dns"

	"github.com/sluicelb/sluice/mgmt/resolve"
)

// text returns an answer in one line.
func text(a resolve.Answer) string {
	var out []string
	for _, t := range a.Targets {
		s := t.String()
		if t.Port != 0 {
			s += fmt.Sprintf("/%d/%d/%s", t.Priority, t.Weight, t.Host)
		}
		out = append(out, s)
	}
	return fmt.Sprintf("%s ttl %v", strings.Join(out, " "), a.TTL)
}

func TestNamesAreLookedUpAsProgramsDo(t *testing.T) {
	z := serve(t,
		"db.example. 60 A 10.0.0.2", "db.example. 30 A 10.0.0.1", "db.example. 90 AAAA 2001:db8::1",
		"four.example. 60 A 10.0.0.4", "six.example. 70 AAAA 2001:db8::6",
		"mapped.example. 60 A 192.0.2.1", "mapped.example. 60 AAAA ::ffff:192.0.2.1", "mapped.example. 60 AAAA ::ffff:0.0.0.0", "mapped.example. 60 AAAA ::ffff:224.0.0.1",
		"www.example. 20 CNAME web.example.", "web.example. 50 A 10.0.0.5",
		"txt.example. 60 TXT nothing", "loop.example. 60 CNAME loop.example.",
		"short.corp.example. 60 A 10.0.0.6", "a.b.corp.example. 60 A 10.0.0.7",
		"_http._tcp.example. 40 SRV 10 5 8080 web.example.", "_http._tcp.example. 40 SRV 20 0 8081 db.example.",
		"_none._tcp.example. 40 SRV 0 0 0 .", "_gone._tcp.example. 40 SRV 0 0 80 nobody.example.",
	)
	s := system(t, "search corp.example\noptions ndots:2 timeout:1 attempts:1", "10.9.9.9 printer printer.lan # the old one\n::1 local6\n::ffff:10.9.9.8 mapped6\n", z)
	for name, want := range map[string]string{
		"db.example": "10.0.0.1 10.0.0.2 2001:db8::1 ttl 30s", "DB.example.": "10.0.0.1 10.0.0.2 2001:db8::1 ttl 30s",
		"four.example": "10.0.0.4 ttl 1m0s", "six.example": "2001:db8::6 ttl 1m10s", "www.example": "10.0.0.5 ttl 20s",
		"short": "10.0.0.6 ttl 1m0s", "a.b": "10.0.0.7 ttl 1m0s",
		"printer.LAN": "10.9.9.9 ttl 10s", "local6": "::1 ttl 10s", "mapped.example": "192.0.2.1 ::ffff:192.0.2.1 ttl 1m0s", "mapped6": "10.9.9.8 ttl 10s", "localhost": "127.0.0.1 ::1 ttl 10s",
	} {
		a, err := s.Lookup(context.Background(), resolve.Question{Name: name})
		if err != nil || text(a) != want || a.Unknown4 || a.Unknown6 {
			t.Errorf("%s: %s, %v, want %s", name, text(a), err, want)
		}
	}
	a, err := s.Lookup(context.Background(), resolve.Question{Name: "_http._tcp.example.", Service: true})
	if want := "10.0.0.1:8081/20/0/db.example 10.0.0.2:8081/20/0/db.example 10.0.0.5:8080/10/5/web.example [2001:db8::1]:8081/20/0/db.example ttl 30s"; err != nil || text(a) != want {
		t.Errorf("%s, %v\nwant %s", text(a), err, want)
	}
	for q, want := range map[resolve.Question]error{
		{Name: "nobody.example."}: resolve.ErrNoName, {Name: "txt.example."}: resolve.ErrNoAddress, {Name: "loop.example."}: resolve.ErrNoAddress,
		{Name: "_none._tcp.example.", Service: true}: resolve.ErrNoAddress, {Name: "_who._tcp.example.", Service: true}: resolve.ErrNoName, {Name: "_gone._tcp.example.", Service: true}: resolve.ErrNoName,
	} {
		if a, err := s.Lookup(context.Background(), q); !errors.Is(err, want) {
			t.Errorf("%v: %s, %v", q, text(a), err)
		}
	}
}

func TestUnfollowedCNAMEsAreQueried(t *testing.T) {
	z := serve(t, "www.example. 300 CNAME web.example.", "web.example. 50 CNAME host.example.", "host.example. 100 A 10.0.0.5")
	a, err := system(t, "", "", z).Lookup(context.Background(), resolve.Question{Name: "www.example"})
	if err != nil || text(a) != "10.0.0.5 ttl 50s" || z.count("host.example. A") == 0 {
		t.Errorf("%s, %v", text(a), err)
	}
}

func TestLongAnswersComeByTCP(t *testing.T) {
	var records []string
	for i := range 100 {
		records = append(records, fmt.Sprintf("many.example. 60 A 10.0.0.%d", i+1))
	}
	z := serve(t, records...)
	a, err := system(t, "", "", z).Lookup(context.Background(), resolve.Question{Name: "many.example"})
	if err != nil || len(a.Targets) != resolve.MaxTargets || !a.Cut || a.Targets[0].String() != "10.0.0.1" {
		t.Errorf("%d targets, cut %v, %v", len(a.Targets), a.Cut, err)
	}
	if z.count("tcp many.example. A") == 0 {
		t.Error("no query over TCP")
	}
}

func TestServersWithoutEDNS0AreUnderstood(t *testing.T) {
	z := serve(t, "db.example. 60 A 10.0.0.1")
	z.wrong(func(q, reply *dns.Msg) {
		if q.IsEdns0() != nil {
			reply.Rcode, reply.Answer = dns.RcodeFormatError, nil
		}
	})
	if a, err := system(t, "", "", z).Lookup(context.Background(), resolve.Question{Name: "db.example"}); err != nil || text(a) != "10.0.0.1 ttl 1m0s" {
		t.Errorf("got %s, %v, want %s", text(a), err, "10.0.0.1 ttl 1m0s")
	}
	if n := z.count("udp db.example. A"); n != 4 { // A and AAAA, with and without EDNS0
		t.Errorf("%d queries", n)
	}
}

func TestOfTheHostsFileAMebibyteIsRead(t *testing.T) {
	for lines, want := range map[int]bool{1<<18 - 1: true, 1 << 18: false} {
		s := system(t, "options attempts:1", strings.Repeat("# x\n", lines)+"10.9.9.3 late\n", serve(t))
		if a, err := s.Lookup(context.Background(), resolve.Question{Name: "late"}); (err == nil) != want {
			t.Errorf("after %d lines: %s, %v", lines, text(a), err)
		}
	}
}

func TestNextServerIsQueriedAfterAFailure(t *testing.T) {
	for name, spoil := range map[string]func(z *zone){
		"SERVFAIL": func(z *zone) { z.fail("db.example.", dns.RcodeServerFailure) },
		"silent":   func(z *zone) { z.fail("db.example.", silent) },
		"another question": func(z *zone) {
			z.wrong(func(_, reply *dns.Msg) { reply.Question[0].Name = "evil.example." })
		},
	} {
		bad, good := serve(t, "db.example. 60 A 10.6.6.6"), serve(t, "db.example. 60 A 10.0.0.1")
		spoil(bad)
		a, err := system(t, "options timeout:1 attempts:1", "", bad, good).Lookup(context.Background(), resolve.Question{Name: "db.example"})
		if err != nil || text(a) != "10.0.0.1 ttl 1m0s" {
			t.Errorf("%s: got %s, %v, want %s", name, text(a), err, "10.0.0.1 ttl 1m0s")
		}
	}
}

func TestFailureIsNotANegativeAnswer(t *testing.T) {
	z := serve(t, "db.example. 60 A 10.0.0.1")
	s := system(t, "options timeout:1 attempts:2", "", z)
	z.fail("db.example.", dns.RcodeServerFailure)
	_, err := s.Lookup(context.Background(), resolve.Question{Name: "db.example"})
	if err == nil || errors.Is(err, resolve.ErrNoName) || errors.Is(err, resolve.ErrNoAddress) || !strings.Contains(err.Error(), "SERVFAIL") || !strings.Contains(err.Error(), z.addr) {
		t.Errorf("SERVFAIL: %v", err)
	}
	if n := z.count("db.example. A"); n != 4 { // A and AAAA, twice
		t.Errorf("%d queries", n)
	}
	z.fail("db.example.", silent)
	if _, err := s.Lookup(context.Background(), resolve.Question{Name: "db.example"}); err == nil || !strings.Contains(err.Error(), "no answer within 1s") {
		t.Errorf("silent: %v", err)
	}
	if _, err := system(t, "nameserver 127.0.0.1:1", "").Lookup(context.Background(), resolve.Question{Name: "db.example"}); err == nil || !strings.HasPrefix(err.Error(), "name server 127.0.0.1:1: ") ||
		!strings.HasSuffix(err.Error(), "connection refused") || strings.Contains(err.Error(), "->") {
		t.Errorf("no server: %v", err)
	}
	if _, err := (resolve.System{Config: t.TempDir() + "/none"}).Lookup(context.Background(), resolve.Question{Name: "db.example"}); err == nil || !strings.Contains(err.Error(), "/none is missing") {
		t.Errorf("no resolv.conf: %v", err)
	}
	// A missing answer for one version does not remove the other.
	z.fail("db.example.", dns.RcodeSuccess)
	z.wrong(func(q, reply *dns.Msg) {
		if q.Question[0].Qtype == dns.TypeAAAA {
			reply.Rcode = dns.RcodeServerFailure
		}
	})
	if a, err := s.Lookup(context.Background(), resolve.Question{Name: "db.example"}); err != nil || text(a) != "10.0.0.1 ttl 1m0s" || !a.Unknown6 || a.Unknown4 {
		t.Errorf("no AAAA: %s %+v %v", text(a), a, err)
	}
}

func TestALookupEndsWithItsCaller(t *testing.T) {
	z := serve(t)
	z.fail("db.example.", silent)
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	if _, err := system(t, "options timeout:10 attempts:5", "", z).Lookup(ctx, resolve.Question{Name: "db.example"}); err == nil {
		t.Error("an answer without a server")
	}
}

// Unknown lines in resolv.conf and the hosts file are ignored, and missing ones have a
// default.
func TestFilesOfTheSystemMayBeOdd(t *testing.T) {
	z := serve(t, "db.example. 60 A 10.0.0.1", "_db._tcp.example. 60 SRV 1 2 80 printer.lan.")
	s := system(t, "", "10.9.9.1\nnonsense printer.lan\n10.9.9.2 printer.lan\n", z)
	for q, want := range map[resolve.Question]string{
		{Name: "printer.lan"}:                     "10.9.9.2 ttl 10s",
		{Name: "a.localhost."}:                    "127.0.0.1 ::1 ttl 10s",
		{Name: "_db._tcp.example", Service: true}: "10.9.9.2:80/1/2/printer.lan ttl 10s",
	} {
		if a, err := s.Lookup(context.Background(), q); err != nil || text(a) != want {
			t.Errorf("%v: %s, %v, want %s", q, text(a), err, want)
		}
	}
	for path, want := range map[string]string{s.Config: " names no name server", s.Config + "/x": " cannot be read: "} {
		if err := os.WriteFile(s.Config, []byte("search a.test\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := resolve.System{Hosts: s.Hosts, Config: path}.Lookup(context.Background(), resolve.Question{Name: "db.example"})
		if err == nil || !strings.HasPrefix(err.Error(), path+want) {
			t.Errorf("%s: %v", path, err)
		}
	}
}

func TestFailedFamilyWithAnAbsentOneIsAnError(t *testing.T) {
	z := serve(t, "db.example. 60 A 10.0.0.1", "_db._tcp.example. 60 SRV 1 2 80 other.example.", "_db._tcp.example. 60 SRV 1 2 80 db.example.")
	s := system(t, "options attempts:1", "", z)
	for _, failing := range []uint16{dns.TypeA, dns.TypeAAAA} {
		z.wrong(func(q, reply *dns.Msg) {
			if q.Question[0].Qtype == failing && q.Question[0].Name == "other.example." {
				reply.Rcode = dns.RcodeServerFailure
			}
		})
		for _, q := range []resolve.Question{{Name: "other.example."}, {Name: "_db._tcp.example.", Service: true}} {
			if a, err := s.Lookup(context.Background(), q); err == nil || !strings.Contains(err.Error(), "SERVFAIL") {
				t.Errorf("%v without %s: %s, %v", q, dns.TypeToString[failing], text(a), err)
			}
		}
	}
}

func TestAServiceHasABoundedNumberOfServers(t *testing.T) {
	var records []string
	for i := range resolve.MaxTargets + 1 {
		records = append(records, fmt.Sprintf("_db._tcp.example. 60 SRV 0 0 80 h%d.example.", i), fmt.Sprintf("h%d.example. 60 A 10.0.0.1", i))
	}
	z := serve(t, records...)
	a, err := system(t, "", "", z).Lookup(context.Background(), resolve.Question{Name: "_db._tcp.example.", Service: true})
	if err != nil || len(a.Targets) != 1 || !a.Cut {
		t.Errorf("%s, cut %t, %v", text(a), a.Cut, err)
	}
	if n := z.count(" h"); n != 2*resolve.MaxTargets {
		t.Errorf("%d questions about servers", n)
	}
}

// An answer may contain records of other names, and its aliases may end at another name.
func TestOnlyRecordsOfTheNameAreItsAddresses(t *testing.T) {
	z := serve(t, "db.example. 60 A 10.0.0.1", "db.example. 60 A 0.0.0.0", "db.example. 60 A 224.0.0.1", "db.example. 60 AAAA ::ffff:10.0.0.2", "none.example. 60 TXT nothing")
	other, err := dns.NewRR("evil.example. 1 A 10.6.6.6")
	if err != nil {
		t.Fatal(err)
	}
	z.wrong(func(_, reply *dns.Msg) { reply.Answer = append(reply.Answer, other) })
	s := system(t, "", "", z)
	if a, err := s.Lookup(context.Background(), resolve.Question{Name: "db.example."}); err != nil || text(a) != "10.0.0.1 ::ffff:10.0.0.2 ttl 1m0s" {
		t.Errorf("got %s, %v, want %s", text(a), err, "10.0.0.1 ::ffff:10.0.0.2 ttl 1m0s")
	}
	if a, err := s.Lookup(context.Background(), resolve.Question{Name: "none.example."}); !errors.Is(err, resolve.ErrNoAddress) {
		t.Errorf("another name's address: %s, %v", text(a), err)
	}
}
