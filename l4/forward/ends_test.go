package forward_test

import (
	"io"
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/accesslog"
	"github.com/sluicelb/sluice/core/enginetest"
	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/health"
	"github.com/sluicelb/sluice/core/porttest"
	"github.com/sluicelb/sluice/core/stats"
)

func TestRecordsDescribeConnectionEnds(t *testing.T) {
	told := serve(t, func(c *net.TCPConn) { // it sends first, and resets the connection after "end"
		_, _ = io.WriteString(c, "hello\n")
		b := make([]byte, 3)
		if _, err := io.ReadFull(c, b); err == nil && string(b) == "end" {
			_ = c.SetLinger(0)
		}
	})
	full := porttest.Full(t).String()
	trusting := func(f *farm.Farm) {
		f.L4.ProxyIn, f.L4.Trusted = farm.ProxyInRequired, []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
	}
	named := func(f *farm.Farm) { f.L4.Backends[0].ServerNames = []string{"shop.example.com"} }
	reset := func(_ *appliance, c *net.TCPConn) { _ = c.SetLinger(0); _ = c.Close() }
	says := func(text string) func(*appliance, *net.TCPConn) {
		return func(_ *appliance, c *net.TCPConn) { _, _ = io.WriteString(c, text) }
	}
	later := func(d time.Duration) func(*appliance, *net.TCPConn) {
		return func(a *appliance, _ *net.TCPConn) {
			enginetest.Advance(a.loops[0], d-time.Second)
			if n := a.stats().Timeouts; n != 0 {
				a.t.Errorf("%d were ended a second before %v", n, d)
			}
			enginetest.Advance(a.loops[0], 2*time.Second)
		}
	}
	begun := func(then func(*appliance, *net.TCPConn)) func(*appliance, *net.TCPConn) {
		return func(a *appliance, c *net.TCPConn) {
			_, _ = io.WriteString(c, "PROXY TCP4 192.0.2.7")
			a.Turn() // it was read, and more is expected
			then(a, c)
		}
	}
	halves := func(then func(*appliance, *net.TCPConn)) func(*appliance, *net.TCPConn) {
		return begun(func(a *appliance, c *net.TCPConn) {
			_, _ = io.WriteString(c, " 192.0.2.1 1 2\r\n")
			then(a, c)
		})
	}
	for name, c := range map[string]struct {
		backend string
		change  func(f *farm.Farm)
		heard   bool // the backend received the client's data
		then    func(a *appliance, c *net.TCPConn)
		by      accesslog.Flags
		class   string
		reason  string
		counted stats.Farm
		logged  string
	}{
		"by the backend": {backend: told.at(), heard: true, then: says("end"), by: accesslog.AbortedByBackend, reason: "the backend reset the connection"},
		"by the client":  {backend: told.at(), heard: true, then: reset, by: accesslog.AbortedByClient, reason: "the client reset the connection"},
		"while it is connected": {backend: full, change: trusting, then: halves(func(a *appliance, c *net.TCPConn) {
			eventually(a.t, "it is connected for", func() bool { return a.backend(1).Pending == 1 })
			reset(a, c)
		}), by: accesslog.AbortedByClient, reason: "the client left before a backend was connected", counted: stats.Farm{ClientAborts: 1}},
		"by order":                 {backend: told.at(), heard: true, then: func(a *appliance, _ *net.TCPConn) { a.engine.FlushConnections(nil) }, by: accesslog.AbortedHere, reason: "an operator ended it"},
		"for being idle":           {backend: told.at(), change: func(f *farm.Farm) { f.L4.IdleTimeout = 50 }, heard: true, then: later(50 * time.Second), by: accesslog.AbortedHere, class: "timeout", reason: "neither side sent anything for the idle time of the farm", counted: stats.Farm{Timeouts: 1}},
		"for a hello that is late": {backend: told.at(), change: named, then: later(10 * time.Second), by: accesslog.AbortedHere, class: "timeout", reason: "client did not say in time what it has to", counted: stats.Farm{Timeouts: 1}, logged: "client did not say in time what it has to"},
		"for half a hello":         {backend: told.at(), change: named, then: func(_ *appliance, c *net.TCPConn) { _, _ = c.Write([]byte{22, 3, 1, 0}); _ = c.CloseWrite() }, by: accesslog.AbortedHere, class: "bad-client-hello", reason: "connection ended within the ClientHello", counted: stats.Farm{BadRequests: 1}, logged: "connection ended within the ClientHello"},
		"for no PROXY header":      {backend: told.at(), change: trusting, then: says("GET / HTTP/1.1\r\n"), by: accesslog.AbortedHere, class: "bad-proxy-header", counted: stats.Farm{BadRequests: 1}, logged: "class=bad-proxy-header"},
		"within a PROXY header":    {backend: told.at(), change: trusting, then: begun(reset), by: accesslog.AbortedByClient, reason: "the client left before it said what it has to"},
		"for half a PROXY header":  {backend: told.at(), change: trusting, then: begun(func(_ *appliance, c *net.TCPConn) { _ = c.CloseWrite() }), by: accesslog.AbortedHere, class: "bad-proxy-header", counted: stats.Farm{BadRequests: 1}},
		"for being one too many": {backend: told.at(), change: func(f *farm.Farm) { f.L4.MaxConnections = 1 }, heard: true, then: func(a *appliance, _ *net.TCPConn) {
			if more, err := net.Dial("tcp", address(a.published[0])); err == nil { // the reset may be faster
				_ = more.Close()
			}
		}, by: accesslog.AbortedHere, class: "too-many-clients", reason: "as many connections as the farm may have", logged: "as many connections as the farm may have"},
		"for want of a backend": {backend: told.at(), change: func(f *farm.Farm) { f.L4.Backends[0].Maintenance = farm.MaintenanceCut }, then: func(*appliance, *net.TCPConn) {}, by: accesslog.AbortedHere, class: "no-backend", reason: "no backend can be used now: none is up and out of maintenance", counted: stats.Farm{NoBackend: 1}, logged: "no backend can be used now"},
		"for a backend that refuses": {backend: refusedAddr(t), then: func(*appliance, *net.TCPConn) {}, by: accesslog.AbortedHere, class: "no-backend",
			reason: "no backend can be used now: the last one tried refused the connection", counted: stats.Farm{NoBackend: 1}, logged: "refused the connection"},
		"for a backend that does not accept": {backend: full, then: func(a *appliance, _ *net.TCPConn) {
			eventually(a.t, "it is connected for", func() bool { return a.backend(1).Pending == 1 })
			enginetest.Advance(a.loops[0], time.Minute)
		}, by: accesslog.AbortedHere, class: "no-backend", reason: "no backend can be used now: the last one tried did not accept the connection in time", counted: stats.Farm{NoBackend: 1}},
		"with its backend": {backend: told.at(), heard: true, then: func(a *appliance, _ *net.TCPConn) {
			f := a.published[0].Clone()
			f.L4.Backends[0].Maintenance = farm.MaintenanceCut
			a.publish(f)
		}, by: accesslog.AbortedHere, reason: "the backend was deleted, cut or changed"},
		"with its backend, by a check": {backend: told.at(), heard: true, then: func(a *appliance, _ *net.TCPConn) {
			a.health.SetGuardian(1, health.Down, time.Now())
			a.engine.FlushConnections([]uint32{1})
		}, by: accesslog.AbortedHere, reason: "the backend went down"},
		"with its farm": {backend: told.at(), heard: true, then: func(a *appliance, _ *net.TCPConn) {
			f := a.published[0].Clone()
			f.Stopped = true
			a.publish(f)
		}, by: accesslog.AbortedHere, reason: "the farm does not use the port any more, or this process stops"},
	} {
		t.Run(name, func(t *testing.T) {
			a := newAppliance(t, 1)
			next := recorded(t, a)
			f := a.farm(c.backend)
			f.L4.Logs = true
			if c.change != nil {
				c.change(&f)
			}
			a.publish(f)
			client, err := net.Dial("tcp", address(f))
			if err == nil {
				defer client.Close()
				if c.heard {
					line(t, client)
				} else {
					eventually(t, "it is there", func() bool { return a.stats().Connections > 0 })
				}
				c.then(a, client.(*net.TCPConn))
			} else if c.class != "no-backend" { // then the reset may be faster
				t.Fatal(err)
			}
			got, _ := next()
			class := ""
			if got.Rejection > 0 {
				class = a.segment.Classes()[got.Rejection-1]
			}
			reason := a.reasons[0]
			if got.Flags&^accesslog.Retried != c.by|accesslog.Logged || class != c.class || c.reason != "" && reason != c.reason || reason == "" {
				t.Errorf("the record has flags %b, class %q and reason %q: %+v", got.Flags, class, reason, got)
			}
			s := a.stats()
			if n := (stats.Farm{ClientAborts: s.ClientAborts, Timeouts: s.Timeouts, BadRequests: s.BadRequests, NoBackend: s.NoBackend}); n != c.counted {
				t.Errorf("counted %+v, want %+v", n, c.counted)
			}
			if c.logged != "" {
				eventually(t, "the log says so", func() bool { return a.Log.Has(c.logged) })
			}
		})
	}
}

