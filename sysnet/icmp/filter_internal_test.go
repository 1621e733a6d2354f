package icmp

import (
	"testing"

	"golang.org/x/sys/unix"
)

// passes returns a function that reports whether a filter accepts a packet. Any kind of
// socket supports filters.
func passes(t *testing.T, filter []unix.SockFilter) func(packet []byte) bool {
	t.Helper()
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = unix.Close(pair[0]), unix.Close(pair[1]) })
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	if err := unix.SetsockoptSockFprog(pair[1], unix.SOL_SOCKET, unix.SO_ATTACH_FILTER, &program); err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, 1<<16)
	return func(packet []byte) bool {
		t.Helper()
		if err := unix.Send(pair[0], packet, 0); err != nil && err != unix.EPERM {
			t.Fatal(err)
		}
		n, err := unix.Read(pair[1], buf)
		if err == nil && n != len(packet) {
			t.Errorf("%d of %d bytes pass", n, len(packet))
		}
		return err == nil
	}
}

// Other packets cost nothing: they never wake the listener.
func TestKernelFilterPassesOnlyErrors(t *testing.T) {
	pass4, pass6 := passes(t, filter4), passes(t, filter6)
	for kind := range 256 {
		for _, options := range []int{0, 4, 40} {
			p := make([]byte, 9000)
			p[0], p[6], p[9], p[20+options] = byte(0x45+options/4), 0x40, unix.IPPROTO_ICMP, byte(kind) // DF is set
			want := kind == 3 || kind == 11 || kind == 12
			if got := pass4(p); got != want {
				t.Errorf("type %d after %d bytes of options: got %v, want %v", kind, options, got, want)
			}
			for name, spoil := range map[string]func(){
				"UDP": func() { p[9] = unix.IPPROTO_UDP }, "the first fragment": func() { p[6], p[9] = 0x20, unix.IPPROTO_ICMP },
				"a fragment": func() { p[6], p[7] = 0, 1 }, "a later one": func() { p[6], p[7] = 0x10, 0 },
			} {
				clean := [3]byte{p[6], p[7], p[9]}
				if spoil(); pass4(p) {
					t.Errorf("type %d of %s", kind, name)
				}
				p[6], p[7], p[9] = clean[0], clean[1], clean[2]
			}
		}
		p := make([]byte, 9000)
		p[0], p[6], p[40] = 0x60, unix.IPPROTO_ICMPV6, byte(kind)
		if got, want := pass6(p), kind >= 1 && kind <= 4; got != want {
			t.Errorf("type %d of ICMPv6: got %v, want %v", kind, got, want)
		}
		p[6] = unix.IPPROTO_TCP
		if pass6(p) {
			t.Errorf("%d in TCP", kind)
		}
	}
	for _, short := range [][]byte{{0x45}, make([]byte, 20), make([]byte, 40)} {
		if pass4(short) || pass6(short) {
			t.Errorf("%d bytes", len(short))
		}
	}
}
