package resolve_test

import (
	"context"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/miekg/dns"

	"github.com/sluicelb/sluice/mgmt/resolve"
)

const (
	oldDS = "1 13 2 0000000000000000000000000000000000000000000000000000000000000000"
	newDS = "2 13 2 1111111111111111111111111111111111111111111111111111111111111111"
)

// delegated returns the delegation of example.com from a resolver whose records also name
// it as a server of com. change spoils the answers of the server.
func delegated(t *testing.T, zone string, change func(q, reply *dns.Msg), records ...string) (resolve.Delegation, error) {
	t.Helper()
	z := serve(t, append(records, "com. 60 SOA a.com. b.com. 1 2 3 4 5", "com. 60 NS ns.com.", "ns.com. 60 A 127.0.0.1")...)
	z.wrong(func(q, reply *dns.Msg) {
		if q.Question[0].Qtype == dns.TypeSOA && len(reply.Answer) == 0 {
			soa, _ := dns.NewRR("com. 60 SOA a.com. b.com. 1 2 3 4 5")
			reply.Ns = append(reply.Ns, soa)
		}
		if q.Question[0].Qtype == dns.TypeDS {
			if q.RecursionDesired {
				t.Error("recursion is requested from a server of the zone")
			}
			reply.Authoritative = true
			change(q, reply)
		}
	})
	s := system(t, "options timeout:1 attempts:1", "", z)
	s.Port = netip.MustParseAddrPort(z.addr).Port()
	return s.Delegation(context.Background(), zone)
}

func TestDelegationIsReadFromTheParentZone(t *testing.T) {
	both := []string{"example.com. 3600 DS " + oldDS, "example.com. 3600 DS " + newDS, "a.b.example.com. 7200 DS " + newDS}
	as := func(q, reply *dns.Msg) {}
	for zone, want := range map[string]string{
		"example.com":     "com. 1h0m0s " + oldDS + "," + newDS,
		"Example.COM.":    "com. 1h0m0s " + oldDS + "," + newDS,
		"a.b.example.com": "com. 2h0m0s " + newDS, // the names between are no zones
		"none.com":        "com. 0s ",
	} {
		d, err := delegated(t, zone, as, both...)
		if got := d.Parent + " " + d.TTL.String() + " " + strings.Join(d.DS, ","); err != nil || got != want {
			t.Errorf("%s: %s, %v, want %s", zone, got, err, want)
		}
	}
	for says, change := range map[string]func(q, reply *dns.Msg){
		"it does not answer for the zone": func(_, reply *dns.Msg) { reply.Authoritative = false },
		"it answers REFUSED":              func(_, reply *dns.Msg) { reply.Rcode = dns.RcodeRefused },
	} {
		if d, err := delegated(t, "example.com", change, both...); err == nil || !strings.Contains(err.Error(), "the name server ns.com. of com.: "+says) {
			t.Errorf("%+v, %v, want %s", d, err, says)
		}
	}
}

// A resolver may use any server of the parent zone, so a record that one of them lacks does
// not count.
func TestOnlyRecordsOfAllServersCount(t *testing.T) {
	var asked atomic.Int32
	some := func(q, reply *dns.Msg) {
		switch asked.Add(1) {
		case 2:
			reply.Answer = reply.Answer[:1]
		case 3:
			reply.Rcode = dns.RcodeServerFailure
		}
	}
	d, err := delegated(t, "example.com", some, "example.com. 60 DS "+oldDS, "example.com. 60 DS "+newDS,
		"com. 60 NS ns2.com.", "ns2.com. 60 A 127.0.0.1", "com. 60 NS ns3.com.", "ns3.com. 60 A 127.0.0.1")
	if err != nil || asked.Load() != 3 || strings.Join(d.DS, ",") != oldDS {
		t.Errorf("%+v, %v, %d queries", d, err, asked.Load())
	}
}
