package table

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

// Table is one compiled generation. It is immutable and read by all loops.
type Table struct {
	Generation uint64
	Build      *tlsconf.Build // made its TLS configurations
	byPort     []*Farm        // by port number; nil where nobody listens
	Farms      map[uint32]*Farm
	Backends   map[uint32]*Backend
}

// Farm is one compiled farm.
type Farm struct {
	ID        uint32
	Name      string
	Origin    string // host:port of its listener
	HostField []byte // the origin, for requests that name no host
	Listener  farm.Listener
	verbs     http1.VerbMask
	routes    *route.Table
	Services  []Service
	Remove    *rewrite.Remover // of request fields, before a service is looked for
	Limits    limits
	Trusted   []netip.Prefix // peers whose word on identities counts
	ProxyIn   farm.ProxyIn   // whether they begin with a header

	Places     *state.Places // nil when clients are not bounded
	MaxClients int64
	Refuses    bool // those beyond the bound, instead of letting them wait

	Challenges  challenges // nil unless an order for a certificate is under way
	proxyHost   bool       // the backend gets its own address as Host
	destination bool       // and in Destination

	RequestTimeout int64         // nanoseconds, as all times here
	TunnelIdle     int64         // a tunnel may be silent that long
	Grace          time.Duration // for what is under way when the farm is stopped
	Answers        Answers
	Recording      recording
	TLS            *secured // nil for a plain listener
}

// Service is one compiled service.
type Service struct {
	ID         uint32
	Name       string
	Redirect   *redirect   // nil without one
	conditions *conditions // nil without any
	Code       int         // of the redirect
	Picker     *balance.Picker
	share      share       // of what its neighbours match, too
	Auth       *Protection // nil lets everybody in
	limit      *rateLimit  // nil without one
	Tracked    bool        // the picker compares loads
	Hashed     bool        // the picker needs the client's hash
	Backends   []Backend
	at         map[uint32]int // positions in backends, by stable number
	Persist    persistence
	Sessions   *session.Table
	kept       state.SessionsOf // what sessions is found by in the registry
	TLS        *tlsconf.Backend // nil: the backends speak plain HTTP
	Cookie     *inserted        // nil without one
	Pinned     bool             // clients keep their connection to a backend
	Compress   *compression     // nil without
	ServedBy   string           // the field that names the backend to clients, in lower case; empty without one
	// Request and response are the header rules; nil when there are none.
	Request, Response *rules
	URLs              *rewrite.URL // nil when paths stay as they are
	Locate            locate
	// ignoreClose: exchanges go on when their client has ended its direction.
	IgnoreClose bool
	// multiplexed: the backends speak HTTP/2.
	Multiplexed  bool
	Queue        *state.Queue
	QueueLength  int64     // 0: nobody waits
	Retry        *retrying // nil: none but of connects
	Outlier      *outlier  // nil: no backend is ejected
	QueueTimeout int64
}

// Backend is one compiled backend.
type Backend struct {
	Target  dial.Target
	ID      uint32
	Number  int        // what the API calls it
	kind    marks.Kind // of its sockets
	Timeout int64
	Load    *balance.Load
	Mode    farm.Maintenance
	Origin  string   // address:port
	Named   string   // host:port by the name the operator wrote, or origin
	Alias   string   // what the operator calls it; empty without one
	host    []byte   // the same as a Host
	statics []string // its static sessions
	// SetCookie is the line that keeps a client here; nil without a cookie.
	SetCookie []byte
	// ServedBy is the line that names the backend to clients; nil without one.
	ServedBy []byte
	Reach    revive.Backend
}

// Reached lists how the backends of the table are reached.
func (t *Table) Reached() map[uint32]*revive.Backend {
	all := make(map[uint32]*revive.Backend, len(t.Backends))
	for id, b := range t.Backends {
		all[id] = &b.Reach
	}
	return all
}
