package settings

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"strings"
)

const (
	snmpFolder = "/etc/snmp/snmpd.conf.d"
	snmpMain   = "/etc/snmp/snmpd.conf"
	snmpFile   = snmpFolder + "/sluice.conf"
	// AgentXSocket is the socket of snmpd for subagents. Its unit creates the folder.
	AgentXSocket = "/run/agentx/sluice"
)

// snmp writes the file that snmpd reads in addition to its own configuration, and
// restarts snmpd. A running snmpd has dropped the permission to read the file.
func (m *Machine) snmp(ctx context.Context, q Request) error {
	if !m.exists("/usr/sbin/snmpd") || !m.exists(snmpMain) {
		if _, err := m.remove(snmpFile); !q.SNMP.On || err != nil {
			return err
		}
		return errors.New("snmpd is not installed (Debian: apt install snmpd)")
	}
	var changed bool
	var err error
	if q.SNMP.On {
		if err := os.MkdirAll(m.path(snmpFolder), 0o755); err != nil {
			return explain(snmpFolder, err)
		}
		changed, err = m.place(snmpFile, m.snmpText(q.SNMP), 0o600)
	} else {
		changed, err = m.remove(snmpFile)
	}
	if err != nil {
		return err
	}
	if changed || q.Again {
		if err := m.tell(ctx, "snmpd", "restart", "snmpd.service"); err != nil {
			return err
		}
	}
	if !q.SNMP.On {
		return nil
	}
	return m.othersLetIn()
}

func (m *Machine) snmpText(s SNMPAgent) string {
	transport, rocommunity := "udp:", "rocommunity"
	if s.IP.Is6() {
		transport = "udp6:"
	}
	if s.Scope.Addr().Is6() {
		rocommunity = "rocommunity6"
	}
	source := s.Scope.String()
	if s.Scope.Bits() == 0 {
		source = "default"
	}
	address := netip.AddrPortFrom(s.IP, s.Port).String()
	return fmt.Sprintf("%s (sluice system snmp).\nagentaddress %s%s\n%s %s %s\nmaster agentx\nagentXSocket %s\nagentXPerms 0660 0755 root %d\n",
		head, transport, address, rocommunity, s.Community, source, m.path(AgentXSocket), m.Group)
}

// othersLetIn returns an error if the machine's own configuration allows access beyond
// the settings here, or does not include our file.
func (m *Machine) othersLetIn() error {
	b, err := os.ReadFile(m.path(snmpMain))
	if err != nil {
		return err
	}
	var others []string
	included, n := false, 0
	for line := range strings.Lines(string(b)) {
		n++
		words := strings.Fields(line)
		if len(words) < 2 {
			continue
		}
		switch strings.ToLower(words[0]) {
		case "includedir":
			included = included || words[1] == snmpFolder || words[1] == m.path(snmpFolder)
		case "includefile":
			included = included || words[1] == snmpFile || words[1] == m.path(snmpFile)
		case "rocommunity", "rwcommunity", "rocommunity6", "rwcommunity6", "com2sec", "com2sec6", "rouser", "rwuser", "authcommunity":
			others = append(others, fmt.Sprintf("line %d (%s)", n, words[0]))
		}
	}
	switch {
	case !included:
		return fmt.Errorf("snmpd does not read it: write includeDir %s into %s", snmpFolder, snmpMain)
	case len(others) > 0:
		return fmt.Errorf("%s lets others in as well, whatever community and scope are set here: remove %s there unless that is wanted", snmpMain, strings.Join(others[:min(len(others), 5)], ", "))
	}
	return nil
}
