package program_test

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/enginetest"
	"github.com/sluicelb/sluice/mgmt/probe"
	"github.com/sluicelb/sluice/mgmt/probe/program"
)

// folder returns a folder with a program of that name, a shell script.
func folder(t *testing.T, name, script string) string {
	t.Helper()
	dir := t.TempDir()
	put(t, filepath.Join(dir, name), script)
	return dir
}

func put(t *testing.T, path, script string) {
	t.Helper()
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+script+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
}

// run runs a command of programs in folders.
func run(t *testing.T, within time.Duration, command string, folders ...string) (said string, err error) {
	t.Helper()
	k := probe.Known{Program: program.Folders(folders).Make}
	p, err := k.Parse(command)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), within)
	defer cancel()
	err = p.Run(ctx, nil, probe.Target{Addr: netip.MustParseAddr("10.0.0.1"), Port: 80, Name: "one.example"}, func(format string, args ...any) { said += fmt.Sprintf(format, args...) })
	return said, err
}

func TestExitStatusDeterminesHealth(t *testing.T) {
	dir := folder(t, "check_x", `echo "it is $1"; exit $2`)
	for exit, reason := range map[int]string{0: "", 1: "check_x ended with 1 (WARNING): it is said", 2: "check_x ended with 2 (CRITICAL): it is said", 3: "check_x ended with 3 (UNKNOWN): it is said",
		4: "check_x ended with 4: it is said", 127: "check_x ended with 127 (a command in it was not found): it is said"} {
		said, err := run(t, time.Minute, fmt.Sprintf("check_x said %d", exit), dir)
		if said != "it is said" || (err == nil) != (reason == "") || err != nil && err.Error() != reason {
			t.Errorf("exit %d: output %q, %v", exit, said, err)
		}
	}
	put(t, filepath.Join(dir, "killed"), "kill -SEGV $$")
	if _, err := run(t, time.Minute, "killed", dir); err == nil || err.Error() != "killed was ended by signal 11 (segmentation fault)" {
		t.Errorf("a signal: %v", err)
	}
}

func TestProgramGetsItsWordsAndLittleElse(t *testing.T) {
	t.Setenv("SLUICE_OF_MGMT", "secret")
	dir := folder(t, "check_x", `printf '<%s>' "$@"; env | sort | tr '\n' ' '; basename $0`)
	said, err := run(t, time.Minute, `check_x -H HOST -p PORT 'a b' '$(id)' "*"`, dir)
	if err != nil || !strings.HasPrefix(said, "<-H><10.0.0.1><-p><80><a b><$(id)><*>") || strings.Contains(said, "OF_MGMT") {
		t.Errorf("%s, %v", said, err)
	}
	for _, want := range []string{"SLUICE_HOST=10.0.0.1", "SLUICE_PORT=80", "SLUICE_NAME=one.example", "LANG=C.UTF-8"} {
		if !strings.Contains(said, want) {
			t.Errorf("%s is not in %s", want, said)
		}
	}
}

func TestProgramEndsWithItsTimeAndItsChildren(t *testing.T) {
	file := filepath.Join(t.TempDir(), "child")
	dir := folder(t, "check_x", "echo so far; sleep 1000 & echo $! > "+file+"; sleep 1000")
	_, err := run(t, 500*time.Millisecond, "check_x -H HOST --password hunter2", dir)
	if err == nil || !regexp.MustCompile(`^check_x -H 10\.0\.0\.1 --password \*\*\* was not done within \d+ms, and was ended with its children: so far$`).MatchString(err.Error()) {
		t.Fatalf("a program that hangs: %v", err)
	}
	text, err := os.ReadFile(file)
	pid, err2 := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil || err2 != nil {
		t.Fatal(err, err2)
	}
	enginetest.Eventually(t, "the child to be gone", func() bool {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		return err != nil || strings.Contains(string(stat), ") Z ") || syscall.Kill(pid, 0) != nil
	})
}

func TestOutputIsReadToItsEndAndKeptInPart(t *testing.T) {
	dir := folder(t, "check_x", `head -c 3000000 /dev/zero | tr '\0' x; printf '\033[2J'; exit 1`)
	said, err := run(t, time.Minute, "check_x", dir)
	if err == nil || len(said) > 400 || len(err.Error()) > 400 || !strings.Contains(err.Error(), "ended with 1 (WARNING): xxx") {
		t.Errorf("output of %d bytes, %v", len(said), err)
	}
}

