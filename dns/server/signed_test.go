package server_test

import (
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/porttest"
	"github.com/sluicelb/sluice/core/rdata"
	"github.com/sluicelb/sluice/core/rdata/rdatatest"
	"github.com/sluicelb/sluice/dns/sign"
)

// zoneKey returns a new key.
func zoneKey(t testing.TB, of farm.SigningAlgorithm, state farm.KeyState) farm.ZoneKey {
	t.Helper()
	public, private, err := rdata.NewKey(of)
	if err != nil {
		t.Fatal(err)
	}
	return farm.ZoneKey{Algorithm: of, State: state, Public: public, Private: farm.Secret(private)}
}

// signed returns the corpus zone with a key, and a name served by two services.
func signed(t testing.TB, of farm.SigningAlgorithm) *farm.GSLB {
	list := append(records(corpusZone), records(`
		shop     DYNA shop
		*.shops  DYNA shop
		four     DYNA four
		NS3      A    192.0.2.3
		Mixed    MX   10 MAIL.Example.COM.
		Mixed    NAPTR 100 10 "S" "SIP+D2U" "" _SIP._udp
	`)...)
	for i := range list {
		list[i].ID = uint32(i + 1)
	}
	v4 := backends("192.0.2.104")
	v4[0].ID, v4[0].Slot = 9, 9
	return &farm.GSLB{
		Zones: []farm.Zone{{ID: 1, Name: "example.com", NameServer: "ns1", Serial: 5, Records: list, Signing: of, Keys: []farm.ZoneKey{zoneKey(t, of, farm.KeyActive)}}},
		Services: []farm.DNSService{
			{ID: 1, Name: "shop", Algorithm: farm.DNSRoundRobin, Backends: backends("192.0.2.101", "192.0.2.100", "2001:db8::100", "192.0.2.100")},
			{ID: 2, Name: "four", Algorithm: farm.DNSRoundRobin, AllDown: farm.AllDownNone, Backends: v4},
		},
	}
}

// askSigned queries like a validating resolver, with a retry by TCP after truncation.
func (a *appliance) askSigned(question string) []byte {
	a.t.Helper()
	msg := validating(a.t, question)
	raw := a.exchange(msg, false)
	if read(a.t, raw).flags&flagTC != 0 {
		raw = a.exchange(msg, true)
	}
	return raw
}

// validated returns the parsed answer, whose signatures must be valid.
func (a *appliance) validated(question string) *rdatatest.Answer {
	a.t.Helper()
	var keys []string
	for _, k := range a.farm.Global.Zones[0].Keys {
		keys = append(keys, rdata.KeyOf("example.com", k.Algorithm, k.Public).DNSKEY)
	}
	out, err := rdatatest.Read(a.askSigned(question), "example.com", keys...)
	if err == nil {
		err = out.Check(time.Now())
	}
	if err != nil {
		a.t.Errorf("%s: %v", question, err)
	}
	return out
}

// In every answer each set has a signature, and missing names and types are denied.
func TestEveryAnswerOfASignedZoneIsSigned(t *testing.T) {
	for _, of := range farm.SigningAlgorithms() {
		t.Run(string(of), func(t *testing.T) {
			g := signed(t, of)
			a := newAppliance(t, 1, g)
			a.up(1, 2, 3, 4, 9)
			names := []string{"", "nothing.", "b.c.", "wild.", "any.wild.", "x.moved.", "x.away.", "x.again.", "x.x.wild.", "any.cwild.", "host.sub.", "x.plain.", "_tcp.", "any.shops.", "*.wild.", strings.Repeat("a.", 120)}
			for _, r := range g.Zones[0].Records {
				if r.Name != "@" {
					names = append(names, r.Name+".")
				}
			}
			for _, name := range names {
				for _, kind := range []string{"A", "AAAA", "NS", "CNAME", "MX", "TXT", "SOA", "SRV", "NAPTR", "CAA", "TLSA", "HTTPS", "DS", "DNSKEY", "CDS", "CDNSKEY", "NSEC", "ANY", "TYPE65280", "TYPE65534", "SSHFP", "HINFO", "RP", "LOC", "URI", "CERT", "OPENPGPKEY", "AFSDB", "KX", "DNAME"} {
					a.validated(name + "example.com " + kind)
				}
			}
		})
	}
}

