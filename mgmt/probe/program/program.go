// Package program runs checks that are programs: monitoring plugins, and plugins of the
// operator. A program is named by its file in one of a few folders. It gets words, never a
// command line for a shell. It runs as a user of its own in a sandbox, and is killed with
// its children when its time is over (mgmt/hook). Only exit status 0 is healthy.
package program

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/sluicelb/sluice/mgmt/hook"
	"github.com/sluicelb/sluice/mgmt/probe"
	"github.com/sluicelb/sluice/sysnet/programs"
)

// Plugins are the folders where distributions install monitoring plugins.
var Plugins = []string{"/usr/lib/nagios/plugins", "/usr/lib/monitoring-plugins"}

// All are these folders and the folder for the operator's own plugins in the data
// directory, which is the working directory.
var All = append(slices.Clone(Plugins), hook.Plugins)

// starter holds the way in which this process starts programs; see StartBy.
var starter atomic.Pointer[starting]

type starting struct {
	by hook.Starter
	// mayRun reports whether by can start programs in a folder.
	mayRun func(folder string) bool
}

// StartBy sets another process that starts programs. It gets the file itself if mayRun does
// not report its folder. If by is nil, this process starts programs.
func StartBy(by hook.Starter, mayRun func(folder string) bool) {
	if by == nil {
		starter.Store(nil)
		return
	}
	starter.Store(&starting{by, mayRun})
}

// answering is how much before the end of the check's time a program is killed at most, so
// that its output still arrives in time.
const answering = 100 * time.Millisecond

// longest limits the time of a program without another limit.
const longest = time.Minute

// check is one program with its words.
type check struct {
	file    file
	words   []probe.Text
	secrets []string
}

// Folders finds programs in folders, in that order. Its Make is for probe.Known.
type Folders []string

// Make makes the probe of a program. name is the name of a file, or its path in one of the
// folders.
func (f Folders) Make(name string, args []string) (probe.Probe, error) {
	found, err := f.find(name)
	if err != nil {
		return nil, err
	}
	c := &check{file: found, secrets: probe.SecretWords(name, args)}
	for _, a := range args {
		c.words = append(c.words, probe.Text(a))
	}
	return c, nil
}

// file is a program by its folder and name.
type file struct{ folder, name string }

func (f Folders) find(name string) (file, error) {
	base := filepath.Base(name)
	if problem := hook.NameProblem(base); problem != "" {
		return file{}, errors.New(problem)
	}
	if base != name && !f.holds(filepath.Dir(name)) {
		return file{}, fmt.Errorf("programs are run from %s only", f)
	}
	for _, folder := range f {
		if base != name && filepath.Clean(filepath.Dir(name)) != folder {
			continue
		}
		path := filepath.Join(folder, base)
		if _, err := os.Lstat(path); err != nil {
			continue
		}
		if err := allowed(folder, path); err != nil {
			return file{}, fmt.Errorf("%s cannot be run: %w", path, err)
		}
		return file{folder, base}, nil
	}
	return file{}, fmt.Errorf("there is no program %s in %s", base, f)
}

func (f Folders) holds(folder string) bool {
	for _, one := range f {
		if filepath.Clean(folder) == one {
			return true
		}
	}
	return false
}

// String names the folders.
func (f Folders) String() string {
	if len(f) == 0 {
		return "no folder"
	}
	return strings.Join(f, " or ")
}

// allowed follows links, since some plugins are links to one file, and checks their target.
func allowed(folder, path string) error {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return errors.New("it is a link that leads nowhere")
	}
	if err := (hook.Program{Folder: filepath.Dir(real), Name: filepath.Base(real)}).Check(); err != nil {
		return err
	}
	info, err := os.Stat(folder)
	if err != nil {
		return errors.New("its folder cannot be looked at")
	}
	if st, ok := info.Sys().(*syscall.Stat_t); ok && (info.Mode().Perm()&0o022 != 0 || st.Uid != 0 && int(st.Uid) != os.Geteuid()) {
		return errors.New("others may write its folder")
	}
	return nil
}

