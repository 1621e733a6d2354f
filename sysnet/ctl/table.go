package ctl

import (
	"net/netip"
	"os"
	"slices"
	"sync"
)

// table holds the sockets of all event loops, by key.
type table struct {
	mu   sync.Mutex
	held map[string]*group // nil after closeAll
	// taken returns why a listener would get no clients, or "".
	taken func(at endpoint) string
}

// endpoint is a network ("tcp" or "udp") with an address.
type endpoint struct {
	network string
	addr    netip.AddrPort
}

func (p endpoint) key() string { return KeyOf(p.network, p.addr) }

// group is the SO_REUSEPORT group of one endpoint.
type group struct {
	endpoint
	sockets []*os.File
}

func newTable() *table {
	return &table{held: map[string]*group{}, taken: func(endpoint) string { return "" }}
}

// open returns count sockets for the endpoint, the existing ones first. Surplus sockets
// are closed, because a socket without a reader would swallow its share of the clients.
// fresh reports whether the endpoint is new. On error the table is unchanged.
func (t *table) open(at endpoint, count int) (sockets []*os.File, fresh bool, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	key := at.key()
	g := t.held[key]
	if t.held == nil {
		return nil, false, rejection(CodeFailed, "cannot listen on %s: Sluice is being stopped", at.addr)
	}
	if g == nil {
		if len(t.held) >= maxKeys {
			return nil, false, rejection(CodeTooMany, "cannot listen on %s: %d addresses are open already", at.addr, maxKeys)
		}
		if err := t.probe(at); err != nil {
			return nil, false, err
		}
		g, fresh = &group{endpoint: at}, true
	}
	if err := g.resize(count); err != nil {
		return nil, false, err
	}
	t.held[key] = g
	return slices.Clone(g.sockets), fresh, nil
}

// free returns nil if the endpoint is held or could be opened now, else the error of
// open.
func (t *table) free(at endpoint) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.held[at.key()] != nil {
		return nil
	}
	return t.probe(at)
}

// probe returns an error if another program holds the endpoint.
func (t *table) probe(at endpoint) error {
	if why := t.taken(at); why != "" {
		return rejection(CodeInUse, "cannot listen on %s: %s", at.addr, why)
	}
	err := at.probe()
	if err == nil || asRejection(err).Code != CodeInUse {
		return err
	}
	own := map[uint64]bool{}
	for _, g := range t.held {
		if g.network != at.network || !overlaps(g.addr, at.addr) {
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
	foreign, lookErr := foreignListener(at, own)
	if lookErr != nil || foreign {
		return err
	}
	return nil
}

func (g *group) resize(count int) error {
	had := len(g.sockets)
	for len(g.sockets) < count {
		s, err := g.listen()
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

// close closes the sockets of an endpoint and reports whether it was held. An unknown
// endpoint is no error, because netd may have restarted since it was opened.
func (t *table) close(at endpoint) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	key := at.key()
	g := t.held[key]
	if g == nil {
		return false
	}
	g.shrink(0)
	delete(t.held, key)
	return true
}

// list returns up to maxListed keys after from, sorted.
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

// closeAll closes all sockets. Later calls of open fail.
func (t *table) closeAll() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, g := range t.held {
		g.shrink(0)
	}
	t.held = nil
}
