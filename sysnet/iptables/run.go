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

// ErrMissing: there is no iptables.
var ErrMissing = errors.New("the programs iptables-save and iptables-restore are not installed")

// Error is a script that was refused: the table it was refused in is as it was.
type Error struct {
	// Owner is whose rule was refused, 0 when that is not known.
	Owner  uint32
	Reason string
}

// Error tells the reason.
func (e *Error) Error() string { return "packet filter: " + e.Reason }

// Runner runs iptables; make it with Find.
type Runner struct {
	save, restore [2]string // for IPv4 and IPv6
}

// Legacy is the flavour that works without nf_tables, where there are two.
const Legacy = "-legacy"

// Find looks for the programs, of these flavours in this order.
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

// Apply makes what is there of ours equal to the script, for IPv4 or IPv6.
// Rejections are an *Error.
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

// Lines are the rules of and to chains of ours, as iptables-save writes them,
// with their family and table in front.
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

// Counted are the rules in chains of ours of a table, for IPv4 or IPv6, with
// what they counted.
func (r *Runner) Counted(ctx context.Context, six bool, table string) ([]Count, error) {
	family := 0
	if six {
		family = 1
	}
	saved, err := run(ctx, r.save[family], "", "-c", "-t", table)
	return parseCounted(saved), err
}

// failedLine finds the number in "iptables-restore: line 12 failed" and its like.
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
	// maxReason bounds what is told of a failure, in bytes.
	maxReason = 500
)

// run runs a program and returns what it prints.
func run(ctx context.Context, path, input string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, runTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Env, cmd.Dir, cmd.Stdin = []string{"LC_ALL=C", "PATH=/usr/sbin:/usr/bin:/sbin:/bin"}, "/", strings.NewReader(input)
	var out, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = &out, &stderr, time.Second
	// The signal comes with the end of the thread that started the program.
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
