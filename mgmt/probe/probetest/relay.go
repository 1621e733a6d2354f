package probetest

import (
	"errors"
	"io"
	"net"
	"net/netip"
	"sync"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/porttest"
	"github.com/sluicelb/sluice/mgmt/probe"
)

// spoil is applied to each piece of data from a server before a relay forwards it.
type spoil func(piece []byte)

// late delays every piece for longer than an impatient check waits.
func late([]byte) { time.Sleep(2 * impatient) }

// garble changes every byte of a piece.
func garble(piece []byte) {
	for i := range piece {
		piece[i] ^= 0xa5
	}
}

// relay starts a relay between checks and a server, for TCP and UDP at the same port. It
// forwards data from checks unchanged, and data from the server spoiled.
func relay(t *testing.T, to probe.Target, s spoil) probe.Target {
	t.Helper()
	streams, datagrams := porttest.ListenBoth(t)
	server := netip.AddrPortFrom(to.Addr, to.Port).String()
	var open sync.WaitGroup
	ends := &ends{}
	ends.add(streams)
	ends.add(datagrams)
	open.Go(func() {
		for {
			c, err := streams.Accept()
			if err != nil {
				return
			}
			open.Go(func() { carryStream(c, server, s, ends) })
		}
	})
	open.Go(func() { carryDatagrams(datagrams, server, s, ends, &open) })
	t.Cleanup(func() { ends.close(); open.Wait() })
	return At(uint16(streams.Addr().(*net.TCPAddr).Port))
}

// ends holds the open sockets of a relay.
type ends struct {
	mu     sync.Mutex
	all    []io.Closer
	closed bool
}

func (e *ends) add(c io.Closer) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		_ = c.Close()
	}
	e.all = append(e.all, c)
}

func (e *ends) close() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.closed = true
	for _, c := range e.all {
		_ = c.Close()
	}
}

// carryStream forwards a connection until one end of it closes.
func carryStream(c net.Conn, server string, s spoil, e *ends) {
	defer c.Close()
	e.add(c)
	back, err := net.Dial("tcp", server)
	if err != nil {
		return
	}
	defer back.Close()
	e.add(back)
	var both sync.WaitGroup
	both.Go(func() { _, _ = io.Copy(back, c); _ = back.Close() })
	both.Go(func() { carryAnswers(back, c, s); _ = c.Close() })
	both.Wait()
}

// carryAnswers forwards data from the server, piece by piece.
func carryAnswers(from io.Reader, to io.Writer, s spoil) {
	b := make([]byte, 64<<10)
	for {
		n, err := from.Read(b)
		if n > 0 {
			s(b[:n])
			if _, err := to.Write(b[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// carryDatagrams forwards the datagrams of each client with a socket of its own.
func carryDatagrams(front net.PacketConn, server string, s spoil, e *ends, open *sync.WaitGroup) {
	backs, b := map[string]net.Conn{}, make([]byte, 64<<10)
	for {
		n, from, err := front.ReadFrom(b)
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			continue // the client has gone
		}
		back := backs[from.String()]
		if back == nil {
			if back, err = net.Dial("udp", server); err != nil {
				continue
			}
			e.add(back)
			backs[from.String()] = back
			open.Go(func() { carryAnswers(back, answersTo{front, from}, s) })
		}
		_, _ = back.Write(b[:n])
	}
}

// answersTo writes datagrams to one client.
type answersTo struct {
	front net.PacketConn
	to    net.Addr
}

func (a answersTo) Write(b []byte) (int, error) { return a.front.WriteTo(b, a.to) }
