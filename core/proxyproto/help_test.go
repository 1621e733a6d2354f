package proxyproto_test

import (
	"encoding/binary"
	"hash/crc32"
	"net/netip"
	"testing"

	"github.com/sluicelb/sluice/core/proxyproto"
)

const signature = "\r\n\r\n\x00\r\nQUIT\n"

// outcome is the result of reading bytes.
type outcome struct {
	header proxyproto.Header
	used   int
	done   bool
	err    error
}

// read passes bytes to a parser, piece bytes at a time. Bytes that it does not consume
// are passed again.
func read(b []byte, piece int) (o outcome) {
	var p proxyproto.Parser
	for shown := 0; shown < len(b) && !o.done && o.err == nil; {
		shown = min(len(b), shown+piece)
		var n int
		n, o.done, o.err = p.Feed(b[o.used:shown])
		o.used += n
	}
	o.header = p.Header()
	return o
}

// binaryHeader returns a header of version 2.
func binaryHeader(command, family byte, rest string) string {
	b := append([]byte(signature), command, family)
	b = binary.BigEndian.AppendUint16(b, uint16(len(rest)))
	return string(b) + rest
}

const addresses4 = "\xc0\x00\x02\x01\xc6\x33\x64\x02\x9c\x40\x01\xbb"

// summed returns a header with a checksum, xored with wrong.
func summed(wrong uint32, before, behind string) string {
	b := []byte(binaryHeader(0x21, 0x11, addresses4+before+"\x03\x00\x04\x00\x00\x00\x00"+behind))
	sum := crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli)) ^ wrong
	binary.BigEndian.PutUint32(b[16+len(addresses4)+len(before)+3:], sum)
	return string(b)
}

func address(t testing.TB, s string) netip.AddrPort {
	t.Helper()
	if s == "" {
		return netip.AddrPort{}
	}
	return netip.MustParseAddrPort(s)
}
