//go:build !race

// Goroutines of these tests share no memory. With the race detector they would take 15 s.

package snapshot_test

import (
	"errors"
	"net/netip"
	"reflect"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/snapshot"
)

func TestLargestConfigurationFits(t *testing.T) {
	if testing.Short() {
		t.Skip("encodes every ID")
	}
	cfg := &farm.Config{}
	next := uint32(1)
	for id := uint32(1); id <= farm.MaxFarmID; id++ {
		h := farm.DefaultHTTP()
		h.Error503 = strings.Repeat("e", 1000)
		s := farm.Service{ID: id, Name: strings.Repeat("s", 60), VHost: strings.Repeat("v", 60)}
		for range 17 {
			if next <= farm.MaxBackendID {
				s.Backends = append(s.Backends, farm.Backend{
					ID: next, Host: strings.Repeat("h", 60), Addr: netip.MustParseAddr("2001:db8::1"), Port: 65535,
					Weight: 9, Priority: 9, ConnLimit: 1e9, Timeout: 1e5, Alias: strings.Repeat("a", 60), Maintenance: farm.MaintenanceDrain,
				})
				next++
			}
		}
		h.Services = []farm.Service{s}
		cfg.Farms = append(cfg.Farms, farm.Farm{ID: id, Name: strings.Repeat("f", 60), Profile: farm.ProfileHTTP, VIP: netip.IPv6Unspecified(), VPort: 1, HTTP: h})
	}
	b := encoded(t, 1, cfg)
	_, got, err := snapshot.Decode(b)
	if err != nil {
		t.Fatal(err)
	}
	if err := snapshot.Check(got); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d farms and %d backends: %d bytes", len(cfg.Farms), next-1, len(b))
	if !reflect.DeepEqual(got, cfg) {
		t.Error("it changed on the way")
	}
}

func TestTheLargestBodyIsEncodedAndOneByteMoreIsNot(t *testing.T) {
	cfg := example()
	body := func(name int) int {
		cfg.Farms[1].Name = strings.Repeat("x", name)
		b, err := snapshot.Encode(1, cfg)
		if err != nil {
			t.Fatal(err)
		}
		return len(b) - snapshot.HeaderSize
	}
	const long = 1 << 20 // its length takes as many bytes as that of the largest text
	fits := long + snapshot.MaxBody - body(long)
	if n := body(fits); n != snapshot.MaxBody {
		t.Errorf("a body of %d bytes, want %d", n, snapshot.MaxBody)
	}
	cfg.Farms[1].Name += "x"
	if _, err := snapshot.Encode(1, cfg); !errors.Is(err, snapshot.ErrTooLarge) || !strings.Contains(err.Error(), "129 MiB, at most 128 are possible") {
		t.Errorf("one byte more: %v", err)
	}
}
