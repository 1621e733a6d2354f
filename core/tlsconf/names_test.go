package tlsconf_test

import (
	"crypto/tls"
	"crypto/x509"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/tlsconf"
)

func TestNamesACertificateCovers(t *testing.T) {
	root := newCA(t, "root")
	info := func(change ...func(*x509.Certificate)) *tlsconf.Info {
		return must(tlsconf.Inspect([][]byte{root.sign(p256().Public(), change...)}))
	}
	for _, c := range []struct {
		name   string
		info   *tlsconf.Info
		names  string
		covers string
		not    string
	}{
		{"exact", info(dns("www.example.com")), "www.example.com", "www.example.com WWW.Example.COM www.example.com.",
			"example.com a.www.example.com www.example.org ww.example.com www.example.com.. .www.example.com"},
		{"wildcard", info(dns("*.example.com")), "*.example.com", "www.example.com A.EXAMPLE.COM xn--bcher-kva.example.com _x.example.com",
			"example.com a.b.example.com .example.com *.b.example.com exampleXcom"},
		{"several, each once", info(dns("A.example.com", "a.example.com", "*.b.example.com")), "a.example.com *.b.example.com",
			"a.example.com x.b.example.com", "b.example.com"},
		{"punycode", info(dns("xn--bcher-kva.example")), "xn--bcher-kva.example", "XN--BCHER-KVA.example", "bücher.example"},
		{"dot at the end", info(dns("a.example.")), "a.example", "a.example a.example.", "a.example.."},
		{"a star elsewhere", info(dns("w*.example.com", "a.*.example.com", "*", "*.*.com", "ok.example.com")), "ok.example.com",
			"ok.example.com", "www.example.com a.b.example.com x w*.example.com"},
		{"common name", info(common("cn.example.com")), "cn.example.com", "cn.example.com", "example.com"},
		{"common name beside others", info(common("cn.example.com"), dns("a.example.com")), "a.example.com", "a.example.com", "cn.example.com"},
		{"common name beside an address", info(common("cn.example.com"), address("10.0.0.1")), "10.0.0.1", "10.0.0.1", "cn.example.com"},
		{"addresses", info(address("192.0.2.7"), address("2001:db8::1")), "192.0.2.7 2001:db8::1", "192.0.2.7 2001:db8::1 2001:DB8::1", "192.0.2.8"},
		{"no wildcard for addresses", info(dns("*.0.2.7", "*.2.7")), "*.0.2.7 *.2.7", "a.0.2.7", "192.0.2.7"},
		{"no name", info(), "", "", "a.example"},
	} {
		if !slices.Equal(c.info.Names, strings.Fields(c.names)) {
			t.Errorf("%s: names %q, want %q", c.name, c.info.Names, c.names)
		}
		for name := range strings.FieldsSeq(c.covers) {
			if !c.info.Covers(name) {
				t.Errorf("%s: %q is not covered", c.name, name)
			}
		}
		for name := range strings.FieldsSeq(c.not) {
			if c.info.Covers(name) {
				t.Errorf("%s: %q is covered", c.name, name)
			}
		}
	}
}

func TestNamesBeyondTheBoundsMatchNothing(t *testing.T) {
	root := newCA(t, "root")
	long := strings.Repeat("a.", 127) + "a"                // 255 bytes, 128 labels
	bytes255 := strings.Repeat("abcdefg.", 31) + "abcdefg" // 255 bytes, 32 labels
	labels64 := strings.Repeat("a.", 63) + "a"
	info := must(tlsconf.Inspect([][]byte{root.sign(p256().Public(), dns(long, bytes255, labels64, "b."+bytes255))}))
	for name, want := range map[string]bool{
		long: false, bytes255: true, bytes255 + ".": true, "b." + bytes255: false, labels64: true, "a." + labels64: false,
		strings.Repeat("x", 70000): false, "": false, ".": false, "..": false,
	} {
		if info.Covers(name) != want {
			t.Errorf("%.20q… of %d bytes: covered is not %v", name, len(name), want)
		}
	}
}

// naive implements the rules of the package comment by a linear scan.
func naive(lists [][]string, kinds []int, query string, supports func(int) bool) int {
	query = strings.ToLower(strings.TrimSuffix(query, "."))
	by := func(i int, wildcard bool) bool {
		return slices.ContainsFunc(lists[i], func(name string) bool {
			rest, star := strings.CutPrefix(strings.ToLower(name), "*.")
			if star {
				first, after, _ := strings.Cut(query, ".")
				return wildcard && first != "" && after == rest
			}
			return !wildcard && strings.ToLower(name) == query
		})
	}
	first := -1
	for i := range lists {
		if by(i, false) || by(i, true) {
			first = i
			break
		}
	}
	if first < 0 {
		return -1
	}
	for _, ok := range []func(int) bool{
		func(i int) bool {
			return (by(first, false) && by(i, false) || by(first, true) && by(i, true)) && tlsconf.KindECDSA(kinds[i])
		},
		func(i int) bool { return by(first, false) && by(i, false) || by(first, true) && by(i, true) },
		func(i int) bool { return by(i, false) || by(i, true) },
	} {
		for i := range lists {
			if ok(i) && supports(kinds[i]) {
				return i
			}
		}
	}
	return first
}

