package farm

import "net/netip"

// Config is a complete configuration: of the engines, and of the machine they run on.
type Config struct {
	Farms []Farm `json:"farms"`
	// Farms refer to Certificates and Authorities by name. Challenges are served by every
	// farm in addition to its services. All three exist only in snapshots.
	Certificates []Certificate `json:"certificates,omitempty"`
	Authorities  []Authority   `json:"authorities,omitempty"`
	Challenges   []Challenge   `json:"challenges,omitempty"`
	// System is not part of snapshots. SystemUnsaid is true if a document has no machine
	// settings, which then stay unchanged.
	System       System `json:"system,omitzero" cbor:"-"`
	SystemUnsaid bool   `json:"-" cbor:"-"`
	// Checks are not part of snapshots either. ChecksUnsaid is true if a document has no
	// list of checks.
	Checks       []Check `json:"checks,omitempty" cbor:"-"`
	ChecksUnsaid bool    `json:"-" cbor:"-"`

	aligned *alignment // the last result of AlignedWith
}

// Farm is a load-balanced service: a VIP and a virtual port with backends.
//
// A Farm also identifies one state of that service. Its settings (HTTP, L4, Global, Notes) are
// immutable once its configuration is published: a change edits a Clone. Code that passes
// configurations on keeps the settings of unchanged farms in the same memory (apply.share in
// mgmt, snapshot.Reader in engines and netd). So an unchanged farm is Same in successive
// configurations, and whatever was made of it can be kept. Align and Memo do this for lists;
// Key is for maps. Same may be false for equal farms, which costs time only.
type Farm struct {
	_ [0]func() // Farms cannot be compared by ==: use Same or Key

	// ID is stable and unique among farms, 1 … MaxFarmID; 0 means not assigned yet.
	ID uint32 `json:"id,omitempty"`
	// Name is unique among farms; renaming keeps ID.
	Name    string  `json:"name"`
	Profile Profile `json:"profile"`
	// VIP is the address clients use; the unspecified address means every local one.
	VIP netip.Addr `json:"vip"`
	// VPort is the port of an http farm; l4xnat farms have L4.Ports instead.
	VPort uint16 `json:"vport,omitempty"`
	// Stopped farms are kept and may be edited, but do not listen.
	Stopped bool `json:"stopped,omitempty"`
	// HTTP is set if, and only if, Profile is ProfileHTTP.
	HTTP *HTTP `json:"http,omitempty"`
	// L4 is set if, and only if, Profile is ProfileL4.
	L4 *L4 `json:"l4,omitempty"`
	// Global is set if, and only if, Profile is ProfileGSLB.
	Global *GSLB `json:"gslb,omitempty"`
	// Notes holds an operator's notes, or nil; engines ignore them.
	Notes *Notes `json:"notes,omitempty" cbor:"-"`
}

// Notes is an operator's comment on a farm.
type Notes struct {
	Comment string   `json:"comment,omitempty"`
	Tags    []string `json:"tags,omitempty"` // at most MaxTags
}

// MaxTags limits the tags of a farm.
const MaxTags = 16

// Said returns the notes of the farm.
func (f *Farm) Said() Notes {
	if f.Notes == nil {
		return Notes{}
	}
	return *f.Notes
}

// Say replaces the notes; empty ones are stored as nil.
func (f *Farm) Say(n Notes) {
	f.Notes = &n
	if n.Comment == "" && len(n.Tags) == 0 {
		f.Notes = nil
	}
}

