package proxyproto_test

import (
	"fmt"
	"io"
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/enginetest"
	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/loop"
	"github.com/sluicelb/sluice/core/proxyproto"
)

// intake reads the expected header of each connection of a loop, then the bytes after
// it, and reports both.
type intake struct {
	proxyproto.Intake
	room  []byte
	whole *proxyproto.Parser
	out   proxyproto.Outcome
	why   string
	rest  string
	begun chan bool // Begun, whenever it waits
	told  chan string
}

func (i *intake) Readable(c *loop.Conn) {
	if i.out == proxyproto.Waits {
		if i.out, i.why = i.Take(c, i.room, i.whole); i.out == proxyproto.Waits {
			i.begun <- i.Begun()
			return
		}
	}
	for i.out == proxyproto.Taken {
		n, err := c.Read(i.room)
		if err == loop.ErrDry {
			return
		}
		if i.rest += string(i.room[:n]); err != nil {
			break
		}
	}
	peer := c.Peer().String()
	if c.Peer().Port() > 10 {
		peer = "itself"
	}
	i.told <- fmt.Sprintf("%d from %s %s%q", i.out, peer, i.why, i.rest)
	c.Close()
}
func (*intake) Drained(*loop.Conn)          {}
func (*intake) Connected(*loop.Conn, error) {}
func (*intake) Expired(*loop.Conn)          {}
func (*intake) Failed(*loop.Conn, error)    {}

