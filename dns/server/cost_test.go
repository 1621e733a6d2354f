package server_test

import (
	"fmt"
	"net/netip"
	"os"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/farm"
)

var client = netip.MustParseAddr("192.0.2.200")

// costly are questions whose answers take all paths there are.
var costly = []string{
	"www.example.com A", "nothing.example.com A", "x.y.wild.example.com A", "alias.example.com A", "example.com MX", "example.com SOA",
	"www.sub.example.com A", "shop.example.com A", "toshop.example.com AAAA", "www.example.org A", "www.example.com ANY", "big.example.com TXT",
	"a.b.c.d.e.f.g.h.example.com A",
}

func BenchmarkAnswer(b *testing.B) {
	a := newAppliance(b, 1, example())
	a.up(1, 2, 3)
	ask := a.engine.Answerer(7)
	for _, question := range costly {
		msg := query(b, question)
		b.Run(question, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				ask(msg, client)
			}
		})
	}
}

// manyNames is a zone of that many names with an address each.
func manyNames(n int) *farm.GSLB {
	z := farm.NewZone("example.com")
	z.ID, z.Serial = 1, 1
	for i := range n {
		z.Records = append(z.Records, farm.Record{ID: uint32(i + 3), Name: fmt.Sprintf("host%d", i), Type: "A", Data: fmt.Sprintf("10.%d.%d.%d", i>>16&255, i>>8&255, i&255)})
	}
	return &farm.GSLB{Zones: []farm.Zone{z}}
}

func BenchmarkCompileMillion(b *testing.B) {
	g := manyNames(1_000_000)
	for b.Loop() {
		a := newAppliance(b, 1, g)
		_ = a
	}
}

// TestServe serves a zone of a thousand names for as long as SLUICE_DNS_SERVE says, for
// who measures by hand.
func TestServe(t *testing.T) {
	d, err := time.ParseDuration(os.Getenv("SLUICE_DNS_SERVE"))
	if err != nil {
		t.Skip("SLUICE_DNS_SERVE is not set")
	}
	a := newAppliance(t, 1, manyNames(1000))
	fmt.Println(a.farm.AddrPort(), os.Getpid())
	time.Sleep(d)
}
