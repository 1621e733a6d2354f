package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/sluicelb/sluice/bench/cases"
	"github.com/sluicelb/sluice/bench/launch"
	"github.com/sluicelb/sluice/bench/peers"
	"github.com/sluicelb/sluice/bench/report"
	"github.com/sluicelb/sluice/bench/rounds"
)

// choices are the flags of a run.
type choices struct {
	rounds, restarts                int
	slice                           time.Duration
	cases, peers, json, work        string
	client, wrk, h2load             string
	sluice, vs, haproxy, nginx      string
	commands                        list
	proxyCPU, clientCPU, backendCPU int
	quick, plain, list, strict      bool
}

// list is a flag that may be given several times.
type list []string

func (l *list) String() string     { return strings.Join(*l, " ") }
func (l *list) Set(s string) error { *l = append(*l, s); return nil }

func parse(args []string, errors io.Writer) (choices, error) {
	var c choices
	f := flag.NewFlagSet("bench", flag.ContinueOnError)
	f.SetOutput(errors)
	f.IntVar(&c.rounds, "rounds", 7, "rounds per case")
	f.DurationVar(&c.slice, "slice", time.Second, "how long one contestant is under load at a time")
	f.IntVar(&c.restarts, "restarts", 3, "how often the contestants are started anew within a case")
	f.StringVar(&c.cases, "case", "", "run the cases whose name matches this regex (see -list)")
	f.BoolVar(&c.quick, "quick", false, "a short look: 2 rounds of 300 ms, one start")
	f.BoolVar(&c.list, "list", false, "list the cases and end")
	f.StringVar(&c.json, "json", "", `file for the results; empty: bench/results/TIME.json; "none": no file`)
	f.StringVar(&c.peers, "peers", "sluice,haproxy,nginx", "contestants, in the order of the table")
	f.StringVar(&c.sluice, "sluice", "bin/sluice", "the Sluice to measure")
	f.StringVar(&c.vs, "vs", "", "another sluice binary, measured beside as contestant vs")
	f.StringVar(&c.haproxy, "haproxy", "haproxy", "the HAProxy to measure")
	f.StringVar(&c.nginx, "nginx", "nginx", "the nginx to measure")
	f.Var(&c.commands, "exec", "another contestant, as 'name=command {port} {backend} {dir}', for TLS cases with {cert} {key} or {pem}; may be repeated")
	f.StringVar(&c.work, "work", "bare", "what HAProxy and nginx do: bare (no rules, no headers) or equal (one rule, forwarded headers)")
	f.StringVar(&c.client, "client", "own", "load generator: own or wrk")
	f.StringVar(&c.wrk, "wrk", "wrk", "the wrk to use with -client wrk, in the cases it can do")
	f.StringVar(&c.h2load, "h2load", "h2load", "the h2load to use in HTTP/2 cases")
	f.IntVar(&c.proxyCPU, "proxy-cpu", -1, "CPU of the contestants (default: the first)")
	f.IntVar(&c.clientCPU, "client-cpu", -1, "CPU of the load generator (default: the last)")
	f.IntVar(&c.backendCPU, "backend-cpu", -1, "CPU of the backend (default: the client's)")
	f.BoolVar(&c.plain, "plain", false, "stay in this network namespace")
	f.BoolVar(&c.strict, "strict", false, "exit with status 1 when a target is missed")
	if err := f.Parse(args); err != nil {
		return c, err
	}
	if f.NArg() > 0 {
		return c, fmt.Errorf("unexpected argument %q", f.Arg(0))
	}
	return c, c.check()
}

func (c *choices) check() error {
	if c.quick {
		c.rounds, c.slice, c.restarts = 2, 300*time.Millisecond, 1
	}
	switch {
	case c.rounds < 1 || c.restarts < 1:
		return errors.New("-rounds and -restarts must be at least 1")
	case c.slice < 50*time.Millisecond || c.slice > time.Minute:
		return errors.New("-slice must be between 50ms and 1m")
	case c.work != "bare" && c.work != "equal":
		return fmt.Errorf("-work is %q instead of bare or equal", c.work)
	case c.client != "own" && c.client != "wrk":
		return fmt.Errorf("-client is %q instead of own or wrk", c.client)
	}
	return nil
}

