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

// Services are what the machine has for each kind of setting, as far as everybody may
// know.
type Services struct {
	// NameServers are those in force, in the order they are asked; ManagedBy is who
	// else writes them.
	NameServers []string
	ManagedBy   string
	// Time is the service that keeps the time: Chrony, Timesyncd or empty.
	Time string
	// SSH and SNMP tell whether the machine has these services.
	SSH, SNMP bool
}

// Look tells what services the machine has. It takes no rights.
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

// Holds reports whether the machine has a file of ours for a kind: one that a request
// without settings would take away.
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

// Synchronised is how well the time is kept.
type Synchronised struct {
	// Known is false where the service does not say.
	Known, Yes bool
	// Offset is how far the clock is ahead of the server, as far as HasOffset.
	Offset    time.Duration
	HasOffset bool
	// Source is the server the time is from, "" where that is not known.
	Source string
}

// Time asks the service that keeps the time how well it does.
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

// parseTracking reads what chronyc -c says of its tracking: values with commas, the
// second of which is the source, the fifth by how many seconds the clock is behind, and
// the last whether it is synchronised.
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

// isOurs reports whether the file is one of ours.
func (m *Machine) isOurs(name string) bool {
	b, err := os.ReadFile(m.path(name))
	return err == nil && bytes.HasPrefix(b, []byte(head))
}
