package housetest

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/netip"
	"strings"
	"time"
)

// Patience is the time limit of Ask.
const Patience = 5 * time.Second

// Answer is the response of a Server to a client.
type Answer struct {
	Seen
	// Local is the client's address, Remote the source of the response.
	Local, Remote netip.AddrPort
	conn          net.Conn
	read          *bufio.Reader
}

// Ask connects, or sends a datagram, to a Server from an address of the namespace. Its
// port may be 0; the zero AddrPort leaves the choice to the kernel. The connection stays
// open until Close.
func (n *Namespace) Ask(network string, from netip.AddrPort, to string) (*Answer, error) {
	return n.AskWithin(Patience, network, from, to)
}

// AskWithin is Ask with another time limit.
func (n *Namespace) AskWithin(limit time.Duration, network string, from netip.AddrPort, to string) (*Answer, error) {
	d := net.Dialer{Deadline: time.Now().Add(limit)}
	if from.IsValid() {
		if network == "tcp" {
			d.LocalAddr = net.TCPAddrFromAddrPort(from)
		} else {
			d.LocalAddr = net.UDPAddrFromAddrPort(from)
		}
	}
	c, err := n.DialWith(context.Background(), &d, network, to)
	if err != nil {
		return nil, err
	}
	a := &Answer{conn: c, read: bufio.NewReaderSize(c, 65536)}
	a.Local, a.Remote = address(c.LocalAddr()), address(c.RemoteAddr())
	_ = c.SetDeadline(time.Now().Add(limit))
	if network == "udp" {
		err = a.Again("")
	} else {
		err = a.hear()
	}
	if err != nil {
		_ = c.Close()
		return nil, fmt.Errorf("%s %s from %s: %w", network, to, a.Local, err)
	}
	_ = c.SetDeadline(time.Time{})
	return a, nil
}

func (a *Answer) hear() error {
	line, err := a.read.ReadString('\n')
	if err != nil {
		return err
	}
	a.Seen, err = parseSeen(line)
	return err
}

// Again sends text on the same connection, or from the same port, and checks the echo.
// The response to a datagram replaces Seen.
func (a *Answer) Again(text string) error {
	_ = a.conn.SetDeadline(time.Now().Add(Patience))
	if _, err := io.WriteString(a.conn, text); err != nil {
		return err
	}
	if strings.HasPrefix(a.conn.LocalAddr().Network(), "udp") {
		if err := a.hear(); err != nil {
			return err
		}
	}
	got := make([]byte, len(text))
	if _, err := io.ReadFull(a.read, got); err != nil {
		return err
	}
	if string(got) != text {
		return fmt.Errorf("%d bytes came back altered", len(text))
	}
	return nil
}

// Conn returns the connection.
func (a *Answer) Conn() net.Conn { return a.conn }

// Close closes the connection with a reset, so that it leaves no TIME_WAIT.
func (a *Answer) Close() {
	if t, ok := a.conn.(*net.TCPConn); ok {
		_ = t.SetLinger(0)
	}
	_ = a.conn.Close()
}

func address(a net.Addr) netip.AddrPort {
	p, err := netip.ParseAddrPort(a.String())
	if err != nil {
		return netip.AddrPort{}
	}
	return plainAddr(p)
}
