package store_test

import (
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/store"
)

// Processor time is more reliable than elapsed time on a machine with other load. It excludes
// the sync of the disk.

// large returns a configuration of 1000 farms with 10 backends each.
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

// cpu returns the processor time of the process.
func cpu() time.Duration {
	var use syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &use)
	return time.Duration(use.Utime.Nano() + use.Stime.Nano())
}

func reportCPU(b *testing.B, spent time.Duration) {
	b.ReportMetric(spent.Seconds()*1000/float64(b.N), "cpu-ms/op")
}

// One backend of one of 1,000 farms changes.
func BenchmarkCommitOfOneFarmOfAThousand(b *testing.B) {
	s := open(b, b.TempDir())
	s.Unsynced()
	cfg := large()
	var began time.Duration
	for n := range b.N + 1 {
		if n == 1 {
			b.ResetTimer()
			began = cpu()
		}
		next := *cfg
		next.Farms = append([]farm.Farm(nil), cfg.Farms...)
		f := next.Farms[n%len(next.Farms)].Clone()
		f.HTTP.Services[0].Backends[3].Weight ^= 8
		next.Farms[n%len(next.Farms)] = f
		if _, err := s.Commit(&next, store.Meta{Author: "root", Diff: "x"}); err != nil {
			b.Fatal(err)
		}
		cfg = &next
	}
	reportCPU(b, cpu()-began)
}

// zoneOf returns a farm with a zone of that many records.
func zoneOf(records int) *farm.Config {
	z := farm.Zone{ID: 1, Name: "example.com", NameServer: "ns", Records: make([]farm.Record, records)}
	for i := range z.Records {
		z.Records[i] = farm.Record{ID: uint32(i + 1), Name: fmt.Sprintf("host-%d", i), Type: "A", Data: fmt.Sprintf("10.%d.%d.%d", i>>16, i>>8&255, i&255)}
	}
	return &farm.Config{Farms: []farm.Farm{{ID: 1, Name: "dns", Profile: farm.ProfileGSLB, Global: &farm.GSLB{Zones: []farm.Zone{z}}}}}
}

// withRecord returns the configuration after a change of one record of its zone.
func withRecord(cfg *farm.Config, at int, data string) *farm.Config {
	next := *cfg
	next.Farms = append([]farm.Farm(nil), cfg.Farms...)
	g := *next.Farms[0].Global
	g.Zones = append([]farm.Zone(nil), g.Zones...)
	g.Zones[0].Records = append([]farm.Record(nil), g.Zones[0].Records...)
	g.Zones[0].Records[at].Data = data
	g.Zones[0].Serial++
	next.Farms[0].Global = &g
	return &next
}

func BenchmarkCommitOfOneRecordOfAMillion(b *testing.B) {
	s := open(b, b.TempDir())
	s.Unsynced()
	cfg := zoneOf(1_000_000)
	if _, err := s.Commit(cfg, store.Meta{Author: "root", Diff: "x"}); err != nil {
		b.Fatal(err)
	}
	spent := time.Duration(0)
	b.ResetTimer()
	for n := range b.N {
		b.StopTimer()
		cfg = withRecord(cfg, n*7919%1_000_000, fmt.Sprint("192.0.2.", n%250))
		runtime.GC()
		b.StartTimer()
		began := cpu()
		if _, err := s.Commit(cfg, store.Meta{Author: "root", Diff: "x"}); err != nil {
			b.Fatal(err)
		}
		spent += cpu() - began
	}
	reportCPU(b, spent)
}

func BenchmarkOpenWithAMillionRecords(b *testing.B) {
	dir := b.TempDir()
	s := open(b, dir)
	if _, err := s.Commit(zoneOf(1_000_000), store.Meta{Author: "root", Diff: "x"}); err != nil {
		b.Fatal(err)
	}
	s.Close()
	info, err := os.Stat(filepath.Join(dir, store.FileName))
	if err != nil {
		b.Fatal(err)
	}
	runtime.GC()
	began := cpu()
	b.ResetTimer()
	for range b.N {
		s, err := store.Open(dir)
		if err != nil {
			b.Fatal(err)
		}
		s.Close()
	}
	reportCPU(b, cpu()-began)
	b.ReportMetric(float64(info.Size())/1e6, "MB")
}
