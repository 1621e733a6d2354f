package probe

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"sync/atomic"
)

// Make declares the flags of a check. What it returns is called when they are set, and
// makes the probe, or says what is missing.
type Make func(f *Flags) func() (Probe, error)

// Known is what commands may name.
type Known struct {
	// Checks are those Sluice runs itself, by the first word of their command.
	Checks map[string]Make
	// Program makes a probe of a program by its name and its words; an error says why
	// there is none. nil: no programs are run.
	Program func(name string, args []string) (Probe, error)
	// Unfit says why no new command may start a program: it runs others, for example. nil
	// is nothing. Commands from before are run all the same. nil: every program is fit.
	Unfit func(name string, args []string) error
}

var known atomic.Pointer[Known]

// ErrNone occurs in a process that was not told which checks there are.
var ErrNone = errors.New("this process runs no checks")

// Use says what commands may name, once, when the process starts. Until then every
// command is refused.
func Use(k Known) { known.Store(&k) }

// Parse reads a check's command line. The error says what is wrong with it, without any
// value that may be a password.
func Parse(command string) (Probe, error) {
	k := known.Load()
	if k == nil {
		return nil, ErrNone
	}
	return k.Parse(command)
}

// Parse is Parse for these checks.
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

// read splits a command into its name and words, with the secrets among these opened.
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

// builtIn makes the probe of a check that Sluice runs itself. program reports that the
// command starts a program instead: no check has that name, or not the flag unknown.
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

// program is the way of all that is not built in. unknown is the flag for which a check
// that is has to be the machine's own plugin.
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

// pluginFolders is where commands that name a plugin by its path have it from; the check
// of that name does the same.
var pluginFolders = []string{"/usr/lib/nagios/plugins", "/usr/lib/monitoring-plugins", "/usr/local/nagios/libexec", "/usr/local/zevenet/libexec", "/usr/local/relianoid/libexec"}

func pluginPath(name string) bool { return slices.Contains(pluginFolders, path.Dir(path.Clean(name))) }

// plain writes the two commands of the family that are lines for a shell as the check
// they stand for.
func plain(command string) string {
	switch words := strings.Fields(command); {
	case len(words) == 8 && words[0] == "nmap" && words[1] == "-sU" && words[2] == "-p" && slices.Equal(words[5:], []string{"|", "grep", "open"}):
		return "check_udp -p '" + words[3] + "' -H '" + words[4] + "'"
	case len(words) == 7 && slices.Equal(words[:5], []string{"nc", "-vz", "-w", "1", "-u"}):
		return "check_udp -H '" + words[5] + "' -p '" + words[6] + "'"
	}
	return command
}
