package ctl

import (
	"net/netip"
	"os"
	"slices"
	"sync"
)

// table is what netd holds: for each key the sockets of all loops.
type table struct {
	mu   sync.Mutex
	held map[string]*group
}

// group is the SO_REUSEPORT group of one address.
type group struct {
	addr    netip.AddrPort
	sockets []*os.File
}

func newTable() *table { return &table{held: map[string]*group{}} }

// open returns count sockets for the address, the ones held already first. A
// group that shrinks loses its surplus: a socket nobody accepts from would
// swallow its share of the connections. fresh says that the address was not
// held before. On error nothing has changed.
func (t *table) open(addr netip.AddrPort, count int) (sockets []*os.File, fresh bool, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	key := KeyTCP(addr)
	g := t.held[key]
	if g == nil {
		if len(t.held) >= maxKeys {
			return nil, false, refusal(CodeTooMany, "cannot listen on %s: %d addresses are open already", addr, maxKeys)
		}
		if err := t.probe(addr); err != nil {
			return nil, false, err
		}
		g, fresh = &group{addr: addr}, true
	}
	if err := g.resize(count); err != nil {
		return nil, false, err
	}
	t.held[key] = g
	return slices.Clone(g.sockets), fresh, nil
}

// probe refuses an address some other program listens on.
func (t *table) probe(addr netip.AddrPort) error {
	err := probeTCP(addr)
	if err == nil || asRefusal(err).Code != CodeInUse {
		return err
	}
	own := map[uint64]bool{}
	for _, g := range t.held {
		if !overlaps(g.addr, addr) {
			continue
		}
		for _, s := range g.sockets {
			if inode, err := socketInode(s); err == nil {
				own[inode] = true
			}
		}
	}
	if len(own) == 0 {
		return err
	}
	foreign, lookErr := foreignListener(addr, own)
	if lookErr != nil || foreign {
		return err
	}
	return nil
}

func (g *group) resize(count int) error {
	had := len(g.sockets)
	for len(g.sockets) < count {
		s, err := listenTCP(g.addr)
		if err != nil {
			g.shrink(had)
			return err
		}
		g.sockets = append(g.sockets, s)
	}
	g.shrink(count)
	return nil
}

func (g *group) shrink(count int) {
	for len(g.sockets) > count {
		last := len(g.sockets) - 1
		_ = g.sockets[last].Close()
		g.sockets = g.sockets[:last]
	}
}

// close forgets a key; one that is not held is not an error, because netd may
// have been restarted since it was opened.
func (t *table) close(addr netip.AddrPort) {
	t.mu.Lock()
	defer t.mu.Unlock()
	key := KeyTCP(addr)
	if g := t.held[key]; g != nil {
		g.shrink(0)
		delete(t.held, key)
	}
}

// list returns up to maxListed keys that sort after from, in order.
func (t *table) list(from string) (keys []string, more bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for key := range t.held {
		if key > from {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	if len(keys) > maxListed {
		return keys[:maxListed], true
	}
	return keys, false
}

func (t *table) closeAll() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for key, g := range t.held {
		g.shrink(0)
		delete(t.held, key)
	}
}
