package announce

import (
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mdlayher/packet"

	"github.com/sluicelb/sluice/sysnet/addr"
)

const (
	// Rounds is how often an address is announced: frames get lost, and some
	// equipment ignores news about an entry it has learned within a second.
	Rounds = 3
	// Interval is the time between two rounds.
	Interval = 1200 * time.Millisecond
)

// Announcer announces addresses that are new. Make one with New. Any goroutine
// may call its methods.
type Announcer struct {
	log  *slog.Logger
	stop chan struct{}
	busy sync.WaitGroup

	mu    sync.Mutex
	set   map[netip.Addr]bool // of the last Keep
	added map[netip.Addr]int  // how often by Add
	kept  map[netip.Addr]*Announced
}

// Announced is an address that was announced, or the reason why not.
type Announced struct {
	Addr      netip.Addr `json:"address"`
	Interface string     `json:"interface,omitempty"`
	// Rounds is how often it was announced until now.
	Rounds int `json:"rounds"`
	// Problem says why it was not; empty when it was.
	Problem string `json:"problem,omitempty"`
}

// New returns an announcer that keeps nothing yet.
func New(log *slog.Logger) *Announcer {
	return &Announcer{log: log, stop: make(chan struct{}), added: map[netip.Addr]int{}, kept: map[netip.Addr]*Announced{}}
}

// Close ends what is still being announced.
func (a *Announcer) Close() {
	a.mu.Lock()
	close(a.stop) // under the lock, so that Keep begins nothing after
	a.mu.Unlock()
	a.busy.Wait()
}

// Keep announces the addresses that were not kept before and forgets those
// that are not in the set any more, unless they were added. It returns at once.
func (a *Announcer) Keep(set []netip.Addr) {
	a.mu.Lock()
	defer a.mu.Unlock()
	old := a.set
	a.set = map[netip.Addr]bool{}
	for _, ip := range set {
		a.set[ip] = true
	}
	a.begin(set)
	for ip := range old {
		a.forget(ip)
	}
}

// Add announces an address that was not kept before; Drop takes an Add back.
func (a *Announcer) Add(ip netip.Addr) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.added[ip]++
	a.begin([]netip.Addr{ip})
}

// Drop takes back one Add.
func (a *Announcer) Drop(ip netip.Addr) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.added[ip]--; a.added[ip] <= 0 {
		delete(a.added, ip)
	}
	a.forget(ip)
}

// begin announces those that are not kept yet.
func (a *Announcer) begin(set []netip.Addr) {
	var fresh []netip.Addr
	for _, ip := range set {
		if a.kept[ip] == nil && ip.IsValid() && !ip.IsUnspecified() && !ip.IsLoopback() && !ip.IsMulticast() {
			a.kept[ip] = &Announced{Addr: ip}
			fresh = append(fresh, ip)
		}
	}
	select {
	case <-a.stop:
	default:
		if len(fresh) > 0 {
			a.busy.Go(func() { a.announce(fresh) })
		}
	}
}

// forget drops an address nobody wants.
func (a *Announcer) forget(ip netip.Addr) {
	if !a.set[ip] && a.added[ip] == 0 {
		delete(a.kept, ip)
	}
}

// List returns all that are kept, sorted.
func (a *Announcer) List() []Announced {
	a.mu.Lock()
	defer a.mu.Unlock()
	all := make([]Announced, 0, len(a.kept))
	for _, k := range a.kept {
		all = append(all, *k)
	}
	slices.SortFunc(all, func(x, y Announced) int { return x.Addr.Compare(y.Addr) })
	return all
}

func (a *Announcer) announce(set []netip.Addr) {
	for round := range Rounds {
		if round > 0 {
			select {
			case <-time.After(Interval):
			case <-a.stop:
				return
			}
		}
		locals, err := addr.List()
		if err != nil {
			a.log.Warn("addresses are not announced", "error", err)
			return
		}
		for _, ip := range set {
			iface, err := send(locals, ip)
			a.note(ip, iface, err, round == 0)
		}
	}
}

// note records what came of one round; the address may be forgotten meanwhile.
func (a *Announcer) note(ip netip.Addr, iface string, err error, first bool) {
	if err != nil && first {
		a.log.Warn("address not announced", "address", ip, "error", err)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	k := a.kept[ip]
	if k == nil {
		return
	}
	k.Interface, k.Problem = iface, ""
	if err != nil {
		k.Problem = err.Error()
		return
	}
	k.Rounds++
}

// Send announces one address once, on the interface that has it.
func Send(ip netip.Addr) error {
	locals, err := addr.List()
	if err != nil {
		return err
	}
	_, err = send(locals, ip)
	return err
}

func send(locals []addr.Local, ip netip.Addr) (iface string, err error) {
	err = fmt.Errorf("no interface of this machine has the address %s: %w", ip, addr.ErrNotLocal)
	for _, l := range locals {
		switch {
		case l.Addr != ip:
		case !l.Up:
			iface, err = l.Interface, fmt.Errorf("interface %s is down: %w", l.Interface, addr.ErrDown)
		case !l.Usable:
			iface, err = l.Interface, fmt.Errorf("another machine may have %s: %w", ip, addr.ErrDuplicate)
		case !l.Ethernet:
			iface, err = l.Interface, fmt.Errorf("interface %s has no MAC address", l.Interface)
		default:
			return l.Interface, sendOn(l.Interface, ip)
		}
	}
	return iface, err
}

func sendOn(name string, ip netip.Addr) error {
	iface, err := net.InterfaceByName(name)
	if err != nil {
		return fmt.Errorf("announcing %s: %w", ip, err)
	}
	all, err := frames(ip, iface.HardwareAddr, forwards(name))
	if err != nil {
		return err
	}
	// Protocol 0 sends like any other and receives nothing.
	c, err := packet.Listen(iface, packet.Raw, 0, nil)
	if err != nil {
		return fmt.Errorf("announcing %s on %s: %w", ip, name, err)
	}
	defer c.Close()
	for _, b := range all {
		if _, err := c.WriteTo(b, &packet.Addr{HardwareAddr: net.HardwareAddr(b[:6])}); err != nil {
			return fmt.Errorf("announcing %s on %s: %w", ip, name, err)
		}
	}
	return nil
}

// forwards reports whether the interface passes IPv6 packets on.
func forwards(iface string) bool {
	b, err := os.ReadFile("/proc/sys/net/ipv6/conf/" + iface + "/forwarding")
	return err == nil && strings.TrimSpace(string(b)) != "0"
}
