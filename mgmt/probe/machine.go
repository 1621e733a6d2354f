package probe

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"syscall"
)

// Networks of ListenPacket for ICMP echo requests. The sockets need no privilege if
// net.ipv4.ping_group_range includes the group of the process. Otherwise they are raw
// sockets. Packets are sent to and come from a *net.UDPAddr without a port, or a
// *net.IPAddr on a raw socket.
const (
	Ping4 = "ping4"
	Ping6 = "ping6"
)

// Machine is the network of this machine. It follows its routes and sets no mark. Other
// networks are derived from it: their dialer and listener have a source address and a
// Control for each socket.
type Machine struct {
	Dialer   net.Dialer
	Listener net.ListenConfig
	// Ping opens sockets for echo requests if this process may not; nil: there is no such
	// function.
	Ping func(ctx context.Context, v6 bool) (*os.File, error)
}

// DialContext is DialContext of a net.Dialer.
func (m *Machine) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	return m.Dialer.DialContext(ctx, network, address)
}

// ListenPacket is ListenPacket of a net.ListenConfig, extended by Ping4 and Ping6. The
// address of a ping socket is its source address, "" for any.
func (m *Machine) ListenPacket(ctx context.Context, network, address string) (net.PacketConn, error) {
	switch network {
	case Ping4:
		return m.ping(ctx, network, "ip4:icmp", syscall.AF_INET, syscall.IPPROTO_ICMP, address)
	case Ping6:
		return m.ping(ctx, network, "ip6:ipv6-icmp", syscall.AF_INET6, syscall.IPPROTO_ICMPV6, address)
	}
	return m.Listener.ListenPacket(ctx, network, address)
}

// ping opens a socket for echo requests, or a raw socket if that is not allowed. A raw
// socket does not help with other failures, e.g. a source address that was removed.
func (m *Machine) ping(ctx context.Context, network, raw string, family, protocol int, address string) (net.PacketConn, error) {
	fd, err := syscall.Socket(family, syscall.SOCK_DGRAM|syscall.SOCK_CLOEXEC|syscall.SOCK_NONBLOCK, protocol)
	if err == nil {
		return m.pingSocket(os.NewFile(uintptr(fd), network), network, family, address)
	}
	err = os.NewSyscallError("socket", err)
	if !errors.Is(err, os.ErrPermission) {
		return nil, err
	}
	if m.Ping != nil {
		file, asked := m.Ping(ctx, family == syscall.AF_INET6)
		if asked == nil {
			return m.pingSocket(file, network, family, address)
		}
		err = fmt.Errorf("%w (%w)", err, asked)
	}
	if c, rawErr := m.Listener.ListenPacket(ctx, raw, address); !errors.Is(rawErr, os.ErrPermission) {
		return c, rawErr
	}
	return nil, Local(fmt.Errorf("no ping is possible here: %w: sysctl net.ipv4.ping_group_range must contain the group of Sluice, or it needs CAP_NET_RAW", err))
}

// pingSocket makes a connection of a socket for echo requests and closes the socket.
func (m *Machine) pingSocket(file *os.File, network string, family int, address string) (net.PacketConn, error) {
	defer file.Close() // FilePacketConn has a duplicate
	conn, err := file.SyscallConn()
	if err != nil {
		return nil, err
	}
	if m.Listener.Control != nil {
		if err := m.Listener.Control(network, address, conn); err != nil {
			return nil, err
		}
	}
	if address != "" {
		var bound error
		if err := conn.Control(func(fd uintptr) { bound = bind(int(fd), family, address) }); err != nil || bound != nil {
			return nil, errors.Join(err, bound)
		}
	}
	return net.FilePacketConn(file)
}

func bind(fd, family int, address string) error {
	ip := net.ParseIP(address)
	if ip == nil {
		return fmt.Errorf("%q is no address", address)
	}
	var to syscall.Sockaddr = &syscall.SockaddrInet6{Addr: [16]byte(ip.To16())}
	if four := ip.To4(); family == syscall.AF_INET {
		if four == nil {
			return fmt.Errorf("%q is no address of IPv4", address)
		}
		to = &syscall.SockaddrInet4{Addr: [4]byte(four)}
	}
	return os.NewSyscallError("bind", syscall.Bind(fd, to))
}
