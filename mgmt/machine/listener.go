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

// ListenerOptions is what a Listener works with; all must be set.
type ListenerOptions struct {
	// Start is where the API listens as long as nothing else is set.
	Start netip.AddrPort
	// Now is where it listens at first: somewhere else, if a process before this one
	// moved it.
	Now netip.AddrPort
	// Open has another listener opened by a process that may; Move has the API answer
	// there, and no longer where it did.
	Open func(ctx context.Context, address string) (net.Listener, error)
	Move func(context.Context, net.Listener) error
	// Certificate returns one that may be chosen.
	Certificate func(name string) (*tls.Certificate, error)
	Prefixes    func() []netip.Prefix
	Listeners   func() ([]apply.Listener, error)
}

// Listener is the apply.Machine of where API and web interface listen. It is always
// TLS, and asks who comes.
type Listener struct {
	options ListenerOptions

	mu     sync.Mutex // guards what follows
	now    netip.AddrPort
	chosen string // empty: the appliance's own
}

// NewListener returns a Listener; nothing was moved or chosen yet.
func NewListener(o ListenerOptions) *Listener { return &Listener{options: o, now: o.Now} }

// Start is where the API listens as long as nothing else is set.
func (l *Listener) Start() netip.AddrPort { return l.options.Start }

// Address is where the API listens now.
func (l *Listener) Address() netip.AddrPort {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.now
}

// Chosen is the certificate that is set, as it is now, nil when none is or it cannot
// be used.
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
		return nil // opening it will tell
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

// sameListener compares addresses as listings have them: those of every address are
// of either family.
func sameListener(a, b netip.AddrPort) bool {
	return a.Port() == b.Port() && (a.Addr() == b.Addr() || a.Addr().IsUnspecified() && b.Addr().IsUnspecified())
}

// Settle implements apply.Machine. The new listener takes connections before the one
// before is closed, and who asked for the change is answered on that.
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

// choose takes the certificate of that name. While it cannot be used, the appliance's
// own is.
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
