// Command bench measures Sluice next to HAProxy and nginx on one machine, in one run. The
// main figure is CPU time per request; rates, latencies and memory follow.
//
//	go run ./bench                              all cases (about twenty-five minutes)
//	go run ./bench -quick -case get128          a short look at two cases
//	go run ./bench -vs old/sluice -peers sluice one build against another
//	go run ./bench compare a.json b.json        what changed between two runs
//
// README.md in this folder explains the method and how to reproduce each claim. The
// program starts itself in the internal roles backend, echo, load, slow and witness.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/sluicelb/sluice/bench/arena"
	"github.com/sluicelb/sluice/bench/backend"
	"github.com/sluicelb/sluice/bench/cases"
	"github.com/sluicelb/sluice/bench/load"
	"github.com/sluicelb/sluice/bench/measure"
	"github.com/sluicelb/sluice/bench/peers"
	"github.com/sluicelb/sluice/bench/report"
	"github.com/sluicelb/sluice/bench/rounds"
	"github.com/sluicelb/sluice/bench/witness"
)

// Exit statuses.
const (
	statusOK     = 0
	statusFailed = 1
	statusUsage  = 2
)

func main() { os.Exit(run(os.Args[1:])) }

func run(args []string) int {
	if len(args) > 0 {
		if role, ok := roles[args[0]]; ok {
			return status(role(args[1:]))
		}
	}
	c, err := parse(args, os.Stderr)
	if errors.Is(err, flag.ErrHelp) {
		return statusOK
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		return statusUsage
	}
	if c.list {
		listCases(os.Stdout)
		return statusOK
	}
	env, code, done := arena.Enter(c.plain)
	if done {
		return code
	}
	return status(measureAll(c, env))
}

func status(err error) int {
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		return statusFailed
	}
	return statusOK
}

var roles = map[string]func([]string) error{
	"backend": runBackend,
	"echo":    runEcho,
	"load":    func([]string) error { return load.Main(os.Stdin, os.Stdout) },
	"slow":    func([]string) error { return load.SlowMain(0, os.Stdin, os.Stdout) },
	"witness": func([]string) error { return witness.Main(0, os.Stdout) },
	"compare": compare,
}

func runBackend(args []string) error {
	on, err := address("backend", args)
	if err != nil {
		return err
	}
	s, err := backend.Listen(on)
	if err != nil {
		return err
	}
	fmt.Println(netip.AddrPortFrom(on.Addr(), s.Port()))
	return s.Serve(0, func(c backend.Counters) { _ = json.NewEncoder(os.Stdout).Encode(c) })
}

// address returns the address that is the only argument of a role.
func address(role string, args []string) (netip.AddrPort, error) {
	if len(args) != 1 {
		return netip.AddrPort{}, fmt.Errorf("usage: bench %s ADDR:PORT", role)
	}
	return netip.ParseAddrPort(args[0])
}

func runEcho(args []string) error {
	on, err := address("echo", args)
	if err != nil {
		return err
	}
	d, err := backend.ListenDatagrams(on)
	if err != nil {
		return err
	}
	fmt.Println(netip.AddrPortFrom(on.Addr(), d.Port()))
	return d.Serve(0)
}

func compare(args []string) error {
	if len(args) != 2 {
		return errors.New("usage: bench compare A.json B.json")
	}
	a, err := report.Load(args[0])
	if err != nil {
		return err
	}
	b, err := report.Load(args[1])
	if err != nil {
		return err
	}
	return report.Compare(os.Stdout, a, b)
}

// measureAll runs the chosen cases and reports them.
func measureAll(c choices, env arena.Environment) (err error) {
	ctx, cancel := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	defer cancel()
	chosen, err := cases.Select(c.cases)
	if err != nil {
		return fmt.Errorf("-case: %w", err)
	}
	if len(chosen) == 0 {
		return fmt.Errorf("no case matches %q; see -list", c.cases)
	}
	line, err := c.lineup()
	if err != nil {
		return err
	}
	if err := relays(line, chosen); err != nil {
		return err
	}
	if err := c.pins(); err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "sluice-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := os.Chmod(dir, 0o755); err != nil {
		return err
	}
	options, err := c.options(dir, line)
	if err != nil {
		return err
	}
	r := &report.Report{
		Schema: report.Schema, Started: time.Now(), Place: env, Contestants: line, Settings: c.settings(),
		Machine: measure.Describe(runtime.NumCPU(), options.Descriptors),
	}
	if options.Wrk != "" {
		if r.Settings.Wrk, err = firstLine(options.Wrk, "-v"); err != nil {
			return err
		}
	}
	if slices.ContainsFunc(chosen, func(c cases.Case) bool { return c.Streams > 0 }) {
		if r.Settings.H2load, err = firstLine(options.H2load, "--version"); err != nil {
			return err
		}
	}
	r.Header(os.Stdout)
	err = play(ctx, r, options, chosen)
	if errors.Is(err, context.Canceled) {
		err = errors.New("interrupted; cases that were finished are kept")
	}
	return errors.Join(err, finish(r, c))
}

// relays returns an error if a contestant lacks a module that a case of a relay needs.
func relays(line []peers.Contestant, chosen []cases.Case) (problems error) {
	if !slices.ContainsFunc(chosen, func(c cases.Case) bool { return c.Relay }) {
		return nil
	}
	for _, c := range line {
		problems = errors.Join(problems, c.CheckRelay())
	}
	return problems
}

// play runs the cases in order. It prints each table when its case ends.
func play(ctx context.Context, r *report.Report, options rounds.Options, chosen []cases.Case) (err error) {
	runner, err := rounds.New(options)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, runner.Close()) }()
	for _, c := range chosen {
		result, err := runner.Run(ctx, c)
		if err != nil {
			return err
		}
		result.Follow(r.Cases)
		r.Cases = append(r.Cases, result)
		if err := result.Table(os.Stdout, references(r)); err != nil {
			return err
		}
	}
	return nil
}

// references returns the contestants to which the table shows ratios: all except the
// subject, in order.
func references(r *report.Report) []string {
	var out []string
	for _, c := range r.Contestants {
		if c.Name != report.Subject {
			out = append(out, c.Name)
		}
	}
	return out
}

// finish saves the results, even after an interruption.
func finish(r *report.Report, c choices) error {
	r.Seconds = time.Since(r.Started).Seconds()
	var problems error
	if path := c.file(r.Started); path != "" && len(r.Cases) > 0 {
		if err := r.Save(path); err != nil {
			problems = errors.Join(problems, err)
		} else {
			fmt.Println("\nkept in", path)
		}
	}
	missed, unfinished := r.Verdict()
	if len(unfinished) > 0 {
		problems = errors.Join(problems, fmt.Errorf("without a result:\n  %s", strings.Join(unfinished, "\n  ")))
	}
	if len(missed) > 0 {
		fmt.Println("targets missed:", strings.Join(missed, ", "))
		if c.strict {
			problems = errors.Join(problems, errors.New("targets were missed"))
		}
	}
	return problems
}

// firstLine returns the version of a load generator, its first line of output. wrk exits
// with status 1 after that.
func firstLine(path, argument string) (string, error) {
	text, err := exec.Command(path, argument).CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return "", fmt.Errorf("%w (install it with `bench/install.sh`, or leave out with -case what needs it)", err)
	}
	line, _, _ := strings.Cut(string(text), "\n")
	return line, nil
}