// A query for RRSIG returns the signatures of one set of the name, the same as with the set.
// A query for a type allowed beside a CNAME does not follow it (RFC 4035 §2.5).
func TestRRSIGQueriesAreAnswered(t *testing.T) {
	a := newAppliance(t, 1, signed(t, farm.SignECDSA))
	a.up(1, 2, 3, 4, 9)
	for name, want := range map[string]string{
		"example.com": "", "www.example.com": "", "alias.example.com": "CNAME", "any.cwild.example.com": "CNAME", "any.wild.example.com": "", "*.wild.example.com": "",
		"b.c.example.com": "NSEC", "shop.example.com": "NSEC", "any.shops.example.com": "NSEC", "mail.example.com": "A",
	} {
		got := read(t, a.askSigned(name+" RRSIG"))
		if got.flags&flagAA == 0 || got.rcode() != 0 || len(got.answer) != 1 || len(got.authority) > 0 {
			t.Errorf("%s: %q, %q", name, got.answer, got.authority)
			continue
		}
		_, data, _ := strings.Cut(got.answer[0], " RRSIG ")
		kind, _, _ := strings.Cut(data, " ")
		a.validated(name + " " + kind)
		if with := read(t, a.askSigned(name+" "+kind)); want != "" && kind != want || !slices.Contains(with.answer, got.answer[0]) {
			t.Errorf("%s: %s, and with the set %q", name, got.answer[0], with.answer)
		}
	}
	// For a missing name the answer is its denial record, because named does not validate a
	// denial with the queried set.
	for _, name := range []string{"alias.example.com", "any.cwild.example.com", "nothing.example.com", "x.y.example.com"} {
		if got := read(t, a.askSigned(name+" NSEC")); len(got.answer) != 2 || !strings.Contains(got.answer[0], " NSEC ") {
			t.Errorf("%s: %q", name, got.answer)
		}
	}
	if got := a.ask("sub.example.com RRSIG", false); len(got.answer) > 0 || len(got.authority) == 0 || got.flags&flagAA != 0 {
		t.Errorf("at a delegated name: %q %q", got.answer, got.authority)
	}
	plain := newAppliance(t, 1, example())
	for _, question := range []string{"alias.example.com RRSIG", "alias.example.com NSEC", "www.example.com RRSIG", "www.example.com NSEC"} {
		if got := plain.ask(question, false); len(got.answer) > 0 || !same(got.authority, soa) || got.rcode() != 0 {
			t.Errorf("%s, not signed: %q %q", question, got.answer, got.authority)
		}
	}
}

func TestAbsentNamesAndTypesAreDenied(t *testing.T) {
	a := newAppliance(t, 1, signed(t, farm.SignEd25519))
	a.up(1, 2, 3, 4)
	a.down(9)
	for question, want := range map[string]string{
		"nothing.example.com A":     "NSEC NXNAME RRSIG",
		"x.y.example.com A":         "NSEC NXNAME RRSIG",
		"nothing.example.com RRSIG": "NSEC NXNAME",
		"www.example.com TXT":       "A AAAA HTTPS NSEC RRSIG",
		"b.c.example.com A":         "NSEC RRSIG",
		"any.wild.example.com MX":   "A NSEC RRSIG TXT",
		"shop.example.com TXT":      "A AAAA NSEC RRSIG",
		"four.example.com A":        "AAAA NSEC RRSIG", // no backend works: the other version may exist
		"four.example.com AAAA":     "A NSEC RRSIG",
		"plain.example.com DS":      "NS NSEC RRSIG",
		"sub.example.com NS":        "",
		"odd.example.com TXT":       "A NSEC RRSIG TYPE1000 TYPE1001 TYPE65534",
		"odd.example.com TYPE1002":  "A NSEC RRSIG TYPE1000 TYPE1001 TYPE65534",
		"example.com AAAA":          "A CAA CDNSKEY CDS DNSKEY MX NS NSEC RRSIG SOA TXT",
	} {
		name, _, _ := strings.Cut(question, " ")
		types, _ := a.validated(question).Denied(name)
		if got := strings.Join(types, " "); got != want {
			t.Errorf("%s: %s is denied all but %q, want %q", question, name, got, want)
		}
	}
	if types, _ := a.validated("www.plain.example.com A").Denied("plain.example.com"); strings.Join(types, " ") != "NS NSEC RRSIG" {
		t.Errorf("the denial of keys for plain has the types %q", types)
	}
}

