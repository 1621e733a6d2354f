// Package snmp exposes farms, backends and the appliance to snmpd. It is a subagent
// (AgentX, RFC 2741) that registers the objects of SLUICE-MIB. snmpd handles SNMP and
// access control; this package does not listen.
//
// A session is one connection, served by the goroutine of [Agent.Run], which is idle
// while the agent is disabled. If snmpd is down, connects are repeated with growing
// pauses. Responses use a copy of the data that is read at most every two seconds, so a
// walk sees rows by stable ID and needs no locks.
//
// The packets come from go-agentx. Its client is not used, because it exits the process
// when the connection fails.
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

// Options are the parameters of an Agent; Socket, Read and Log must be set.
type Options struct {
	Socket string // AgentX socket of snmpd
	Read   func() Data
	Log    *slog.Logger
	// FirstPause and LongestPause bound the pause between connects to snmpd; zero means a
	// second and a minute.
	FirstPause, LongestPause time.Duration
}

// maxAge bounds the age of the data.
const maxAge = 2 * time.Second

// Agent is the subagent. Use New to make one.
type Agent struct {
	options Options
	wanted  chan bool // holds the latest setting

	mu    sync.Mutex
	state string
	data  Data
	until time.Time
}

// New returns a disabled Agent.
func New(o Options) *Agent {
	if o.FirstPause == 0 {
		o.FirstPause, o.LongestPause = time.Second, time.Minute
	}
	return &Agent{options: o, wanted: make(chan bool, 1), state: "off"}
}

// State returns the state of the subagent in words.
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

// Check implements apply.Machine. It accepts every change.
func (a *Agent) Check(context.Context, *farm.System, *farm.System) error { return nil }

// Settle implements apply.Machine. A missing snmpd shows in State, because it may be
// started at any time.
func (a *Agent) Settle(_ context.Context, s *farm.System) map[string]string {
	select {
	case <-a.wanted: // an older setting
	default:
	}
	a.wanted <- s.SNMP.On
	return nil
}

// Run connects to snmpd while enabled, until ctx ends.
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

// attend serves snmpd until the setting changes. again is true if the agent must restart.
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

// keep connects repeatedly.
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

// explain converts a connect error into words.
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

// session handles one connection. served is true if snmpd accepted it.
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

// read returns the data, at most maxAge old.
func (a *Agent) read() *Data {
	a.mu.Lock()
	defer a.mu.Unlock()
	if now := time.Now(); !now.Before(a.until) {
		a.data, a.until = a.options.Read(), now.Add(maxAge)
	}
	d := a.data
	return &d
}
