package forward

import (
	"net/netip"
	"time"

	"github.com/sluicelb/sluice/core/balance"
	"github.com/sluicelb/sluice/core/engine"
	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/loop"
	"github.com/sluicelb/sluice/core/marks"
	"github.com/sluicelb/sluice/core/paged"
	"github.com/sluicelb/sluice/core/ports"
	"github.com/sluicelb/sluice/core/proxyproto"
	"github.com/sluicelb/sluice/core/revive"
	"github.com/sluicelb/sluice/core/session"
)

// table is one compiled generation. It is immutable and read by all loops.
type table struct {
	generation uint64
	engine.Farms[*farmTable]
	backends paged.Map[backend]
	marked   int // number of farms with marked sockets
}

// farmTable is one compiled farm.
type farmTable struct {
	id        uint32
	service   uint32 // key of sessions and rotations
	name      string
	protocol  farm.L4Protocol // L4TCP, L4UDP or L4TCPUDP
	listeners []farm.Listener
	local     netip.Addr // VIP; unspecified for all local addresses
	backends  []backend
	at        map[uint32]int // positions in backends, by stable number
	group     group          // backends without a server name
	names     *names         // nil if no backend has one
	apart     *portGroups    // nil if each backend is reached in one way only
	// transparent means that backends see client addresses and may refuse some of them
	transparent bool
	algorithm   farm.L4Algorithm
	hash        hashOf
	persist     persistence
	sessions    *session.Table // nil without persistence
	kept        sessionsOf     // key of sessions in registries

	trusted  []netip.Prefix     // peers whose PROXY header is accepted
	proxyIn  farm.ProxyIn       // whether connections begin with a header
	proxyOut proxyproto.Version // version for backends; 0 for none

	conns    *connCount // nil without max_conns
	maxConns int64

	logged bool
	sample uint32 // one in sample records is logged

	connect  int64         // timeouts in nanoseconds
	idle     int64         // of connections
	flowIdle int64         // of flows
	ids      *connIDs      // for QUIC; nil for other protocols
	answers  int64         // UDP: expected responses per datagram; -1 if not counted
	grace    time.Duration // for connections in progress when the farm stops
}

// group is a set of backends to select from.
type group struct {
	picker  *balance.Picker
	members []int // positions in the farm's backends, ascending
}

// backend is one compiled backend.
type backend struct {
	id      uint32
	of      *farmTable
	number  int            // number in the API
	addr    netip.AddrPort // port 0: the virtual port
	options loop.DialOptions
	kinds   []marks.Kind // of its sockets, by transport
	mode    farm.Maintenance
	load    *balance.Load // nil if connections need not be counted
	statics []string      // static sessions
	reach   revive.Backend
	path    string // identifies target and source of datagrams
}

// to returns the backend address for clients of a virtual port.
func (b *backend) to(port uint16) netip.AddrPort {
	if b.addr.Port() != 0 {
		return b.addr
	}
	return netip.AddrPortFrom(b.addr.Addr(), port)
}

// virtual returns the virtual port of a listener.
func virtual(l farm.Listener) revive.Port {
	return revive.Port{Number: l.Addr.Port(), UDP: l.Transport == farm.L4UDP}
}

// way returns the backend port for clients of a virtual port.
func (b *backend) way(virtual revive.Port) revive.Port {
	return revive.Port{Number: b.to(virtual.Number).Port(), UDP: virtual.UDP}
}

// find returns the position of the backend with that number, or -1.
func (f *farmTable) find(id uint32) int {
	if i, ok := f.at[id]; ok {
		return i
	}
	return -1
}

// Number implements engine.Compiled.
func (f *farmTable) Number() uint32 { return f.id }

// Addresses implements engine.Compiled.
func (f *farmTable) Addresses() []farm.Listener { return f.listeners }

// service returns the running farm whose sessions have that number, or nil.
func (t *table) service(id uint32) *farmTable {
	for _, f := range t.ByID {
		if f.service == id {
			return f
		}
	}
	return nil
}

// Reached returns how a backend is reached, or nil if it is unknown.
func (t *table) Reached(id uint32) *revive.Backend {
	if b := t.backends.Of(id); b != nil {
		return &b.reach
	}
	return nil
}

// Fresh returns the backends of new and changed farms.
func (t *table) Fresh() (all []*revive.Backend) {
	for _, f := range t.Farms.Fresh {
		for i := range f.backends {
			all = append(all, &f.backends[i].reach)
		}
	}
	return all
}

// hold counts a connection to a backend whose connections were not counted when it was
// selected.
func (t *table) hold(c *choice, id uint32) {
	if b := t.backends.Of(id); c.held == nil && b != nil && b.load != nil {
		b.load.Active.Add(1)
		c.held = b.load
	}
}

// mustEnd reports whether connections to a backend must end, because it was deleted or cut.
func (t *table) mustEnd(id uint32) bool {
	b := t.backends.Of(id)
	return b == nil || b.mode == farm.MaintenanceCut
}

type port = ports.Port
