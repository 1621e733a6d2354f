package acme

import (
	"context"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/miekg/dns"

	"github.com/sluicelb/sluice/mgmt/acme/acmetest"
	"github.com/sluicelb/sluice/mgmt/resolve/dnstest"
)

// A record is queried at the servers of its zone, which is found from its name upwards.
func TestRecordIsQueriedAtTheServersOfItsZone(t *testing.T) {
	names := acmetest.NewNameServer(t, netip.MustParseAddr("127.0.0.1"), []string{"sluice.test", "ns.sluice.test"})
	folder := t.TempDir()
	names.Records(folder)
	port := netip.MustParseAddrPort(names.Addr()).Port()
	look := &lookout{resolvers: []string{names.Addr()}, port: port}
	records := []txt{{"a.b.sluice.test", "_acme-challenge.a.b.sluice.test", "v1"}, {"a.b.sluice.test", "_acme-challenge.a.b.sluice.test", "v2"}}
	put := func(value string) {
		if err := os.WriteFile(filepath.Join(folder, records[0].name+"="+value), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	put("v1")
	put("other")
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if missing, err := look.until(ctx, records); err == nil || missing != records[1].name || !strings.Contains(err.Error(), "does not have it yet") {
		t.Errorf("%s: %v", missing, err)
	}
	put("v2")
	if missing, err := look.until(t.Context(), records); err != nil {
		t.Errorf("%s: %v", missing, err)
	}
	names.Alias("_acme-challenge.loop.sluice.test", "_acme-challenge.loop.sluice.test")
	ctx, cancel = context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if _, err := look.until(ctx, []txt{{"", "_acme-challenge.loop.sluice.test", "v"}}); err == nil || !strings.Contains(err.Error(), "without end") {
		t.Errorf("a loop of aliases: %v", err)
	}
	ctx, cancel = context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if _, err := look.until(ctx, []txt{{"", "_acme-challenge.nobody.example", "v"}}); err == nil || !strings.Contains(err.Error(), "dns_servers") {
		t.Errorf("without a zone: %v", err)
	}
}

// zoneOf starts a name server for records in zone file format, over UDP and TCP; spoil
// modifies responses.
func zoneOf(t *testing.T, spoil func(network string, q, reply *dns.Msg), records ...string) (addr string) {
	t.Helper()
	var list []dns.RR
	for _, text := range records {
		rr, err := dns.NewRR(text)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, rr)
	}
	return dnstest.Serve(t, func(network string, w dns.ResponseWriter, q *dns.Msg) {
		reply := new(dns.Msg).SetReply(q)
		for _, rr := range list {
			if rr.Header().Name == q.Question[0].Name && rr.Header().Rrtype == q.Question[0].Qtype {
				reply.Answer = append(reply.Answer, rr)
			}
		}
		if spoil != nil {
			spoil(network, q, reply)
		}
		_ = w.WriteMsg(reply)
	})
}

func TestTheServersOfAZoneAreFound(t *testing.T) {
	soa := "zone.test. 60 SOA ns. x. 1 1 1 1 1"
	alias, err := dns.NewRR("zone.test. 60 CNAME other.test.")
	if err != nil {
		t.Fatal(err)
	}
	for what, c := range map[string]struct {
		records []string
		spoil   func(network string, q, reply *dns.Msg)
		port    uint16
		want    []string
		says    string
	}{
		"by IPv4, each once": {[]string{soa, "zone.test. 60 NS b.test.", "zone.test. 60 NS a.test.", "zone.test. 60 NS c.test.", "a.test. 60 A 10.0.0.1", "a.test. 60 AAAA 2001:db8::1", "b.test. 60 A 10.0.0.2", "c.test. 60 A 10.0.0.1"},
			nil, 0, []string{"10.0.0.1:53", "10.0.0.2:53"}, ""},
		"by IPv6 alone":        {[]string{soa, "zone.test. 60 NS a.test.", "a.test. 60 AAAA 2001:db8::1"}, nil, 5353, []string{"[2001:db8::1]:5353"}, ""},
		"without an address":   {[]string{soa, "zone.test. 60 NS a.test."}, nil, 0, nil, "the name server a.test. of zone.test.: it has no address"},
		"without name servers": {[]string{soa}, nil, 0, nil, "the zone zone.test. names no name servers: set dns_servers"},
		"beside other records": {[]string{soa, "zone.test. 60 NS a.test.", "a.test. 60 A 10.0.0.1"}, func(_ string, _, reply *dns.Msg) {
			reply.Answer = append([]dns.RR{alias}, reply.Answer...)
		}, 0, []string{"10.0.0.1:53"}, ""},
		"the SOA told beside no answer": {[]string{"zone.test. 60 NS a.test.", "a.test. 60 A 10.0.0.1"}, func(_ string, q, reply *dns.Msg) {
			if rr, err := dns.NewRR(soa); err == nil && q.Question[0].Qtype == dns.TypeSOA {
				reply.Rcode, reply.Ns = dns.RcodeNameError, []dns.RR{rr}
			}
		}, 0, []string{"10.0.0.1:53"}, ""},
		"the SOA of somebody else": {nil, func(_ string, q, reply *dns.Msg) {
			if rr, err := dns.NewRR("other.test. 60 SOA ns. x. 1 1 1 1 1"); err == nil && q.Question[0].Qtype == dns.TypeSOA {
				reply.Ns = []dns.RR{rr}
			}
		}, 0, nil, "do not tell the zone"},
		"refused": {nil, func(_ string, _, reply *dns.Msg) { reply.Rcode = dns.RcodeRefused }, 0, nil, "it answers REFUSED: set dns_servers"},
		"refused the NS": {[]string{soa}, func(_ string, q, reply *dns.Msg) {
			if q.Question[0].Qtype == dns.TypeNS {
				reply.Rcode = dns.RcodeRefused
			}
		}, 0, nil, "it answers REFUSED: set dns_servers"},
		"refused the addresses": {[]string{soa, "zone.test. 60 NS a.test."}, func(_ string, q, reply *dns.Msg) {
			if q.Question[0].Qtype == dns.TypeA {
				reply.Rcode = dns.RcodeRefused
			}
		}, 0, nil, "a.test. of zone.test.: it answers REFUSED"},
		"not asked to look elsewhere": {[]string{soa, "zone.test. 60 NS a.test.", "a.test. 60 A 10.0.0.1"}, func(_ string, q, reply *dns.Msg) {
			if !q.RecursionDesired {
				reply.Rcode = dns.RcodeRefused
			}
		}, 0, []string{"10.0.0.1:53"}, ""},
	} {
		// The first resolver is unreachable, so the next one is used.
		look := &lookout{resolvers: []string{"127.0.0.1:1", zoneOf(t, c.spoil, c.records...)}, port: c.port}
		got, err := look.of(t.Context(), "_acme-challenge.a.zone.test.")
		if !slices.Equal(got, c.want) || (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, %v", what, got, err)
		}
	}
}

// Authoritative servers are queried without recursion, resolvers with recursion.
func TestOnlyResolversGetRecursiveQueries(t *testing.T) {
	var desired atomic.Bool
	value := "_acme-challenge.zone.test. 60 TXT v"
	addr := zoneOf(t, func(_ string, q, _ *dns.Msg) { desired.Store(q.RecursionDesired) },
		"zone.test. 60 SOA ns. x. 1 1 1 1 1", "zone.test. 60 NS a.test.", "a.test. 60 A 127.0.0.1", value)
	for _, set := range []bool{false, true} {
		look := &lookout{resolvers: []string{addr}, port: netip.MustParseAddrPort(addr).Port()}
		if set {
			look.servers = []string{addr}
		}
		if missing, err := look.until(t.Context(), []txt{{"zone.test", "_acme-challenge.zone.test", "v"}}); err != nil || desired.Load() != set {
			t.Errorf("servers set %t: %s, %v, recursion desired %t", set, missing, err, desired.Load())
		}
	}
}

func TestRecordIsPolledUntilVisible(t *testing.T) {
	var asked atomic.Int64
	addr := zoneOf(t, func(network string, _, reply *dns.Msg) {
		if network == "udp" { // too large for a datagram
			reply.Truncated, reply.Answer = true, nil
		} else if asked.Add(1) == 1 {
			reply.Answer = nil
		}
	}, "_acme-challenge.zone.test. 60 TXT \"long \" value")
	look := &lookout{servers: []string{addr}}
	if missing, err := look.until(t.Context(), []txt{{"zone.test", "_acme-challenge.zone.test", "long value"}}); err != nil || missing != "" || asked.Load() != 2 {
		t.Errorf("%s: %v, %d lookups", missing, err, asked.Load())
	}
}

func TestAChainOfAliasesMayHaveSevenLinks(t *testing.T) {
	name := func(i int) string { return fmt.Sprintf("n%d.zone.test.", i) }
	addr := dnstest.Serve(t, func(_ string, w dns.ResponseWriter, q *dns.Msg) {
		reply := new(dns.Msg).SetReply(q)
		var at int
		_, _ = fmt.Sscanf(q.Question[0].Name, "n%d.", &at)
		h := dns.RR_Header{Name: q.Question[0].Name, Class: dns.ClassINET}
		if h.Rrtype = dns.TypeCNAME; at > 0 {
			reply.Answer = []dns.RR{&dns.CNAME{Hdr: h, Target: name(at - 1)}}
		} else {
			h.Rrtype = dns.TypeTXT
			reply.Answer = []dns.RR{&dns.TXT{Hdr: h, Txt: []string{"v"}}}
		}
		_ = w.WriteMsg(reply)
	})
	look := &lookout{servers: []string{addr}}
	if err := look.one(t.Context(), name(7), "v"); err != nil {
		t.Errorf("seven: %v", err)
	}
	if err := look.one(t.Context(), name(8), "v"); err == nil || !strings.Contains(err.Error(), "without end") {
		t.Errorf("eight: %v", err)
	}
}

func TestResolversComeFromResolvConf(t *testing.T) {
	file := filepath.Join(t.TempDir(), "resolv.conf")
	for text, want := range map[string][]string{
		"nameserver 192.0.2.1\nnameserver 2001:db8::1\n": {"192.0.2.1:53", "[2001:db8::1]:53"}, "search a.test\n": nil,
	} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := systemResolvers(file)
		if !slices.Equal(got, want) || (err == nil) != (want != nil) {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
	if got, err := systemResolvers(file + ".none"); err == nil || !strings.Contains(err.Error(), "no resolvers: set dns_servers") {
		t.Errorf("no file: %v, %v", got, err)
	}
}

// The time may end during a query, whose failure would say nothing about the record.
func TestLastCompleteCheckGivesTheReason(t *testing.T) {
	t.Parallel()
	var asked atomic.Int32
	addr := dnstest.Serve(t, func(_ string, w dns.ResponseWriter, q *dns.Msg) {
		if asked.Add(1) == 1 {
			_ = w.WriteMsg(new(dns.Msg).SetReply(q))
		}
	})
	look := &lookout{servers: []string{addr}}
	ctx, cancel := context.WithTimeout(t.Context(), lookPause+time.Second)
	defer cancel()
	missing, err := look.until(ctx, []txt{{"sluice.test", "_acme-challenge.sluice.test", "v"}})
	if err == nil || missing != "_acme-challenge.sluice.test" || !strings.Contains(err.Error(), "does not have it yet") || asked.Load() < 2 {
		t.Errorf("after %d queries: %s: %v", asked.Load(), missing, err)
	}
}
