package rounds

import (
	"fmt"
	"time"

	"github.com/sluicelb/sluice/bench/launch"
	"github.com/sluicelb/sluice/bench/measure"
	"github.com/sluicelb/sluice/bench/report"
)

// sample is the accounting at one moment.
type sample struct {
	at        time.Time
	busy      time.Duration // whole machine
	processes []measure.Process
	proxy     measure.CPU
	backend   measure.CPU
	clients   measure.CPU
}

// take samples the contestant, the backend and the client processes.
func (r *Runner) take(e *entrant, clients []*launch.Process) (s sample, err error) {
	if s.processes, err = e.Tree(); err != nil {
		return s, fmt.Errorf("%s: %w", e.Name, err)
	}
	if s.proxy, err = measure.Usage(s.processes); err != nil {
		return s, fmt.Errorf("%s: %w", e.Name, err)
	}
	for _, p := range r.backends() {
		one, err := treeUsage(p)
		if err != nil {
			return s, fmt.Errorf("backend: %w", err)
		}
		s.backend.Sched += one.Sched
	}
	for _, p := range clients {
		one, err := treeUsage(p)
		if err != nil {
			return s, fmt.Errorf("client: %w", err)
		}
		s.clients.Sched += one.Sched
	}
	s.busy, err = measure.Busy()
	s.at = time.Now()
	return s, err
}

func treeUsage(p *launch.Process) (measure.CPU, error) {
	tree, err := p.Tree()
	if err != nil {
		return measure.CPU{}, err
	}
	return measure.Usage(tree)
}

// lost returns an error if a process of the contestant ended between two samples, because
// its CPU time is lost.
func lost(before, after sample) error {
	still := map[measure.Process]bool{}
	for _, p := range after.processes {
		still[p] = true
	}
	for _, p := range before.processes {
		if !still[p] {
			return fmt.Errorf("process %d of the contestant ended during the slice", p.PID)
		}
	}
	return nil
}

// account sets the CPU time of the proxy and of everything else between two samples.
// clients is that of the load generator.
func account(s *report.Slice, before, after sample, clients time.Duration) {
	proxy := after.proxy.Sub(before.proxy)
	backend := after.backend.Sub(before.backend)
	s.Proxy, s.User, s.System = proxy.Sched.Seconds(), proxy.User.Seconds(), proxy.System.Seconds()
	s.Client, s.Backend = clients.Seconds(), backend.Sched.Seconds()
	s.Disagree = !proxy.Agrees(len(after.processes))
	wall := after.at.Sub(before.at).Seconds()
	foreign := (after.busy - before.busy).Seconds() - s.Proxy - s.Client - s.Backend
	s.Foreign = max(0, foreign/max(wall, 1e-9))
}
