package server_test

import (
	"fmt"
	"math/rand/v2"
	"net"
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
)

// corpusZone has every type of record, wildcards, delegations and empty non-terminals.
const corpusZone = `
	@            NS    ns1
	@            NS    ns2.example.net.
	@            MX    10 mail
	@            MX    20 mail.example.net.
	@            TXT   v=spf1 -all
	@            CAA   0 issue "letsencrypt.org"
	@            A     192.0.2.5
	ns1          A     192.0.2.1
	ns1          AAAA  2001:db8::1
	www          A     192.0.2.10
	www          A     192.0.2.11
	www          AAAA  2001:db8::10
	www          HTTPS 1 . alpn=h2
	mail         A     192.0.2.20
	alias        CNAME www
	alias2       CNAME alias
	far          CNAME www.example.org.
	dangling     CNAME nothing
	towild       CNAME something.wild
	tosub        CNAME host.sub
	*.wild       A     192.0.2.30
	*.wild       TXT   wild
	x.wild       A     192.0.2.31
	*.cwild      CNAME www
	a.b.c        A     192.0.2.40
	sub          NS    ns.sub
	sub          NS    ns.example.net.
	sub          DS    12345 13 2 0011223344556677889900112233445566778899001122334455667788990011
	ns.sub       A     192.0.2.50
	plain        NS    ns.example.net.
	_sip._tcp    SRV   10 60 5060 www
	_sip._tcp    SRV   20 60 5060 sip.example.net.
	sip          NAPTR 100 10 "S" "SIP+D2U" "" _sip._udp
	_443._tcp    TLSA  3 1 1 0011223344556677889900112233445566778899001122334455667788990011
	svc          SVCB  1 www alpn=h2 port=8443
	ptr          PTR   www
	under_score  A     192.0.2.70
	odd          TYPE65534 \# 4 0a0b0c0d
	odd          TYPE1000  \# 0
	odd          TYPE1001  \# 1 00
	odd          A     192.0.2.71
	ssh          SSHFP 4 2 00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff
	cpu          HINFO "ARM" "Linux"
	who          RP    Admin WWW
	here         LOC   48 8 0.000 N 11 34 0.000 E 520m
	link         URI   10 1 "https://www.example.com/"
	cert         CERT  PKIX 0 0 MIIB
	pgp          OPENPGPKEY AQ==
	afs          AFSDB 1 WWW
	kx           KX    10 MAIL
	moved        DNAME wild
	moved        A     192.0.2.72
	tomoved      CNAME x.moved
	away         DNAME www.example.org.
	again        DNAME moved
`

// installed returns the path of a program. Root has them all (.ci/packages), so that the
// gate runs every test.
func installed(t testing.TB, name string) string {
	t.Helper()
	for _, folder := range []string{"", "/usr/sbin/"} {
		if path, err := exec.LookPath(folder + name); err == nil {
			return path
		}
	}
	if os.Geteuid() == 0 {
		t.Fatalf("%s is not installed", name)
	}
	t.Skipf("%s is not installed", name)
	return ""
}

// knot starts the reference server with the zone until the test ends.
func knot(t *testing.T, records []farm.Record) netip.AddrPort {
	t.Helper()
	program := installed(t, "knotd")
	dir := t.TempDir()
	var zone strings.Builder
	zone.WriteString("$ORIGIN example.com.\n$TTL 3600\n@ SOA ns1 hostmaster 5 3600 600 604800 300\n")
	for _, r := range records {
		data := r.Data
		if r.Type == "TXT" && !strings.Contains(data, `"`) {
			data = `"` + data + `"`
		}
		fmt.Fprintf(&zone, "%s %s %s\n", r.Name, r.Type, data)
	}
	at := porttest.Both(t)
	conf := fmt.Sprintf(`server:
  rundir: %[1]s
  listen: 127.0.0.1@%[2]d
  udp-workers: 1
  tcp-workers: 1
  background-workers: 1
database:
  storage: %[1]s/db
template:
  - id: default
    storage: %[1]s
    zonefile-load: whole
    journal-content: none
zone:
  - domain: example.com
    file: zone
`, dir, at.Port())
	for name, text := range map[string]string{"zone": zone.String(), "knot.conf": conf} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command(program, "-c", filepath.Join(dir, "knot.conf"))
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	addr := netip.AddrPortFrom(netip.MustParseAddr("127.0.0.1"), at.Port())
	probe := query(t, "www.example.com A")
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		if raw, err := exchangeWith(addr, probe); err == nil && raw[3]&0xf == 0 {
			return addr
		}
	}
	t.Fatal("knot does not answer")
	return addr
}

