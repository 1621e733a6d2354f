package server_test

import (
	"encoding/base64"
	"fmt"
	"net/netip"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/core/explain"
	"github.com/sluicelb/sluice/core/farm"
)

func transferKey(name, secret string) farm.TransferKey {
	return farm.TransferKey{Name: name, Secret: farm.Secret(base64.StdEncoding.EncodeToString([]byte(secret)))}
}

// dig runs dig with a key, or nil.
func (a *appliance) dig(k *farm.TransferKey, args ...string) string {
	a.t.Helper()
	all := []string{"@127.0.0.1", "-p", fmt.Sprint(a.farm.VPort), "+tries=1", "+time=5"}
	if k != nil {
		all = append(all, "-y", fmt.Sprintf("%s:%s:%s", k.EffectiveAlgorithm(), k.Name, k.Secret))
	}
	out, err := exec.Command(installed(a.t, "dig"), append(all, args...)...).CombinedOutput()
	if err != nil {
		return fmt.Sprintf("%v: %s", err, out)
	}
	return string(out)
}

// A client with a key can copy a zone with valid signatures on each message. Others cannot,
// from any address.
func TestZoneTransferWithTSIG(t *testing.T) {
	key, strong := transferKey("ns2.example.com", "0123456789abcdef"), transferKey("strong", "0123456789abcdef0123456789abcdef")
	strong.Algorithm = farm.TransferSHA512
	other, stranger := transferKey("ns2.example.com", "fedcba9876543210"), transferKey("stranger", "0123456789abcdef")
	weaker := strong
	weaker.Algorithm = ""
	g := example()
	g.Keys = []farm.TransferKey{key, strong}
	for i := range 3000 { // several messages
		g.Zones[0].Records = append(g.Zones[0].Records, farm.Record{ID: uint32(100 + i), Name: fmt.Sprintf("host%d", i), Type: "A", Data: "192.0.2.1"})
	}
	a := newAppliance(t, 1, g)
	a.up(1, 2, 3)
	for name, k := range map[string]*farm.TransferKey{"key": &key, "strong": &strong} {
		got := a.dig(k, "+onesoa", "example.com", "AXFR")
		if n := strings.Count(got, "\nhost"); n != 3000 || !strings.Contains(got, "XFR size") || strings.Contains(strings.ToLower(got), "couldn't verify") {
			t.Errorf("%s: %d names: %.600s", name, n, got)
		}
	}
	for what, c := range map[string]struct {
		key  *farm.TransferKey
		says string
	}{
		"without a key": {nil, "Transfer failed"}, "another secret": {&other, "BADSIG"}, "another name": {&stranger, "BADKEY"}, "another algorithm": {&weaker, "BADKEY"},
	} {
		if got := a.dig(c.key, "example.com", "AXFR"); strings.Contains(got, "host1.") || !strings.Contains(got, c.says) {
			t.Errorf("%s: %.600s", what, got)
		}
	}
}

// If networks are set too both must match; with networks alone keys are refused.
func TestKeysAndNetworksOfSecondaries(t *testing.T) {
	key := transferKey("ns2.example.com", "0123456789abcdef")
	for _, c := range []struct {
		keys   []farm.TransferKey
		from   string
		with   *farm.TransferKey
		copied bool
	}{
		{[]farm.TransferKey{key}, "127.0.0.0/8", &key, true},
		{[]farm.TransferKey{key}, "127.0.0.0/8", nil, false},
		{[]farm.TransferKey{key}, "192.0.2.0/24", &key, false},
		{nil, "127.0.0.0/8", nil, true},
		{nil, "127.0.0.0/8", &key, false},
	} {
		g := example()
		g.Keys, g.Transfers = c.keys, []netip.Prefix{netip.MustParsePrefix(c.from)}
		a := newAppliance(t, 1, g)
		a.up(1, 2, 3)
		if got := a.dig(c.with, "example.com", "AXFR"); strings.Contains(got, "XFR size") != c.copied {
			t.Errorf("keys %v from %s with %v: %s", c.keys, c.from, c.with, got)
		}
	}
}