func TestNameIndexAgreesWithALinearScan(t *testing.T) {
	names := []string{"a.x", "b.x", "*.x", "A.X", "*.a.x", "c.a.x", "a.y", "*.y", "x", "*.c.a.x", "d.c.a.x"}
	queries := append(slices.Clone(names), "z.x", "z.y", "q.a.x", "z.c.a.x", "nowhere", "a.X.", "")
	r := rand.New(rand.NewPCG(1, 2))
	chosen := make(map[string]int)
	for range 20000 {
		lists, kinds := make([][]string, 1+r.IntN(8)), make([]int, 0, 8)
		for i := range lists {
			for range r.IntN(4) {
				lists[i] = append(lists[i], names[r.IntN(len(names))])
			}
			kinds = append(kinds, r.IntN(tlsconf.Kinds))
		}
		can := r.IntN(1 << tlsconf.Kinds)
		supports := func(kind int) bool { return can&(1<<kind) != 0 }
		query := queries[r.IntN(len(queries))]
		want := naive(lists, kinds, query, supports)
		if got := tlsconf.Choose(lists, kinds, query, supports); got != want {
			t.Fatalf("%q of %q, kinds %v, client has %b: %d, want %d", query, lists, kinds, can, got, want)
		}
		chosen[map[bool]string{true: "some", false: "none"}[want >= 0]]++
	}
	if chosen["some"] < 2000 || chosen["none"] < 2000 {
		t.Errorf("the cases prove little: %v", chosen)
	}
}

// With 1000 certificates for one name, a client that supports none of them costs one
// check per kind of key.
func TestManyCertificatesForOneNameCostLittle(t *testing.T) {
	lists, kinds := make([][]string, 1000), make([]int, 1000)
	for i := range lists {
		lists[i], kinds[i] = []string{"a.x", "*.x"}, i%tlsconf.Kinds
	}
	tries := 0
	if got := tlsconf.Choose(lists, kinds, "a.x", func(int) bool { tries++; return false }); got != 0 || tries > 6*tlsconf.Kinds {
		t.Errorf("%d after %d tries", got, tries)
	}
}

func FuzzServerName(f *testing.F) {
	lists := [][]string{{"www.example.com", "*.example.com"}, {"*.example.com"}, {"10.0.0.1", "xn--bcher-kva.example"}, {"*.a.b"}}
	kinds := []int{0, 2, 0, 2}
	for _, s := range []string{"", ".", "www.example.com", "WWW.EXAMPLE.COM.", "*.example.com", "a..b", strings.Repeat("a.", 200), "\x00.a.b", "é.a.b", "10.0.0.1", "::1"} {
		f.Add(s, 3)
	}
	f.Fuzz(func(t *testing.T, name string, can int) {
		supports := func(kind int) bool { return can&(1<<kind) != 0 }
		got := tlsconf.Choose(lists, kinds, name, supports)
		trimmed := strings.TrimSuffix(name, ".")
		if trimmed == "" || len(trimmed) > 255 || strings.Count(trimmed, ".") > 63 || slices.Contains(strings.Split(trimmed, "."), "") {
			if got != -1 {
				t.Fatalf("%q is no name and matches %d", name, got)
			}
			return
		}
		if strings.ToLower(trimmed) != asciiLower(trimmed) {
			return // the scan folds more than ASCII
		}
		if want := naive(lists, kinds, name, supports); got != want {
			t.Fatalf("%q: %d, want %d", name, got, want)
		}
	})
}

func asciiLower(s string) string {
	b := []byte(s)
	for i, c := range b {
		if c >= 'A' && c <= 'Z' {
			b[i] = c + 'a' - 'A'
		}
	}
	return string(b)
}

func TestSNISelectsTheFirstMatchInListOrder(t *testing.T) {
	root := newCA(t, "root")
	cfg := &farm.Config{Certificates: []farm.Certificate{
		root.issue("default", p256(), dns("default.example.com")),
		root.issue("wild", p256(), dns("*.example.com")),
		root.issue("www", p256(), dns("www.example.com")), // after the wildcard: never chosen
		root.issue("org", p256(), dns("www.example.org")),
		root.issue("wildorg", p256(), dns("*.example.org")),
		root.issue("cn", p256(), common("old.example.net")),
	}}
	server := listen(t, cfg, all(cfg))
	for name, want := range map[string]int{
		"default.example.com": 0, "www.example.com": 1, "WWW.example.com": 1, "www.example.org": 3, "mail.example.org": 4,
		"old.example.net": 5, "unknown.example.net": 0, "": 0,
	} {
		for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
			client := anyone(name)
			client.MinVersion, client.MaxVersion = version, version
			if got := shake(t, server, client).cert(t); !slices.Equal(got.Raw, cfg.Certificates[want].Chain[0]) {
				t.Errorf("%q, version %#x: the certificate of %v, want %s", name, version, got.DNSNames, cfg.Certificates[want].Name)
			}
		}
	}
}
