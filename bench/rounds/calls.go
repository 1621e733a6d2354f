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
	// counted is how long system calls are counted.
	counted = 200 * time.Millisecond
	// attaching is how long strace gets to be on all threads before that.
	attaching = 300 * time.Millisecond
)

// calls returns the system calls of a contestant per request, 0 when they are
// not known: there is no strace, or it may not look. Strace makes calls many
// times slower, so they are counted in a slice of their own, behind those that
// are measured. More requests wait in it, as with a proxy that is busy.
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

// countCalls fills in the calls of a round's slices.
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
	_ = tracer.Stop() // what it says of its end is that it was told to
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

// parseCalls returns the sum of a table `strace -c -U calls,name` wrote: its last
// line is the number and the word total.
func parseCalls(table string) (uint64, error) {
	for line := range strings.Lines(table) {
		if f := strings.Fields(line); len(f) == 2 && f[1] == "total" {
			return strconv.ParseUint(f[0], 10, 64)
		}
	}
	return 0, fmt.Errorf("strace wrote no total: %q", table)
}
