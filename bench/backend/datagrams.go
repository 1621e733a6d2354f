package backend

import (
	"fmt"
	"net/netip"
	"syscall"

	"github.com/sluicelb/sluice/bench/poll"
)

// Datagrams is a backend that echoes every datagram.
type Datagrams struct {
	fd   int
	port uint16
}

// ListenDatagrams opens a backend; port 0 lets the kernel choose.
func ListenDatagrams(on netip.AddrPort) (*Datagrams, error) {
	fd, err := poll.Datagrams(on)
	if err != nil {
		return nil, fmt.Errorf("backend: %w", err)
	}
	port, err := poll.Port(fd)
	return &Datagrams{fd, port}, err
}

// Port returns the listening port.
func (d *Datagrams) Port() uint16 { return d.port }

// Serve echoes until control ends.
func (d *Datagrams) Serve(control int) error {
	p, err := poll.Open(2)
	if err != nil {
		return err
	}
	defer p.Close()
	const tokenSocket, tokenControl = 0, 1
	if err := p.AddReader(d.fd, tokenSocket); err != nil {
		return err
	}
	if err := p.AddReader(control, tokenControl); err != nil {
		return fmt.Errorf("backend: standard input cannot be polled (it must be a pipe): %w", err)
	}
	buf := make([]byte, 64<<10)
	for {
		n, err := p.Wait(-1)
		if err != nil {
			return err
		}
		for i := range n {
			if p.Event(i).Token == tokenControl {
				return nil
			}
			for errno := syscall.Errno(0); errno != syscall.EAGAIN; {
				errno = poll.Echo(d.fd, buf)
			}
		}
	}
}
