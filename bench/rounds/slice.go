package rounds

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/netip"
	"time"

	"github.com/sluicelb/sluice/bench/cases"
	"github.com/sluicelb/sluice/bench/launch"
	"github.com/sluicelb/sluice/bench/load"
	"github.com/sluicelb/sluice/bench/measure"
	"github.com/sluicelb/sluice/bench/report"
)

// patience bounds the warm-up of a load and the wait for its last responses.
const patience = 10 * time.Second

// slice puts one contestant under load. Any error becomes the reason why the slice does
// not count.
func (r *Runner) slice(ctx context.Context, c cases.Case, e *entrant) report.Slice {
	s := report.Slice{Contestant: e.Name}
	var err error
	switch {
	case c.Kind == cases.Slow:
		err = r.withSlowClients(ctx, c, e, &s)
	case c.Window > 0:
		err = r.datagrams(ctx, c, e, &s)
	case c.Streams > 0:
		err = r.h2load(ctx, c, e, &s)
	case r.opts.Wrk != "" && wrkCan(c):
		err = r.wrk(ctx, c, e, &s)
	default:
		err = r.own(ctx, c, e, &s, nil)
	}
	if err == nil && s.Errors > 0 {
		err = fmt.Errorf("%d errors %v", s.Errors, s.Causes)
	}
	if err == nil && s.Requests == 0 {
		err = fmt.Errorf("no request was answered")
	}
	if err != nil {
		s.Reason = err.Error()
		return s
	}
	if c.Kind == cases.Throughput && c.Window == 0 {
		s.Value = s.Proxy * 1e6 / float64(s.Requests)
	}
	return s
}

// spec returns the load of a case for one contestant.
func (r *Runner) spec(c cases.Case, e *entrant) load.Spec {
	s := load.Spec{
		Target:      netip.AddrPortFrom(r.address.Addr(), e.port),
		Connections: c.Connections, Method: c.Method, Path: c.Path, Host: c.Host, Body: c.Body, Expect: c.Expect,
		New: c.New, Rate: c.Rate, Window: c.Window, Duration: r.opts.Slice * time.Duration(max(c.Stretch, 1)), Patience: patience,
	}
	if e.Plain {
		s.Path, s.Host = "/128", cases.PlainHost
		return s
	}
	if c.Secure != "" {
		s.TLS = &load.TLS{Leaf: r.identities[c.Key].Leaf, Resume: c.Secure == cases.Resumed}
	}
	switch c.Feature {
	case cases.Cookie:
		s.Cookie, s.Require = cases.CookieName, cases.ResponseHeader
	case cases.CookieInsert:
		s.LearnCookie, s.Require = cases.CookieName, cases.ResponseHeader
	}
	return s
}

// own runs a slice with our own load generator. Samples are taken while no request is in
// flight. The processes in beside do not count as foreign load.
func (r *Runner) own(ctx context.Context, c cases.Case, e *entrant, s *report.Slice, beside []*launch.Process) error {
	spec := r.spec(c, e)
	client, lines, err := r.warm(spec, pin(c, r.opts.ClientCPU))
	if err != nil {
		return err
	}
	defer client.Stop()
	if logs(c, e) {
		e.access.skip()
	}
	clients := append([]*launch.Process{client}, beside...)
	before, err := r.take(e, clients)
	if err != nil {
		return err
	}
	result, err := r.measured(ctx, spec.Duration, client, lines)
	if err != nil {
		return err
	}
	if logs(c, e) {
		if err := e.access.atLeast(ctx, result.Requests); err != nil {
			return err
		}
	}
	after, err := r.take(e, clients)
	if err != nil {
		return err
	}
	account(s, before, after, after.clients.Sub(before.clients).Sched)
	record(s, result)
	return lost(before, after)
}

// warm starts a load process on a CPU and waits until its connections are established.
func (r *Runner) warm(spec load.Spec, cpu int) (*launch.Process, *bufio.Reader, error) {
	client, err := self(cpu, "load")
	if err != nil {
		return nil, nil, err
	}
	lines := bufio.NewReader(client.Out)
	state, err := within(spec.Patience+2*time.Second, func() (state load.State, err error) {
		if err = json.NewEncoder(client.In).Encode(spec); err != nil {
			return state, err
		}
		return state, readLine(lines, &state)
	})
	if err == nil && !state.Ready {
		err = fmt.Errorf("%s", state.Error)
	}
	if err != nil {
		_ = client.Stop()
		return nil, nil, fmt.Errorf("load: %w", err)
	}
	return client, lines, nil
}

// measured starts the slice and waits for the result.
func (r *Runner) measured(ctx context.Context, slice time.Duration, client *launch.Process, lines *bufio.Reader) (load.Result, error) {
	stop := context.AfterFunc(ctx, func() { _ = client.In.Close() })
	defer stop()
	result, err := within(slice+patience+2*time.Second, func() (result load.Result, err error) {
		if _, err = client.In.Write([]byte("go\n")); err != nil {
			return result, err
		}
		return result, readLine(lines, &result)
	})
	if err != nil {
		return result, fmt.Errorf("load: %w", err)
	}
	return result, nil
}

func record(s *report.Slice, result load.Result) {
	var h measure.Histogram
	h.Add(result.Latency)
	s.Requests, s.Errors, s.Causes = result.Requests, result.Errors, result.Causes
	s.Seconds = result.Elapsed.Seconds()
	s.Samples = result.Samples
	s.Latency, s.Buckets = report.NewLatency(&h), result.Latency
}

func readLine(r *bufio.Reader, into any) error {
	line, err := r.ReadBytes('\n')
	if err != nil {
		return err
	}
	return json.Unmarshal(line, into)
}
