// Package listening lists all sockets of this machine that accept clients: listening TCP
// sockets and unconnected UDP sockets. It reads /proc/net and needs no privileges.
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

// Socket is one such socket. Several may have the same address.
type Socket struct {
	UDP  bool
	Addr netip.AddrPort // :: may include IPv4
}

// States in /proc/net (kernel, tcp_states.h).
const (
	listens     = "0A" // TCP_LISTEN
	unconnected = "07" // TCP_CLOSE, of UDP
)

// List returns all sockets. An address family that the kernel lacks has none.
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

// read parses one file: a heading and one line per socket. In TCP files the listening
// sockets come first, so reading stops at the first other one.
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

// parse parses an address in the format of the kernel: hexadecimal 32-bit words in host
// byte order, a colon and the port.
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
