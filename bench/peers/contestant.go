package peers

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/sluicelb/sluice/bench/cases"
	"github.com/sluicelb/sluice/bench/launch"
)

// Kind is the type of a contestant's program.
type Kind string

// Types of contestants.
const (
	Sluice  Kind = "sluice"
	HAProxy Kind = "haproxy"
	Nginx   Kind = "nginx"
	Command Kind = "command"
)

// Contestant is one measured program.
type Contestant struct {
	Name string `json:"name"`
	Kind Kind   `json:"kind"`
	// Path is the program; for Command the whole command, with the placeholders {port},
	// {backend}, {dir}, {cert}, {key} and {pem}.
	Path string `json:"path"`
	// Version is the version line of the program.
	Version string `json:"version,omitempty"`
	// Plain gives it one service and no feature, independent of the case. Comparing a
	// plain Sluice with that of the case shows the cost of rules and features.
	Plain bool `json:"plain,omitempty"`
}

// ErrMissing means that the program of a contestant is not installed.
var ErrMissing = errors.New("program not found")

// ErrCannot means that a contestant does not support the case.
var ErrCannot = errors.New("cannot run this case")

// Find locates the program and reads its version.
func (c Contestant) Find() (Contestant, error) {
	if c.Kind == Command {
		if len(strings.Fields(c.Path)) == 0 {
			return c, fmt.Errorf("%s: %w: the command is empty", c.Name, ErrMissing)
		}
		return c, nil
	}
	path, err := look(c.Path)
	if err != nil {
		return c, fmt.Errorf("%s: %w: %q (%s)", c.Name, ErrMissing, c.Path, advice(c.Kind))
	}
	c.Path = path
	argument := map[Kind]string{Sluice: "version", HAProxy: "-v", Nginx: "-v"}[c.Kind]
	text, err := exec.Command(path, argument).CombinedOutput()
	if err != nil {
		return c, fmt.Errorf("%s: %s %s: %w: %s", c.Name, path, argument, err, bytes.TrimSpace(text))
	}
	c.Version, _, _ = strings.Cut(string(text), "\n")
	return c, nil
}

// look also searches the directories of system programs, which are not in the
// PATH of an ordinary Debian user.
func look(name string) (string, error) {
	if path, err := exec.LookPath(name); err == nil {
		return filepath.Abs(path)
	}
	if strings.Contains(name, "/") {
		return "", exec.ErrNotFound
	}
	return exec.LookPath(filepath.Join("/usr/sbin", name))
}

func advice(k Kind) string {
	if k == Sluice {
		return "build it with `make build`, or name another with -sluice"
	}
	return "install it with `bench/install.sh`, or leave it out with -peers"
}

// Start configures and starts the contestant and returns once it accepts requests on its
// port. Its output goes to log.
func (c Contestant) Start(ctx context.Context, s Setup, log *os.File) (*launch.Process, error) {
	if c.Plain {
		s.Set, s.Feature = cases.One, ""
	}
	begin := map[Kind]func(Contestant, context.Context, Setup, *os.File) (*launch.Process, error){
		Sluice: startSluice, HAProxy: startHAProxy, Nginx: startNginx, Command: startCommand,
	}[c.Kind]
	p, err := begin(c, ctx, s, log)
	if err != nil {
		return nil, err
	}
	if err := ready(ctx, p, s); err != nil {
		return nil, errors.Join(err, p.Stop())
	}
	return p, nil
}

func startHAProxy(c Contestant, _ context.Context, s Setup, log *os.File) (*launch.Process, error) {
	if s.Datagrams {
		return nil, fmt.Errorf("%w: it balances no datagrams", ErrCannot)
	}
	file, err := write("haproxy.cfg", "haproxy.cfg", s)
	if err != nil {
		return nil, err
	}
	if s.Set != cases.One {
		if _, err := write("haproxy.map", "services.map", s); err != nil {
			return nil, err
		}
	}
	return launch.Start(launch.Options{Path: c.Path, Args: []string{"-db", "-f", file}, CPU: s.CPU, Log: log})
}

func startNginx(c Contestant, _ context.Context, s Setup, log *os.File) (*launch.Process, error) {
	file, err := write("nginx.conf", "nginx.conf", s)
	if err != nil {
		return nil, err
	}
	return launch.Start(launch.Options{Path: c.Path, Args: []string{"-p", s.Dir, "-e", "stderr", "-c", file}, CPU: s.CPU, Log: log})
}

// startCommand starts a program without a template. It uses TLS in all cases if its
// command contains the certificate.
func startCommand(c Contestant, _ context.Context, s Setup, log *os.File) (*launch.Process, error) {
	secure := strings.Contains(c.Path, "{cert}") || strings.Contains(c.Path, "{pem}")
	switch {
	case s.Feature != "":
		return nil, fmt.Errorf("%w: a command cannot be told to do %s", ErrCannot, s.Feature)
	case s.Secure != "" && !secure:
		return nil, fmt.Errorf("%w: its command has neither {cert} nor {pem}, so it speaks no TLS", ErrCannot)
	case s.Secure == "" && secure:
		return nil, fmt.Errorf("%w: its command names a certificate, so it speaks nothing but TLS", ErrCannot)
	}
	values := []string{"{port}", strconv.Itoa(int(s.Port)), "{backend}", s.Backend.String(), "{dir}", s.Dir}
	if id := s.Identity; id != nil {
		values = append(values, "{cert}", id.Chain, "{key}", id.Key, "{pem}", id.Bundle)
	}
	fill := strings.NewReplacer(values...)
	words := strings.Fields(c.Path)
	for i := range words {
		words[i] = fill.Replace(words[i])
	}
	return launch.Start(launch.Options{Path: words[0], Args: words[1:], Env: s.loops(), CPU: s.CPU, Log: log})
}

// AccessLog returns a glob of the access log files of a contestant with the directory
// dir; printed is its output file. "" means unknown.
func (c Contestant) AccessLog(dir, printed string) string {
	switch c.Kind {
	case HAProxy:
		return printed
	case Nginx:
		return filepath.Join(dir, "access.log")
	case Sluice: // named after the farm; rotated ones have a numeric suffix
		return filepath.Join(dir, "data", "log", "bench.log*")
	}
	return ""
}
