package measure

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Listening returns the inodes of the TCP sockets, IPv4 and IPv6, that listen
// on each port of this network namespace.
func Listening() (map[uint16][]uint64, error) { return listening("tcp") }

// listening is Listening for a network. Unconnected UDP sockets count as listening.
func listening(network string) (map[uint16][]uint64, error) {
	out := map[uint16][]uint64{}
	for _, file := range []string{"/proc/net/" + network, "/proc/net/" + network + "6"} {
		text, err := os.ReadFile(file)
		if os.IsNotExist(err) {
			continue // no IPv6
		}
		if err != nil {
			return nil, err
		}
		if err := parseListening(string(text), out); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
	}
	return out, nil
}

// parseListening reads lines of the form
//
//	sl local_address:PORT rem_address st tx:rx tr:when retr uid timeout inode …
//
// and keeps lines with state 0A (LISTEN) or 07 (unconnected UDP).
func parseListening(text string, into map[uint16][]uint64) error {
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		if len(fields) < 10 || fields[3] != "0A" && fields[3] != "07" {
			continue
		}
		_, hex, _ := strings.Cut(fields[1], ":")
		port, err := strconv.ParseUint(hex, 16, 16)
		if err != nil {
			return fmt.Errorf("port in %q: %w", fields[1], err)
		}
		inode, err := strconv.ParseUint(fields[9], 10, 64)
		if err != nil {
			return fmt.Errorf("inode in %q: %w", line, err)
		}
		into[uint16(port)] = append(into[uint16(port)], inode)
	}
	return nil
}

// OnlyListeners checks that the port has a listener and that every socket listening on it
// is held by one of the processes. A leftover process that shares the port (SO_REUSEPORT)
// would silently get half of the connections, and halve the measured CPU time per
// request.
func OnlyListeners(port uint16, processes []Process) error { return only("tcp", port, processes) }

// OnlyReceivers checks the same for UDP sockets.
func OnlyReceivers(port uint16, processes []Process) error { return only("udp", port, processes) }

func only(network string, port uint16, processes []Process) error {
	all, err := listening(network)
	if err != nil {
		return err
	}
	if len(all[port]) == 0 {
		return fmt.Errorf("nothing listens on port %d", port)
	}
	held, err := sockets(processes)
	if err != nil {
		return err
	}
	for _, inode := range all[port] {
		if !held[inode] {
			return fmt.Errorf("a process that does not belong to the contestant listens on port %d: find it with `ss -ltnp` and end it", port)
		}
	}
	return nil
}

func sockets(processes []Process) (map[uint64]bool, error) {
	held := map[uint64]bool{}
	for _, p := range processes {
		dir := filepath.Join("/proc", strconv.Itoa(p.PID), "fd")
		entries, err := os.ReadDir(dir)
		if err != nil {
			return nil, fmt.Errorf("descriptors of process %d: %w", p.PID, err)
		}
		for _, e := range entries {
			link, err := os.Readlink(filepath.Join(dir, e.Name()))
			if err != nil {
				continue // closed meanwhile
			}
			text, ok := strings.CutPrefix(link, "socket:[")
			if !ok {
				continue
			}
			if inode, err := strconv.ParseUint(strings.TrimSuffix(text, "]"), 10, 64); err == nil {
				held[inode] = true
			}
		}
	}
	return held, nil
}

// Established counts the established connections of a local IPv4 port.
func Established(port uint16) (int, error) {
	text, err := os.ReadFile("/proc/net/tcp")
	if err != nil {
		return 0, err
	}
	return parseEstablished(string(text), port), nil
}

func parseEstablished(text string, port uint16) int {
	suffix := fmt.Sprintf(":%04X", port)
	n := 0
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		if len(fields) > 3 && fields[3] == "01" && strings.HasSuffix(fields[1], suffix) {
			n++
		}
	}
	return n
}
