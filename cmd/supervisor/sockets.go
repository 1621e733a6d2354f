package supervisor

import (
	"errors"
	"fmt"
	"net"
	"os"
	"syscall"
	"time"
)

// sockets are the sockets that outlive every role: listeners, the pair for marked sockets
// from netd to the engine, and the pair for program requests from mgmt to progd.
type sockets struct {
	api net.Addr
	// apiFile is the current listener of the API, apiStart the initial address.
	apiFile            *os.File
	apiStart           string
	mgmt, engine, netd *os.File
	marksIn, marksOut  *os.File // the engine's end and netd's

	programsIn, programsOut *os.File // mgmt's end and progd's
}

func openSockets(d *data, api string, o owners) (*sockets, error) {
	s := &sockets{}
	l, err := listenAPI(api)
	if err != nil {
		return nil, err
	}
	defer l.Close()
	s.api, s.apiStart = l.Addr(), l.Addr().String()
	if s.apiFile, err = l.(*net.TCPListener).File(); err != nil {
		return nil, err
	}
	err = o.asManager(func() error {
		defer syscall.Umask(syscall.Umask(0o177)) // sockets for their owner only
		for _, want := range []struct {
			file          **os.File
			network, name string
		}{
			{&s.mgmt, "unix", mgmtSock},
			{&s.engine, "unixpacket", engineSock},
			{&s.netd, "unixpacket", netdSock},
		} {
			if *want.file, err = listenUnix(want.network, d.within(want.name)); err != nil {
				return fmt.Errorf("opening %s in %s: %w", want.name, d.path, err)
			}
		}
		return nil
	})
	if err == nil {
		err = s.pair()
	}
	if err == nil {
		s.programsIn, s.programsOut, err = newPair("programs")
	}
	if err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

// pairBuffer is the buffer size of the pair, in bytes of the kernel's accounting. The kernel
// rounds it up to the minimum, about ten messages each way. It is small because descriptors
// in flight count against a per-user limit. An engine that never reads could otherwise use up
// the descriptors that netd needs to pass listeners to mgmt.
const pairBuffer = 2 << 10

// pair creates the socket pairs.
func (s *sockets) pair() error {
	var err error
	if s.marksIn, s.marksOut, err = newPair("marks"); err != nil {
		return err
	}
	for _, f := range []*os.File{s.marksIn, s.marksOut} {
		if err == nil {
			err = os.NewSyscallError("setsockopt SO_SNDBUF", syscall.SetsockoptInt(int(f.Fd()), syscall.SOL_SOCKET, syscall.SO_SNDBUF, pairBuffer))
		}
	}
	return err
}

// newPair returns two connected message sockets.
func newPair(name string) (one, other *os.File, err error) {
	fds, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_SEQPACKET|syscall.SOCK_CLOEXEC|syscall.SOCK_NONBLOCK, 0)
	if err != nil {
		return nil, nil, os.NewSyscallError("socketpair", err)
	}
	return os.NewFile(uintptr(fds[0]), name), os.NewFile(uintptr(fds[1]), name), nil
}

// listenAPI opens the address, or the default one if it is empty. A port in use is retried
// for half a second, because the mgmt of a killed supervisor holds the port until it
// notices.
func listenAPI(api string) (net.Listener, error) {
	addr := api
	if addr == "" {
		addr = defaultAPI(os.Geteuid())
	}
	for deadline := time.Now().Add(500 * time.Millisecond); ; time.Sleep(20 * time.Millisecond) {
		l, err := net.Listen("tcp", addr)
		switch {
		case err == nil:
			return l, nil
		case errors.Is(err, syscall.EADDRINUSE) && time.Now().Before(deadline):
		case errors.Is(err, syscall.EACCES) && api == "" && addr == rootAPI:
			addr = userAPI
		case errors.Is(err, syscall.EADDRINUSE):
			return nil, fmt.Errorf("%w; choose another address with --api", listenProblem(addr, err))
		case errors.Is(err, syscall.EACCES):
			return nil, fmt.Errorf("%w; choose a port from 1024 on with --api", listenProblem(addr, err))
		default:
			return nil, listenProblem(addr, err)
		}
	}
}

// defaultAPI returns the default API address of a user.
func defaultAPI(user int) string {
	if user == 0 {
		return rootAPI
	}
	return userAPI
}

// listenProblem explains why the API cannot listen on an address.
func listenProblem(addr string, err error) error {
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		err = errors.New("another program uses this port")
	case errors.Is(err, syscall.EACCES):
		err = errors.New("not permitted to this user")
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		err = errors.New("no interface of this machine has that address")
	}
	return fmt.Errorf("the API cannot listen on %s: %w", addr, err)
}

func listenUnix(network, path string) (*os.File, error) {
	l, err := net.ListenUnix(network, &net.UnixAddr{Name: path, Net: network})
	if err != nil {
		return nil, err
	}
	l.SetUnlinkOnClose(false)
	defer l.Close()
	return l.File()
}

func (s *sockets) close() {
	for _, f := range []*os.File{s.apiFile, s.mgmt, s.engine, s.netd, s.marksIn, s.marksOut, s.programsIn, s.programsOut} {
		if f != nil {
			_ = f.Close()
		}
	}
}
