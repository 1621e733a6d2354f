package rounds

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/sluicelb/sluice/bench/arena"
	"github.com/sluicelb/sluice/bench/cases"
	"github.com/sluicelb/sluice/bench/identity"
	"github.com/sluicelb/sluice/bench/launch"
	"github.com/sluicelb/sluice/bench/peers"
	"github.com/sluicelb/sluice/bench/report"
)

// Options are the parameters of a run.
type Options struct {
	Rounds      int
	Slice       time.Duration
	Restarts    int
	Equal       bool   // peers do the same work as Sluice
	Wrk         string // path of wrk for the cases it supports; empty: our own load
	H2load      string
	ProxyCPU    int
	ClientCPU   int
	BackendCPU  int
	Descriptors uint64
	Dir         string // for configurations and logs; exists
	Progress    io.Writer
	Contestants []peers.Contestant
}

// Runner runs cases sequentially.
type Runner struct {
	opts    Options
	ports   arena.Ports
	backend *launch.Process
	address netip.AddrPort  // of the backend
	echo    *launch.Process // backend for datagrams; nil before the first such case
	echoes  netip.AddrPort  // its address
	roaming *launch.Process // unpinned backend; nil before the first such case
	roams   netip.AddrPort  // its address
	// identities are made on first use.
	identities map[cases.Key]*identity.Identity
}

// New starts the backend; Close ends all processes.
func New(opts Options) (*Runner, error) {
	r := &Runner{opts: opts, identities: map[cases.Key]*identity.Identity{}}
	port, err := r.ports.Take()
	if err != nil {
		return nil, err
	}
	on := netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), port)
	r.backend, r.address, err = r.begin(opts.BackendCPU, "backend", on)
	return r, err
}

// begin starts a backend in one of the roles of this program.
func (r *Runner) begin(cpu int, role string, on netip.AddrPort) (p *launch.Process, at netip.AddrPort, err error) {
	if p, err = self(cpu, role, on.String()); err != nil {
		return nil, at, err
	}
	line, err := within(5*time.Second, func() (string, error) {
		return bufio.NewReader(p.Out).ReadString('\n')
	})
	if err != nil {
		return nil, at, errors.Join(fmt.Errorf("backend did not start: %w", err), p.Stop())
	}
	if at, err = netip.ParseAddrPort(strings.TrimSpace(line)); err != nil {
		return nil, at, errors.Join(err, p.Stop())
	}
	return p, at, nil
}

// Close ends the backends.
func (r *Runner) Close() error {
	var problems error
	for _, p := range r.backends() {
		problems = errors.Join(problems, p.Stop())
	}
	return problems
}

// self starts this program in a role, pinned, with pipes.
func self(cpu int, args ...string) (*launch.Process, error) {
	return launch.Start(launch.Options{Path: "/proc/self/exe", Args: args, CPU: cpu, Talk: true, Env: []string{"GOMAXPROCS=1"}})
}

// within bounds a call that may block. The goroutine of a blocked call continues until
// its source is closed, e.g. when the process it reads from ends.
func within[T any](limit time.Duration, f func() (T, error)) (T, error) {
	type outcome struct {
		value T
		err   error
	}
	done := make(chan outcome, 1)
	go func() {
		v, err := f()
		done <- outcome{v, err}
	}()
	select {
	case o := <-done:
		return o.value, o.err
	case <-time.After(limit):
		var zero T
		return zero, fmt.Errorf("nothing came within %s", limit)
	}
}

// Run runs one case. Problem describes a failure; an error is returned only if the
// context ended.
func (r *Runner) Run(ctx context.Context, c cases.Case) (report.Case, error) {
	out := report.Case{Case: c}
	run := map[cases.Kind]func(context.Context, cases.Case, []peers.Contestant) ([]report.Round, error){
		cases.Throughput: r.throughput, cases.Slow: r.throughput, cases.Idle: r.idle, cases.Rest: r.rest,
	}[c.Kind]
	line := r.lineup(c)
	if err := r.identify(c.Key); err != nil {
		return out, err
	}
	if err := r.provide(c); err != nil {
		return out, err
	}
	rounds, err := run(ctx, c, line)
	out.Rounds = rounds
	if ctx.Err() != nil {
		return out, ctx.Err()
	}
	if err != nil {
		out.Problem = err.Error()
	}
	out.Summarize(names(line), names(line))
	return out, nil
}

// identify makes the certificate of a kind of key, once per run.
func (r *Runner) identify(kind cases.Key) (err error) {
	if kind != "" && r.identities[kind] == nil {
		r.identities[kind], err = identity.New(r.opts.Dir, kind)
	}
	return err
}

