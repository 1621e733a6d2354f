package probe

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"sync/atomic"
)

// Make declares the flags of a check. The function it returns is called after the flags are
// set. That function makes the probe, or returns an error if a flag is missing.
type Make func(f *Flags) func() (Probe, error)

// Known holds the checks that commands may use.
type Known struct {
	// Checks are the built-in checks, by the first word of their command.
	Checks map[string]Make
	// Program makes a probe of a program from its name and words. An error is the reason
	// why that is not possible. nil: programs are not run.
	Program func(name string, args []string) (Probe, error)
	// Unfit returns why no new command may start a program, e.g. because the program runs
	// others. nil means that it may. Existing commands run all the same. If Unfit is nil,
	// every program is allowed.
	Unfit func(name string, args []string) error
}

var known atomic.Pointer[Known]

// ErrNone is returned in a process that has not called Use.
var ErrNone = errors.New("this process runs no checks")

// Use sets the checks that commands may use. It is called once, when the process starts.
// Until then every command is refused.
func Use(k Known) { known.Store(&k) }

// Parse reads the command line of a check. The error describes the fault without any value
// that may be a password.
func Parse(command string) (Probe, error) {
	k := known.Load()
	if k == nil {
		return nil, ErrNone
	}
	return k.Parse(command)
}

// Parse is the function Parse for these checks.
func (k *Known) Parse(command string) (Probe, error) {
	return k.parse(command, func(_, secret string) (string, error) { return secret, nil })
}

func (k *Known) parse(command string, open func(program, secret string) (string, error)) (Probe, error) {
	name, args, err := k.read(command, open)
	if err != nil {
		return nil, err
	}
	p, unknown, program, err := k.builtIn(name, args)
	if program {
		return k.program(name, args, unknown)
	}
	return p, err
}

// read splits a command into its name and words, and opens the secrets among the words.
func (k *Known) read(command string, open func(program, secret string) (string, error)) (name string, args []string, err error) {
	words, err := Words(plain(command))
	if err != nil {
		return "", nil, err
	}
	if len(words) == 0 {
		return "", nil, errors.New("the command is empty: write one such as check_tcp -H HOST -p PORT")
	}
	name, args = words[0], words[1:]
	for i, old := range k.secretWords(name, args)[1:] {
		if old == "" {
			continue
		}
		now, err := open(path.Base(name), old)
		if err != nil {
			return "", nil, err
		}
		args[i] = strings.TrimSuffix(args[i], old) + now
	}
	return name, args, nil
}

// builtIn makes the probe of a built-in check. The result program reports that the command
// starts a program instead, because no check has that name, or the check lacks the flag
// unknown.
func (k *Known) builtIn(name string, args []string) (p Probe, unknown *UnknownFlag, program bool, err error) {
	make := k.Checks[path.Base(name)]
	if make == nil || path.IsAbs(name) && !pluginPath(name) {
		return nil, nil, true, nil
	}
	p, err = build(path.Base(name), make, args, k.secretWords(name, args))
	return p, unknown, errors.As(err, &unknown), err
}

func build(name string, make Make, args, secrets []string) (Probe, error) {
	f := &Flags{check: name}
	finish := make(f)
	if err := f.Parse(args, f.word); err != nil {
		return nil, err
	}
	p, err := finish()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	secrets = slices.DeleteFunc(secrets, func(s string) bool { return s == "" })
	return &guarded{Probe: p, name: name, limit: f.limit, slow: f.slow, secrets: secrets}, nil
}

// program makes the probe of a command that is not built in. If a built-in check lacks a
// flag, unknown is that flag, and the command is run by the plugin of this machine.
func (k *Known) program(name string, args []string, unknown *UnknownFlag) (Probe, error) {
	none := errors.New("programs are not run here")
	if k.Program != nil {
		p, err := k.Program(name, args)
		if err == nil {
			return &guarded{Probe: p, name: path.Base(name), program: true}, nil
		}
		none = err
	}
	if unknown != nil {
		return nil, fmt.Errorf("%w, and there is no plugin that could have it: %w", unknown, none)
	}
	if strings.Contains(name, "/") {
		return nil, none
	}
	return nil, fmt.Errorf("%q is not built in, and %w", Line(name), none)
}

// pluginFolders are folders in the paths of plugins. A command with such a path is run by
// the built-in check of the same name.
var pluginFolders = []string{"/usr/lib/nagios/plugins", "/usr/lib/monitoring-plugins", "/usr/local/nagios/libexec", "/usr/local/zevenet/libexec", "/usr/local/relianoid/libexec"}

func pluginPath(name string) bool { return slices.Contains(pluginFolders, path.Dir(path.Clean(name))) }

// plain converts the two shell command lines of the product family to the checks they stand
// for.
func plain(command string) string {
	switch words := strings.Fields(command); {
	case len(words) == 8 && words[0] == "nmap" && words[1] == "-sU" && words[2] == "-p" && slices.Equal(words[5:], []string{"|", "grep", "open"}):
		return "check_udp -p '" + words[3] + "' -H '" + words[4] + "'"
	case len(words) == 7 && slices.Equal(words[:5], []string{"nc", "-vz", "-w", "1", "-u"}):
		return "check_udp -H '" + words[5] + "' -p '" + words[6] + "'"
	}
	return command
}
