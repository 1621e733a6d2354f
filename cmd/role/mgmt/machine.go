package mgmt

import (
	"context"
	"crypto/x509"
	"errors"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"slices"

	"github.com/sluicelb/sluice/cmd/supervisor"
	"github.com/sluicelb/sluice/mgmt/api/system"
	"github.com/sluicelb/sluice/mgmt/apply"
	"github.com/sluicelb/sluice/mgmt/certs"
	"github.com/sluicelb/sluice/mgmt/machine"
	"github.com/sluicelb/sluice/mgmt/validate"
	"github.com/sluicelb/sluice/sysnet/settings"
)

// services is for reading the machine's state.
var services settings.Machine

// machine returns the part that applies machine settings through the supervisor.
func (m *manager) machine(secrets apply.Secrets) apply.Machine {
	return machine.New(machine.Options{
		Request: m.Line.HostRequest, Secrets: secrets, Keeper: m.store, Prefixes: validate.SystemPrefixes, Listeners: listeners,
		Services: &services, Log: slog.Default(),
	})
}

// newListener returns the part that moves the API's network listener.
func (m *manager) newListener(book *certs.Book) (*machine.Listener, error) {
	l, err := m.Listener("api")
	if err != nil {
		return nil, err
	}
	defer l.Close() // a duplicate; serve takes its own
	now := l.Addr().(*net.TCPAddr).AddrPort()
	start, err := netip.ParseAddrPort(os.Getenv(supervisor.APIVariable))
	if err != nil {
		start = now
	}
	return machine.NewListener(machine.ListenerOptions{
		Start: start, Now: now, Certificate: book.Server, Prefixes: validate.SystemPrefixes, Listeners: listeners,
		Open: func(ctx context.Context, address string) (net.Listener, error) {
			f, err := m.Line.ListenAPI(ctx, address)
			if err != nil {
				return nil, err
			}
			defer f.Close()
			return net.FileListener(f)
		},
		Move: func(ctx context.Context, l net.Listener) error {
			if server := m.server.Load(); server != nil {
				return server.Move(ctx, l)
			}
			_ = l.Close()
			return errors.New("the API is not served yet")
		},
	}), nil
}

// ownAddress returns the API's initial network address, which farms must not use, like the
// one it is moved to.
func (m *manager) ownAddress() []netip.AddrPort { return []netip.AddrPort{m.listener.Start()} }

// chosen returns the configured certificate of the API, or nil.
func (m *manager) chosen() *x509.Certificate {
	if c := m.listener.Chosen(); c != nil {
		return c.Leaf
	}
	return nil
}

// servesDatagrams reports whether a local program listens for datagrams at an address, and
// whether that is known.
func servesDatagrams(at netip.AddrPort) (serves, known bool) {
	list, err := listeners()
	return slices.ContainsFunc(list, func(l apply.Listener) bool {
		bound := l.Addr.Addr()
		return l.UDP && l.Addr.Port() == at.Port() && (bound == at.Addr() || bound.IsUnspecified() || at.Addr().IsUnspecified())
	}), err == nil
}

// machineState returns the sources of the machine's state.
func (m *manager) machineState() system.Machine {
	return system.Machine{
		Agent:    m.agent.State,
		Serves:   servesDatagrams,
		Syslog:   m.syslogServers,
		Listener: func() string { return "https://" + m.listener.Address().String() },
		NameServers: func() ([]string, string) {
			found := services.Look()
			return found.NameServers, found.ManagedBy
		},
		Time: func(ctx context.Context) system.Timekeeping {
			out := system.Timekeeping{Service: services.Look().Time, Synchronised: "unknown"}
			kept := services.Time(ctx)
			if kept.Known {
				out.Synchronised, out.Source = "false", kept.Source
			}
			if kept.Yes {
				out.Synchronised = "true"
			}
			if kept.HasOffset {
				seconds := kept.Offset.Seconds()
				out.Offset = &seconds
			}
			return out
		},
	}
}

// syslogServers returns the delivery state of remote syslog servers.
func (m *manager) syslogServers() (out []system.SyslogServer) {
	for _, s := range m.remote.Stats() {
		one := system.SyslogServer{Server: s.Target, Sent: s.Sent, Dropped: s.Dropped, Waiting: s.Waiting, Reconnects: s.Reconnects, Problem: s.Problem, LastError: s.LastError}
		if s.LastError != "" {
			one.LastErrorTime = &s.LastErrorAt
		}
		out = append(out, one)
	}
	return out
}
