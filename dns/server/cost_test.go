package server_test

import (
	"net/netip"
	"testing"
)

var client = netip.MustParseAddr("192.0.2.200")

// costly lists queries that cover all code paths.
var costly = []string{
	"www.example.com A", "nothing.example.com A", "x.y.wild.example.com A", "alias.example.com A", "example.com MX", "example.com SOA",
	"www.sub.example.com A", "shop.example.com A", "toshop.example.com AAAA", "www.example.org A", "www.example.com ANY", "big.example.com TXT",
	"a.b.c.d.e.f.g.h.example.com A", "loop.example.com A", "www.example.com RRSIG", "b.c.example.com RRSIG", "www.example.com NSEC",
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
