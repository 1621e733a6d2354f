package machine

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"sync"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/apply"
)

// ListenerOptions holds the parameters of a Listener; all must be set.
type ListenerOptions struct {
	// Start is the default address of the API.
	Start netip.AddrPort
	// Now is the initial address, which differs from Start if an earlier process moved the
	// API.
	Now netip.AddrPort
	// Open opens another listener through a process with the privilege. Move makes the API
	// answer there instead of its previous address.
	Open func(ctx context.Context, address string) (net.Listener, error)
	Move func(context.Context, net.Listener) error
	// Certificate returns a certificate that the settings may name.
	Certificate func(name string) (*tls.Certificate, error)
	Prefixes    func() []netip.Prefix
	Listeners   func() ([]apply.Listener, error)
}

// Listener is the apply.Machine for the address of API and web interface. It always uses
// TLS and authenticates its clients.
type Listener struct {
	options ListenerOptions

	mu     sync.Mutex // guards the following fields
	now    netip.AddrPort
	chosen string // empty: the appliance's own
}

// NewListener returns a Listener without any changes.
func NewListener(o ListenerOptions) *Listener { return &Listener{options: o, now: o.Now} }

// Start returns the default address of the API.
func (l *Listener) Start() netip.AddrPort { return l.options.Start }

// Address returns the current address of the API.
func (l *Listener) Address() netip.AddrPort {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.now
}

// Chosen returns the current version of the certificate in the settings, nil if none is set
// or it is unusable.
func (l *Listener) Chosen() *tls.Certificate {
	l.mu.Lock()
	name := l.chosen
	l.mu.Unlock()
	if name == "" {
		return nil
	}
	c, err := l.options.Certificate(name)
	if err != nil {
		return nil
	}
	return c
}

// Check implements apply.Machine.
func (l *Listener) Check(_ context.Context, old, new *farm.System) error {
	was, is := old.API.At(l.options.Start), new.API.At(l.options.Start)
	if was == is {
		return nil
	}
	local := func(p netip.Prefix) bool { return p.Addr() == is.Addr() }
	if a := is.Addr(); !a.IsUnspecified() && !a.IsLoopback() && !slices.ContainsFunc(l.options.Prefixes(), local) {
		return refused("http", "ip", "ip must be an address of this machine or *, got %s: nobody could reach the API there", a)
	}
	list, err := l.options.Listeners()
	if err != nil {
		return nil // opening it will show
	}
	now := l.Address()
	for _, other := range list {
		if !other.UDP && !sameListener(other.Addr, now) && overlap(other.Addr, is) {
			return refused("http", "port", "ip and port must be free, got %s: another program listens on %s", is, other)
		}
	}
	return nil
}

func overlap(a, b netip.AddrPort) bool {
	x, y := a.Addr().Unmap(), b.Addr().Unmap()
	return a.Port() == b.Port() && (x == y || x.IsUnspecified() && (x.Is6() || y.Is4()) || y.IsUnspecified() && (y.Is6() || x.Is4()))
}

// sameListener compares addresses as listings have them: the unspecified addresses of both
// families are equal.
func sameListener(a, b netip.AddrPort) bool {
	return a.Port() == b.Port() && (a.Addr() == b.Addr() || a.Addr().IsUnspecified() && b.Addr().IsUnspecified())
}

// Settle implements apply.Machine. The new listener accepts connections before the previous
// one is closed, and the previous one returns the response to the change.
func (l *Listener) Settle(ctx context.Context, s *farm.System) map[string]string {
	err := l.choose(s.API.Certificate)
	if moved := l.move(ctx, s.API.At(l.options.Start)); moved != nil {
		err = moved
	}
	if err != nil {
		return map[string]string{"http": err.Error()}
	}
	return nil
}

// choose selects the certificate of that name. While it cannot be used, the appliance's own
// one is used.
func (l *Listener) choose(name string) error {
	l.mu.Lock()
	l.chosen = name
	l.mu.Unlock()
	if name == "" {
		return nil
	}
	_, err := l.options.Certificate(name)
	return err
}

func (l *Listener) move(ctx context.Context, to netip.AddrPort) error {
	if sameListener(l.Address(), to) && l.Address().Addr().Is4() == to.Addr().Is4() {
		return nil
	}
	address := to.String()
	if to == l.options.Start {
		address = ""
	}
	opened, err := l.options.Open(ctx, address)
	if err != nil {
		return fmt.Errorf("%w; it stays on %s", err, l.Address())
	}
	at := opened.Addr().(*net.TCPAddr).AddrPort()
	if err := l.options.Move(ctx, opened); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.now = at
	return nil
}

var _ apply.Machine = (*Listener)(nil)
