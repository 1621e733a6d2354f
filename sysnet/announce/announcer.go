package announce

import (
	"log/slog"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/sluicelb/sluice/sysnet/addr"
)

const (
	// Rounds is the number of announcements of an address. Frames get lost, and some
	// equipment ignores updates of an entry that it learned within the last second.
	Rounds = 3
	// Interval is the time between two rounds.
	Interval = 1200 * time.Millisecond
)

// Announcer announces new addresses. Create it with New. Its methods are safe for
// concurrent use.
type Announcer struct {
	log  *slog.Logger
	stop chan struct{}
	busy sync.WaitGroup

	mu    sync.Mutex
	set   map[netip.Addr]bool // of the last Keep
	added map[netip.Addr]int  // how often by Add
	kept  map[netip.Addr]*Announced
}

// Announced is an address with the state of its announcement.
type Announced struct {
	Addr      netip.Addr `json:"address"`
	Interface string     `json:"interface,omitempty"`
	// Rounds is the number of announcements so far.
	Rounds int `json:"rounds"`
	// Problem is the reason why the address was not announced, or "".
	Problem string `json:"problem,omitempty"`
	busy    bool   // it is being announced
}

// New returns an announcer without addresses.
func New(log *slog.Logger) *Announcer {
	return &Announcer{log: log, stop: make(chan struct{}), added: map[netip.Addr]int{}, kept: map[netip.Addr]*Announced{}}
}

// Close stops all announcements in progress.
func (a *Announcer) Close() {
	a.mu.Lock()
	close(a.stop) // under the lock, so that Keep begins nothing after
	a.mu.Unlock()
	a.busy.Wait()
}

// Keep sets the addresses: new ones are announced, missing ones are forgotten unless they
// were added with Add. It returns at once.
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

// Add announces an address that is not kept yet. Drop undoes one Add.
func (a *Announcer) Add(ip netip.Addr) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.added[ip]++
	a.begin([]netip.Addr{ip})
}

// Drop undoes one Add.
func (a *Announcer) Drop(ip netip.Addr) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.added[ip]--; a.added[ip] <= 0 {
		delete(a.added, ip)
	}
	a.forget(ip)
}

// begin announces the addresses that are not kept yet.
func (a *Announcer) begin(set []netip.Addr) {
	var fresh []netip.Addr
	for _, ip := range set {
		if a.kept[ip] == nil && ip.IsValid() && !ip.IsUnspecified() && !ip.IsLoopback() && !ip.IsMulticast() {
			a.kept[ip] = &Announced{Addr: ip}
			fresh = append(fresh, ip)
		}
	}
	a.start(fresh)
}

// start announces kept addresses.
func (a *Announcer) start(set []netip.Addr) {
	select {
	case <-a.stop:
		return
	default:
	}
	if len(set) == 0 {
		return
	}
	for _, ip := range set {
		a.kept[ip].busy = true
	}
	a.busy.Go(func() {
		a.announce(set)
		a.mu.Lock()
		defer a.mu.Unlock()
		for _, ip := range set {
			if k := a.kept[ip]; k != nil {
				k.busy = false
			}
		}
	})
}

// forget drops an address that is no longer needed.
func (a *Announcer) forget(ip netip.Addr) {
	if !a.set[ip] && a.added[ip] == 0 {
		delete(a.kept, ip)
	}
}

// List returns all kept addresses in order.
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

// note records the result of one round. The address may be gone meanwhile.
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

// Again announces addresses that appeared on this machine or moved to another interface
// since their last announcement. It returns at once.
func (a *Announcer) Again() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.kept) == 0 {
		return
	}
	locals, err := addr.List()
	if err != nil {
		return // nobody knows
	}
	var moved []netip.Addr
	for ip, k := range a.kept {
		if k.busy {
			continue
		}
		iface, err := where(locals, ip)
		if err != nil {
			k.Interface, k.Problem = iface, err.Error()
		} else if k.Problem != "" || k.Interface != iface {
			moved = append(moved, ip)
		}
	}
	a.start(moved)
}
