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
	// refreshInterval is the interval at which entries are marked as used. It is shorter
	// than the minimum reachable time of the kernel (15 s by default).
	refreshInterval = 10 * time.Second
	// retryInterval is the interval of requests for an address that does not answer.
	retryInterval = 2 * time.Second
	// holdTime is how long a MAC is kept while the kernel probes: three unicast and three
	// broadcast requests, one second each.
	holdTime = 7 * time.Second
	// leastPause is the minimum pause between two looks; events in between are merged.
	leastPause = 20 * time.Millisecond
)

// Watcher tracks the next hops of addresses. Use Watch to make one. It is safe for
// concurrent use.
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

	// The following fields belong to the goroutine.
	lost  map[netip.Addr]time.Time // since when a known MAC is uncertain
	asked map[netip.Addr]time.Time // time of the last NTF_USE per next hop
}

// Watch starts a watcher without addresses, in the network namespace of the calling
// thread.
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

// Close stops the watcher.
func (w *Watcher) Close() {
	close(w.stop)
	<-w.done
}

// Want replaces the set of tracked addresses and returns at once. Changed signals when
// the next hops of new ones are known.
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

// Changed receives a value when the result of NextHops changes. Several changes may be
// merged.
func (w *Watcher) Changed() <-chan struct{} { return w.changed }

// NextHops returns the current state: an entry for each tracked address, except for ones
// just added. The caller owns the map.
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

// run looks after every event, and spends at most a tenth of the time on it, because
// large networks produce neighbour events continuously.
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

// look updates the next hops of all addresses and returns the maximum pause until the
// next look.
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

// find returns the next hop of the address. The result sure is false while the MAC is unknown
// to the kernel or stale.
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

// use marks the next hop as used, at a limited rate. The kernel then resolves missing
// entries and probes stale ones.
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

// forget deletes the state of addresses that are no longer tracked.
func (w *Watcher) forget(hops map[netip.Addr]NextHop, now time.Time) {
	maps.DeleteFunc(w.lost, func(a netip.Addr, _ time.Time) bool { _, watched := hops[a]; return !watched })
	maps.DeleteFunc(w.asked, func(_ netip.Addr, at time.Time) bool { return now.Sub(at) > 2*refreshInterval })
}
