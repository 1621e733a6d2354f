package farm

import "net/netip"

// Config is one complete configuration: everything the engines need to know, and
// what concerns the machine they run on.
type Config struct {
	Farms []Farm `json:"farms"`
	// Certificates and Authorities are what farms refer to by name, Challenges
	// what every farm answers besides its services. They are there in snapshots
	// only.
	Certificates []Certificate `json:"certificates,omitempty"`
	Authorities  []Authority   `json:"authorities,omitempty"`
	Challenges   []Challenge   `json:"challenges,omitempty"`
	// System is in no snapshot. SystemUnsaid is true of a document that says nothing
	// about the machine: its settings stay as they are.
	System       System `json:"system,omitzero" cbor:"-"`
	SystemUnsaid bool   `json:"-" cbor:"-"`
	// Checks are in no snapshot, either; ChecksUnsaid is true of a document that has no
	// list of them.
	Checks       []Check `json:"checks,omitempty" cbor:"-"`
	ChecksUnsaid bool    `json:"-" cbor:"-"`
}

// Farm is one balanced unit: a VIP and a virtual port, answered by backends.
type Farm struct {
	// ID is stable and unique among farms, 1 … MaxFarmID; 0 means "not given yet".
	ID uint32 `json:"id,omitempty"`
	// Name is unique among farms; renaming keeps ID.
	Name    string  `json:"name"`
	Profile Profile `json:"profile"`
	// VIP is the address clients use; the unspecified address means every local one.
	VIP netip.Addr `json:"vip"`
	// VPort is the port of an http farm; l4xnat farms have L4.Ports instead.
	VPort uint16 `json:"vport,omitempty"`
	// Stopped farms are kept and may be edited, but have no listener.
	Stopped bool `json:"stopped,omitempty"`
	// HTTP is set if, and only if, Profile is ProfileHTTP.
	HTTP *HTTP `json:"http,omitempty"`
	// L4 is set if, and only if, Profile is ProfileL4.
	L4 *L4 `json:"l4,omitempty"`
	// Global is set if, and only if, Profile is ProfileGSLB.
	Global *GSLB `json:"gslb,omitempty"`
	// Notes are what people say of the farm, nil for nothing; no engine has them.
	Notes *Notes `json:"notes,omitempty" cbor:"-"`
}

// Notes are words of people about a farm.
type Notes struct {
	Comment string   `json:"comment,omitempty"`
	Tags    []string `json:"tags,omitempty"` // at most MaxTags
}

// MaxTags bounds the tags of a farm.
const MaxTags = 16

// Said is what people say of the farm.
func (f *Farm) Said() Notes {
	if f.Notes == nil {
		return Notes{}
	}
	return *f.Notes
}

// Say replaces what is said; a farm of which nothing is said has no notes.
func (f *Farm) Say(n Notes) {
	f.Notes = &n
	if n.Comment == "" && len(n.Tags) == 0 {
		f.Notes = nil
	}
}