// A missing name has the code NXDOMAIN for clients without DNSSEC, and for those that
// support compact answers.
func TestAbsentNameHasTheRightCode(t *testing.T) {
	a := newAppliance(t, 1, signed(t, farm.SignECDSA))
	for name, want := range map[byte]int{0: 3, 0x80: 0, 0xc0: 3, 0x40: 3} {
		msg := query(t, "nothing.example.com A")
		msg[len(msg)-4] |= name
		if got := read(t, a.exchange(msg, false)).rcode(); got != want {
			t.Errorf("flags of EDNS %x: code %d, want %d", name, got, want)
		}
	}
	if n := a.Segment.SumFarm(7).NXDomains; n != 4 {
		t.Errorf("%d names that are not there were counted, want 4", n)
	}
	got := a.ask("www.example.com TYPE128", false)
	if got.rcode() != 1 || len(got.answer) != 0 {
		t.Errorf("the type of names that are not there is answered %s", got)
	}
}

// Missing names count as one answer per zone, signed or not. Otherwise random names would
// evade the limit of equal answers.
func TestRandomNamesOfASignedZoneShareARateLimit(t *testing.T) {
	g := signed(t, farm.SignEd25519)
	g.AnswerRate = 10
	a := newAppliance(t, 1, g)
	ask := a.engine.Answerer(7)
	whole := 0
	for i := range 40 {
		msg := query(t, fmt.Sprintf("x%d.example.com A", i))
		msg[len(msg)-4] |= 0x80
		if out := ask(msg, client); out != nil && out[2]&2 == 0 {
			whole++
		}
	}
	if whole != 10 {
		t.Errorf("%d of 40 are answered, want 10", whole)
	}
}

// Queries without DO get unsigned answers.
func TestQueriesWithoutDOGetNoSignatures(t *testing.T) {
	g := signed(t, farm.SignECDSA)
	a := newAppliance(t, 1, g)
	for _, question := range []string{"www.example.com A", "nothing.example.com A", "x.sub.example.com A", "example.com SOA"} {
		for _, list := range [][]string{a.ask(question, false).answer, a.ask(question, false).authority} {
			for _, rr := range list {
				if strings.Contains(rr, "RRSIG") || strings.Contains(rr, "NSEC") {
					t.Errorf("%s: %s", question, rr)
				}
			}
		}
	}
}

// A signed zone cannot be copied: the copy would have no signatures.
func TestSignedZoneIsNotTransferred(t *testing.T) {
	g := signed(t, farm.SignECDSA)
	g.Transfers = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
	if got := newAppliance(t, 1, g).ask("example.com AXFR", true); got.rcode() != 5 {
		t.Errorf("it is answered %s", got)
	}
}

