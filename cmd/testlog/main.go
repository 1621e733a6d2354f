// Command testlog runs `go test` and prints readable results: a line for each package and
// the output of failed tests. At the end it lists each skipped test with its reason and
// all untested parts.
//
//	testlog [-skips FILE] PACKAGES... [-- FLAGS OF GO TEST...]
//
// It is a gate. The exit status is 0 only if every package of `go list` ended with its
// own verdict, every started test ended, none failed, and FILE names every skip. Up to
// three failed tests are repeated alone. One that passes then is listed as unsteady and
// does not fail the run. It starts go test itself, because sh loses the exit status of a
// command before a pipe.
//
// It is in cmd and not in .ci because `./...` ignores folders whose names begin with a
// dot, so its own tests would never run.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
)

func main() {
	skips := flag.String("skips", "", "file that names the tests that may be skipped, and why")
	flag.Parse()
	packages, flags := flag.Args(), []string(nil)
	if i := slices.Index(packages, "--"); i >= 0 {
		packages, flags = packages[:i], packages[i+1:]
	}
	l, err := prepare(os.Stdout, *skips, packages, flags)
	if err != nil {
		fmt.Fprintln(os.Stderr, "testlog:", err)
		os.Exit(1)
	}
	l.alone = func(test key) *exec.Cmd { return alone(test, flags) }
	cmd := goTest(packages, flags)
	cmd.Stderr = os.Stderr
	if !l.run(cmd) {
		os.Exit(1)
	}
}

// goTest returns a command that runs tests without the cache. The cache key covers Go
// files, but not the programs, scripts and privileges that a test uses.
func goTest(packages, flags []string) *exec.Cmd {
	return exec.Command("go", slices.Concat([]string{"test", "-json", "-count=1"}, flags, packages)...)
}

// prepare returns a log that expects the packages of go list.
func prepare(out io.Writer, skips string, packages, flags []string) (*log, error) {
	names, err := goList("{{.ImportPath}}", packages)
	if err != nil {
		return nil, err
	}
	list, err := readSkips(skips, here(flags))
	if err != nil {
		return nil, err
	}
	module, err := goList("{{with .Module}}{{.Path}}{{end}}", packages[:min(1, len(packages))])
	if err != nil {
		return nil, err
	}
	if len(module) > 0 {
		list.module = module[0]
	}
	l := newLog(out, names, list)
	l.chosen = slices.ContainsFunc(flags, func(f string) bool {
		name, _, _ := strings.Cut(strings.TrimLeft(f, "-"), "=")
		return name == "run" || name == "skip"
	})
	return l, nil
}

func goList(format string, packages []string) ([]string, error) {
	cmd := exec.Command("go", slices.Concat([]string{"list", "-f", format}, packages)...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	return strings.Fields(string(out)), nil
}

// run reads the events of the command and reports whether the run succeeded.
func (l *log) run(cmd *exec.Cmd) bool {
	events, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		l.fault("go test was not started: %v", err)
		return l.end()
	}
	if err := l.read(events); err != nil {
		l.fault("what go test says cannot be read: %v", err)
	}
	// Status 1 means that a test failed, which the log has seen.
	if err := cmd.Wait(); err != nil && (cmd.ProcessState.ExitCode() != 1 || l.wrong() == 0) {
		l.fault("go test ended with %v", err)
	}
	l.again()
	return l.end()
}
