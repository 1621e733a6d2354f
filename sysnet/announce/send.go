package announce

import (
	"fmt"
	"net"
	"net/netip"
	"os"
	"strings"

	"github.com/mdlayher/packet"

	"github.com/sluicelb/sluice/sysnet/addr"
)

// Send announces an address once, on its interface.
func Send(ip netip.Addr) error {
	locals, err := addr.List()
	if err != nil {
		return err
	}
	_, err = send(locals, ip)
	return err
}

func send(locals []addr.Local, ip netip.Addr) (iface string, err error) {
	if iface, err = where(locals, ip); err == nil {
		err = sendOn(iface, ip)
	}
	return iface, err
}

// where returns the interface on which an address is announced.
func where(locals []addr.Local, ip netip.Addr) (iface string, err error) {
	err = fmt.Errorf("no interface of this machine has the address %s: %w", ip, addr.ErrNotLocal)
	for _, l := range locals {
		switch {
		case l.Addr != ip:
		case !l.Up:
			iface, err = l.Interface, fmt.Errorf("interface %s is down: %w", l.Interface, addr.ErrDown)
		case !l.Usable:
			iface, err = l.Interface, fmt.Errorf("another machine may have %s: %w", ip, addr.ErrDuplicate)
		case !l.Ethernet:
			iface, err = l.Interface, fmt.Errorf("interface %s has no MAC address", l.Interface)
		default:
			return l.Interface, nil
		}
	}
	return iface, err
}

func sendOn(name string, ip netip.Addr) error {
	iface, err := net.InterfaceByName(name)
	if err != nil {
		return fmt.Errorf("announcing %s: %w", ip, err)
	}
	all, err := frames(ip, iface.HardwareAddr, forwards(name))
	if err != nil {
		return err
	}
	// A socket with protocol 0 can send and receives nothing.
	c, err := packet.Listen(iface, packet.Raw, 0, nil)
	if err != nil {
		return fmt.Errorf("announcing %s on %s: %w", ip, name, err)
	}
	defer c.Close()
	for _, b := range all {
		if _, err := c.WriteTo(b, &packet.Addr{HardwareAddr: net.HardwareAddr(b[:6])}); err != nil {
			return fmt.Errorf("announcing %s on %s: %w", ip, name, err)
		}
	}
	return nil
}

// forwards reports whether the interface forwards IPv6 packets.
func forwards(iface string) bool {
	b, err := os.ReadFile("/proc/sys/net/ipv6/conf/" + iface + "/forwarding")
	return err == nil && strings.TrimSpace(string(b)) != "0"
}
