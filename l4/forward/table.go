package forward

import (
	"net/netip"
	"time"

	"github.com/sluicelb/sluice/core/balance"
	"github.com/sluicelb/sluice/core/engine"
	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/loop"
	"github.com/sluicelb/sluice/core/marks"
	"github.com/sluicelb/sluice/core/ports"
	"github.com/sluicelb/sluice/core/proxyproto"
	"github.com/sluicelb/sluice/core/revive"
	"github.com/sluicelb/sluice/core/session"
)

// table is one compiled generation. It is immutable and read by all loops.
type table struct {
	generation uint64
	ports      []*farmTable // by port number; nil where nobody listens
	byID       map[uint32]*farmTable
	backends   map[uint32]*backend
}

// farmTable is one compiled farm.
type farmTable struct {
	id        uint32
	service   uint32 // what sessions and rotations are kept by
	name      string
	protocol  farm.L4Protocol // L4TCP, L4UDP or L4TCPUDP
	listeners []farm.Listener
	local     netip.Addr // the VIP; unspecified when every local address is meant
	backends  []backend
	at        map[uint32]int // positions in backends, by stable number
	group     group          // the backends that are for no server name in particular
	names     *names         // nil when all are
	apart     *portGroups    // nil where each backend is reached in one way only
	// transparent: backends see the addresses of clients, and may refuse some of them
	transparent bool
	algorithm   farm.L4Algorithm
	hash        hashOf
	persist     persistence
	sessions    *session.Table // nil without persistence
	kept        sessionsOf     // what sessions is found by in the registry

	trusted  []netip.Prefix     // peers whose PROXY header counts
	proxyIn  farm.ProxyIn       // whether they begin with a header
	proxyOut proxyproto.Version // the PROXY header backends get; 0 for none

	conns    *connCount // nil without max_conns
	maxConns int64

	logged bool
	sample uint32 // one in that many records is logged

	connect  int64         // nanoseconds, as the next two
	idle     int64         // of connections
	flowIdle int64         // of flows
	ids      *connIDs      // of QUIC; nil for other protocols
	answers  int64         // to each datagram of a client; -1 when nobody counts them; UDP
	grace    time.Duration // for what is under way when the farm is stopped
}

// group is backends among which one is chosen.
type group struct {
	picker  *balance.Picker
	members []int // positions in the farm's backends, ascending
}

// backend is one compiled backend.
type backend struct {
	id      uint32
	of      *farmTable
	number  int            // what people call it
	addr    netip.AddrPort // port 0: the one the client used
	options loop.DialOptions
	kinds   []marks.Kind // of its sockets, by transport
	mode    farm.Maintenance
	load    *balance.Load // nil when connections need not be counted
	statics []string      // its static sessions
	reach   revive.Backend
	path    string // where datagrams to it go, and from where
}

// to is where a client of the given virtual port is connected to.
func (b *backend) to(port uint16) netip.AddrPort {
	if b.addr.Port() != 0 {
		return b.addr
	}
	return netip.AddrPortFrom(b.addr.Addr(), port)
}

// virtual is the virtual port clients of a listener come to.
func virtual(l farm.Listener) revive.Port {
	return revive.Port{Number: l.Addr.Port(), UDP: l.Transport == farm.L4UDP}
}

// way is the port of the backend that clients of a virtual port reach it on.
func (b *backend) way(virtual revive.Port) revive.Port {
	return revive.Port{Number: b.to(virtual.Number).Port(), UDP: virtual.UDP}
}

// find is the position of the backend with that number, -1 when it is gone.
func (f *farmTable) find(id uint32) int {
	if i, ok := f.at[id]; ok {
		return i
	}
	return -1
}

// farm is the farm behind a port, nil when there is none.
func (t *table) farm(p *port) *farmTable {
	if p.Number < len(t.ports) {
		return t.ports[p.Number]
	}
	return nil
}

// service is the farm whose sessions have that number, nil when none that runs
// has it.
func (t *table) service(id uint32) *farmTable {
	for _, f := range t.byID {
		if f.service == id {
			return f
		}
	}
	return nil
}

// Reached is how a backend of the table is reached, nil when it has none with that number.
func (t *table) Reached(id uint32) *revive.Backend {
	if b := t.backends[id]; b != nil {
		return &b.reach
	}
	return nil
}

// Changes is not known: each table is made anew.
func (t *table) Changes() *engine.Changes { return nil }

// Fresh is all of them: each table is made anew.
func (t *table) Fresh() []*revive.Backend {
	all := make([]*revive.Backend, 0, len(t.backends))
	for _, b := range t.backends {
		all = append(all, &b.reach)
	}
	return all
}

// hold counts what goes to a backend that is counted since it was chosen.
func (t *table) hold(c *choice, id uint32) {
	if b := t.backends[id]; c.held == nil && b != nil && b.load != nil {
		b.load.Active.Add(1)
		c.held = b.load
	}
}

// mustEnd reports whether what goes to a backend has to end: it was deleted or
// cut.
func (t *table) mustEnd(id uint32) bool {
	b := t.backends[id]
	return b == nil || b.mode == farm.MaintenanceCut
}

type port = ports.Port

// Bind makes the farm with that number the one behind a port.
func (t *table) Bind(p *port, farm uint32) {
	for p.Number >= len(t.ports) {
		t.ports = append(t.ports, nil)
	}
	t.ports[p.Number] = t.byID[farm]
}

// Listeners are the addresses farms listen on, by the number of the farm.
func (t *table) Listeners() map[uint32][]farm.Listener {
	all := make(map[uint32][]farm.Listener, len(t.byID))
	for id, f := range t.byID {
		all[id] = f.listeners
	}
	return all
}
