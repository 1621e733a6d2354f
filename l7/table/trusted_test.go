package table_test

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/l7/l7test"
)

func TestTrustedPeersAreBelieved(t *testing.T) {
	t.Parallel()
	b := l7test.NewBackend(t, l7test.Answer(ok))
	a := l7test.New(t, 1)
	sent := l7test.Request("X-Forwarded-For: 10.0.0.1", "Forwarded: for=10.0.0.1", "X-Forwarded-Proto: https", "X-Forwarded-Host: b.test", "X-Real-IP: 10.0.0.1", "X_Real_IP: evil")
	for networks, want := range map[string][5]string{
		"":                       {"127.0.0.1", "for=127.0.0.1;host=\"a.test\";proto=http", "http", "a.test", ""},
		"10.0.0.0/8":             {"127.0.0.1", "for=127.0.0.1;host=\"a.test\";proto=http", "http", "a.test", ""},
		"10.0.0.0/8 127.0.0.0/8": {"10.0.0.1, 127.0.0.1", "for=10.0.0.1, for=127.0.0.1;host=\"a.test\";proto=http", "https", "b.test", "10.0.0.1"},
	} {
		addr := a.Serve(func(h *farm.HTTP) {
			h.Trusted = nil
			for _, n := range strings.Fields(networks) {
				h.Trusted = append(h.Trusted, netip.MustParsePrefix(n))
			}
		}, l7test.Service("web", b.Addr))
		l7test.Dial(t, addr).Send(sent).Get()
		for i, name := range []string{"X-Forwarded-For", "Forwarded", "X-Forwarded-Proto", "X-Forwarded-Host", "X-Real-IP"} {
			if got := b.Field(name); got != want[i] {
				t.Errorf("trusting %q: %s is %q, want %q", networks, name, got, want[i])
			}
		}
		if got := b.Field("X_Real_IP"); got != "" {
			t.Errorf("trusting %q: a variant was forwarded: got %q, want \"\"", networks, got)
		}
	}
}

// A rule that adds such a field has the operator's authority, so ours is omitted.
func TestRulesMaySetIdentityFields(t *testing.T) {
	t.Parallel()
	b := l7test.NewBackend(t, l7test.Answer(ok))
	a := l7test.New(t, 1)
	addr := a.Serve(func(h *farm.HTTP) {
		h.AddRequest = l7test.Add("X-Forwarded-Proto: https", "x-forwarded-host: front.test")
	}, l7test.Service("web", b.Addr))
	l7test.Dial(t, addr).Send(l7test.Request("X-Forwarded-Proto: evil")).Get()
	if b.Field("X-Forwarded-Proto") != "https" || b.Field("x-forwarded-host") != "front.test" || b.Field("X-Forwarded-Host") != "" || b.Field("X-Forwarded-For") != "127.0.0.1" {
		t.Errorf("the backend got %q", b.Received())
	}
}

func TestServicesSeeFieldsOfTrustedPeers(t *testing.T) {
	t.Parallel()
	one, two := l7test.NewNamed(t, "1"), l7test.NewNamed(t, "2")
	first, second := l7test.Service("first", one.Addr), l7test.Service("second", two.Addr)
	first.HeadRequire, second.ID, second.Backends[0].ID = []string{"^X-Forwarded-Proto: https"}, 2, 2
	a := l7test.New(t, 1)
	for trusted, want := range map[bool]string{false: "2", true: "1"} {
		addr := a.Serve(func(h *farm.HTTP) {
			h.Trusted = nil
			if trusted {
				h.Trusted = []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}
			}
		}, first, second)
		if got := l7test.Dial(t, addr).Send(l7test.Request("X-Forwarded-Proto: https")).Get().Text; got != want {
			t.Errorf("trusted %v: served by %s, want %s", trusted, got, want)
		}
	}
}
