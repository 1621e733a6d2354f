package rounds

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/sluicelb/sluice/bench/cases"
	"github.com/sluicelb/sluice/bench/launch"
	"github.com/sluicelb/sluice/bench/load"
	"github.com/sluicelb/sluice/bench/report"
)

const (
	// counted is the duration of counting system calls.
	counted = 200 * time.Millisecond
	// attaching is the time for strace to attach to all threads.
	attaching = 300 * time.Millisecond
)

// calls returns the system calls of a contestant per request, or 0 if unknown (strace is
// missing or not permitted). Strace slows calls down a lot, so they are counted in a
// separate slice after the measured ones. More requests queue in it, as with a busy
// proxy.
func (r *Runner) calls(ctx context.Context, c cases.Case, e *entrant) float64 {
	if c.Kind != cases.Throughput || c.Window > 0 || c.Streams > 0 || e.absent != nil {
		return 0
	}
	n, err := r.count(ctx, c, e)
	if err != nil {
		r.progress("%-18s %s: system calls are not counted: %v", c.Name, e.Name, err)
	}
	return n
}

// countCalls sets the calls of a round's slices.
func (r *Runner) countCalls(ctx context.Context, c cases.Case, entrants []*entrant, round []report.Slice) {
	for _, e := range entrants {
		for i := range round {
			if s := &round[i]; s.Contestant == e.Name && s.Reason == "" && ctx.Err() == nil {
				s.Calls = r.calls(ctx, c, e)
			}
		}
	}
}

func (r *Runner) count(ctx context.Context, c cases.Case, e *entrant) (float64, error) {
	strace, err := exec.LookPath("strace")
	if err != nil {
		return 0, err
	}
	tree, err := e.Tree()
	if err != nil {
		return 0, err
	}
	spec := r.spec(c, e)
	spec.Duration = counted
	client, lines, err := r.warm(spec, pin(c, r.opts.ClientCPU))
	if err != nil {
		return 0, err
	}
	defer client.Stop()
	file := filepath.Join(e.dir, "calls")
	args := []string{"-c", "-f", "-U", "calls,name", "-o", file}
	for _, p := range tree {
		args = append(args, "-p", strconv.Itoa(p.PID))
	}
	tracer, err := launch.Start(launch.Options{Path: strace, Args: args, CPU: unpinned, Log: e.log})
	if err != nil {
		return 0, err
	}
	var result load.Result
	select {
	case <-tracer.Done():
		return 0, fmt.Errorf("strace ended: %v", tracer.Err())
	case <-time.After(attaching):
		result, err = r.measured(ctx, spec.Duration, client, lines)
	}
	_ = tracer.Stop() // its exit status reflects the signal
	if err != nil {
		return 0, err
	}
	if result.Errors > 0 || result.Requests == 0 {
		return 0, fmt.Errorf("%d answers, %d errors", result.Requests, result.Errors)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return 0, err
	}
	total, err := parseCalls(string(text))
	return float64(total) / float64(result.Requests), err
}

// parseCalls returns the total of the table of `strace -c -U calls,name`. Its last line
// is the number and the word total.
func parseCalls(table string) (uint64, error) {
	for line := range strings.Lines(table) {
		if f := strings.Fields(line); len(f) == 2 && f[1] == "total" {
			return strconv.ParseUint(f[0], 10, 64)
		}
	}
	return 0, fmt.Errorf("strace wrote no total: %q", table)
}