// Run executes the probe once.
func (c *check) Run(ctx context.Context, _ probe.Network, to probe.Target, say probe.Say) error {
	// The file may have changed since the command was written.
	path := filepath.Join(c.file.folder, c.file.name)
	if err := allowed(c.file.folder, path); err != nil {
		return probe.Local(fmt.Errorf("%s cannot be run: %w", c.file.name, err))
	}
	args := make([]string, 0, len(c.words))
	for _, w := range c.words {
		args = append(args, w.For(to))
	}
	began, limit := time.Now(), longest
	if deadline, bounded := ctx.Deadline(); bounded {
		limit = max(deadline.Sub(began), time.Millisecond)
	}
	var waited time.Duration
	ctx, end := probe.Patient(ctx) // the program gets all of its time even if others run first
	defer end()
	ctx, cancel := context.WithTimeout(ctx, 2*limit) // its wait, and its time
	defer cancel()
	said, err := c.file.run(ctx, hook.Call{
		Args: args, Env: environment(to), Limit: limit - min(limit/20, answering),
		Started: func() {
			waited = time.Since(began)
			probe.Waited(ctx, waited)
		},
	})
	said = probe.Hide(said, c.secrets)
	if said != "" {
		say("%s", said)
	}
	if errors.Is(err, hook.ErrLate) || err != nil && ctx.Err() != nil && !errors.As(err, new(*hook.StartError)) {
		if ctx.Err() != nil && waited > answering {
			return probe.Local(fmt.Errorf("%s waited %s for other programs, and was ended for lack of time",
				c.file.name, probe.Rounded(waited)))
		}
		late := fmt.Sprintf("%s was not done within %s, and was ended with its children", c.shown(to), probe.Rounded(limit))
		if said != "" {
			late += ": " + said
		}
		return errors.New(late)
	}
	return reason(c.file.name, said, err)
}

// shown returns the executed command with its secrets masked.
func (c *check) shown(to probe.Target) string {
	words := []string{c.file.name}
	for _, w := range c.words {
		words = append(words, w.For(to))
	}
	return probe.Hide(strings.Join(words, " "), c.secrets)
}

// run runs the program. If only this process may read the file, it passes the open file to
// the other process.
func (f file) run(ctx context.Context, call hook.Call) (said string, err error) {
	path := filepath.Join(f.folder, f.name)
	c := programs.Call{Folder: f.folder, File: f.name, Name: path}
	s := starter.Load()
	if s == nil {
		return call.Run(ctx, c)
	}
	call.By = s.by
	if f.folder == hook.Plugins {
		return hook.Program{Folder: f.folder, Name: f.name}.Run(ctx, call)
	}
	if real, err := filepath.EvalSymlinks(path); err == nil && s.mayRun(filepath.Dir(real)) && openToAll(real) {
		return call.Run(ctx, c)
	}
	program, err := os.Open(path)
	if err != nil {
		return "", &hook.StartError{Why: err}
	}
	defer program.Close()
	return call.Run(ctx, c, program)
}

// openToAll reports whether every user may run a file.
func openToAll(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().Perm()&0o005 == 0o005
}

// environment returns variables for a program in addition to its words.
func environment(to probe.Target) []string {
	return []string{"SLUICE_HOST=" + to.Addr.String(), fmt.Sprintf("SLUICE_PORT=%d", to.Port), "SLUICE_NAME=" + to.Name}
}

// meaning returns the meaning of an exit status for plugins and shells.
func meaning(exit int) string {
	switch exit {
	case 1:
		return " (WARNING)"
	case 2:
		return " (CRITICAL)"
	case 3:
		return " (UNKNOWN)"
	case 126:
		return " (a command in it cannot be run)"
	case 127:
		return " (a command in it was not found)"
	}
	return ""
}

// reason returns the reason for a program that did not end with 0.
func reason(name, said string, err error) error {
	var exit *hook.ExitError
	var start *hook.StartError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &start):
		return probe.Local(fmt.Errorf("%s cannot be started: %w", name, err))
	case !errors.As(err, &exit):
		return fmt.Errorf("%s: %w", name, err)
	}
	how := fmt.Sprintf("ended with %d%s", exit.Exit, meaning(exit.Exit))
	if exit.Signal != 0 {
		how = fmt.Sprintf("was ended by signal %d (%s)", exit.Signal, exit.Signal)
	}
	if said == "" {
		return fmt.Errorf("%s %s", name, how)
	}
	return fmt.Errorf("%s %s: %s", name, how, said)
}