// During a key rollover all keys sign the DNSKEY set, and the active one signs the rest. CDS
// lists all keys except the retired one.
func TestKeyRollKeepsTheZoneValid(t *testing.T) {
	g := signed(t, farm.SignEd25519)
	z := &g.Zones[0]
	next, old := zoneKey(t, farm.SignEd25519, farm.KeyPublished), zoneKey(t, farm.SignEd25519, farm.KeyRetired)
	active := z.Keys[0]
	z.Keys = append(z.Keys, next, old)
	a := newAppliance(t, 1, g)
	tag := func(k farm.ZoneKey) uint16 { return rdata.KeyOf("example.com", k.Algorithm, k.Public).Tag }
	all := []uint16{tag(active), tag(next), tag(old)}
	slices.Sort(all)
	if got := a.validated("example.com DNSKEY").Signers("DNSKEY"); !slices.Equal(got, all) {
		t.Errorf("the keys are signed by %d, want %d", got, all)
	}
	for _, kind := range []string{"SOA", "CDS", "CDNSKEY"} {
		if got := a.validated("example.com " + kind).Signers(kind); !slices.Equal(got, []uint16{tag(active)}) {
			t.Errorf("%s is signed by %d, want %d", kind, got, tag(active))
		}
	}
	cds := read(t, a.askSigned("example.com CDS")).answer
	for key, want := range map[*farm.ZoneKey]bool{&active: true, &next: true, &old: false} {
		ds := strings.ToUpper(strings.ReplaceAll(rdata.KeyOf("example.com", key.Algorithm, key.Public).DS, "\t", " "))
		got := slices.ContainsFunc(cds, func(rr string) bool { return strings.HasSuffix(strings.ToUpper(rr), ds) })
		if got != want {
			t.Errorf("DS record of the %s key in the parent: %v, want %v: %q", key.State, got, want, cds)
		}
	}
}

// Signatures fit the current answer, also after a change of the zone.
func TestSignaturesFollowZoneChanges(t *testing.T) {
	g := signed(t, farm.SignEd25519)
	a := newAppliance(t, 1, g)
	a.validated("www.example.com A")
	for i := range 20 {
		f := a.farm.Clone()
		z := &f.Global.Zones[0]
		for j := range z.Records {
			if z.Records[j].Name == "www" && z.Records[j].Type == "A" {
				z.Records[j].Data = fmt.Sprintf("192.0.2.%d", 10+i+j)
			}
		}
		if i == 10 { // only the key changes
			z.Keys[0] = zoneKey(t, farm.SignEd25519, farm.KeyActive)
		}
		z.Serial++
		a.farm = f
		a.publish(f)
		a.validated("www.example.com A")
		a.validated("example.com SOA")
		a.validated("gone.example.com A")
	}
}

