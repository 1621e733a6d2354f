package peers

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/sluicelb/sluice/bench/launch"
)

// oneLoop makes a Go proxy use one event loop on one processor, as the peers
// use one thread or worker.
var oneLoop = []string{"SLUICE_LOOPS=1", "GOMAXPROCS=1"}

// loops returns the environment of a Go proxy. For a default it unsets the variables of
// the bench.
func (s Setup) loops() []string {
	if s.Default {
		return []string{"SLUICE_LOOPS=", "GOMAXPROCS="}
	}
	return oneLoop
}

// startSluice starts the whole appliance and configures it like a user, with its command
// line.
func startSluice(c Contestant, ctx context.Context, s Setup, log *os.File) (*launch.Process, error) {
	document, err := write("sluice.yaml", "bench.yaml", s)
	if err != nil {
		return nil, err
	}
	data := filepath.Join(s.Dir, "data")
	p, err := launch.Start(launch.Options{
		Path: c.Path,
		Args: []string{"run", "--data", data, "--api", fmt.Sprintf("127.0.0.1:%d", s.Control)},
		Env:  s.loops(), CPU: s.CPU, Log: log,
	})
	if err != nil {
		return nil, err
	}
	if err := configure(ctx, c, p, s, data, document); err != nil {
		return nil, errors.Join(err, p.Stop())
	}
	return p, nil
}

// configure applies the document and its certificate as soon as the appliance responds.
func configure(ctx context.Context, c Contestant, p *launch.Process, s Setup, data, document string) error {
	ctx, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	run := func(args ...string) ([]byte, error) {
		return exec.CommandContext(ctx, c.Path, append(args, "--data", data)...).CombinedOutput()
	}
	for {
		text, err := run("status")
		if err == nil {
			break
		}
		select {
		case <-p.Done():
			return fmt.Errorf("`sluice run` ended: %w", p.Err())
		case <-ctx.Done():
			return fmt.Errorf("`sluice status` failed until the time was up: %s", bytes.TrimSpace(text))
		case <-time.After(50 * time.Millisecond):
		}
	}
	steps := [][]string{{"apply", "--yes", "-f", document}}
	if s.Secure != "" {
		steps = [][]string{{"certificate", "upload", "bench.pem", s.Identity.Bundle}, steps[0]}
	}
	for _, step := range steps {
		if text, err := run(step...); err != nil {
			return fmt.Errorf("%w: `sluice %s`: %w: %s", ErrCannot, strings.Join(step, " "), err, firstLines(text))
		}
	}
	return nil
}

// firstLines shortens what a command printed: wrong usage is followed by help.
func firstLines(text []byte) string {
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return strings.Join(lines[:min(3, len(lines))], " / ")
}