// HTTP holds the settings of an http farm. A zero Seconds is never valid
// here: DefaultHTTP gives the family's defaults.
type HTTP struct {
	// ConnectTimeout bounds one connect to one backend.
	ConnectTimeout Seconds `json:"contimeout"`
	// ResponseTimeout bounds the wait for a backend's next bytes.
	ResponseTimeout Seconds `json:"restimeout"`
	// ResurrectTime is the longest time between two tries of a backend that was
	// found down: they begin at 0.2 s and double.
	ResurrectTime Seconds `json:"resurrectime"`
	// RequestTimeout bounds the client's whole request head, then its silence.
	RequestTimeout  Seconds         `json:"reqtimeout"`
	RewriteLocation RewriteLocation `json:"rewritelocation"`
	Verbs           VerbSet         `json:"httpverb"`
	// Error414 … Error503 are response bodies; empty means the built-in text.
	Error414 string `json:"error414,omitempty"`
	Error500 string `json:"error500,omitempty"`
	Error501 string `json:"error501,omitempty"`
	Error503 string `json:"error503,omitempty"`
	ErrorWAF string `json:"errorWAF,omitempty"`
	// TLS makes the listener an https one.
	TLS *TLS `json:"tls,omitempty"`
	HeaderRules
	Continue ContinueMode `json:"ignore_100_continue,omitempty"`
	// MaxBody bounds a request body in bytes, beyond it the answer is 413; 0
	// means no bound.
	MaxBody uint64 `json:"maxbody,omitempty"`
	// MaxHead bounds a request head in bytes; 0 means DefaultMaxHead.
	MaxHead uint32 `json:"maxrequest,omitempty"`
	// MaxConnections bounds the clients of the farm; 0 means no bound but that
	// of descriptors. Overflow says what happens to more.
	MaxConnections uint32   `json:"maxconnections,omitempty"`
	Overflow       Overflow `json:"overflow,omitempty"`
	// CheckURL is a regex the path must match, otherwise the answer is 400.
	CheckURL string `json:"checkurl,omitempty"`
	// PathPolicy says which path backends get; empty acts as PathAsIs.
	PathPolicy PathPolicy `json:"path_policy,omitempty"`
	// IgnoreCase is for CheckURL and the URL patterns of all services.
	IgnoreCase bool `json:"ignorecase,omitempty"`
	// RewriteHost sends the backend its own address as Host; RewriteDestination
	// makes the Destination of WebDAV requests agree with the Host it gets.
	RewriteHost        bool `json:"rewritehost,omitempty"`
	RewriteDestination bool `json:"rewritedestination,omitempty"`
	// TunnelTimeout is how long a tunnel (WebSocket) may be silent, StopGrace
	// how long exchanges may go on after the farm was stopped; 0 means the
	// defaults.
	TunnelTimeout Seconds `json:"wstimeout,omitempty"`
	StopGrace     Seconds `json:"grace,omitempty"`
	// Mark is the SO_MARK of connections to backends that have none of their
	// own; 0 sets none.
	Mark uint32 `json:"mark,omitempty"`
	// Trusted are the peers whose X-Forwarded-For and the like are kept. Of a
	// connection that began with a PROXY header that is the address in it.
	Trusted []netip.Prefix `json:"trusted,omitempty"`
	// ProxyIn is whether Trusted peers say for whom they connect; other than
	// off it needs some.
	ProxyIn ProxyIn `json:"proxyprotocol_in,omitempty"`
	// Logs makes every exchange leave a line where AccessLog says.
	Logs      bool      `json:"logs,omitempty"`
	AccessLog AccessLog `json:"access_log,omitzero"`
	RequestID RequestID `json:"request_id,omitempty"`
	Services  []Service `json:"services,omitempty"`
}

