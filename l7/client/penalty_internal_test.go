package client

import (
	"net/netip"
	"testing"

	"github.com/sluicelb/sluice/core/ratelimit"
)

func TestDelaysGrowWithFloodsAndShrinkWithTime(t *testing.T) {
	t.Parallel()
	p := Penalties{ratelimit.NewTable()}
	a := netip.MustParseAddr("192.0.2.1")
	now := second
	if lastDelay != 32*second/10 {
		t.Errorf("the most is %d ms", lastDelay/1e6)
	}
	if p.delay(1, a, now) != 0 {
		t.Fatal("an innocent client is delayed")
	}
	last := int64(0)
	for i := range 100 {
		p.charge(1, a, now)
		d := p.delay(1, a, now)
		if i < 6 && d != firstDelay<<i || i >= 6 && d != lastDelay {
			t.Fatalf("after %d floods the delay is %d ms", i+1, d/1e6)
		}
		last = d
	}
	for _, other := range []struct {
		farm uint32
		addr string
	}{{2, "192.0.2.1"}, {1, "192.0.2.2"}, {1, "2001:db8::1"}} {
		if p.delay(other.farm, netip.MustParseAddr(other.addr), now) != 0 {
			t.Errorf("%v is delayed for the flood of another client", other)
		}
	}
	for range 60 {
		now += second
		d := p.delay(1, a, now)
		if d > last {
			t.Fatal("a delay grew without a flood")
		}
		last = d
	}
	if last != 0 {
		t.Errorf("a minute later the delay is %d ms", last/1e6)
	}
}

func TestDelaysApplyToIPv6Networks(t *testing.T) {
	t.Parallel()
	p := Penalties{ratelimit.NewTable()}
	p.charge(1, netip.MustParseAddr("2001:db8:0:1::1"), second)
	if p.delay(1, netip.MustParseAddr("2001:db8:0:1:ffff::2"), second) == 0 {
		t.Error("another address of the /64 has no delay")
	}
	if p.delay(1, netip.MustParseAddr("2001:db8:0:2::1"), second) != 0 {
		t.Error("another /64 has one")
	}
}