// lineup returns the contestants, with a plain Sluice in cases about rules or features.
func (r *Runner) lineup(c cases.Case) []peers.Contestant {
	line := append([]peers.Contestant(nil), r.opts.Contestants...)
	for _, one := range r.opts.Contestants {
		if (c.Rules != cases.One || c.Feature != "") && one.Name == report.Subject {
			one.Name, one.Plain = report.Plain, true
			line = append(line, one)
		}
	}
	return line
}

func names(line []peers.Contestant) []string {
	out := make([]string, len(line))
	for i, c := range line {
		out[i] = c.Name
	}
	return out
}

// entrant is a contestant started for a case.
type entrant struct {
	peers.Contestant
	*launch.Process
	port   uint16
	dir    string
	log    *os.File
	access lineCounter // of its access log
	rate   float64     // requests per second of the previous slice; 0: unknown
	// absent is the reason why it was not started; then only Contestant is valid too.
	absent error
}

// start configures and starts one contestant.
func (r *Runner) start(ctx context.Context, c cases.Case, who peers.Contestant) (*entrant, error) {
	port, err := r.ports.Take()
	if err != nil {
		return nil, err
	}
	control, err := r.ports.Take()
	if err != nil {
		return nil, err
	}
	// Short, because unix sockets in it must fit into 108 bytes. Readable by all, because
	// an unprivileged engine needs access.
	dir, err := os.MkdirTemp(r.opts.Dir, who.Name+"-")
	if err != nil {
		return nil, err
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		return nil, err
	}
	log, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		return nil, err
	}
	p, err := who.Start(ctx, peers.Setup{
		Port: port, Control: control, Backend: r.backendOf(c), Set: c.Rules, Equal: r.opts.Equal,
		Secure: c.Secure, Identity: r.identities[c.Key], HTTP2: c.Streams > 0, Feature: c.Feature, Relay: c.Relay, Datagrams: c.Window > 0,
		BufferSize: c.BufferSize, Clients: c.Connections + c.Slow, Descriptors: r.opts.Descriptors,
		Dir: dir, CPU: pin(c, r.opts.ProxyCPU), Default: c.Default,
	}, log)
	if err != nil {
		r.progress("%-18s %s did not start: %v", c.Name, who.Name, err)
		if !errors.Is(err, peers.ErrCannot) {
			r.progress("%s printed:\n%s", who.Name, tail(log))
			err = fmt.Errorf("did not start: %w", err)
		}
		return nil, errors.Join(err, log.Close())
	}
	e := &entrant{Contestant: who, Process: p, port: port, dir: dir, log: log}
	e.access.pattern = who.AccessLog(dir, log.Name())
	return e, nil
}

// fail records why a slice has no value.
func fail(s *report.Slice, err error) {
	s.Reason, s.Unsupported = err.Error(), errors.Is(err, peers.ErrCannot)
}

// stop ends a contestant and removes its files.
func (e *entrant) stop() error {
	return errors.Join(e.Process.Stop(), e.log.Close(), os.RemoveAll(e.dir))
}

// startAll starts all contestants. Those that fail to start are marked absent, and the
// report says so. It is an error only if none starts.
func (r *Runner) startAll(ctx context.Context, c cases.Case, line []peers.Contestant) ([]*entrant, error) {
	var out []*entrant
	var problems error
	present := 0
	for _, who := range line {
		e, err := r.start(ctx, c, who)
		if ctx.Err() != nil {
			return nil, errors.Join(ctx.Err(), stopAll(out))
		}
		if err != nil {
			e = &entrant{Contestant: who, absent: err}
			problems = errors.Join(problems, fmt.Errorf("%s: %w", who.Name, err))
		} else {
			present++
		}
		out = append(out, e)
	}
	if present == 0 {
		return nil, problems
	}
	return out, nil
}

func stopAll(all []*entrant) error {
	var problems error
	for _, e := range all {
		if e.absent == nil {
			problems = errors.Join(problems, e.stop())
		}
	}
	return problems
}

// tail returns the end of a contestant's output.
func tail(log *os.File) string {
	text, err := os.ReadFile(log.Name())
	if err != nil || len(text) == 0 {
		return "(it printed nothing)"
	}
	return string(text[max(0, len(text)-2000):])
}

func (r *Runner) progress(format string, args ...any) {
	fmt.Fprintf(r.opts.Progress, format+"\n", args...)
}