func TestPasswordsAProgramPrintsAreHidden(t *testing.T) {
	dir := folder(t, "check_x", `echo "cannot log in with $2"; exit 2`)
	said, err := run(t, time.Minute, "check_x --password hunter2", dir)
	if said != "cannot log in with ***" || err == nil || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("output %q, %v", said, err)
	}
}

func TestProgramsAreRunFromTheirFoldersOnly(t *testing.T) {
	dir := folder(t, "check_x", "exit 0")
	other := folder(t, "check_y", "exit 0")
	open := folder(t, "check_z", "exit 0")
	for _, err := range []error{os.Chmod(filepath.Join(open, "check_z"), 0o777), os.WriteFile(filepath.Join(dir, "plain"), nil, 0o644), os.Symlink("check_x", filepath.Join(dir, "check_linked")),
		os.Symlink("nothing", filepath.Join(dir, "dangling")), os.Symlink(filepath.Join(open, "check_z"), filepath.Join(dir, "elsewhere"))} {
		if err != nil {
			t.Fatal(err)
		}
	}
	folders := program.Folders{dir, open}
	for name, want := range map[string]string{
		"check_y": "there is no program check_y in " + dir + " or " + open, filepath.Join(other, "check_y"): "programs are run from " + dir,
		"../x": "programs are run from", "check_z": "others may write it", "plain": "not executable", "dangling": "leads nowhere",
		"elsewhere": "others may write it", "-x": "no name of a program", ".": "no name of a program", "": "no name of a program",
	} {
		if _, err := folders.Make(name, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, wanted %s", name, err, want)
		}
	}
	for _, name := range []string{"check_x", filepath.Join(dir, "check_x"), "check_linked"} {
		if _, err := folders.Make(name, nil); err != nil {
			t.Errorf("%q: %v", name, err)
		}
	}
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	if _, err := folders.Make("check_x", nil); err == nil || !strings.Contains(err.Error(), "others may write") {
		t.Errorf("a folder that others may write to: %v", err)
	}
}

// Plugins with several names are one file, which checks the name it is called by.
func TestLinkedPluginGetsItsName(t *testing.T) {
	dir := folder(t, "check_tcp2", "basename $0")
	if err := os.Symlink("check_tcp2", filepath.Join(dir, "check_pop2")); err != nil {
		t.Fatal(err)
	}
	if said, err := run(t, time.Minute, "check_pop2", dir); err != nil || said != "check_pop2" {
		t.Errorf("got %q, %v, want %q", said, err, "check_pop2")
	}
}

func TestProgramThatChangedHandsIsNotRun(t *testing.T) {
	dir := folder(t, "check_x", "exit 0")
	p, err := program.Folders{dir}.Make("check_x", nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Join(dir, "check_x"), 0o757); err != nil {
		t.Fatal(err)
	}
	if err := p.Run(t.Context(), nil, probe.Target{}, func(string, ...any) {}); !errors.Is(err, probe.ErrLocal) || !strings.Contains(err.Error(), "others may write it") {
		t.Errorf("%v", err)
	}
}

func TestUnstartableProgramIsALocalFault(t *testing.T) {
	for body, want := range map[string]struct {
		local  bool
		reason string
	}{
		"#!/nowhere/sh\n":        {true, `check_x cannot be started: its interpreter "/nowhere/sh" is not there`},
		"#! /bin/sh\r\nexit 0\n": {true, `its interpreter "/bin/sh\r" is not there`},
		"no script\n":            {true, "it is no program of this machine, and its first line names no interpreter (#!)"},
		"#!/bin/sh\nexit 2\n":    {false, "ended with 2"}, "#!/bin/sh\nkill -9 $$\n": {false, "signal 9 (killed)"}, "#!/bin/sh\nsleep 1000\n": {false, "was not done within"},
		"#!/usr/bin/env nothing-of-the-kind\n": {false, "ended with 127 (a command in it was not found): "},
	} {
		dir := folder(t, "check_x", "")
		if err := os.WriteFile(filepath.Join(dir, "check_x"), []byte(body), 0o755); err != nil {
			t.Fatal(err)
		}
		if _, err := run(t, 300*time.Millisecond, "check_x", dir); err == nil || errors.Is(err, probe.ErrLocal) != want.local || !strings.Contains(err.Error(), want.reason) {
			t.Errorf("%q: one of this machine is %t: %v, wanted %q", body, !want.local, err, want.reason)
		}
	}
}