func TestRecordsDescribeFlowEnds(t *testing.T) {
	for name, c := range map[string]struct {
		change func(f *farm.Farm)
		then   func(a *appliance, f farm.Farm, c *net.UDPConn, back *sink)
		by     accesslog.Flags
		reason string
	}{
		"by the backend": {nil, func(a *appliance, _ farm.Farm, c *net.UDPConn, back *sink) {
			_ = back.Close()
			_, _ = io.WriteString(c, "is anybody there?")
		}, accesslog.AbortedByBackend, "the backend refuses datagrams: its port is closed"},
		"by order": {nil, func(a *appliance, _ farm.Farm, _ *net.UDPConn, _ *sink) { a.engine.FlushConnections(nil) }, accesslog.AbortedHere, "an operator ended it"},
		"by time": {func(f *farm.Farm) { f.L4.IdleTimeout = 50 }, func(a *appliance, _ farm.Farm, _ *net.UDPConn, _ *sink) {
			enginetest.Advance(a.loops[0], 49*time.Second)
			if a.flows() != 1 {
				a.t.Error("it ended before its time")
			}
			enginetest.Advance(a.loops[0], 3*time.Second)
		}, 0, ""},
		"with its port": {nil, func(a *appliance, f farm.Farm, _ *net.UDPConn, _ *sink) {
			f.Stopped = true
			a.publish(f)
		}, accesslog.AbortedHere, "the farm does not use the port any more, or this process stops"},
	} {
		t.Run(name, func(t *testing.T) {
			a := newAppliance(t, 1)
			next := recorded(t, a)
			back := answering(t, same)
			f := a.farmUDP(back.at())
			f.L4.Logs = true
			if c.change != nil {
				c.change(&f)
			}
			a.publish(f)
			client := a.dialUDP(f)
			ask(t, client, "hello")
			c.then(a, f, client, back)
			got, _ := next()
			if got.Flags != c.by|accesslog.Logged || got.Rejection != 0 || got.Proto != accesslog.ProtoUDP || a.reasons[0] != c.reason {
				t.Errorf("the record is %+v, reason %q", got, a.reasons[0])
			}
		})
	}
}
