package enginetest

import (
	"net"
	"os"
	"syscall"
	"testing"
)

// Silent is a TCP port of 127.0.0.1 that refuses connections until Listen is called. It
// is bound meanwhile, so no other test can obtain it.
type Silent struct {
	Addr string

	t    testing.TB
	file *os.File
}

// NewSilent reserves a port chosen by the kernel until the test ends.
func NewSilent(t testing.TB) *Silent {
	t.Helper()
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	s := &Silent{t: t, file: os.NewFile(uintptr(fd), "silent")}
	t.Cleanup(func() { _ = s.file.Close() })
	if err := syscall.Bind(fd, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		t.Fatal(err)
	}
	name, err := syscall.Getsockname(fd)
	if err != nil {
		t.Fatal(err)
	}
	s.Addr = (&net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: name.(*syscall.SockaddrInet4).Port}).String()
	return s
}

// Listen makes the port accept connections from now on.
func (s *Silent) Listen() net.Listener {
	s.t.Helper()
	if err := syscall.Listen(int(s.file.Fd()), 128); err != nil {
		s.t.Fatal(err)
	}
	ln, err := net.FileListener(s.file)
	if err != nil {
		s.t.Fatal(err)
	}
	_ = s.file.Close() // ln has its own descriptor
	return ln
}
