// Package snmp tells snmpd about farms, backends and the appliance: it is a
// subagent (AgentX, RFC 2741) that takes over the objects of SLUICE-MIB. snmpd asks,
// knows who may, and speaks SNMP; here nothing listens.
//
// A session is one connection, served by the goroutine of [Agent.Run], which does nothing
// while the agent is not wanted. An snmpd that is away is tried again with growing
// pauses. Answers are made of a copy of the data that is read at most every two
// seconds: a walk sees rows by their stable numbers and costs no lock of anybody.
//
// The packets are those of go-agentx; its client is not used, because it ends the process
// when the connection breaks.
package snmp

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"sync"
	"syscall"
	"time"

	"github.com/sluicelb/sluice/core/farm"
)

// Options is what an Agent works with; Socket, Read and Log must be set.
type Options struct {
	Socket string // of snmpd's master agent
	Read   func() Data
	Log    *slog.Logger
	// FirstPause and LongestPause are how long is waited for an snmpd that is away;
	// zero means a second and a minute.
	FirstPause, LongestPause time.Duration
}

// maxAge is how old the data may be that is told.
const maxAge = 2 * time.Second

// Agent is the subagent; make it with New.
type Agent struct {
	options Options
	wanted  chan bool // holds the newest wish

	mu    sync.Mutex
	state string
	data  Data
	until time.Time
}

// New returns an Agent nobody wants yet.
func New(o Options) *Agent {
	if o.FirstPause == 0 {
		o.FirstPause, o.LongestPause = time.Second, time.Minute
	}
	return &Agent{options: o, wanted: make(chan bool, 1), state: "off"}
}

// State is what became of the subagent, in words.
func (a *Agent) State() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.state
}

func (a *Agent) be(state string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.state = state
}

// Check implements apply.Machine: there is nothing to refuse.
func (a *Agent) Check(context.Context, *farm.System, *farm.System) error { return nil }

// Settle implements apply.Machine. Whether snmpd is there shows in State: it may be
// started at any time.
func (a *Agent) Settle(_ context.Context, s *farm.System) map[string]string {
	select {
	case <-a.wanted: // an older wish
	default:
	}
	a.wanted <- s.SNMP.On
	return nil
}

// Run connects to snmpd while it is wanted, until ctx ends.
func (a *Agent) Run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case on := <-a.wanted:
			for on {
				on = a.attend(ctx)
			}
			a.be("off")
		}
	}
}

// attend serves snmpd until it is not wanted any more, or is to begin anew.
func (a *Agent) attend(ctx context.Context) (again bool) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		a.keep(ctx)
	}()
	select {
	case again = <-a.wanted:
	case <-ctx.Done():
	}
	cancel()
	<-ended
	return again
}

// keep connects again and again.
func (a *Agent) keep(ctx context.Context) {
	for pause := a.options.FirstPause; ctx.Err() == nil; pause = min(2*pause, a.options.LongestPause) {
		served, err := a.session(ctx)
		if ctx.Err() != nil {
			return
		}
		a.be("waits for snmpd: " + explain(err))
		if served {
			pause = a.options.FirstPause
			a.options.Log.Warn("snmpd is gone, it is tried again", "reason", err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
	}
}

// explain says what an error of connecting means.
func explain(err error) string {
	switch {
	case errors.Is(err, syscall.ENOENT), errors.Is(err, syscall.ECONNREFUSED):
		return "it does not run, or has not read its settings"
	case errors.Is(err, syscall.EACCES):
		return "its socket for subagents is not open to Sluice's user"
	case err == nil:
		return "it ended"
	}
	return err.Error()
}

// session is one connection; served tells that snmpd took it.
func (a *Agent) session(ctx context.Context) (served bool, err error) {
	var d net.Dialer
	dialing, cancel := context.WithTimeout(ctx, openTime)
	defer cancel()
	conn, err := d.DialContext(dialing, "unix", a.options.Socket)
	if err != nil {
		return false, err
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	s := &session{conn: conn, data: a.read}
	if err := s.open(); err != nil {
		return false, err
	}
	a.be("connected to snmpd")
	a.options.Log.Info("farms and backends are told by SNMP")
	return true, s.serve()
}

// read is the data, as of two seconds ago at most.
func (a *Agent) read() *Data {
	a.mu.Lock()
	defer a.mu.Unlock()
	if now := time.Now(); !now.Before(a.until) {
		a.data, a.until = a.options.Read(), now.Add(maxAge)
	}
	d := a.data
	return &d
}
