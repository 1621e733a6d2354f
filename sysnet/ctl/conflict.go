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

// The probe of listen.go cannot distinguish netd's own listeners from foreign ones. If
// netd holds an overlapping address (e.g. 0.0.0.0:80 and 192.0.2.1:80, where the kernel
// prefers the more specific one), the kernel's socket table decides. Each of its lines
// contains the inode, and netd knows the inodes of its own sockets.

// overlaps reports whether listeners on a and b would conflict in the kernel. All IPv6
// listeners are IPV6_V6ONLY, so the address families never conflict.
func overlaps(a, b netip.AddrPort) bool {
	if a.Port() != b.Port() || a.Addr().Is4() != b.Addr().Is4() {
		return false
	}
	return a.Addr() == b.Addr() || a.Addr().IsUnspecified() || b.Addr().IsUnspecified()
}

// foreignListener reports whether a socket whose inode is not in own listens on an
// address that overlaps the endpoint.
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

// socketLine parses one line of /proc/net/tcp, udp, tcp6 or udp6:
//
//	sl  local_address rem_address st tx_queue:rx_queue tr:when retrnsmt uid timeout inode …
//	0:  0100007F:1F90 00000000:0000 0A …
//
// Addresses are 32-bit words in host byte order; ports are big-endian hex. State 0A is
// LISTEN, 07 an unconnected UDP socket. For other lines, including the title, listening
// is false.
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

// socketInode returns the inode number of the socket, its ID in /proc/net.
func socketInode(f *os.File) (uint64, error) {
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil {
		return 0, os.NewSyscallError("fstat", err)
	}
	return st.Ino, nil
}
