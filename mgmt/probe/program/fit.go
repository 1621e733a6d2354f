package program

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/sluicelb/sluice/mgmt/hook"
)

// A plugin checks a server. A program is no plugin if it runs the code or reads the files
// in its words, or if it is a shell. A user who may write the words of such a program may
// do anything that the program may. The sandbox of programs limits that, and here such
// programs are refused in new commands. The list cannot be complete. Therefore a plugin
// must also be a file of root in a plugin folder, or be in the plugin folder of the data
// directory. So only users with access to the files of the machine can add to the programs
// that can be run.

// runners are programs that run other programs, or code, from their words; without
// versions.
var runners = strings.Fields(`
	sh bash rbash dash ash ksh mksh zsh csh tcsh fish busybox toybox
	perl python pypy ruby php node nodejs lua luajit tclsh expect java make awk gawk mawk nawk sed ed vi vim gdb
	env negate urlize xargs parallel find timeout time nice ionice chrt taskset nohup setsid setarch stdbuf script watch flock strace ltrace
	sudo doas su runuser setpriv capsh pkexec chroot unshare nsenter bwrap start-stop-daemon systemd-run run-parts
	ld.so ld-linux ld-linux-x86-64.so ld-linux-aarch64.so ssh sshpass rsync git tar socat nc ncat curl wget tcpdump nmap`)

// unfitPlugins are plugins that do more than check a server, and a description of that.
var unfitPlugins = map[string]string{
	"check_apt":      "it has apt do what its words say",
	"check_by_ssh":   "it runs what its words say on other machines, with keys and options of ssh that they name",
	"check_cluster":  "it asks no server",
	"check_file_age": "it looks at files of this machine",
	"check_log":      "it reads and writes files that its words name",
	"check_nagios":   "it reads files that its words name",
	"check_multi":    "it runs what its words say",
	"check_mrtg":     "it reads files that its words name",
	"check_mrtgtraf": "it reads files that its words name",
}

// Unfit returns why a new command may not start a program. It ignores errors of find: a
// missing program is refused elsewhere.
func (f Folders) Unfit(name string, args []string) error {
	if err := unfitName(filepath.Base(name)); err != nil {
		return err
	}
	found, err := f.find(name)
	if err != nil {
		return nil
	}
	path := filepath.Join(found.folder, found.name)
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return nil
	}
	if err := unfitName(filepath.Base(real)); err != nil {
		return fmt.Errorf("it is a link to %s: %w", real, err)
	}
	if !f.holdsReal(filepath.Dir(real)) {
		return fmt.Errorf("it is a link to %s: a plugin is a file in %s", real, f)
	}
	if filepath.Dir(real) != realPath(hook.Plugins) {
		if err := roots(real); err != nil {
			return err
		}
	}
	if err := noShell(real); err != nil {
		return err
	}
	return unfitWords(filepath.Base(real), args)
}

// unfitName returns why no program of a name is a plugin.
func unfitName(name string) error {
	if why, is := unfitPlugins[plainName(name)]; is {
		return errors.New(why)
	}
	if slices.Contains(runners, plainName(name)) {
		return errors.New("it is no plugin: it runs or reads whatever its words say")
	}
	return nil
}

// plainName returns a name without the suffix for a version or language: perl5.40, python3,
// check_log.sh.
func plainName(name string) string {
	for _, ending := range []string{".sh", ".pl", ".py", ".exe"} {
		name = strings.TrimSuffix(name, ending)
	}
	return strings.TrimRight(name, "0123456789.-")
}

// unfitWords returns why a plugin that checks servers does more with these words.
func unfitWords(name string, args []string) error {
	if plainName(name) != "check_nrpe" {
		return nil
	}
	for _, word := range args {
		if flag, _, _ := strings.Cut(word, "="); flag == "--args" || strings.HasPrefix(word, "-a") {
			return errors.New("with -a it hands words to programs of other machines: let their NRPE have a command without")
		}
	}
	return nil
}

// holdsReal is holds for a folder whose path has no links. The folders themselves may be
// links.
func (f Folders) holdsReal(folder string) bool {
	for _, one := range f {
		if real, err := filepath.EvalSymlinks(one); err == nil && real == folder {
			return true
		}
	}
	return false
}

// realPath returns a path without links, or the path itself if it does not exist.
func realPath(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	return path
}

// roots returns an error if a file does not belong to root.
func roots(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return nil
	}
	if st, ok := info.Sys().(*syscall.Stat_t); ok && st.Uid != 0 {
		return fmt.Errorf("it belongs to user %d: a plugin must belong to root, or lie in the folder %s of the data directory", st.Uid, hook.Plugins)
	}
	return nil
}

// noShell returns an error if a file is a shell under another name.
func noShell(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return nil
	}
	for _, folder := range []string{"/bin", "/usr/bin", "/usr/local/bin"} {
		for _, name := range []string{"sh", "bash", "dash", "busybox", "perl", "python3", "env"} {
			if runner := filepath.Join(folder, name); same(path, info, runner) {
				return fmt.Errorf("it is the same as %s, which is no plugin", runner)
			}
		}
	}
	return nil
}

// same reports whether two files are the same file, or one is a copy of the other.
func same(path string, info os.FileInfo, other string) bool {
	of, err := os.Stat(other)
	if err != nil || of.Size() != info.Size() {
		return false
	}
	if os.SameFile(info, of) {
		return true
	}
	one, err := os.ReadFile(path)
	if err != nil {
		return false
	}
	another, err := os.ReadFile(other)
	return err == nil && bytes.Equal(one, another)
}