// takes serves one connection after the other and returns a function that makes one
// with the given expectation.
func takes(t *testing.T) func(e proxyproto.Expected) (*intake, *net.TCPConn) {
	t.Helper()
	h := enginetest.New(t, 1)
	l := h.Loops[0]
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	f, err := ln.(*net.TCPListener).File()
	if err != nil {
		t.Fatal(err)
	}
	_ = ln.Close()
	whole, next := new(proxyproto.Parser), make(chan *intake, 1)
	l.Post(func() {
		if _, err := l.Listen(f, func(c *loop.Conn) { c.SetHandler(<-next) }); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(func() { h.End(t, func() {}); _ = f.Close() })
	return func(e proxyproto.Expected) (*intake, *net.TCPConn) {
		i := &intake{Intake: proxyproto.Intake{Expected: e}, room: make([]byte, proxyproto.MaxV2), whole: whole, begun: make(chan bool, 64), told: make(chan string, 1)}
		next <- i
		c, err := net.Dial("tcp", ln.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		_ = c.SetDeadline(time.Now().Add(10 * time.Second))
		return i, c.(*net.TCPConn)
	}
}

func TestIntakeConsumesOnlyTheHeader(t *testing.T) {
	connect := takes(t)
	line := "PROXY TCP4 192.0.2.1 198.51.100.2 7 443\r\n"
	longest := binaryHeader(0x21, 0x11, "\xc0\x00\x02\x01\xc6\x33\x64\x02\x00\x07\x01\xbb\x04\x0f\xe1"+strings.Repeat("x", 4065))
	const both, optional, required = proxyproto.Nothing, proxyproto.Optional, proxyproto.Required
	for _, test := range []struct {
		expected  proxyproto.Expected // both means Optional and Required
		sent      string
		want      string
		waitBegun bool // whether the signature has arrived when it waits for the rest
	}{
		{both, line + "GET /", `1 from 192.0.2.1:7 "GET /"`, true},
		{both, line, `1 from 192.0.2.1:7 ""`, true},
		{both, longest + "GET /", `1 from 192.0.2.1:7 "GET /"`, true},
		{both, "PROXY UNKNOWN\r\nhello", `1 from itself "hello"`, true},
		{both, binaryHeader(0x20, 0, "") + "hello", `1 from itself "hello"`, true},
		{optional, "GET /", `1 from itself "GET /"`, false},
		{required, "GET /", `2 from itself PROXY header: there is none""`, false},
		{optional, "PROXY", `1 from itself "PROXY"`, false},
		{optional, "PROXYs are", `1 from itself "PROXYs are"`, false},
		{optional, "", `1 from itself ""`, false},
		{required, "PROXY", `3 from itself ""`, false},
		{required, "", `3 from itself ""`, false},
		{both, "PROXY TCP4 1", `2 from itself connection ended within the PROXY header""`, true},
		{both, longest[:100], `2 from itself connection ended within the PROXY header""`, true},
		{both, "PROXY TCP9 \r\n", `2 from itself PROXY header: malformed line""`, true},
	} {
		for _, expected := range []proxyproto.Expected{optional, required} {
			if test.expected != both && test.expected != expected {
				continue
			}
			for _, first := range []int{0, 3, 7, len(test.sent)} {
				i, c := connect(expected)
				first = min(first, len(test.sent))
				_, _ = io.WriteString(c, test.sent[:first])
				if first > 0 && first < len(test.sent) {
					time.Sleep(2 * time.Millisecond) // usually the parts arrive separately then
				}
				_, _ = io.WriteString(c, test.sent[first:])
				_ = c.CloseWrite()
				if got := <-i.told; got != test.want {
					t.Errorf("%.20q, expected %d, %d bytes first: %s, want %s", test.sent, expected, first, got, test.want)
				}
				for range len(i.begun) {
					begun := <-i.begun
					if begun && !test.waitBegun {
						t.Errorf("%.20q, expected %d: Begun without a signature", test.sent, expected)
					}
				}
				if i.out == proxyproto.Taken && i.Expected != proxyproto.Nothing || i.out == proxyproto.Taken && i.Begun() {
					t.Errorf("%.20q: after the header %d is expected", test.sent, i.Expected)
				}
			}
		}
	}
}

// The first part of an incomplete header is kept.
func TestPartialHeaderIsAwaited(t *testing.T) {
	connect := takes(t)
	for _, test := range []struct {
		parts []string
		begun []bool
	}{
		{[]string{"", "PRO", "XY ", "TCP4 192.0.2.1 198.51.1", "00.2 7 443\r\n"}, []bool{false, false, true, true}},
		{[]string{"", signature[:5], signature[5:] + "\x21", "\x11\x00\x0c" + addresses4[:3], addresses4[3:8] + "\x00", "\x07\x01\xbb"}, []bool{false, false, true, true, true}},
	} {
		i, c := connect(proxyproto.Required)
		for n, part := range test.parts {
			_, _ = io.WriteString(c, part)
			if n == len(test.parts)-1 {
				break
			}
			if begun := <-i.begun; begun != test.begun[n] {
				t.Errorf("after %q: a signature has come: got %t, want %t", test.parts[:n+1], begun, test.begun[n])
			}
		}
		_ = c.CloseWrite()
		if got := <-i.told; got != `1 from 192.0.2.1:7 ""` {
			t.Errorf("%q: got %s, want %s", test.parts, got, `1 from 192.0.2.1:7 ""`)
		}
	}
}

func TestUntrustedPeerOfRequiredHeaderIsRefused(t *testing.T) {
	i, c := takes(t)(proxyproto.Refused)
	_, _ = io.WriteString(c, "PROXY UNKNOWN\r\n")
	if got := <-i.told; got != `2 from itself peer not trusted to send the required PROXY header""` {
		t.Error(got)
	}
}

func TestOwnHeaderUsesTheFarmsVersion(t *testing.T) {
	for out, want := range map[farm.ProxyOut]string{
		"": "", farm.ProxyOutOff: "", farm.ProxyOutV1: "PROXY UNKNOWN\r\n", farm.ProxyOutV2: signature + "\x20\x00\x00\x00",
	} {
		if got := string(proxyproto.VersionOf(out).Own()); got != want {
			t.Errorf("%q: %q, want %q", out, got, want)
		}
	}
	if b := proxyproto.Version(0).Own(); b != nil {
		t.Errorf("no version: %q", b)
	}
}

func TestEmptyAndOversizedTLVsAreOmitted(t *testing.T) {
	for size, want := range map[int]string{0: "", 1: "\x02\x00\x01", 255: "\x02\x00\xff", 256: "\x02\x01\x00", 1024: "\x02\x04\x00", 1025: ""} {
		value := strings.Repeat("x", size)
		if want != "" {
			want += value
		}
		if got := string(proxyproto.AppendTLV([]byte("before"), proxyproto.TypeAuthority, value)); got != "before"+want {
			t.Errorf("%d bytes: %.20q", size, got)
		}
	}
	both := netip.MustParseAddrPort("192.0.2.1:258")
	if got := string(proxyproto.Append(nil, proxyproto.V2, both, both, []byte("tlv"))); got != binaryHeader(0x21, 0x11, "\xc0\x00\x02\x01\xc0\x00\x02\x01\x01\x02\x01\x02tlv") {
		t.Errorf("%q", got)
	}
}
