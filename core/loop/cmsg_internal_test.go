package loop

import (
	"encoding/binary"
	"slices"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// ancillary returns an ancillary message with 32-bit words as its data. off is added to
// its length to make it invalid.
func ancillary(level, kind int32, off int, words ...uint32) []byte {
	b := make([]byte, aligned(headerSize+4*len(words)))
	setHeader(b, level, kind, 4*len(words)+off)
	for i, word := range words {
		binary.NativeEndian.PutUint32(b[headerSize+4*i:], word)
	}
	return b
}

func TestTruncatedAncillaryMessagesAreIgnored(t *testing.T) {
	together := ancillary(unix.SOL_UDP, unix.UDP_GRO, 0, 40)
	to := pktinfo(make([]byte, 0, controlSize), &Endpoint{addr: [16]byte{192, 0, 2, 1}, kind: 4})
	other := ancillary(unix.SOL_SOCKET, unix.SCM_TIMESTAMP, 0, 1, 2, 3)
	for name, test := range map[string]struct {
		b       []byte
		segment int
		to      bool
	}{
		"none":                 {nil, 0, false},
		"several at once":      {together, 40, false},
		"behind another":       {slices.Concat(other, to, together), 40, true},
		"the last, unpadded":   {slices.Concat(to, together[:headerSize+4]), 40, true},
		"cut":                  {slices.Concat(to, together[:headerSize+3]), 0, true},
		"longer than there is": {slices.Concat(ancillary(unix.SOL_UDP, unix.UDP_GRO, 9, 40), make([]byte, 4)), 0, false},
		"shorter than its own": {slices.Concat(ancillary(unix.SOL_UDP, unix.UDP_GRO, -5, 40), together), 0, false},
		"without data":         {slices.Concat(ancillary(unix.SOL_UDP, unix.UDP_GRO, 0), ancillary(unix.SOL_IP, unix.IP_PKTINFO, 0, 1, 2), ancillary(unix.SOL_IPV6, unix.IPV6_PKTINFO, 0, 1, 2, 3, 4), to), 0, true},
		"of another level":     {slices.Concat(ancillary(unix.SOL_TCP, unix.UDP_GRO, 0, 40), ancillary(unix.SOL_UDP, unix.UDP_SEGMENT, 0, 40)), 0, false},
		"of one datagram":      {ancillary(unix.SOL_UDP, unix.UDP_GRO, 0, 100), 0, false},
		"all but a byte":       {ancillary(unix.SOL_UDP, unix.UDP_GRO, 0, 99), 99, false},
		"of no length":         {ancillary(unix.SOL_UDP, unix.UDP_GRO, 0, 0), 0, false},
		"half a header":        {together[:headerSize-1], 0, false},
	} {
		d := Datagram{Data: make([]byte, 100)}
		if d.readControl(test.b); d.Segment != test.segment || d.To.IsValid() != test.to {
			t.Errorf("%s: datagrams of %d bytes to %v", name, d.Segment, d.To.Addr())
		}
	}
	refused := uint32(syscall.ECONNREFUSED)
	for name, test := range map[string]struct {
		b    []byte
		want syscall.Errno
	}{
		"none":                 {nil, 0},
		"IPv4":                 {ancillary(unix.SOL_IP, unix.IP_RECVERR, 0, refused, 7), syscall.ECONNREFUSED},
		"IPv6":                 {ancillary(unix.SOL_IPV6, unix.IPV6_RECVERR, 0, refused), syscall.ECONNREFUSED},
		"behind another":       {slices.Concat(other, ancillary(unix.SOL_IP, unix.IP_RECVERR, 0, refused)), syscall.ECONNREFUSED},
		"of another kind":      {slices.Concat(ancillary(unix.SOL_IPV6, unix.IP_RECVERR, 0, refused), ancillary(unix.SOL_IP, unix.IPV6_RECVERR, 0, refused)), 0},
		"too short":            {ancillary(unix.SOL_IP, unix.IP_RECVERR, -1, refused), 0},
		"longer than there is": {ancillary(unix.SOL_IP, unix.IP_RECVERR, 5, refused), 0},
		"no header":            {slices.Concat(ancillary(unix.SOL_IP, unix.IP_RECVERR, -5, refused), ancillary(unix.SOL_IP, unix.IP_RECVERR, 0, refused)), 0},
		"padding only":         {slices.Concat(other, make([]byte, 3)), 0},
	} {
		if got := queuedErrno(test.b); got != test.want {
			t.Errorf("%s: got %v, want %v", name, got, test.want)
		}
	}
}

// Count includes the shorter last datagram.
func TestCoalescedDatagramsAreCounted(t *testing.T) {
	for _, test := range []struct{ bytes, segment, want int }{{0, 0, 1}, {100, 0, 1}, {100, 50, 2}, {101, 50, 3}, {99, 50, 2}, {51, 50, 2}} {
		if got := (&Datagram{Data: make([]byte, test.bytes), Segment: test.segment}).Count(); got != test.want {
			t.Errorf("%d bytes, each %d, are %d datagrams", test.bytes, test.segment, got)
		}
		if got := count(make([]byte, test.bytes), test.segment); got != test.want {
			t.Errorf("%d bytes of %d leave as %d datagrams", test.bytes, test.segment, got)
		}
	}
	s := newSockets(t, DialOptions{})
	if s.ln.Handler() != UDPListenerHandler(s) || s.ln.Loop() != s.l || s.conn.Handler() != UDPConnHandler(s) {
		t.Error("a socket has another owner")
	}
}