// A UDP query for IXFR with any serial gets the current serial if transfers are allowed (RFC
// 1995 §2).
func TestUDPTransferQueryReturnsTheSerial(t *testing.T) {
	key, other := transferKey("ns2.example.com", "0123456789abcdef"), transferKey("ns2.example.com", "fedcba9876543210")
	here, elsewhere := netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("192.0.2.0/24")
	for what, c := range map[string]struct {
		keys []farm.TransferKey
		from []netip.Prefix
		with *farm.TransferKey
		told bool
	}{
		"its address":                 {nil, []netip.Prefix{here}, nil, true},
		"another address":             {nil, []netip.Prefix{elsewhere}, nil, false},
		"nobody may":                  {nil, nil, nil, false},
		"its key":                     {[]farm.TransferKey{key}, nil, &key, true},
		"both":                        {[]farm.TransferKey{key}, []netip.Prefix{here}, &key, true},
		"its address without a key":   {[]farm.TransferKey{key}, []netip.Prefix{here}, nil, false},
		"its key and another address": {[]farm.TransferKey{key}, []netip.Prefix{elsewhere}, &key, false},
		"no key":                      {[]farm.TransferKey{key}, nil, nil, false},
		"another secret":              {[]farm.TransferKey{key}, nil, &other, false},
		"a key nobody asked for":      {nil, []netip.Prefix{here}, &key, false},
	} {
		g := example()
		g.Keys, g.Transfers = c.keys, c.from
		a := newAppliance(t, 1, g)
		for _, serial := range []string{"1", "5"} {
			got := a.dig(c.with, "+notcp", "+noall", "+answer", "+comments", "example.com", "IXFR="+serial)
			if told := strings.Count(got, "\tSOA\t") == 1 && strings.Contains(got, " 5 3600 "); told != c.told || told && (strings.Contains(got, "\tNS\t") || strings.Contains(strings.ToLower(got), "couldn't verify")) {
				t.Errorf("%s, with serial %s: %s", what, serial, got)
			}
		}
		if c.with != nil {
			continue
		}
		got := a.ask("example.com IXFR", false)
		if want := strings.Replace(soa, " 300 IN", " 3600 IN", 1); c.told && (!same(got.answer, want) || got.flags&flagAA == 0) || !c.told && (got.rcode() != 5 || len(got.answer) > 0) {
			t.Errorf("%s: %x %q", what, got.flags, got.answer)
		}
		for _, question := range []string{"example.com AXFR", "www.example.com IXFR", "example.org IXFR"} {
			if got := a.ask(question, false); got.rcode() != 5 {
				t.Errorf("%s, %s: %x %q", what, question, got.flags, got.answer)
			}
		}
	}
	long := strings.Repeat("x", 63)
	name := long + "." + long + "." + long + ".org"
	host := func(of string) string { return strings.ReplaceAll(name, "x", of) + "." }
	a := newAppliance(t, 1, &farm.GSLB{Transfers: []netip.Prefix{here}, Zones: []farm.Zone{{ID: 1, Name: name, Serial: 5, Records: records("@ SOA " + host("y") + " " + host("z") + " 5 3600 600 604800 300")}}})
	msg := query(t, name+" IXFR")
	msg = msg[:len(msg)-11]
	msg[11] = 0 // without EDNS: 512 bytes
	if got := read(t, a.exchange(msg, false)); got.flags&flagTC == 0 || len(got.answer) > 0 {
		t.Errorf("without room: %d bytes, %x", len(got.raw), got.flags)
	}
}

// A secondary that signs every query gets signed answers, by UDP and TCP and of each size.
func TestSignedQueriesGetSignedAnswers(t *testing.T) {
	key := transferKey("ns2.example.com", "0123456789abcdef")
	g := example()
	g.Keys = []farm.TransferKey{key}
	a := newAppliance(t, 1, g)
	a.up(1, 2, 3)
	for _, question := range []string{"example.com SOA", "www.example.com A", "nothing.example.com A", "big.example.com TXT", "shop.example.com AAAA"} {
		name, kind, _ := strings.Cut(question, " ")
		for _, how := range []string{"+notcp", "+tcp"} {
			got := a.dig(&key, how, name, kind)
			if !strings.Contains(got, "TSIG PSEUDOSECTION") || strings.Contains(strings.ToLower(got), "couldn't verify") || strings.Contains(got, "failed") || strings.Contains(got, "NOTAUTH") {
				t.Errorf("%s %s: %s", question, how, got)
			}
		}
	}
	// Transfers and answers with records that few programs parse are signed, too.
	odd := *g
	odd.Zones = slices.Clone(g.Zones)
	odd.Zones[0].Records = append(slices.Clone(g.Zones[0].Records), records(`
		odd HTTPS     1 . alpn=h2 ipv6hint=::ffff:192.0.2.1
		odd SVCB      1 . ipv6hint=::ffff:192.0.2.2 key65333=x
		odd TYPE65534 \# 3 010203
		odd TYPE1000  \# 0
	`)...)
	a.farm.Global = &odd
	a.publish(a.farm)
	for _, c := range []struct{ how, name, kind, want string }{
		{"+notcp", "odd.example.com", "HTTPS", "192.0.2.1"}, {"+tcp", "odd.example.com", "SVCB", "192.0.2.2"},
		{"+notcp", "odd.example.com", "TYPE65534", "010203"}, {"+onesoa", "example.com", "AXFR", "\nodd"},
		{"+notcp", "example.com", "IXFR=1", "SOA"},
	} {
		got := a.dig(&key, c.how, c.name, c.kind)
		unverified := strings.Contains(strings.ToLower(got), "couldn't verify") || strings.Contains(got, "NOTAUTH")
		if !strings.Contains(got, "TSIG") || unverified || strings.Contains(got, "failed") || !strings.Contains(got, c.want) {
			t.Errorf("%+v: %s", c, got)
		}
	}
	x, err := a.engine.Explain(&explain.Question{Farm: 7, Name: "odd.example.com", Type: "HTTPS"})
	if err != nil || len(x.Passport.Records) != 1 || !strings.Contains(x.Passport.Records[0], "3600 IN HTTPS 1 . alpn") {
		t.Errorf("explained: %+v, %v", x, err)
	}
	other := transferKey("ns2.example.com", "fedcba9876543210")
	if got := a.dig(&other, "example.com", "SOA"); !strings.Contains(got, "BADSIG") || strings.Contains(got, "clocks") {
		t.Errorf("with another secret: %s", got)
	}
	// An answer that just fits does not fit with a signature.
	small := a.dig(&key, "+notcp", "+ignore", "+bufsize=930", "+nocookie", "big.example.com", "TXT")
	if !strings.Contains(small, "flags: qr aa tc") {
		t.Errorf("too large an answer: %s", small)
	}
}
