package proxyproto_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/core/proxyproto"
)

func TestHeadersAreReadInPiecesOfAnySize(t *testing.T) {
	long6 := "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"
	for name, c := range map[string]struct{ header, source, destination string }{
		"v1 TCP4":            {"PROXY TCP4 192.0.2.1 198.51.100.2 40000 443\r\n", "192.0.2.1:40000", "198.51.100.2:443"},
		"v1 TCP6":            {"PROXY TCP6 2001:db8::1 2001:db8::2 1 65535\r\n", "[2001:db8::1]:1", "[2001:db8::2]:65535"},
		"v1 other digits":    {"PROXY TCP4 192.0.2.1 198.51.100.2 9 8967\r\n", "192.0.2.1:9", "198.51.100.2:8967"},
		"v1 mapped":          {"PROXY TCP6 ::ffff:192.0.2.1 ::ffff:198.51.100.2 0 0\r\n", "192.0.2.1:0", "198.51.100.2:0"},
		"v1 longest TCP6":    {"PROXY TCP6 " + long6 + " " + long6 + " 65535 65535\r\n", "[" + long6 + "]:65535", "[" + long6 + "]:65535"},
		"v1 unknown":         {"PROXY UNKNOWN\r\n", "", ""},
		"v1 unknown, more":   {"PROXY UNKNOWN ffff::1 any thing\r\n", "", ""},
		"v1 longest":         {"PROXY UNKNOWN " + long6 + " " + long6 + " 65535 65535\r\n", "", ""},
		"v2 TCP4":            {binaryHeader(0x21, 0x11, addresses4), "192.0.2.1:40000", "198.51.100.2:443"},
		"v2 TCP6":            {binaryHeader(0x21, 0x21, strings.Repeat("\x20\x01\x0d\xb8"+strings.Repeat("\x00", 11)+"\x01", 2)+"\x00\x01\x00\x02"), "[2001:db8::1]:1", "[2001:db8::1]:2"},
		"v2 UDP":             {binaryHeader(0x21, 0x12, addresses4), "", ""},
		"v2 unix":            {binaryHeader(0x21, 0x31, strings.Repeat("x", 216)+"\x04\x00\x00"), "", ""},
		"v2 unspecified":     {binaryHeader(0x21, 0x00, ""), "", ""},
		"v2 local":           {binaryHeader(0x20, 0x00, ""), "", ""},
		"v2 local, whatever": {binaryHeader(0x20, 0xff, "any thing"), "", ""},
		"v2 TLVs":            {binaryHeader(0x21, 0x11, addresses4+"\x04\x00\x00\x02\x00\x06a.test\xee\x01\x00"+strings.Repeat("x", 256)), "192.0.2.1:40000", "198.51.100.2:443"},
		"v2 longest":         {binaryHeader(0x21, 0x11, addresses4+"\x04\x0f\xe1"+strings.Repeat("x", 4065)), "192.0.2.1:40000", "198.51.100.2:443"},
		"v2 checksum":        {summed(0, "\x04\x00\x02ab", "\x02\x00\x01a"), "192.0.2.1:40000", "198.51.100.2:443"},
	} {
		for _, piece := range []int{1, 2, 3, 7, 16, 100, 1 << 16} {
			o := read([]byte(c.header+"GET / HTTP/1.1\r\n"), piece)
			if !o.done || o.err != nil || o.used != len(c.header) {
				t.Errorf("%s by %d: used %d of %d, done %t, %v", name, piece, o.used, len(c.header), o.done, o.err)
				continue
			}
			if o.header.Source != address(t, c.source) || o.header.Destination != address(t, c.destination) {
				t.Errorf("%s by %d: %v to %v", name, piece, o.header.Source, o.header.Destination)
			}
		}
	}
}