// HTTP holds the settings of an http farm. A zero Seconds is never valid here: DefaultHTTP
// returns Zevenet's defaults.
type HTTP struct {
	// ConnectTimeout limits one connect to one backend.
	ConnectTimeout Seconds `json:"contimeout"`
	// ResponseTimeout limits the wait for a backend's next bytes.
	ResponseTimeout Seconds `json:"restimeout"`
	// ResurrectTime is the longest time between two tries of a backend found down: they
	// begin at 0.2 s and double.
	ResurrectTime Seconds `json:"resurrectime"`
	// RequestTimeout limits the time for the whole request head, then the client's idle
	// time.
	RequestTimeout  Seconds         `json:"reqtimeout"`
	RewriteLocation RewriteLocation `json:"rewritelocation"`
	Verbs           VerbSet         `json:"httpverb"`
	// Error414 … Error503 are response bodies; empty means the built-in text.
	Error414 string `json:"error414,omitempty"`
	Error500 string `json:"error500,omitempty"`
	Error501 string `json:"error501,omitempty"`
	Error503 string `json:"error503,omitempty"`
	ErrorWAF string `json:"errorWAF,omitempty"`
	// TLS enables TLS on the listener.
	TLS *TLS `json:"tls,omitempty"`
	HeaderRules
	Continue ContinueMode `json:"ignore_100_continue,omitempty"`
	// MaxBody limits a request body in bytes, beyond it the response is 413; 0 means no
	// limit.
	MaxBody uint64 `json:"maxbody,omitempty"`
	// MaxHead limits a request head in bytes; 0 means DefaultMaxHead.
	MaxHead uint32 `json:"maxrequest,omitempty"`
	// MaxConnections limits the clients of the farm; 0 means no limit except file
	// descriptors. Overflow decides what happens to more.
	MaxConnections uint32   `json:"maxconnections,omitempty"`
	Overflow       Overflow `json:"overflow,omitempty"`
	// CheckURL is a regex the path must match, otherwise the response is 400.
	CheckURL string `json:"checkurl,omitempty"`
	// PathPolicy decides which path backends get; empty acts as PathAsIs.
	PathPolicy PathPolicy `json:"path_policy,omitempty"`
	// IgnoreCase applies to CheckURL and the URL patterns of all services.
	IgnoreCase bool `json:"ignorecase,omitempty"`
	// RewriteHost sends the backend's own address as Host. RewriteDestination rewrites the
	// Destination of WebDAV requests accordingly.
	RewriteHost        bool `json:"rewritehost,omitempty"`
	RewriteDestination bool `json:"rewritedestination,omitempty"`
	// TunnelTimeout is the idle timeout of tunnels (WebSocket). StopGrace is how long
	// exchanges may continue after the farm was stopped. 0 means the defaults.
	TunnelTimeout Seconds `json:"wstimeout,omitempty"`
	StopGrace     Seconds `json:"grace,omitempty"`
	// Mark is the SO_MARK of connections to backends without their own; 0 sets none.
	Mark uint32 `json:"mark,omitempty"`
	// Trusted lists the peers whose X-Forwarded-For and similar headers are kept. For a
	// connection with a PROXY header the address in it counts.
	Trusted []netip.Prefix `json:"trusted,omitempty"`
	// ProxyIn decides whether Trusted peers send PROXY headers; values other than off
	// require some.
	ProxyIn ProxyIn `json:"proxyprotocol_in,omitempty"`
	// Logs logs every exchange as configured in AccessLog.
	Logs      bool      `json:"logs,omitempty"`
	AccessLog AccessLog `json:"access_log,omitzero"`
	RequestID RequestID `json:"request_id,omitempty"`
	Services  []Service `json:"services,omitempty"`
}

