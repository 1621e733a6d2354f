package settings

import (
	"bytes"
	"context"
	"net/netip"
	"os"
	"strconv"
	"strings"
	"time"
)

// Services describes the services of the machine. None of it is confidential.
type Services struct {
	// NameServers are those in force, in query order. ManagedBy is the program that
	// manages resolv.conf, or "".
	NameServers []string
	ManagedBy   string
	// Time is the service that synchronizes the clock: Chrony, Timesyncd or "".
	Time string
	// SSH and SNMP report whether sshd and snmpd are installed.
	SSH, SNMP bool
}

// Look returns the services of the machine. It needs no privileges.
func (m *Machine) Look() Services {
	out := Services{Time: m.keepsTime(), SSH: m.exists("/usr/sbin/sshd"), SNMP: m.exists("/usr/sbin/snmpd")}
	out.ManagedBy, _ = m.managedBy()
	b, err := os.ReadFile(m.path(resolvConf))
	if err != nil {
		return out
	}
	for line := range strings.Lines(string(b)) {
		if words := strings.Fields(line); len(words) > 1 && words[0] == "nameserver" {
			out.NameServers = append(out.NameServers, words[1])
		}
	}
	return out
}

// Holds reports whether the machine has a file of ours for the kind, i.e. one that a
// request without settings would delete.
func (m *Machine) Holds(kind Kind) bool {
	switch kind {
	case DNS:
		return m.isOurs(resolvConf)
	case NTP:
		return m.exists(chronyFile) || m.exists(timesyncdFile)
	case SSH:
		return m.exists(sshFile)
	case SNMP:
		return m.exists(snmpFile)
	}
	return false
}

// Synchronised is the state of clock synchronization.
type Synchronised struct {
	// Known is false if the service does not report it.
	Known, Yes bool
	// Offset is the lead of the clock over the server; valid if HasOffset.
	Offset    time.Duration
	HasOffset bool
	// Source is the time server, or "" if unknown.
	Source string
}

// Time queries the service that synchronizes the clock.
func (m *Machine) Time(ctx context.Context) Synchronised {
	switch m.keepsTime() {
	case Chrony:
		said, err := m.run(ctx, "chronyc", "-n", "-c", "-h", "127.0.0.1", "tracking")
		if err != nil {
			return Synchronised{}
		}
		return parseTracking(said)
	case Timesyncd:
		return Synchronised{Known: m.exists("/run/systemd/timesync"), Yes: m.exists("/run/systemd/timesync/synchronized")}
	}
	return Synchronised{}
}

// parseTracking parses the output of chronyc -c tracking: 14 comma-separated values. The
// second is the source, the fifth the lag of the clock in seconds, the last the leap
// status.
func parseTracking(said string) (s Synchronised) {
	fields := strings.Split(strings.TrimSpace(said), ",")
	if len(fields) != 14 {
		return s
	}
	s.Known, s.Yes = true, fields[13] != "Not synchronised"
	if seconds, err := strconv.ParseFloat(fields[4], 64); err == nil && s.Yes && seconds > -1e9 && seconds < 1e9 {
		s.Offset, s.HasOffset = -time.Duration(seconds*1e9), true
	}
	if addr, err := netip.ParseAddr(fields[1]); err == nil && s.Yes {
		s.Source = addr.String()
	}
	return s
}

// isOurs reports whether Sluice wrote the file.
func (m *Machine) isOurs(name string) bool {
	b, err := os.ReadFile(m.path(name))
	return err == nil && bytes.HasPrefix(b, []byte(head))
}
