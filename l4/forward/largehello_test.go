package forward_test

import (
	"encoding/binary"
	"net"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/sluicelb/sluice/l4/hello"
)

// largestHello returns the longest possible ClientHello in records of 16 KiB: its server
// name follows 64 KiB of ciphers and an extension of the same size.
func largestHello(name string) []byte {
	asks := binary.BigEndian.AppendUint16(nil, uint16(3+len(name)))
	asks = append(binary.BigEndian.AppendUint16(append(asks, 0), uint16(len(name))), name...)
	filling := 65535 - 4 - 4 - len(asks)
	message := []byte{1, 0, 0, 0, 3, 3}
	message = append(message, make([]byte, 32)...)
	message = append(append(message, 32), make([]byte, 32)...)
	message = append(append(message, 0xff, 0xfe), make([]byte, 65534)...)
	message = append(append(message, 255), make([]byte, 255)...)
	message = append(message, 0xff, 0xff, 0xfa, 0xfa, byte(filling>>8), byte(filling))
	message = append(message, make([]byte, filling)...)
	message = append(append(message, 0, 0, 0, byte(len(asks))), asks...)
	n := len(message) - 4
	message[1], message[2], message[3] = byte(n>>16), byte(n>>8), byte(n)
	var records []byte
	for len(message) > 0 {
		n := min(len(message), 16<<10)
		records = append(records, 22, 3, 1, byte(n>>8), byte(n))
		records, message = append(records, message[:n]...), message[n:]
	}
	return records
}

// It arrives faster than it is parsed, so the socket must hold all of it.
func TestTheLargestClientHelloMayComeAtOnce(t *testing.T) {
	a := newAppliance(t, 1)
	f := a.farm(serve(t, name("shop")).at(), serve(t, name("others")).at())
	f.L4.Backends[0].ServerNames = []string{"shop.example.com"}
	a.publish(f)
	b := largestHello("shop.example.com")
	if want := 4 + hello.Most + 9*5; len(b) != want {
		t.Fatalf("%d bytes, the longest has %d", len(b), want)
	}
	for range 3 {
		c := a.dial(f)
		if _, err := c.Write(b); err != nil {
			t.Fatal(err)
		}
		if got := line(t, c); got != "shop" {
			t.Errorf("%q answers", got)
		}
	}
}

// If the kernel has no room for it, the client times out and the loop does not spin.
func TestUnreadableClientHelloDoesNotSpin(t *testing.T) {
	a := newAppliance(t, 1)
	f := a.farm(serve(t, name("shop")).at())
	f.L4.Backends[0].ServerNames = []string{"shop.example.com"}
	for _, files := range a.Files {
		for _, file := range files {
			control(t, file, func(fd int) { _ = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUF, 16<<10) })
		}
	}
	a.publish(f)
	c := a.dial(f)
	_ = c.SetWriteBuffer(1 << 20)
	if _, err := c.Write(largestHello("shop.example.com")); err != nil {
		t.Fatal(err)
	}
	stuck, before := 0, -1
	eventually(t, "the socket is full", func() bool {
		n := notTaken(t, c)
		if n != before {
			stuck, before = 0, n
		}
		stuck++
		return n > 0 && stuck > 20
	})
	events := a.segment.Shard(0).Loop().Events
	const turns = 2000
	for range turns {
		a.Turn()
	}
	if n := a.segment.Shard(0).Loop().Events - events; n > turns/10 {
		t.Errorf("%d events in %d turns", n, turns)
	}
}

// notTaken returns the number of sent bytes that the peer has not received.
func notTaken(t *testing.T, c *net.TCPConn) (n int) {
	t.Helper()
	control(t, c, func(fd int) { n, _ = unix.IoctlGetInt(fd, unix.SIOCOUTQ) })
	return n
}

func control(t *testing.T, c syscall.Conn, do func(fd int)) {
	t.Helper()
	raw, err := c.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	_ = raw.Control(func(fd uintptr) { do(int(fd)) })
}