// Service is one match group of an http farm. The first service in list order
// whose VHost and URL both match takes the exchange.
type Service struct {
	// ID is stable and unique among all services of the configuration.
	ID   uint32 `json:"id,omitempty"`
	Name string `json:"name"`
	// VHost is a regex that must match from the first byte of the Host value
	// on, ignoring case; a name must match all of it, see IsHostName. Empty matches
	// every host.
	VHost string `json:"vhost,omitempty"`
	// URL is a regex searched in the canonical path (with its query); empty
	// matches every one.
	URL string `json:"urlp,omitempty"`
	// Redirect is an absolute http(s) URL; when set the backends are not used.
	Redirect     string       `json:"redirect,omitempty"`
	RedirectType RedirectType `json:"redirecttype,omitempty"`
	// RedirectCode is 301, 302 or 307; 0 means DefaultRedirectCode.
	RedirectCode int `json:"redirect_code,omitempty"`
	// DNSFarm is the name of the gslb farm that answers what comes here as DNS over HTTPS
	// (RFC 8484); with one the backends are not used.
	DNSFarm     string      `json:"dns_farm,omitempty"`
	Persistence Persistence `json:"persistence,omitempty"`
	// TTL is how long a session lives after its last use; without Persistence it
	// waits for one.
	TTL Seconds `json:"ttl,omitempty"`
	// SessionID names the cookie, header or parameter of Persistence COOKIE,
	// HEADER and URL; with others it waits for one of these.
	SessionID string        `json:"sessionid,omitempty"`
	Policy    RoutingPolicy `json:"routingpolicy,omitempty"`
	// HeadRequire and HeadDeny are regexes for header lines ("Name: value"): of
	// each of the former some line must match, of the latter none may.
	HeadRequire []string `json:"headrequire,omitempty"`
	HeadDeny    []string `json:"headdeny,omitempty"`
	// IgnoreCase is for URL; the farm's holds too.
	IgnoreCase bool `json:"ignorecase,omitempty"`
	// HeaderRules run before those of the farm. A header that both add is the
	// service's.
	HeaderRules
	Rewrites []URLRewrite `json:"rewriteurl,omitempty"`
	// RewriteLocation overrides the farm's; empty does not.
	RewriteLocation RewriteLocation `json:"rewritelocation,omitempty"`
	// TLS makes the backends https ones.
	TLS *BackendTLS `json:"httpsb,omitempty"`
	// BackendProtocol is what the backends speak; empty means HTTP/1.1.
	BackendProtocol BackendProtocol `json:"backendprotocol,omitempty"`
	// Cookie keeps clients on their backend by a cookie of ours, unless persistence does.
	Cookie *CookieInsert `json:"cookieinsert,omitempty"`
	// STS is the max-age of Strict-Transport-Security; 0 sends none. Valid with
	// an https listener.
	STS Seconds `json:"sts,omitempty"`
	// Split is the weight, 0–MaxSplit, with which the service shares requests
	// with its neighbours: services next to each other in the list that all have
	// one divide what matches several of them. nil takes no part.
	Split *uint8 `json:"split,omitempty"`
	// Auth is who is let in; nil lets everybody in.
	Auth *Auth `json:"auth,omitempty"`
	// RateLimit bounds the requests of each client; nil does not.
	RateLimit *RateLimit `json:"ratelimit,omitempty"`
	// Pinned keeps a client on the backend connection it used first.
	Pinned bool `json:"pinnedconnection,omitempty"`
	// IgnoreClose lets exchanges go on whose client has ended its direction after
	// the request; abortonclose is its opposite.
	IgnoreClose bool `json:"ignoreclose,omitempty"`
	// ProxyOut tells backends by the PROXY protocol who the client is.
	ProxyOut ProxyOut `json:"proxyprotocol_out,omitempty"`
	// ServedBy names the response field that tells clients which backend
	// served them; empty sends none.
	ServedBy string `json:"served_by,omitempty"`
	// Compression encodes bodies for clients that accept it; nil does not.
	Compression *Compression `json:"compression,omitempty"`
	// Leniency lists the deviations from HTTP/1 that are accepted in responses.
	Leniency []Leniency `json:"backend_leniency,omitempty"`
	Queueing
	Retrying
	Outlier
	// SlowStart is how long a backend that comes up, is added or leaves
	// maintenance takes from a tenth of its weight to all of it; 0 is no time.
	SlowStart Seconds `json:"slowstart,omitempty"`
	// Check is the name of the check of the backends; empty for none.
	Check    string    `json:"farmguardian,omitempty"`
	Backends []Backend `json:"backends,omitempty"`
	// LastSlot is the highest slot a backend was given, also one that is gone.
	LastSlot uint32 `json:"last_seat,omitempty"`
}