// delv validates the answers, starting from the key given to the registrar.
func TestDelvValidatesAnswers(t *testing.T) {
	program := installed(t, "delv")
	for _, of := range farm.SigningAlgorithms() {
		g := signed(t, of)
		a := newAppliance(t, 1, g)
		a.up(1, 2, 3, 4, 9)
		ds := rdata.KeyOf("example.com", of, g.Zones[0].Keys[0].Public).DS
		f := strings.Fields(ds)
		anchors := filepath.Join(t.TempDir(), "anchors")
		text := fmt.Sprintf("trust-anchors { example.com. static-ds %s %s %s \"%s\"; };\n", f[0], f[1], f[2], strings.Join(f[3:], ""))
		if err := os.WriteFile(anchors, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		for question, want := range map[string]string{
			"www.example.com A": "; fully validated", "example.com MX": "; fully validated", "alias2.example.com A": "; fully validated",
			"shop.example.com A": "; fully validated", "any.shops.example.com AAAA": "; fully validated", "any.wild.example.com A": "; fully validated",
			"Mixed.example.com NAPTR": "; fully validated", "sub.example.com DS": "; fully validated",
			"nothing.example.com A": "; negative response, fully validated", "www.example.com TXT": "; negative response, fully validated",
			"any.wild.example.com MX": "; negative response, fully validated", "plain.example.com DS": "; negative response, fully validated",
		} {
			name, kind, _ := strings.Cut(question, " ")
			var out []byte
			var err error
			for range 3 { // delv queries once and may time out under load
				out, err = exec.Command(program, "@127.0.0.1", "-p", fmt.Sprint(a.farm.VPort), "-a", anchors, "+root=example.com", name, kind).CombinedOutput()
				if !strings.Contains(string(out), "timed out") {
					break
				}
			}
			if !strings.Contains(string(out), want) {
				t.Errorf("%s, %s: %v\n%s", of, question, err, out)
			}
		}
	}
}

// unbound, which validates and uses cached denials, accepts the answers too.
func TestUnboundValidatesAnswers(t *testing.T) {
	program := installed(t, "unbound")
	g := signed(t, farm.SignECDSA)
	a := newAppliance(t, 2, g)
	a.up(1, 2, 3, 4, 9)
	at := porttest.Both(t)
	dir := t.TempDir()
	conf := fmt.Sprintf(`server:
  interface: 127.0.0.1@%d
  do-daemonize: no
  use-syslog: no
  chroot: ""
  username: ""
  pidfile: ""
  directory: %[2]s
  do-not-query-localhost: no
  module-config: "validator iterator"
  aggressive-nsec: yes
  num-threads: 1
  trust-anchor: "example.com. DS %[3]s"
stub-zone:
  name: example.com
  stub-addr: 127.0.0.1@%[4]d
remote-control:
  control-enable: no
`, at.Port(), dir, rdata.KeyOf("example.com", farm.SignECDSA, g.Zones[0].Keys[0].Public).DS, a.farm.VPort)
	if err := os.WriteFile(filepath.Join(dir, "unbound.conf"), []byte(conf), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program, "-d", "-c", filepath.Join(dir, "unbound.conf"))
	var said strings.Builder
	cmd.Stderr = &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if t.Failed() {
			t.Log(said.String())
		}
	})
	resolver := netip.AddrPortFrom(netip.MustParseAddr("127.0.0.1"), at.Port())
	ask := func(question string) (out answer) {
		msg := query(t, question)
		msg[2] |= 1             // RD
		msg[len(msg)-4] |= 0x80 // DO
		for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
			raw, err := exchangeWith(resolver, msg)
			if err != nil {
				continue
			}
			// Unbound answers SERVFAIL after a timeout, as under load.
			if out = read(t, raw); out.rcode() != 2 {
				return out
			}
		}
		t.Fatalf("unbound does not answer %s: %s", question, out)
		return answer{}
	}
	const flagAD = 1 << 5
	for question, want := range map[string]int{
		"www.example.com A": 0, "alias2.example.com A": 0, "shop.example.com AAAA": 0, "any.wild.example.com A": 0, "example.com MX": 0, "sub.example.com DS": 0,
		"nothing.example.com A": 0, "other.nothing.example.com A": 0, "www.example.com TXT": 0, "four.example.com AAAA": 0, "four.example.com A": 0, "b.c.example.com A": 0,
	} {
		got := ask(question)
		if got.flags&flagAD == 0 || got.rcode() != want {
			t.Errorf("%s: unbound answers %s", question, got)
		}
	}
	for _, question := range []string{"www.example.com RRSIG", "b.c.example.com RRSIG", "any.wild.example.com RRSIG", "shop.example.com RRSIG", "www.example.com NSEC", "alias.example.com NSEC"} {
		if got := ask(question); got.rcode() != 0 || len(got.answer) == 0 { // signatures alone are not validated
			t.Errorf("%s: unbound answers %s", question, got)
		}
	}
	if got := ask("four.example.com A"); len(got.answer) != 2 {
		t.Errorf("after a denial for the other version the answer is %s", got)
	}
}

