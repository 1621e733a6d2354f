package proxy_test

import (
	"fmt"
	"net/netip"
	"testing"

	"github.com/sluicelb/sluice/core/engine"
	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/snapshot"
	"github.com/sluicelb/sluice/l7/l7test"
)

// BenchmarkChange measures the engine's part of a change to one of 1,000 farms with ten
// backends each, on an otherwise idle processor.
func BenchmarkChange(b *testing.B) {
	a := l7test.New(b, 1)
	set, cfg, generation := engine.Set{a.Engine}, &farm.Config{}, uint64(0)
	for i := range uint32(1000) {
		f := farm.Farm{ID: i + 1, Name: fmt.Sprint("farm", i), Profile: farm.ProfileHTTP, VIP: netip.MustParseAddr("127.0.0.1"), HTTP: farm.DefaultHTTP()}
		f.VPort = a.Listen(b, "127.0.0.1").Port()
		s := farm.Service{ID: i + 1, Name: "all"}
		for k := range uint32(10) {
			s.Backends = append(s.Backends, farm.Backend{ID: i*10 + k + 1, Host: "127.0.1.1", Addr: netip.AddrFrom4([4]byte{127, 0, 1, byte(k + 1)}), Port: 8080})
		}
		f.HTTP.Services = []farm.Service{s}
		cfg.Farms = append(cfg.Farms, f)
	}
	var writer snapshot.Writer
	var reader snapshot.Reader
	publish := func() {
		generation++
		file, err := writer.Publish(generation, cfg, generation-1)
		if err != nil {
			b.Fatal(err)
		}
		defer file.Close()
		b.StartTimer()
		defer b.StopTimer()
		_, read, err := reader.Load(file)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := set.Publish(generation, read, a.Files); err != nil {
			b.Fatal(err)
		}
	}
	publish()
	b.ResetTimer()
	for i := range b.N {
		cfg.Farms[500] = cfg.Farms[500].Clone()
		cfg.Farms[500].HTTP.Services[0].Backends[0].Weight = uint8(1 + i%9)
		publish()
	}
}