// Backend is one server of a service.
type Backend struct {
	// ID is stable and unique among all backends of the configuration,
	// 1 … MaxBackendID; what the API calls it is told by Group.Number.
	ID uint32 `json:"id,omitempty"`
	// Slot is one more than the number the API calls the backend; 0 means that
	// none was given yet.
	Slot uint32 `json:"seat,omitempty"`
	// Host is what the operator wrote: an address or a resolvable name.
	Host string `json:"ip"`
	// Addr is Host resolved by mgmt. One that is not valid, because the name was
	// never resolved or the backend Spreads, makes it one that is not used.
	Addr netip.Addr `json:"addr,omitzero"`
	// Resolve says what a host name stands for. Of is the ID of the backend that
	// Spreads and whose name has this address; mgmt makes such backends, no
	// document has them. Left: the name does not have it any more, and its
	// connections may end.
	Resolve Resolve `json:"resolve,omitempty"`
	Of      uint32  `json:"of,omitempty"`
	Left    bool    `json:"left,omitempty"`
	// Port is 0 only in l4xnat farms: the port the client used is kept.
	Port uint16 `json:"port"`
	// Weight is 1–9; 0 means unset and acts as 1.
	Weight uint8 `json:"weight,omitempty"`
	// Priority is 1–9; 0 means unset and acts as 1.
	Priority uint8 `json:"priority,omitempty"`
	// ConnLimit bounds the exchanges, connections or flows to this backend; 0
	// means no limit.
	ConnLimit uint32 `json:"connection_limit,omitempty"`
	// Timeout overrides the farm's ResponseTimeout; 0 means the farm's.
	Timeout Seconds `json:"timeout,omitempty"`
	// ConnectTimeout overrides the farm's; 0 means the farm's. Backends of services
	// only.
	ConnectTimeout Seconds `json:"contimeout,omitempty"`
	// Source is the address connections come from; invalid lets the system choose.
	Source netip.Addr `json:"source,omitzero"`
	// Mark is the SO_MARK of connections; 0 means the farm's.
	Mark        uint32      `json:"mark,omitempty"`
	Alias       string      `json:"alias,omitempty"`
	Maintenance Maintenance `json:"maintenance,omitempty"`
	// Sessions are what clients are recognised by who always come here: static
	// sessions. Valid with Persistence, unique in the service.
	Sessions []string `json:"sessions,omitempty"`
	// ServerNames are the names (SNI) of TLS clients that come here and nowhere
	// else, "*.example.com" for all below one; a backend without takes who asks
	// for no name of another. l4xnat farms only.
	ServerNames []string `json:"server_names,omitempty"`
	// Nets are the nets of clients the backend is for, with DNSGeo; of several that
	// hold a client the longest decides. Services of gslb farms only.
	Nets []netip.Prefix `json:"nets,omitempty"`
	// Countries (ISO 3166-1) and Continents are those of clients the backend is for, with
	// DNSGeo, where no net of a backend holds the client.
	Countries  []string `json:"countries,omitempty"`
	Continents []string `json:"continents,omitempty"`
	// Coordinates are where the backend is with DNSNearest, as "latitude,longitude" in degrees;
	// empty for where its address is.
	Coordinates string `json:"coordinates,omitempty"`
	// HashKey is ranked by with DNSHash; empty means the address.
	HashKey string `json:"hash_key,omitempty"`
}

// MaxSplit is the highest Split.
const MaxSplit = 100

// Seconds is a duration in whole seconds, as the contract counts.
type Seconds uint32

// MaxFarmID and MaxBackendID are the highest IDs a store gives out. Shared
// tables have one slot for each, so they bound live objects too.
const (
	MaxFarmID    = 1<<12 - 1
	MaxBackendID = 1<<16 - 1
)

// AddrPort is the address clients connect to.
func (f *Farm) AddrPort() netip.AddrPort { return netip.AddrPortFrom(f.VIP, f.VPort) }

// AddrPort is the resolved address of the backend.
func (b *Backend) AddrPort() netip.AddrPort { return netip.AddrPortFrom(b.Addr, b.Port) }

// EffectivePersistence is what clients are recognised by: nothing as long as the
// name is missing that Persistence looks for.
func (s *Service) EffectivePersistence() Persistence {
	if s.Persistence.Named() && s.SessionID == "" {
		return PersistNone
	}
	return s.Persistence
}

// EffectiveWeight is Weight with the unset value replaced.
func (b *Backend) EffectiveWeight() int { return max(1, int(b.Weight)) }

// EffectivePriority is Priority with the unset value replaced.
func (b *Backend) EffectivePriority() int { return max(1, int(b.Priority)) }

// DefaultHTTP returns the settings a new http farm starts with (the
// family's farm template).
func DefaultHTTP() *HTTP {
	return &HTTP{
		ConnectTimeout:  20,
		ResponseTimeout: 45,
		ResurrectTime:   21,
		RequestTimeout:  30,
		RewriteLocation: RewriteEnabled,
		Verbs:           VerbsAny,
	}
}

// DefaultTTL is the session time-to-live of a service that sets none.
const DefaultTTL Seconds = 120

// Defaults of settings that are zero when nobody set them.
const (
	DefaultMaxHead       uint32  = 64 << 10
	DefaultTunnelTimeout Seconds = 600
	DefaultStopGrace     Seconds = 30
	DefaultSTS           Seconds = 21600000
)
