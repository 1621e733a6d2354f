package forward_test

import "testing"

// BenchmarkDatagram measures a datagram of a known flow and its response, for `make files`.
func BenchmarkDatagram(b *testing.B) {
	a := newAppliance(b, 1)
	f := a.farmUDP(answering(b, func(text string) []string { return []string{text} }).at())
	a.publish(f)
	c, buf := a.dialUDP(f), make([]byte, 100)
	for b.Loop() {
		_, _ = c.Write([]byte("hello"))
		if _, err := c.Read(buf); err != nil {
			b.Fatal(err)
		}
	}
}
