package supervisor

import (
	"errors"
	"fmt"
	"net"
	"os"
	"syscall"
	"time"
)

// sockets are those that outlive every role: the ones that listen, the pair over which netd
// gives the engine sockets with a mark, and the one over which mgmt asks progd for programs.
type sockets struct {
	api net.Addr
	// apiFile is where the API listens now, apiStart where it did at the start.
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

// pairBuffer bounds what waits in the pair, in bytes as the kernel counts, to
// its least: some ten messages each way. Descriptors on their way count against
// a limit of the user, and an engine that asks and never reads must not use up
// what netd needs to hand listeners to mgmt.
const pairBuffer = 2 << 10

// pair makes the two ends that engine and netd share.
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

// newPair makes two connected sockets for messages.
func newPair(name string) (one, other *os.File, err error) {
	fds, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_SEQPACKET|syscall.SOCK_CLOEXEC|syscall.SOCK_NONBLOCK, 0)
	if err != nil {
		return nil, nil, os.NewSyscallError("socketpair", err)
	}
	return os.NewFile(uintptr(fds[0]), name), os.NewFile(uintptr(fds[1]), name), nil
}

// listenAPI opens the address, or the default one when it is empty. A port
// that is taken is tried for half a second: after a supervisor was killed its
// mgmt holds the port until it has noticed.
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

// defaultAPI is where the API of a user listens who named no address.
func defaultAPI(user int) string {
	if user == 0 {
		return rootAPI
	}
	return userAPI
}

// listenProblem says why the API does not listen on an address.
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
