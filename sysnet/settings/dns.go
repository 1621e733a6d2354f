package settings

import (
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"os"
	"strings"
)

const (
	resolvConf = "/etc/resolv.conf"
	// resolvKept is the backup of the machine's own file.
	resolvKept = "/etc/resolv.conf.before-sluice"
)

// managers are the programs that manage resolv.conf, by a part of its link target, with
// advice where to set name servers instead.
var managers = []struct{ part, name, how string }{
	{"/systemd/resolve/", "systemd-resolved", "set DNS= in /etc/systemd/resolved.conf and restart it"},
	{"/resolvconf/", "resolvconf", "set dns-nameservers of the interface, or write /etc/resolvconf/resolv.conf.d/head and run resolvconf -u"},
	{"/NetworkManager/", "NetworkManager", "set them in the connection: nmcli connection modify NAME ipv4.dns ADDRESS"},
	{"/connman/", "connman", "set them there: connmanctl config SERVICE --nameservers ADDRESS"},
}

// managedBy returns the program that manages /etc/resolv.conf and what to do instead; ""
// if none does.
func (m *Machine) managedBy() (name, how string) {
	target, err := os.Readlink(m.path(resolvConf))
	if err != nil {
		return "", ""
	}
	for _, by := range managers {
		if strings.Contains(target, by.part) {
			return by.name, by.how
		}
	}
	return "the program behind " + target, "set them there, or put a file in place of the link"
}

// dns writes the name servers, or restores the previous file.
func (m *Machine) dns(q Request) error {
	servers := nameServers(q)
	if name, how := m.managedBy(); name != "" {
		if len(servers) == 0 {
			_, err := m.remove(resolvKept)
			return err
		}
		return fmt.Errorf("the name servers of this machine are managed by %s: %s", name, how)
	}
	if len(servers) == 0 {
		return m.giveBack()
	}
	before, err := m.keepResolv()
	if err != nil {
		return err
	}
	_, err = m.place(resolvConf, resolvText(servers, before), 0o644)
	return err
}

func nameServers(q Request) (out []netip.Addr) {
	for _, addr := range []netip.Addr{q.DNS.Primary, q.DNS.Secondary} {
		if addr.IsValid() {
			out = append(out, addr)
		}
	}
	return out
}

// keepResolv makes a backup of resolv.conf if it is not ours, and returns the latest
// backup. Its settings other than name servers are preserved.
func (m *Machine) keepResolv() (before string, err error) {
	now, err := os.ReadFile(m.path(resolvConf))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		_, err := m.remove(resolvKept)
		return "", err
	case err != nil:
		return "", err
	case !strings.HasPrefix(string(now), head):
		_, err := m.place(resolvKept, string(now), 0o644)
		return string(now), err
	}
	kept, err := os.ReadFile(m.path(resolvKept))
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil // the machine had no resolv.conf
	}
	return string(kept), err
}

// giveBack restores the backup of resolv.conf, unless another program has replaced the
// file.
func (m *Machine) giveBack() error {
	if !m.isOurs(resolvConf) {
		_, err := m.remove(resolvKept)
		return err
	}
	if !m.exists(resolvKept) {
		_, err := m.remove(resolvConf)
		return err
	}
	if err := os.Rename(m.path(resolvKept), m.path(resolvConf)); err != nil {
		return explain(resolvConf, err)
	}
	return syncFolder(m.path(resolvConf))
}

// resolvText returns resolv.conf with the name servers and the other settings of before.
func resolvText(servers []netip.Addr, before string) string {
	var out strings.Builder
	out.WriteString(head + " (sluice system dns).\n# What was here before is in " + resolvKept + " and comes back without the setting.\n")
	for _, addr := range servers {
		fmt.Fprintf(&out, "nameserver %s\n", addr)
	}
	for line := range strings.Lines(before) {
		word, _, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch word, _, _ = strings.Cut(word, "\t"); word {
		case "search", "domain", "options", "sortlist":
			out.WriteString(strings.TrimSpace(line) + "\n")
		}
	}
	return out.String()
}