// For a zone and its child in the same farm, the parent serves and signs the child's DS
// records, in any order. If the child has no keys the parent denies them.
func TestParentZoneServesDSRecords(t *testing.T) {
	upper := farm.Zone{ID: 1, Name: "example.com", NameServer: "ns1", Serial: 5, Records: records("@ NS ns1\nns1 A 192.0.2.1\nwww A 192.0.2.10"),
		Signing: farm.SignECDSA, Keys: []farm.ZoneKey{zoneKey(t, farm.SignECDSA, farm.KeyActive)}}
	lower := farm.Zone{ID: 2, Name: "deep.child.example.com", NameServer: "ns1.example.com.", Serial: 1, Records: records("@ NS ns1.example.com.\nwww A 192.0.2.60")}
	keyed := lower
	keyed.Signing, keyed.Keys = farm.SignEd25519, []farm.ZoneKey{zoneKey(t, farm.SignEd25519, farm.KeyActive), zoneKey(t, farm.SignEd25519, farm.KeyPublished)}
	told := upper
	told.Records = append(slices.Clone(upper.Records), farm.Record{Name: "deep.child", Type: "DS", Data: "12345 13 2 0011223344556677889900112233445566778899001122334455667788990011"})
	for name, c := range map[string]struct {
		zones []farm.Zone
		ds    int
	}{
		"not signed": {[]farm.Zone{upper, lower}, 0}, "not signed, first": {[]farm.Zone{lower, upper}, 0},
		"signed": {[]farm.Zone{upper, keyed}, 2}, "signed, first": {[]farm.Zone{keyed, upper}, 2},
		"told": {[]farm.Zone{told, keyed}, 1}, "told, first": {[]farm.Zone{keyed, told}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			a := newAppliance(t, 1, &farm.GSLB{Zones: c.zones})
			at := slices.IndexFunc(c.zones, func(z farm.Zone) bool { return z.Name == "example.com" })
			a.farm.Global = &farm.GSLB{Zones: []farm.Zone{c.zones[at]}} // the zone whose keys are queried
			got := read(t, a.askSigned("deep.child.example.com DS"))
			if n := len(got.answer); n != c.ds && n != c.ds+1 || got.rcode() != 0 {
				t.Errorf("%s", got)
			}
			denied := a.validated("deep.child.example.com DS")
			types, is := denied.Denied("deep.child.example.com")
			if c.ds == 0 && strings.Join(types, " ") != "NS NSEC RRSIG" || c.ds > 0 && is {
				t.Errorf("denied: %q", types)
			}
			if types, _ := a.validated("child.example.com A").Denied("child.example.com"); strings.Join(types, " ") != "NSEC RRSIG" {
				t.Errorf("the name between is denied all but %q", types)
			}
			soa := read(t, a.askSigned("nothing.deep.child.example.com A")).authority
			if !slices.ContainsFunc(soa, func(rr string) bool {
				return strings.HasPrefix(rr, "deep.child.example.com. ") && strings.Contains(rr, " SOA ")
			}) {
				t.Errorf("the zone below denies by %q", soa)
			}
			if got := a.ask("deep.child.example.com NS", false); len(got.answer) != 1 || got.flags&flagAA == 0 {
				t.Errorf("the zone below: %s", got)
			}
		})
	}
}

// validating returns a query of a validating client.
func validating(t testing.TB, question string) []byte {
	msg := query(t, question)
	msg[len(msg)-4] |= 0x80 // DO
	return msg
}

// Above a rate of new signatures for random names, with or without a wildcard, clients are
// sent to TCP. Names of the zone are served normally.
func TestSigningRandomNamesHasABoundedCost(t *testing.T) {
	for _, below := range []string{"", "wild."} {
		a := newAppliance(t, 1, signed(t, farm.SignEd25519))
		a.up(1, 2, 3, 4, 9)
		ask := a.engine.AnswererOfASecond(7)
		truncated := func(name string, tcp bool) bool {
			return read(t, ask(validating(t, name+"example.com A"), client, tcp)).flags&flagTC != 0
		}
		for i := range sign.MaxSynthesized {
			if truncated(fmt.Sprintf("x%d.%s", i, below), false) {
				t.Fatalf("below %q: name %d has no answer", below, i)
			}
		}
		late := "late." + below
		for name, want := range map[string]bool{late: true, "www.": false, "ns1.": false} {
			if truncated(name, false) != want {
				t.Errorf("below %q: %s is truncated: got %t, want %t", below, name, !want, want)
			}
		}
		if truncated(late, true) {
			t.Errorf("below %q: truncated over TCP", below)
		}
	}
}