// lineup returns the contestants with the paths of their programs.
func (c *choices) lineup() ([]peers.Contestant, error) {
	var wanted []peers.Contestant
	for name := range strings.SplitSeq(c.peers, ",") {
		switch name {
		case "":
		case report.Subject:
			wanted = append(wanted, peers.Contestant{Name: name, Kind: peers.Sluice, Path: c.sluice})
		case "haproxy":
			wanted = append(wanted, peers.Contestant{Name: name, Kind: peers.HAProxy, Path: c.haproxy})
		case "nginx":
			wanted = append(wanted, peers.Contestant{Name: name, Kind: peers.Nginx, Path: c.nginx})
		default:
			return nil, fmt.Errorf("-peers: %q is none of sluice, haproxy, nginx; use -exec for others", name)
		}
	}
	if c.vs != "" {
		wanted = append(wanted, peers.Contestant{Name: "vs", Kind: peers.Sluice, Path: c.vs})
	}
	for _, text := range c.commands {
		name, command, ok := strings.Cut(text, "=")
		if !ok || strings.ContainsAny(name, "/ ") {
			return nil, fmt.Errorf("-exec %q is not of the form name=command", text)
		}
		wanted = append(wanted, peers.Contestant{Name: name, Kind: peers.Command, Path: command})
	}
	return found(wanted)
}

func found(wanted []peers.Contestant) ([]peers.Contestant, error) {
	var problems error
	seen := map[string]bool{}
	for i, one := range wanted {
		if seen[one.Name] {
			problems = errors.Join(problems, fmt.Errorf("there are two contestants called %q", one.Name))
		}
		seen[one.Name] = true
		var err error
		wanted[i], err = one.Find()
		problems = errors.Join(problems, err)
	}
	if len(wanted) == 0 {
		problems = errors.New("there are no contestants")
	}
	return wanted, problems
}

// pins chooses the CPUs. The proxy gets its own CPU if there are two.
func (c *choices) pins() error {
	cpus, err := launch.CPUs()
	if err != nil {
		return err
	}
	choose := func(into *int, usual int) error {
		if *into < 0 {
			*into = usual
		}
		if !slices.Contains(cpus, *into) {
			return fmt.Errorf("CPU %d is not among those this program may use: %v", *into, cpus)
		}
		return nil
	}
	return errors.Join(choose(&c.proxyCPU, cpus[0]), choose(&c.clientCPU, cpus[len(cpus)-1]), choose(&c.backendCPU, c.clientCPU))
}

func (c *choices) settings() report.Settings {
	return report.Settings{
		Rounds: c.rounds, Slice: c.slice.Seconds(), Restarts: c.restarts, Work: c.work, Client: c.client,
		ProxyCPU: c.proxyCPU, ClientCPU: c.clientCPU, BackendCPU: c.backendCPU, Go: runtime.Version(),
	}
}

func (c *choices) options(dir string, line []peers.Contestant) (rounds.Options, error) {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return rounds.Options{}, err
	}
	o := rounds.Options{
		Rounds: c.rounds, Slice: c.slice, Restarts: c.restarts, Equal: c.work == "equal",
		ProxyCPU: c.proxyCPU, ClientCPU: c.clientCPU, BackendCPU: c.backendCPU,
		Descriptors: min(limit.Max, mostDescriptors), Dir: dir, Progress: os.Stderr, Contestants: line, H2load: c.h2load,
	}
	if c.client == "wrk" {
		o.Wrk = c.wrk
	}
	return o, nil
}

// mostDescriptors keeps runs on machines with other limits comparable.
const mostDescriptors = 20000

func (c *choices) file(started time.Time) string {
	switch c.json {
	case "none":
		return ""
	case "":
		return filepath.Join("bench", "results", started.Format("20060102-150405")+".json")
	}
	return c.json
}

func listCases(w io.Writer) {
	for _, c := range cases.All() {
		fmt.Fprintf(w, "%-20s %s\n", c.Name, c.Title)
	}
}
