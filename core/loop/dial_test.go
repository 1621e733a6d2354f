package loop_test

import (
	"errors"
	"io"
	"net"
	"net/netip"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sluicelb/sluice/core/enginetest"
	"github.com/sluicelb/sluice/core/loop"
)

// marker creates sockets like a process that may set marks.
type marker struct {
	asked []bool // v6 of each call
	fail  error
}

func (m *marker) Socket(v6 bool, _ uint32) (int, error) {
	return m.socket(v6, unix.SOCK_STREAM)
}

func (m *marker) DatagramSocket(v6 bool, _ uint32) (int, error) {
	return m.socket(v6, unix.SOCK_DGRAM)
}

func (m *marker) socket(v6 bool, kind int) (int, error) {
	m.asked = append(m.asked, v6)
	if m.fail != nil {
		return -1, m.fail
	}
	family := unix.AF_INET
	if v6 {
		family = unix.AF_INET6
	}
	return unix.Socket(family, kind|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
}

// A Dial that cannot start returns an error at once and leaves nothing open.
func TestFailedDialLeaksNoDescriptor(t *testing.T) {
	l := start(t)
	addr := netip.MustParseAddrPort(serve(t, l, func(c *loop.Conn) { c.SetHandler(echo(l)) }))
	none := errors.New("no socket to be had")
	m := &marker{fail: none}
	on(l, func() { l.MarkBy(m) })
	var before int
	var counted [4]int64
	on(l, func() { before, counted = usedDescriptors(t), loop.OpenCounts() })
	for _, test := range []struct {
		name string
		to   netip.AddrPort
		o    loop.DialOptions
		want error
	}{
		{"from an address that is not ours", addr, loop.DialOptions{Source: netip.MustParseAddr("198.51.100.1")}, syscall.EADDRNOTAVAIL},
		{"from an address of the other family", addr, loop.DialOptions{Source: netip.MustParseAddr("::1")}, syscall.EAFNOSUPPORT},
		{"to everybody", netip.MustParseAddrPort("255.255.255.255:9"), loop.DialOptions{}, nil},
		{"with a mark nobody sets", addr, loop.DialOptions{Mark: 7}, none},
	} {
		for kind, dial := range map[string]func() error{
			"TCP": func() error {
				_, err := l.Dial(test.to, &probe{}, int64(time.Second), test.o)
				return err
			},
			"UDP": func() error { _, err := l.DialUDP(test.to, nil, test.o); return err },
		} {
			on(l, func() {
				err := dial()
				if err == nil || test.want != nil && !errors.Is(err, test.want) {
					t.Errorf("%s %s: %v", kind, test.name, err)
				}
				if now, open := usedDescriptors(t), loop.OpenCounts(); now != before || open != counted {
					t.Errorf("%s %s: %d descriptors are open, %d were; counted %v and %v", kind, test.name, now, before, open, counted)
				}
			})
		}
	}
}

// The options of Dial take effect at the server.
func TestDialOptionsTakeEffect(t *testing.T) {
	l := start(t)
	if loop.CanMark() != nil {
		on(l, func() { l.MarkBy(&marker{}) })
	}
	for _, test := range []struct {
		at string
		o  loop.DialOptions
	}{
		{"127.0.0.1:0", loop.DialOptions{Source: netip.MustParseAddr("127.0.0.3")}},
		{"127.0.0.1:0", loop.DialOptions{Source: netip.MustParseAddr("::ffff:127.0.0.3")}},
		{"127.0.0.1:0", loop.DialOptions{Mark: 7}},
		{"[::1]:0", loop.DialOptions{Source: netip.MustParseAddr("::1")}},
		{"[::1]:0", loop.DialOptions{Mark: 7}},
	} {
		ln, err := net.Listen("tcp", test.at)
		if err != nil {
			continue // address family not available
		}
		to := ln.Addr().(*net.TCPAddr).AddrPort()
		outcome := make(chan error, 1)
		var c *loop.Conn
		on(l, func() {
			c, err = l.Dial(to, &probe{connected: func(c *loop.Conn, err error) {
				if c.Connecting() || c.Closed() || c.Loop() != l || c.Peer() != to {
					err = errors.Join(err, errors.New("it is not what it should be by now"))
				}
				outcome <- err
			}}, int64(5*time.Second), test.o)
			if err == nil && !c.Connecting() {
				t.Error("it is not connecting")
			}
			if err == nil {
				c.CloseWrite() // takes effect after the connect
			}
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := <-outcome; err != nil {
			t.Errorf("%+v: %v", test.o, err)
		}
		s, err := ln.Accept()
		if err != nil {
			t.Fatal(err)
		}
		_ = s.SetDeadline(time.Now().Add(5 * time.Second))
		if _, err := s.Read(make([]byte, 1)); err != io.EOF {
			t.Errorf("%+v: the closed direction is still open: %v", test.o, err)
		}
		from := s.RemoteAddr().(*net.TCPAddr).AddrPort()
		if test.o.Source.IsValid() && from.Addr() != test.o.Source.Unmap() {
			t.Errorf("%+v: it comes from %v", test.o, from)
		}
		on(l, func() {
			if local := c.Local(); local != from {
				t.Errorf("%+v: the local address is %v, the server sees %v", test.o, local, from)
			}
			c.Close()
		})
		_, _ = s.Close(), ln.Close()
	}
}

func TestMarkedSocketsAreRequestedByFamily(t *testing.T) {
	l := start(t)
	m := &marker{}
	v4 := enginetest.NewSilent(t).Addr
	on(l, func() {
		l.MarkBy(m)
		for _, to := range []string{v4, "[::1]:9"} {
			addr := netip.MustParseAddrPort(to)
			if c, err := l.Dial(addr, &probe{}, int64(time.Second), loop.DialOptions{Mark: 7}); err == nil {
				c.Close()
			}
			if c, err := l.DialUDP(addr, nil, loop.DialOptions{Mark: 7}); err == nil {
				c.Close()
			}
			if c, err := l.Dial(addr, &probe{}, int64(time.Second), loop.DialOptions{}); err == nil {
				c.Close() // without a mark, m is not called
			}
		}
	})
	if want := []bool{false, false, true, true}; len(m.asked) != 4 || [4]bool(m.asked) != [4]bool(want) {
		t.Errorf("requests for IPv6: %v, want %v", m.asked, want)
	}
}
