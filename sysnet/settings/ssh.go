package settings

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

const (
	sshFolder = "/etc/ssh/sshd_config.d"
	sshMain   = "/etc/ssh/sshd_config"
	sshFile   = sshFolder + "/sluice.conf"
	sshTry    = sshFile + ".sluice-try" // not matched by the Include pattern
	sshPID    = "/run/sshd.pid"
)

// ssh sets the port and addresses of sshd. sshd checks the settings before they are
// written, and its effective configuration afterwards.
func (m *Machine) ssh(ctx context.Context, q Request) error {
	text := sshText(q)
	if !m.exists("/usr/sbin/sshd") || !m.exists(sshFolder) {
		if _, err := m.remove(sshFile); text == "" || err != nil {
			return err
		}
		return errors.New("no sshd is installed that reads " + sshFolder)
	}
	if text == "" {
		if changed, err := m.remove(sshFile); err != nil || !changed && !q.Again {
			return err
		}
		return m.reloadSSH(ctx)
	}
	if err := m.trySSH(ctx, text); err != nil {
		return err
	}
	changed, err := m.place(sshFile, text, 0o644)
	if err != nil {
		return err
	}
	if err := m.sshHolds(ctx, q); err != nil {
		return err
	}
	if !changed && !q.Again {
		return nil
	}
	return m.reloadSSH(ctx)
}

func sshText(q Request) string {
	var out strings.Builder
	if q.SSH.Port != 0 {
		fmt.Fprintf(&out, "Port %d\n", q.SSH.Port)
	}
	for _, addr := range q.SSH.Listen {
		if addr == netip.IPv6Unspecified() { // means both families
			out.WriteString("ListenAddress 0.0.0.0\n")
		}
		fmt.Fprintf(&out, "ListenAddress %s\n", addr)
	}
	if out.Len() == 0 {
		return ""
	}
	return head + " (sluice system ssh).\n" + out.String()
}

// trySSH has sshd check the settings, followed by the configuration of the machine.
func (m *Machine) trySSH(ctx context.Context, text string) error {
	path := m.path(sshTry)
	_ = os.Remove(path)
	defer os.Remove(path)
	if err := write(path, text+"Include "+m.path(sshMain)+"\n", 0o600); err != nil {
		return explain(sshTry, err)
	}
	if said, err := m.run(ctx, "sshd", "-t", "-f", path); err != nil {
		return saying("sshd does not take it, nothing was changed", said, err)
	}
	return nil
}

// sshHolds checks the effective configuration of sshd.
func (m *Machine) sshHolds(ctx context.Context, q Request) error {
	said, err := m.run(ctx, "sshd", "-T", "-f", m.path(sshMain))
	if err != nil {
		return saying("sshd does not say what it is set to", said, err)
	}
	words := strings.Fields(said)
	var ports []string
	for i, word := range words[:max(0, len(words)-1)] {
		if word == "port" && !slices.Contains(ports, words[i+1]) {
			ports = append(ports, words[i+1])
		}
	}
	if want := strconv.Itoa(int(q.SSH.Port)); q.SSH.Port != 0 && !slices.Contains(ports, want) {
		return fmt.Errorf("sshd does not read %s: write Include %s/*.conf at the top of %s", sshFile, sshFolder, sshMain)
	}
	if q.SSH.Port != 0 && len(ports) > 1 {
		return fmt.Errorf("sshd listens on port %s: other files of its configuration name a port, too", strings.Join(ports, " and "))
	}
	return nil
}

// reloadSSH has sshd read its configuration. Existing sessions continue.
func (m *Machine) reloadSSH(ctx context.Context) error {
	if m.hasSystemd() {
		if m.exists("/etc/systemd/system/sockets.target.wants/ssh.socket") {
			return errors.New("systemd listens for sshd here (ssh.socket): set ListenStream= there, sshd's own settings do not count")
		}
		return m.tell(ctx, "sshd", "try-reload-or-restart", "ssh.service", "sshd.service")
	}
	b, err := os.ReadFile(m.path(sshPID))
	if err != nil {
		return nil // not running; it reads the file when it starts
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(b)))
	if err != nil || pid < 2 {
		return fmt.Errorf("%s holds no number of a process: sshd was not told", sshPID)
	}
	if err := syscall.Kill(pid, syscall.SIGHUP); err != nil && !errors.Is(err, syscall.ESRCH) {
		return fmt.Errorf("sshd was not told of it: %w; %w", err, errUntold)
	}
	return nil
}
