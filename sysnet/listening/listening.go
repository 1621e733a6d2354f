// Package listening lists the sockets of this machine that wait for clients,
// whoever they belong to: TCP sockets that listen, and UDP sockets that are
// connected to nobody. It reads /proc/net and needs no privilege.
package listening

import (
	"bufio"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/netip"
	"os"
	"strconv"
	"strings"
)

// Socket is one of them. Several may have the same address.
type Socket struct {
	UDP  bool
	Addr netip.AddrPort // IPv4 as such; :: may take IPv4 too
}

// states are the words of /proc/net for what waits (kernel, tcp_states.h).
const (
	listens     = "0A" // TCP_LISTEN
	unconnected = "07" // TCP_CLOSE, of UDP
)

// List lists them; a family the kernel does not have has none.
func List() (out []Socket, err error) {
	for _, file := range []string{"tcp", "tcp6", "udp", "udp6"} {
		f, err := os.Open("/proc/net/" + file)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		found, err := read(f, strings.HasPrefix(file, "udp"))
		f.Close()
		if err != nil {
			return nil, fmt.Errorf("/proc/net/%s: %w", file, err)
		}
		out = append(out, found...)
	}
	return out, nil
}

// read reads one file: a heading, then a line for each socket. Those of TCP that
// listen come first, so that the many others need not be read.
func read(r io.Reader, udp bool) (out []Socket, err error) {
	lines := bufio.NewScanner(r)
	lines.Scan()
	for lines.Scan() {
		words := strings.Fields(lines.Text())
		if len(words) < 4 {
			return nil, fmt.Errorf("%.100q is no socket", lines.Text())
		}
		switch state := words[3]; {
		case !udp && state != listens:
			return out, nil
		case udp && state != unconnected:
			continue
		}
		addr, err := parse(words[1])
		if err != nil {
			return nil, err
		}
		out = append(out, Socket{udp, addr})
	}
	return out, lines.Err()
}

// parse reads an address as the kernel writes it: words of 32 bits in the order
// of this machine, in hexadecimal digits, a colon and the port.
func parse(text string) (netip.AddrPort, error) {
	digits, port, _ := strings.Cut(text, ":")
	raw, err := hex.DecodeString(digits)
	n, portErr := strconv.ParseUint(port, 16, 16)
	if err != nil || portErr != nil || len(raw) != 4 && len(raw) != 16 {
		return netip.AddrPort{}, fmt.Errorf("%.100q is no address", text)
	}
	for i := 0; i < len(raw); i += 4 {
		binary.NativeEndian.PutUint32(raw[i:], binary.BigEndian.Uint32(raw[i:]))
	}
	addr, _ := netip.AddrFromSlice(raw)
	return netip.AddrPortFrom(addr.Unmap(), uint16(n)), nil
}