// Service is a set of matching rules and backends of an http farm. The first service in list
// order whose VHost and URL both match gets the exchange.
type Service struct {
	// ID is stable and unique among all services of the configuration.
	ID   uint32 `json:"id,omitempty"`
	Name string `json:"name"`
	// VHost is a regex that must match the beginning of the Host value, ignoring case. A
	// plain name must match the whole value, see IsHostName. Empty matches every host.
	VHost string `json:"vhost,omitempty"`
	// URL is a regex searched in the canonical path with query; empty matches all.
	URL string `json:"urlp,omitempty"`
	// Redirect is an absolute http(s) URL; if set, backends are not used.
	Redirect     string       `json:"redirect,omitempty"`
	RedirectType RedirectType `json:"redirecttype,omitempty"`
	// RedirectCode is 301, 302 or 307; 0 means DefaultRedirectCode.
	RedirectCode int `json:"redirect_code,omitempty"`
	// DNSFarm is the name of the gslb farm that serves requests to this service as DNS over
	// HTTPS (RFC 8484); if set, backends are not used.
	DNSFarm     string      `json:"dns_farm,omitempty"`
	Persistence Persistence `json:"persistence,omitempty"`
	// TTL is how long a session lives after its last use; unused without Persistence.
	TTL Seconds `json:"ttl,omitempty"`
	// SessionID names the cookie, header or parameter of Persistence COOKIE, HEADER and URL;
	// unused with others.
	SessionID string        `json:"sessionid,omitempty"`
	Policy    RoutingPolicy `json:"routingpolicy,omitempty"`
	// HeadRequire and HeadDeny are regexes for header lines ("Name: value"). Each of the
	// former must match some line, the latter must match none.
	HeadRequire []string `json:"headrequire,omitempty"`
	HeadDeny    []string `json:"headdeny,omitempty"`
	// IgnoreCase applies to URL, as does the farm's.
	IgnoreCase bool `json:"ignorecase,omitempty"`
	// HeaderRules are applied before the farm's. If both add a header the service's is
	// used.
	HeaderRules
	Rewrites []URLRewrite `json:"rewriteurl,omitempty"`
	// RewriteLocation overrides the farm's unless empty.
	RewriteLocation RewriteLocation `json:"rewritelocation,omitempty"`
	// TLS enables TLS to the backends.
	TLS *BackendTLS `json:"httpsb,omitempty"`
	// BackendProtocol is the protocol of the backends; empty means HTTP/1.1.
	BackendProtocol BackendProtocol `json:"backendprotocol,omitempty"`
	// Cookie keeps clients on their backend by an inserted cookie, unless persistence does.
	Cookie *CookieInsert `json:"cookieinsert,omitempty"`
	// STS is the max-age of Strict-Transport-Security; 0 sends none. It requires an https
	// listener.
	STS Seconds `json:"sts,omitempty"`
	// Split is the weight, 0–MaxSplit, by which adjacent services share requests.
	// Consecutive services with a weight divide the requests that several of them match. nil
	// takes no part.
	Split *uint8 `json:"split,omitempty"`
	// Auth restricts access; nil allows everyone.
	Auth *Auth `json:"auth,omitempty"`
	// RateLimit limits the requests of each client; nil does not.
	RateLimit *RateLimit `json:"ratelimit,omitempty"`
	// Pinned keeps a client on the backend connection it used first.
	Pinned bool `json:"pinnedconnection,omitempty"`
	// IgnoreClose continues exchanges after the client has closed its sending direction; the
	// opposite of abortonclose.
	IgnoreClose bool `json:"ignoreclose,omitempty"`
	// ProxyOut sends the client address to backends by the PROXY protocol.
	ProxyOut ProxyOut `json:"proxyprotocol_out,omitempty"`
	// ServedBy names a response header that identifies the backend; empty sends none.
	ServedBy string `json:"served_by,omitempty"`
	// Compression compresses bodies for clients that accept it; nil does not.
	Compression *Compression `json:"compression,omitempty"`
	// Leniency lists deviations from HTTP/1 accepted in responses.
	Leniency []Leniency `json:"backend_leniency,omitempty"`
	Queueing
	Retrying
	Outlier
	// SlowStart is how long a backend that comes up, is added or leaves maintenance takes to
	// ramp up from a tenth of its weight to all of it; 0 disables it.
	SlowStart Seconds `json:"slowstart,omitempty"`
	// Check is the name of the backends' check, or empty.
	Check    string    `json:"farmguardian,omitempty"`
	Backends []Backend `json:"backends,omitempty"`
	// LastSlot is the highest backend slot used so far.
	LastSlot uint32 `json:"last_seat,omitempty"`
}

