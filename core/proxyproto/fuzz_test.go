package proxyproto_test

import (
	"bytes"
	"testing"

	"github.com/sluicelb/sluice/core/proxyproto"
)

// FuzzParser reads arbitrary bytes whole, one by one, and split as the input says. The
// result must not depend on the split or exceed the limits, and must be equivalent when
// written and read again.
func FuzzParser(f *testing.F) {
	for _, s := range []string{
		"PROXY TCP4 192.0.2.1 198.51.100.2 40000 443\r\nGET / HTTP/1.1\r\n",
		"PROXY TCP6 2001:db8::1 ::ffff:198.51.100.2 1 65535\r\n",
		"PROXY UNKNOWN ffff::1 any thing\r\n", "PROXY UNKNOWN\r\n", "PROXY TCP4 1.2.3.4 1.2.3.4 1 2\n", "PROPFIND / HTTP/1.1\r\n\r\n",
		binaryHeader(0x21, 0x11, addresses4), binaryHeader(0x20, 0, ""), binaryHeader(0x21, 0x12, addresses4+"\x04\x00\x00"),
		binaryHeader(0x21, 0x11, addresses4+"\x04\x00\x02ab"), binaryHeader(0x21, 0x21, addresses4+addresses4+addresses4),
		summed(0, "\x04\x00\x02ab", "\x20\x00\x08\x01\x00\x00\x00\x00\x21\x00\x00"), summed(1, "", ""),
	} {
		f.Add([]byte(s), 3)
	}
	f.Fuzz(func(t *testing.T, b []byte, piece int) {
		whole := read(b, max(1, len(b)))
		for _, size := range []int{1, 1 + (piece&0x7fff)%64} {
			o := read(b, size)
			if o.done != whole.done || o.err != whole.err || o.done && (o.header != whole.header || o.used != whole.used) {
				t.Fatalf("whole %+v, by %d %+v", whole, size, o)
			}
		}
		switch {
		case whole.err == error(proxyproto.ErrNone) && whole.used != 0:
			t.Fatalf("%d bytes without a header were consumed", whole.used)
		case !whole.done:
			return
		}
		h := whole.header
		text := h.Version == proxyproto.V1
		if most := map[bool]int{true: proxyproto.MaxV1, false: proxyproto.MaxV2}[text]; whole.used > most || text && bytes.IndexByte(b, '\n') != whole.used-1 {
			t.Fatalf("version %d of %d bytes", h.Version, whole.used)
		}
		if h.Source.IsValid() != h.Destination.IsValid() || h.Source.Addr().Is4In6() || h.Source.Addr().Zone() != "" {
			t.Fatalf("%v to %v", h.Source, h.Destination)
		}
		for _, v := range []proxyproto.Version{proxyproto.V1, proxyproto.V2} {
			again := read(proxyproto.Append(nil, v, h.Source, h.Destination, nil), 1)
			if !again.done || again.header.Source != h.Source || again.header.Destination != h.Destination {
				t.Fatalf("%v to %v became %+v", h.Source, h.Destination, again)
			}
		}
	})
}
