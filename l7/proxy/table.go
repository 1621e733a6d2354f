package proxy

import (
	"net/netip"
	"time"

	"github.com/sluicelb/sluice/core/balance"
	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/marks"
	"github.com/sluicelb/sluice/core/revive"
	"github.com/sluicelb/sluice/core/session"
	"github.com/sluicelb/sluice/core/tlsconf"
	"github.com/sluicelb/sluice/l7/dial"
	"github.com/sluicelb/sluice/l7/http1"
	"github.com/sluicelb/sluice/l7/rewrite"
	"github.com/sluicelb/sluice/l7/route"
	"github.com/sluicelb/sluice/l7/state"
)

// table is one compiled generation. It is immutable and read by all loops.
type table struct {
	generation uint64
	build      *tlsconf.Build // made its TLS configurations
	farms      []*farmTable   // by port number; nil where nobody listens
	byID       map[uint32]*farmTable
	backends   map[uint32]*backend
}

// farmTable is one compiled farm.
type farmTable struct {
	id        uint32
	name      string
	origin    string // host:port of its listener
	hostField []byte // the origin, for requests that name no host
	listener  farm.Listener
	verbs     http1.VerbMask
	routes    *route.Table
	services  []service
	remove    *rewrite.Remover // of request fields, before a service is looked for
	limits    limits
	trusted   []netip.Prefix // peers whose word on identities counts
	proxyIn   farm.ProxyIn   // whether they begin with a header

	places     *state.Places // nil when clients are not bounded
	maxClients int64
	refuses    bool // those beyond the bound, instead of letting them wait

	challenges  challenges // nil unless an order for a certificate is under way
	proxyHost   bool       // the backend gets its own address as Host
	destination bool       // and in Destination

	requestTimeout int64         // nanoseconds, as all times here
	tunnelIdle     int64         // a tunnel may be silent that long
	grace          time.Duration // for what is under way when the farm is stopped
	answers        answers
	recording      recording
	tls            *secured // nil for a plain listener
}

// service is one compiled service.
type service struct {
	id         uint32
	name       string
	redirect   *redirect   // nil without one
	conditions *conditions // nil without any
	code       int         // of the redirect
	picker     *balance.Picker
	share      share       // of what its neighbours match, too
	auth       *protection // nil lets everybody in
	limit      *rateLimit  // nil without one
	tracked    bool        // the picker compares loads
	hashed     bool        // the picker needs the client's hash
	backends   []backend
	at         map[uint32]int // positions in backends, by stable number
	persist    persistence
	sessions   *session.Table
	kept       state.SessionsOf // what sessions is found by in the registry
	tls        *tlsconf.Backend // nil: the backends speak plain HTTP
	cookie     *inserted        // nil without one
	pinned     bool             // clients keep their connection to a backend
	compress   *compression     // nil without
	servedBy   string           // the field that names the backend to clients, in lower case; empty without one
	// request and response are the header rules; nil when there are none.
	request, response *rules
	urls              *rewrite.URL // nil when paths stay as they are
	locate            locate
	// ignoreClose: exchanges go on when their client has ended its direction.
	ignoreClose bool
	// multiplexed: the backends speak HTTP/2.
	multiplexed  bool
	queue        *state.Queue
	queueLength  int64     // 0: nobody waits
	retry        *retrying // nil: none but of connects
	outlier      *outlier  // nil: no backend is ejected
	queueTimeout int64
}

// backend is one compiled backend.
type backend struct {
	target  dial.Target
	id      uint32
	number  int        // what the API calls it
	kind    marks.Kind // of its sockets
	timeout int64
	load    *balance.Load
	mode    farm.Maintenance
	origin  string   // address:port
	named   string   // host:port by the name the operator wrote, or origin
	alias   string   // what the operator calls it; empty without one
	host    []byte   // the same as a Host
	statics []string // its static sessions
	// setCookie is the line that keeps a client here; nil without a cookie.
	setCookie []byte
	// servedBy is the line that names the backend to clients; nil without one.
	servedBy []byte
	reach    revive.Backend
}

// reached lists how the backends of the table are reached.
func (t *table) reached() map[uint32]*revive.Backend {
	all := make(map[uint32]*revive.Backend, len(t.backends))
	for id, b := range t.backends {
		all[id] = &b.reach
	}
	return all
}
