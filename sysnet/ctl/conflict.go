package ctl

import (
	"bufio"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"net/netip"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// The probe of listen.go cannot tell netd's own listeners from foreign ones.
// Where netd itself holds an address that overlaps (0.0.0.0:80 beside
// 192.0.2.1:80, which the kernel serves by the more specific one), the socket
// table of the kernel decides instead: each line names the inode, and the
// inodes of our own sockets are known.

// overlaps reports whether listeners on a and b would meet in the kernel.
// IPv6 listeners are all IPV6_V6ONLY, so the families never meet.
func overlaps(a, b netip.AddrPort) bool {
	if a.Port() != b.Port() || a.Addr().Is4() != b.Addr().Is4() {
		return false
	}
	return a.Addr() == b.Addr() || a.Addr().IsUnspecified() || b.Addr().IsUnspecified()
}

// foreignListener reports whether a socket that is not in own listens on an
// address that overlaps that of the endpoint.
func foreignListener(at endpoint, own map[uint64]bool) (bool, error) {
	table := "/proc/self/net/" + at.network
	if at.addr.Addr().Is6() {
		table += "6"
	}
	f, err := os.Open(table)
	if err != nil {
		return false, fmt.Errorf("looking for other listeners: %w", err)
	}
	defer f.Close()
	sc := bufio.NewScanner(f)
	for sc.Scan() {
		local, inode, listening := socketLine(sc.Text())
		if listening && overlaps(local, at.addr) && !own[inode] {
			return true, nil
		}
	}
	return false, sc.Err()
}

// socketLine reads one line of /proc/net/tcp, udp, tcp6 or udp6:
//
//	sl  local_address rem_address st tx_queue:rx_queue tr:when retrnsmt uid timeout inode …
//	0:  0100007F:1F90 00000000:0000 0A …
//
// Addresses are 32-bit words in host byte order, ports are big-endian hex;
// state 0A is LISTEN, 07 a UDP socket without a peer. Anything else, the title
// line too, is not listening.
func socketLine(line string) (local netip.AddrPort, inode uint64, listening bool) {
	f := strings.Fields(line)
	if len(f) < 10 || f[3] != "0A" && f[3] != "07" {
		return local, 0, false
	}
	host, port, ok := strings.Cut(f[1], ":")
	words, err := hex.DecodeString(host)
	if !ok || err != nil || len(words)%4 != 0 {
		return local, 0, false
	}
	for i := 0; i < len(words); i += 4 {
		binary.NativeEndian.PutUint32(words[i:], binary.BigEndian.Uint32(words[i:]))
	}
	ip, ok := netip.AddrFromSlice(words)
	p, err := strconv.ParseUint(port, 16, 16)
	if !ok || err != nil {
		return local, 0, false
	}
	inode, err = strconv.ParseUint(f[9], 10, 64)
	return netip.AddrPortFrom(ip, uint16(p)), inode, err == nil
}

// socketInode is the number that names the socket in the kernel's tables.
func socketInode(f *os.File) (uint64, error) {
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil {
		return 0, os.NewSyscallError("fstat", err)
	}
	return st.Ino, nil
}
