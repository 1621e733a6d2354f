package rounds

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/sluicelb/sluice/bench/cases"
	"github.com/sluicelb/sluice/bench/launch"
	"github.com/sluicelb/sluice/bench/load"
	"github.com/sluicelb/sluice/bench/report"
)

const (
	// slowSpare is the number of additional descriptors of a process with slow clients.
	slowSpare    = 100
	slowPatience = 20 * time.Second
	// slowShare is the minimum share of bytes that the slow clients must send.
	slowShare = 0.9
)

// withSlowClients measures the latency of paced requests, first alone and then with slow
// clients. The value is the growth factor of p99. Requests affected by stalls of the
// machine are excluded.
func (r *Runner) withSlowClients(ctx context.Context, c cases.Case, e *entrant, s *report.Slice) (err error) {
	quiet := report.Slice{Contestant: e.Name}
	if err := r.witnessed(ctx, c, e, &quiet, nil); err != nil {
		return fmt.Errorf("quiet: %w", err)
	}
	if quiet.Errors > 0 {
		return fmt.Errorf("quiet: %d errors %v", quiet.Errors, quiet.Causes)
	}
	crowd, err := r.crowd(c, e)
	if err != nil {
		return err
	}
	err = r.witnessed(ctx, c, e, s, crowd.processes())
	slow, stopErr := crowd.disperse()
	// The contestant has thousands of connections to close, which must not affect the
	// quiet slice of the next one.
	select {
	case <-ctx.Done():
	case <-time.After(settle):
	}
	if err = errors.Join(err, stopErr); err != nil {
		return err
	}
	if slow.Open < c.Slow*99/100 {
		return fmt.Errorf("only %d of %d slow clients were connected at the end", slow.Open, c.Slow)
	}
	if slow.Share < slowShare {
		return fmt.Errorf("the slow clients sent only %.0f %% of their bytes: the client's CPU is too busy", slow.Share*100)
	}
	s.Quiet, s.QuietRaw, s.QuietLeftOut, s.SlowClosed = quiet.Latency, quiet.Raw, quiet.LeftOut, slow.Closed
	s.Value = s.Latency.P99 / max(quiet.Latency.P99, 1)
	s.Foreign = max(s.Foreign, quiet.Foreign)
	return nil
}

// crowd holds the processes of the slow clients.
type crowd []*member

type member struct {
	*launch.Process
	lines *bufio.Reader
}

func (r *Runner) crowd(c cases.Case, e *entrant) (out crowd, err error) {
	most := int(r.opts.Descriptors) - slowSpare
	if most < 1 {
		return nil, fmt.Errorf("slow clients: a limit of %d descriptors is too low", r.opts.Descriptors)
	}
	for left := c.Slow; left > 0; left -= most {
		p, err := self(r.opts.ClientCPU, "slow")
		if err != nil {
			return nil, errors.Join(err, out.stop())
		}
		m := &member{Process: p, lines: bufio.NewReader(p.Out)}
		out = append(out, m)
		spec := load.SlowSpec{
			Target: r.spec(c, e).Target, Connections: min(left, most), Host: c.Host,
			Every: time.Second, Patience: slowPatience,
		}
		state, err := within(slowPatience+2*time.Second, func() (state load.State, err error) {
			if err = json.NewEncoder(p.In).Encode(spec); err != nil {
				return state, err
			}
			return state, readLine(m.lines, &state)
		})
		if err == nil && !state.Ready {
			err = errors.New(state.Error)
		}
		if err != nil {
			return nil, errors.Join(fmt.Errorf("slow clients: %w", err), out.stop())
		}
	}
	return out, nil
}

// disperse ends the slow clients and adds up their results; Share is the minimum.
func (c crowd) disperse() (sum load.SlowResult, err error) {
	sum.Share = 1
	for _, m := range c {
		_ = m.In.Close()
		one, e := within(5*time.Second, func() (one load.SlowResult, err error) {
			return one, readLine(m.lines, &one)
		})
		err = errors.Join(err, e)
		sum.Open += one.Open
		sum.Closed += one.Closed
		sum.Share = min(sum.Share, one.Share)
	}
	return sum, errors.Join(err, c.stop())
}

func (c crowd) processes() []*launch.Process {
	out := make([]*launch.Process, len(c))
	for i, m := range c {
		out[i] = m.Process
	}
	return out
}

func (c crowd) stop() error {
	var err error
	for _, m := range c {
		err = errors.Join(err, m.Stop())
	}
	return err
}
