package neigh

import (
	"log/slog"
	"maps"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

const (
	// refreshInterval is how often entries in use are said to be so: shorter
	// than the least time the kernel trusts one (15 s by default).
	refreshInterval = 10 * time.Second
	// retryInterval is how often an address that does not answer is asked again.
	retryInterval = 2 * time.Second
	// holdTime is how long a MAC is kept while the kernel asks anew: three
	// probes to the old one and three broadcasts, a second each.
	holdTime = 7 * time.Second
	// leastPause is between two looks; events that come meanwhile are one.
	leastPause = 20 * time.Millisecond
)

// Watcher follows the next hops of addresses. Make one with Watch. Any goroutine
// may call its methods.
type Watcher struct {
	log     *slog.Logger
	kernel  *netlink.Handle
	events  *events
	changed chan struct{}
	wanted  chan struct{}
	stop    chan struct{}
	done    chan struct{}

	mu   sync.Mutex
	want []netip.Addr
	hops map[netip.Addr]NextHop

	// What follows belongs to the goroutine.
	lost  map[netip.Addr]time.Time // since when a known MAC is in doubt
	asked map[netip.Addr]time.Time // when the kernel was last asked for a next hop
}

// Watch starts a watcher in the network namespace of the calling thread, with
// nobody to watch.
func Watch(log *slog.Logger) (*Watcher, error) {
	kernel, err := netlink.NewHandle(unix.NETLINK_ROUTE)
	if err != nil {
		return nil, err
	}
	e, err := listen()
	if err != nil {
		kernel.Close()
		return nil, err
	}
	w := &Watcher{
		log: log, kernel: kernel, events: e,
		changed: make(chan struct{}, 1), wanted: make(chan struct{}, 1),
		stop: make(chan struct{}), done: make(chan struct{}),
		hops: map[netip.Addr]NextHop{}, lost: map[netip.Addr]time.Time{}, asked: map[netip.Addr]time.Time{},
	}
	go w.run()
	return w, nil
}

// Close ends the watcher.
func (w *Watcher) Close() {
	close(w.stop)
	<-w.done
}

// Want replaces the set of addresses that are watched. It returns at once;
// Changed tells when the next hops of new ones are known.
func (w *Watcher) Want(addrs []netip.Addr) {
	set := slices.Clone(addrs)
	slices.SortFunc(set, netip.Addr.Compare)
	set = slices.Compact(set)
	w.mu.Lock()
	same := slices.Equal(set, w.want)
	w.want = set
	w.mu.Unlock()
	if !same {
		tell(w.wanted)
	}
}

// Changed gets a value when NextHops answers otherwise than before; several
// changes may count as one.
func (w *Watcher) Changed() <-chan struct{} { return w.changed }

// NextHops returns what is known now: an entry for each address that is watched,
// except for those that were added a moment ago. The caller owns the map.
func (w *Watcher) NextHops() map[netip.Addr]NextHop {
	w.mu.Lock()
	defer w.mu.Unlock()
	return maps.Clone(w.hops)
}

func tell(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// run looks whenever there is a reason, and never longer than a tenth of the
// time: neighbours of a large network are announced all the time.
func (w *Watcher) run() {
	defer close(w.done)
	defer w.kernel.Close()
	defer w.events.close()
	for {
		began := time.Now()
		next := w.look(began)
		pause := max(leastPause, 10*time.Since(began))
		select {
		case <-time.After(pause):
		case <-w.stop:
			return
		}
		select {
		case <-w.wanted:
		case <-w.events.heard:
		case <-time.After(next):
		case <-w.stop:
			return
		}
	}
}

// look finds the next hops of all addresses and returns when to look again at the
// latest.
func (w *Watcher) look(now time.Time) time.Duration {
	w.mu.Lock()
	want, old := w.want, w.hops
	w.mu.Unlock()
	if len(want) == 0 && len(old) == 0 {
		return time.Hour
	}
	s, err := w.survey()
	if err != nil {
		w.log.Warn("neighbours cannot be read", "error", err)
		return retryInterval
	}
	next := refreshInterval
	hops := make(map[netip.Addr]NextHop, len(want))
	for _, a := range want {
		p, sure := w.find(s, a, old[a], now)
		hops[a] = p
		if !sure {
			next = retryInterval
		}
	}
	w.forget(hops, now)
	if maps.Equal(hops, old) {
		return next
	}
	w.mu.Lock()
	w.hops = hops
	w.mu.Unlock()
	tell(w.changed)
	return next
}

// find says where the address is. sure is false when the kernel does not know
// or trust the MAC at present.
func (w *Watcher) find(s *survey, a netip.Addr, old NextHop, now time.Time) (p NextHop, sure bool) {
	p = w.route(s, a)
	if p.Problem != "" {
		return p, false
	}
	n, known := s.neighbours[key{p.Index, p.hop()}]
	valid := known && n.State&(netlink.NUD_REACHABLE|netlink.NUD_STALE|netlink.NUD_DELAY|netlink.NUD_PROBE|netlink.NUD_PERMANENT|netlink.NUD_NOARP) != 0 && len(n.HardwareAddr) == len(MAC{})
	if known && n.State&(netlink.NUD_PERMANENT|netlink.NUD_NOARP) != 0 {
		p.MAC = MAC(n.HardwareAddr)
		return p, true
	}
	w.use(p, now, valid)
	if valid {
		p.MAC = MAC(n.HardwareAddr)
		delete(w.lost, a)
		return p, true
	}
	since, lost := w.lost[a]
	if !lost {
		since = now
		w.lost[a] = now
	}
	sameWay := old.Problem == "" && old.Index == p.Index && old.hop() == p.hop()
	switch {
	case sameWay && old.MAC != MAC{} && now.Sub(since) < holdTime:
		p.MAC = old.MAC
	case p.OnLink():
		p.Problem = "no answer to ARP or neighbour solicitation on " + p.Interface
	default:
		p.Problem = "the gateway " + p.Gateway.String() + " gives no answer to ARP or neighbour solicitation on " + p.Interface
	}
	return p, false
}

// use tells the kernel that the next hop is used, not too often: it looks for
// whom it does not know, and probes whom it no longer trusts.
func (w *Watcher) use(p NextHop, now time.Time, valid bool) {
	pause := retryInterval - leastPause
	if valid {
		pause = refreshInterval - leastPause
	}
	if now.Sub(w.asked[p.hop()]) < pause {
		return
	}
	w.asked[p.hop()] = now
	family := unix.AF_INET
	if p.hop().Is6() {
		family = unix.AF_INET6
	}
	err := w.kernel.NeighSet(&netlink.Neigh{
		LinkIndex: p.Index, Family: family, State: netlink.NUD_NONE, Flags: netlink.NTF_USE, IP: p.hop().AsSlice(),
	})
	if err != nil {
		w.log.Debug("neighbour not asked for", "address", p.hop(), "interface", p.Interface, "error", err)
	}
}

// forget drops what is remembered of addresses nobody wants any more.
func (w *Watcher) forget(hops map[netip.Addr]NextHop, now time.Time) {
	maps.DeleteFunc(w.lost, func(a netip.Addr, _ time.Time) bool { _, watched := hops[a]; return !watched })
	maps.DeleteFunc(w.asked, func(_ netip.Addr, at time.Time) bool { return now.Sub(at) > 2*refreshInterval })
}
