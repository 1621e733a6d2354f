//go:build !race

// It shares no memory, and with the race detector takes a quarter of a minute.

package store_test

import (
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/store"
)

// large is a configuration of 1000 farms with 10 backends each.
func large() *farm.Config {
	c := &farm.Config{}
	for i := range 1000 {
		h := farm.DefaultHTTP()
		s := farm.Service{ID: uint32(i + 1), Name: "web", VHost: fmt.Sprintf(`shop%d\.example`, i)}
		for k := range 10 {
			addr := netip.AddrFrom4([4]byte{10, byte(i >> 8), byte(i), byte(k + 1)})
			s.Backends = append(s.Backends, farm.Backend{ID: uint32(i*10 + k + 1), Host: addr.String(), Addr: addr, Port: 8080, Weight: uint8(k%9 + 1)})
		}
		h.Services = []farm.Service{s}
		c.Farms = append(c.Farms, farm.Farm{ID: uint32(i + 1), Name: fmt.Sprintf("shop-%d", i), Profile: farm.ProfileHTTP,
			VIP: netip.AddrFrom4([4]byte{192, 168, byte(i >> 8), byte(i)}), VPort: 80, HTTP: h})
	}
	return c
}

func TestAThousandFarmsStaySmall(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	s.Unsynced()
	cfg := large()
	const revisions = 12
	start := time.Now()
	for n := range revisions {
		cfg = cfg.Clone()
		cfg.Farms[n].HTTP.Services[0].Backends[n%10].Priority = 2
		if _, err := s.Commit(cfg, store.Meta{Author: "root"}); err != nil {
			t.Fatal(err)
		}
	}
	each := time.Since(start) / revisions
	info, err := os.Stat(filepath.Join(dir, store.FileName))
	if err != nil {
		t.Fatal(err)
	}
	s.Close()
	start = time.Now()
	s = open(t, dir)
	opened := time.Since(start)
	start = time.Now()
	if _, _, err := s.Get(12); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d revisions: file %d KiB, %v per commit, open %v, chain read in %v", revisions, info.Size()>>10, each, opened, time.Since(start))
	if info.Size() > 2<<20 {
		t.Errorf("%d revisions of 1000 farms take %d bytes", revisions, info.Size())
	}
}