func exchangeWith(addr netip.AddrPort, msg []byte) ([]byte, error) {
	c, err := net.Dial("udp", addr.String())
	if err != nil {
		return nil, err
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(3 * time.Second))
	if _, err := c.Write(msg); err != nil {
		return nil, err
	}
	raw := make([]byte, 65535)
	n, err := c.Read(raw)
	return raw[:n], err
}

// The server answers any query like a widely used server.
func TestAnswersEqualThoseOfKnot(t *testing.T) {
	list := records(corpusZone)
	reference := knot(t, list)
	a := newAppliance(t, 1, &farm.GSLB{Zones: []farm.Zone{{ID: 1, Name: "example.com", NameServer: "ns1", Serial: 5, Records: list}}})
	names := []string{"nothing", "b.c", "c", "wild", "any.wild", "y.any.wild", "x.x.wild", "any.cwild", "host.sub", "ns.sub", "a.b.sub", "sub", "x.moved", "x.y.moved", "x.away", "x.again", "x.plain", "_tcp", "x.www", "*.wild", "x.*.wild"}
	for _, r := range list {
		names = append(names, r.Name)
	}
	types := []string{"A", "AAAA", "NS", "CNAME", "MX", "TXT", "SOA", "SRV", "PTR", "NAPTR", "CAA", "TLSA", "SVCB", "HTTPS", "DS", "TYPE65280", "TYPE65534", "TYPE1000", "SSHFP", "HINFO", "RP", "LOC", "URI", "CERT", "OPENPGPKEY", "AFSDB", "KX", "DNAME"}
	random := rand.New(rand.NewPCG(1, 2))
	different := 0
	for range 2000 {
		name := names[random.IntN(len(names))]
		ask := name + ".example.com " + types[random.IntN(len(types))]
		if name == "@" {
			ask = "example.com" + ask[len("@.example.com"):]
		}
		msg := query(t, ask)
		for i := 12; msg[i] != 0; i += 1 + int(msg[i]) { // in mixed case
			for j := i + 1; j <= i+int(msg[i]); j++ {
				if c := msg[j]; c >= 'a' && c <= 'z' && random.IntN(2) == 0 {
					msg[j] -= 32
				}
			}
		}
		raw, err := exchangeWith(reference, msg)
		if err != nil {
			t.Fatal(err)
		}
		want, got := read(t, raw), read(t, a.exchange(msg, false))
		if got.flags != want.flags || !alike(got.answer, want.answer) || !alike(got.authority, want.authority) || !alike(got.additional, want.additional) {
			if different++; different <= 10 {
				t.Errorf("%s: %s, knot has %s", ask, got, want)
			}
		}
	}
	if different > 0 {
		t.Errorf("%d of 2,000 differ", different)
	}
}

// alike compares records ignoring order and case.
func alike(a, b []string) bool {
	lower := func(list []string) (out []string) {
		for _, s := range list {
			out = append(out, strings.ToLower(s))
		}
		slices.Sort(out)
		return out
	}
	return slices.Equal(lower(a), lower(b))
}

func (a answer) String() string {
	return fmt.Sprintf("%04x answer %q authority %q additional %q", a.flags, a.answer, a.authority, a.additional)
}