// Backend is one server of a service.
type Backend struct {
	// ID is stable and unique among all backends of the configuration, 1 … MaxBackendID.
	// Group.Number returns the API's number.
	ID uint32 `json:"id,omitempty"`
	// Slot is the API's number of the backend plus one; 0 means not assigned yet.
	Slot uint32 `json:"seat,omitempty"`
	// Host is the configured address or host name.
	Host string `json:"ip"`
	// Addr is Host resolved by mgmt. It is invalid if the name was never resolved or the
	// backend Spreads; such a backend is not used.
	Addr netip.Addr `json:"addr,omitzero"`
	// Resolve decides how a host name is expanded. Of is the ID of the backend that Spreads
	// and whose name has this address; mgmt creates such backends, and documents contain
	// none. Left means that the name no longer has the address, and its connections may end.
	Resolve Resolve `json:"resolve,omitempty"`
	Of      uint32  `json:"of,omitempty"`
	Left    bool    `json:"left,omitempty"`
	// Port is 0 only in l4xnat farms: the client's destination port is kept.
	Port uint16 `json:"port"`
	// Weight is 1–9; 0 means unset and acts as 1.
	Weight uint8 `json:"weight,omitempty"`
	// Priority is 1–9; 0 means unset and acts as 1.
	Priority uint8 `json:"priority,omitempty"`
	// ConnLimit limits the exchanges, connections or flows to this backend; 0 means no
	// limit.
	ConnLimit uint32 `json:"connection_limit,omitempty"`
	// Timeout overrides the farm's ResponseTimeout; 0 means the farm's.
	Timeout Seconds `json:"timeout,omitempty"`
	// ConnectTimeout overrides the farm's; 0 means the farm's. Only for services.
	ConnectTimeout Seconds `json:"contimeout,omitempty"`
	// Source is the source address of connections; if invalid the system chooses.
	Source netip.Addr `json:"source,omitzero"`
	// Mark is the SO_MARK of connections; 0 means the farm's.
	Mark        uint32      `json:"mark,omitempty"`
	Alias       string      `json:"alias,omitempty"`
	Maintenance Maintenance `json:"maintenance,omitempty"`
	// Sessions holds static sessions: keys of clients that always use this backend. Valid
	// with Persistence, unique in the service.
	Sessions []string `json:"sessions,omitempty"`
	// ServerNames lists the names (SNI) of TLS clients that may only use this backend,
	// "*.example.com" for all subdomains. A backend without names gets clients whose name
	// matches no other. l4xnat farms only.
	ServerNames []string `json:"server_names,omitempty"`
	// Nets lists the client nets of the backend, with DNSGeo; the longest match decides.
	// Services of gslb farms only.
	Nets []netip.Prefix `json:"nets,omitempty"`
	// Countries (ISO 3166-1) and Continents list the client locations of the backend, with
	// DNSGeo. They apply if no net of a backend contains the client.
	Countries  []string `json:"countries,omitempty"`
	Continents []string `json:"continents,omitempty"`
	// Coordinates is the location of the backend for DNSNearest, as "latitude,longitude" in
	// degrees; empty means that of its address.
	Coordinates string `json:"coordinates,omitempty"`
	// HashKey is the key for DNSHash; empty means the address.
	HashKey string `json:"hash_key,omitempty"`
}

// MaxSplit is the highest Split.
const MaxSplit = 100

// Seconds is a duration in whole seconds, as the contract counts.
type Seconds uint32

// MaxFarmID and MaxBackendID are the highest IDs a store assigns. Shared tables have one
// slot for each, so they limit live objects too.
const (
	MaxFarmID    = 1<<12 - 1
	MaxBackendID = 1<<16 - 1
)

// AddrPort returns the address clients connect to.
func (f *Farm) AddrPort() netip.AddrPort { return netip.AddrPortFrom(f.VIP, f.VPort) }

// AddrPort returns the resolved address of the backend.
func (b *Backend) AddrPort() netip.AddrPort { return netip.AddrPortFrom(b.Addr, b.Port) }

// EffectivePersistence returns Persistence, or none while the name it needs is missing.
func (s *Service) EffectivePersistence() Persistence {
	if s.Persistence.Named() && s.SessionID == "" {
		return PersistNone
	}
	return s.Persistence
}

// EffectiveWeight returns the weight, or the default.
func (b *Backend) EffectiveWeight() int { return max(1, int(b.Weight)) }

// EffectivePriority returns the priority, or the default.
func (b *Backend) EffectivePriority() int { return max(1, int(b.Priority)) }

// DefaultHTTP returns the settings of a new http farm (Zevenet's farm template).
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

// DefaultTTL is the default session TTL of a service.
const DefaultTTL Seconds = 120

// Defaults of settings whose zero value means unset.
const (
	DefaultMaxHead       uint32  = 64 << 10
	DefaultTunnelTimeout Seconds = 600
	DefaultStopGrace     Seconds = 30
	DefaultSTS           Seconds = 21600000
)