func TestInvalidHeadersAreRefused(t *testing.T) {
	for _, c := range []struct {
		bytes string
		want  error
	}{
		{"GET / HTTP/1.1\r\n", proxyproto.ErrNone},
		{"PROPFIND / HTTP/1.1\r\n", proxyproto.ErrNone},
		{"proxy TCP4 ", proxyproto.ErrNone},
		{"\x16\x03\x01", proxyproto.ErrNone},
		{"\r\n\r\nGET ", proxyproto.ErrNone},
		{"PROXY  TCP4 192.0.2.1 198.51.100.2 1 2\r\n", proxyproto.ErrLine},
		{"PROXY TCP4\r\n", proxyproto.ErrLine},
		{"PROXY TCP5 192.0.2.1 198.51.100.2 1 2\r\n", proxyproto.ErrLine},
		{"PROXY UNKNOWNS\r\n", proxyproto.ErrLine},
		{"PROXY TCP4 192.0.2.1 198.51.100.2 1\r\n", proxyproto.ErrLine},
		{"PROXY TCP4 192.0.2.1 198.51.100.2 1 2 3\r\n", proxyproto.ErrLine},
		{"PROXY TCP4 192.0.2.1 198.51.100.2 1 2\n", proxyproto.ErrLine},
		{"PROXY TCP4 192.0.2.1 198.51.100.2 1 2\r\r\n", proxyproto.ErrLine},
		{"PROXY TCP4 192.0.2.1 198.51.100.2 1 2 \r\n", proxyproto.ErrLine},
		{"PROXY TCP4 192.0.2.1  198.51.100.2 1 2\r\n", proxyproto.ErrLine},
		{"PROXY TCP4 192.0.2.01 198.51.100.2 1 2\r\n", proxyproto.ErrAddress},
		{"PROXY TCP4 2001:db8::1 2001:db8::2 1 2\r\n", proxyproto.ErrAddress},
		{"PROXY TCP6 192.0.2.1 198.51.100.2 1 2\r\n", proxyproto.ErrAddress},
		{"PROXY TCP6 fe80::1%eth0 fe80::2 1 2\r\n", proxyproto.ErrAddress},
		{"PROXY TCP4 192.0.2.1 198.51.100.2 01 2\r\n", proxyproto.ErrAddress},
		{"PROXY TCP4 192.0.2.1 198.51.100.2 65536 2\r\n", proxyproto.ErrAddress},
		{"PROXY TCP4 192.0.2.1 198.51.100.2 -1 2\r\n", proxyproto.ErrAddress},
		{"PROXY TCP4 192.0.2.1 198.51.100.2 1 65536\r\n", proxyproto.ErrAddress},
		{"PROXY TCP4 192.0.2.1 198.51.100.2 1 00\r\n", proxyproto.ErrAddress},
		{"PROXY TCP4 192.0.2.1 198.51.100.2 1/ 2\r\n", proxyproto.ErrAddress},
		{"PROXY TCP4 192.0.2.1 198.51.100.2 1: 2\r\n", proxyproto.ErrAddress},
		{"PROXY TCP4 192.0.2.1 198.51.100.2  2\r\n", proxyproto.ErrAddress},
		{"PROXY TCP4 192.0.2.1 198.51.100.2 1 18446744073709551617\r\n", proxyproto.ErrAddress}, // would be 1 after an overflow
		{"PROXY TCP4  198.51.100.2 1 2\r\n", proxyproto.ErrAddress},
		{"PROXY TCP4 192.0.2.1 2001:db8::2 1 2\r\n", proxyproto.ErrAddress},
		{"PROXY TCP6 fe80::1 fe80::2%eth0 1 2\r\n", proxyproto.ErrAddress},
		{"PROXY UNKNOWN " + strings.Repeat("x", 92) + "\r\n", proxyproto.ErrLong}, // 108 bytes
		{"PROXY TCP4 " + strings.Repeat("1", 200), proxyproto.ErrLong},
		{binaryHeader(0x11, 0x11, addresses4), proxyproto.ErrVersion},
		{binaryHeader(0x22, 0x11, addresses4), proxyproto.ErrVersion},
		{binaryHeader(0x21, 0x41, addresses4), proxyproto.ErrVersion},
		{binaryHeader(0x21, 0x13, addresses4), proxyproto.ErrVersion},
		{binaryHeader(0x21, 0x11, addresses4[1:]), proxyproto.ErrLength},
		{binaryHeader(0x21, 0x21, addresses4), proxyproto.ErrLength},
		{binaryHeader(0x21, 0x31, addresses4), proxyproto.ErrLength},
		{binaryHeader(0x21, 0x11, addresses4+"\x04"), proxyproto.ErrTLV},
		{binaryHeader(0x21, 0x11, addresses4+"\x04\x00"), proxyproto.ErrTLV},
		{binaryHeader(0x21, 0x11, addresses4+"\x04\x00\x02a"), proxyproto.ErrTLV},
		{binaryHeader(0x21, 0x11, addresses4+"\x03\x00\x03abc"), proxyproto.ErrTLV},
		{binaryHeader(0x21, 0x11, addresses4+"\x03\x00\x04ab"), proxyproto.ErrTLV},
		{binaryHeader(0x21, 0x11, strings.Repeat("x", 4081)), proxyproto.ErrLong},
		{binaryHeader(0x20, 0x00, strings.Repeat("x", 4081)), proxyproto.ErrLong},
		{summed(1, "", ""), proxyproto.ErrChecksum},
		{summed(1<<31, "\x04\x00\x02ab", ""), proxyproto.ErrChecksum},
		{summed(0, "", "\x03\x00\x04\x00\x00\x00\x00"), proxyproto.ErrChecksum},
	} {
		for _, piece := range []int{1, 5, 1 << 16} {
			if o := read([]byte(c.bytes), piece); !errors.Is(o.err, c.want) || o.done || o.header.Source.IsValid() && c.want == proxyproto.ErrNone {
				t.Errorf("%q by %d: %v, done %t, want %v", c.bytes[:min(len(c.bytes), 60)], piece, o.err, o.done, c.want)
			} else if c.want == proxyproto.ErrNone && o.used != 0 {
				t.Errorf("%q by %d: %d bytes were consumed", c.bytes, piece, o.used)
			}
		}
	}
}

func TestPartialSignatureIsNotConsumed(t *testing.T) {
	for _, s := range []string{"", "P", "PROXY", "\r\n", signature[:11]} {
		if o := read([]byte(s), 1); o.used != 0 || o.done || o.err != nil {
			t.Errorf("%q: used %d, done %t, %v", s, o.used, o.done, o.err)
		}
	}
}

func TestReadingAllocatesNothing(t *testing.T) {
	headers := [][]byte{[]byte("PROXY TCP6 2001:db8::1 2001:db8::2 1 65535\r\n"), []byte(summed(0, "\x04\x00\x02ab", "")), []byte("PROXY TCP4 1.2.3 ")}
	var p proxyproto.Parser
	if n := testing.AllocsPerRun(100, func() {
		for _, h := range headers {
			p.Reset()
			_, _, _ = p.Feed(h[:9])
			_, _, _ = p.Feed(h)
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
