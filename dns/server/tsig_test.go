package server_test

import (
	"encoding/base64"
	"fmt"
	"net/netip"
	"os/exec"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
)

func transferKey(name, secret string) farm.TransferKey {
	return farm.TransferKey{Name: name, Secret: farm.Secret(base64.StdEncoding.EncodeToString([]byte(secret)))}
}

// dig asks with a key, unless that is nil.
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

// Who has a key of the farm copies a zone, and checks that each message is signed; nobody
// else does, from wherever.
func TestAZoneIsCopiedWithAKey(t *testing.T) {
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

// With networks as well both must fit; networks alone take no key.
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

// A secondary signs every question it has, and believes signed answers alone: by UDP and
// TCP, of each size.
func TestSignedQuestionsHaveSignedAnswers(t *testing.T) {
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
	other := transferKey("ns2.example.com", "fedcba9876543210")
	if got := a.dig(&other, "example.com", "SOA"); !strings.Contains(got, "BADSIG") || strings.Contains(got, "clocks") {
		t.Errorf("with another secret: %s", got)
	}
	// An answer that just had room has none with its signature.
	small := a.dig(&key, "+notcp", "+ignore", "+bufsize=930", "+nocookie", "big.example.com", "TXT")
	if !strings.Contains(small, "flags: qr aa tc") {
		t.Errorf("too large an answer: %s", small)
	}
}
