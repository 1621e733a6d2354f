package iptables

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// ErrMissing means that iptables is not installed.
var ErrMissing = errors.New("the programs iptables-save and iptables-restore are not installed")

// Error is a rejected script. The table that rejected it is unchanged.
type Error struct {
	// Owner is the owner of the rejected rule, or 0 if unknown.
	Owner  uint32
	Reason string
}

// Error returns the reason.
func (e *Error) Error() string { return "packet filter: " + e.Reason }

// Runner runs iptables. Use Find to make one.
type Runner struct {
	save, restore [2]string // paths for IPv4 and IPv6
}

// Legacy is the flavour that works without nf_tables, on systems with two flavours.
const Legacy = "-legacy"

// Find returns a Runner for the first flavour whose programs are installed, or
// ErrMissing.
func Find(flavours ...string) (*Runner, error) {
	for _, flavour := range flavours {
		r, complete := &Runner{}, true
		for i, name := range []string{"iptables", "ip6tables"} {
			r.save[i], r.restore[i] = find(name+flavour+"-save"), find(name+flavour+"-restore")
			complete = complete && r.save[i] != "" && r.restore[i] != ""
		}
		if complete {
			return r, nil
		}
	}
	return nil, ErrMissing
}

func find(name string) string {
	for _, dir := range []string{"/usr/sbin/", "/sbin/", "/usr/bin/", "/usr/local/sbin/"} {
		if path, err := exec.LookPath(dir + name); err == nil {
			return path
		}
	}
	return ""
}

// Apply makes our chains and jumps equal to the script, for IPv4 or IPv6. A rejection is
// an *Error.
func (r *Runner) Apply(ctx context.Context, six bool, s *Script) error {
	family := 0
	if six {
		family = 1
	}
	saved, err := run(ctx, r.save[family], "")
	if err != nil {
		return err
	}
	in := s.input(parseSaved(saved))
	if len(in.owners) == 0 {
		return nil
	}
	_, err = run(ctx, r.restore[family], in.text.String(), "--noflush", "--wait=5")
	var e *Error
	if errors.As(err, &e) {
		e.Owner = in.owner(lineOf(e.Reason))
	}
	return err
}

// Lines returns the rules in our chains and the jumps to them, in the format of
// iptables-save, with family and table as prefix.
func (r *Runner) Lines(ctx context.Context) (lines []string, err error) {
	for family, name := range []string{"IPv4", "IPv6"} {
		saved, err := run(ctx, r.save[family], "")
		if err != nil {
			return nil, err
		}
		table := ""
		for line := range strings.SplitSeq(saved, "\n") {
			if strings.HasPrefix(line, "*") {
				table = line[1:]
			}
			if ownLine(line) {
				lines = append(lines, name+" "+table+" "+line)
			}
		}
	}
	return lines, nil
}

// Counted returns the rules in our chains of a table with their counters, for IPv4 or
// IPv6.
func (r *Runner) Counted(ctx context.Context, six bool, table string) ([]Count, error) {
	family := 0
	if six {
		family = 1
	}
	saved, err := run(ctx, r.save[family], "", "-c", "-t", table)
	return parseCounted(saved), err
}

// failedLine matches "iptables-restore: line 12 failed" and similar messages.
var failedLine = regexp.MustCompile(`(?i)line:? ([0-9]{1,9})`)

func lineOf(stderr string) int {
	m := failedLine.FindStringSubmatch(stderr)
	if m == nil {
		return 0
	}
	n, _ := strconv.Atoi(m[1])
	return n
}

const (
	runTime = 20 * time.Second
	// maxReason bounds the text of an error, in bytes.
	maxReason = 500
)

// run runs a program and returns its output.
func run(ctx context.Context, path, input string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, runTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Env, cmd.Dir, cmd.Stdin = []string{"LC_ALL=C", "PATH=/usr/sbin:/usr/bin:/sbin:/bin"}, "/", strings.NewReader(input)
	var out, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = &out, &stderr, time.Second
	// The kernel sends Pdeathsig when the thread that started the program ends.
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := cmd.Run(); err != nil {
		text := strings.Join(strings.Fields(stderr.String()), " ")
		switch {
		case text == "":
			text = err.Error()
		case strings.Contains(text, "could not insert"):
			text = "the kernel's iptables are not loaded; have them loaded before sluice starts: modprobe -a iptable_nat iptable_filter iptable_mangle iptable_raw, for IPv6 those of ip6table_ (" + text + ")"
		}
		return "", &Error{Reason: fmt.Sprintf("%.*s", maxReason, text)}
	}
	return out.String(), nil
}
