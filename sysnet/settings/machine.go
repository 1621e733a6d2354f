package settings

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// Machine is the machine whose services are configured.
type Machine struct {
	// Root is prepended to every path; empty for the real machine.
	Root string
	// Group is the gid that may connect to snmpd's AgentX socket.
	Group int
	// Run runs a program and returns its output; nil means [Run].
	Run func(ctx context.Context, program string, args ...string) (said string, err error)
}

// Do applies a request. It is not safe for concurrent use.
func (m *Machine) Do(ctx context.Context, q Request) Answer {
	var err error
	switch q.Kind {
	case DNS:
		err = m.dns(q)
	case NTP:
		err = m.ntp(ctx, q)
	case SSH:
		err = m.ssh(ctx, q)
	case SNMP:
		err = m.snmp(ctx, q)
	default:
		err = ErrRequest
	}
	if err == nil {
		return Answer{}
	}
	problem := strings.ToValidUTF8(err.Error(), "?")
	if len(problem) > MaxAnswer/2 {
		problem = problem[:MaxAnswer/2] + "…"
	}
	return Answer{Problem: problem, Untold: errors.Is(err, errUntold)}
}

// errUntold means that the service must be restarted by hand.
var errUntold = errors.New("it reads its settings when it is started again, which must be done by hand")

// path returns the real path of a file of the machine.
func (m *Machine) path(name string) string { return filepath.Join("/", m.Root, name) }

func (m *Machine) exists(name string) bool {
	_, err := os.Stat(m.path(name))
	return err == nil
}

func (m *Machine) run(ctx context.Context, program string, args ...string) (string, error) {
	if m.Run != nil {
		return m.Run(ctx, program, args...)
	}
	return Run(ctx, program, args...)
}

// programTime bounds the run time of a program.
const programTime = 10 * time.Second

// maxSaid bounds the kept output of a program, in bytes.
const maxSaid = 1 << 10

// folders are the folders of system programs.
var folders = []string{"/usr/sbin", "/usr/bin", "/sbin", "/bin"}

// Find returns the path of a program, or "" if it is not installed.
func Find(program string) string {
	for _, folder := range folders {
		path := filepath.Join(folder, program)
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return path
		}
	}
	return ""
}

// Run runs a program of the machine without a shell, with its own environment and at most
// programTime. said is the beginning of its output.
func Run(ctx context.Context, program string, args ...string) (said string, err error) {
	path := Find(program)
	if path == "" {
		return "", fmt.Errorf("%s: %w", program, exec.ErrNotFound)
	}
	ctx, cancel := context.WithTimeout(ctx, programTime)
	defer cancel()
	var out limited
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Env, cmd.Dir, cmd.WaitDelay = []string{"LC_ALL=C", "PATH=" + strings.Join(folders, ":")}, "/", time.Second
	cmd.Stdout, cmd.Stderr = &out, &out
	err = cmd.Run()
	said = strings.Join(strings.Fields(strings.ToValidUTF8(out.text.String(), "?")), " ")
	if err != nil {
		err = fmt.Errorf("%s: %w", program, err)
	}
	return said, err
}

// limited keeps the first maxSaid bytes.
type limited struct{ text strings.Builder }

func (l *limited) Write(b []byte) (int, error) {
	if room := maxSaid - l.text.Len(); room > 0 {
		l.text.Write(b[:min(room, len(b))])
	}
	return len(b), nil
}

// saying adds the output of a program to its error.
func saying(what string, said string, err error) error {
	if said == "" {
		return fmt.Errorf("%s: %w", what, err)
	}
	return fmt.Errorf("%s: %w: %s", what, err, said)
}

// hasSystemd reports whether systemd is running.
func (m *Machine) hasSystemd() bool { return m.exists("/run/systemd/system") }

var errNoSystemd = errors.New("this machine has no systemd to ask")

// tell has systemd reload or restart a service (verb), by the first of units that exists.
// An error wraps errUntold.
func (m *Machine) tell(ctx context.Context, service, verb string, units ...string) error {
	if err := m.unit(ctx, verb, units...); err != nil {
		return fmt.Errorf("%s was not told of it: %w; %w", service, err, errUntold)
	}
	return nil
}

func (m *Machine) unit(ctx context.Context, verb string, units ...string) error {
	if !m.hasSystemd() {
		return errNoSystemd
	}
	for _, folder := range []string{"/etc/systemd/system", "/usr/lib/systemd/system", "/lib/systemd/system"} {
		for _, unit := range units {
			if !m.exists(filepath.Join(folder, unit)) {
				continue
			}
			if said, err := m.run(ctx, "systemctl", "--no-ask-password", verb, unit); err != nil {
				return saying("systemctl "+verb+" "+unit, said, err)
			}
			return nil
		}
	}
	return fmt.Errorf("systemd has no unit %s", strings.Join(units, " or "))
}
