package farm

import "net/netip"

// Config is one complete configuration: everything the engines need to know.
type Config struct {
	Farms []Farm `json:"farms"`
}

// Farm is one balanced unit: a VIP and a virtual port, answered by backends.
type Farm struct {
	// ID is stable and unique among farms, 1 … MaxFarmID; 0 means "not given yet".
	ID uint32 `json:"id,omitempty"`
	// Name is unique among farms; renaming keeps ID.
	Name    string  `json:"name"`
	Profile Profile `json:"profile"`
	// VIP is the address clients use; the unspecified address means every local one.
	VIP   netip.Addr `json:"vip"`
	VPort uint16     `json:"vport"`
	// Stopped farms are kept and may be edited, but have no listener.
	Stopped bool `json:"stopped,omitempty"`
	// HTTP is set if, and only if, Profile is ProfileHTTP.
	HTTP *HTTP `json:"http,omitempty"`
}

// HTTP holds the directives of an http farm. A zero Seconds is never valid
// here: DefaultHTTP gives the family's defaults.
type HTTP struct {
	// ConnectTimeout bounds one connect to one backend.
	ConnectTimeout Seconds `json:"contimeout"`
	// ResponseTimeout bounds the wait for a backend's next bytes.
	ResponseTimeout Seconds `json:"restimeout"`
	// ResurrectTime is how often a backend that was found down is tried again.
	ResurrectTime Seconds `json:"resurrectime"`
	// RequestTimeout bounds the client's whole request head, then its silence.
	RequestTimeout  Seconds         `json:"reqtimeout"`
	RewriteLocation RewriteLocation `json:"rewritelocation"`
	Verbs           VerbSet         `json:"httpverb"`
	// Error414 … Error503 are response bodies; empty means the built-in text.
	Error414 string    `json:"error414,omitempty"`
	Error500 string    `json:"error500,omitempty"`
	Error501 string    `json:"error501,omitempty"`
	Error503 string    `json:"error503,omitempty"`
	Services []Service `json:"services,omitempty"`
}

// Service is one match group of an http farm. The first service in list order
// whose VHost and URL both match takes the exchange.
type Service struct {
	// ID is stable and unique among all services of the configuration.
	ID   uint32 `json:"id,omitempty"`
	Name string `json:"name"`
	// VHost is a regex that must match from the first byte of the Host value
	// on, ignoring case; empty matches every host.
	VHost string `json:"vhost,omitempty"`
	// URL is a regex searched in the canonical path (with its query); empty
	// matches every one.
	URL string `json:"urlp,omitempty"`
	// Redirect is an absolute http(s) URL; when set the backends are not used.
	Redirect     string       `json:"redirect,omitempty"`
	RedirectType RedirectType `json:"redirecttype,omitempty"`
	// RedirectCode is 301, 302 or 307; 0 means 302.
	RedirectCode int         `json:"redirect_code,omitempty"`
	Persistence  Persistence `json:"persistence,omitempty"`
	// TTL is how long a session lives after its last use; valid with Persistence.
	TTL Seconds `json:"ttl,omitempty"`
	// SessionID names the cookie, header or parameter; valid with Persistence
	// COOKIE, HEADER and URL.
	SessionID string        `json:"sessionid,omitempty"`
	Policy    RoutingPolicy `json:"routingpolicy,omitempty"`
	Backends  []Backend     `json:"backends,omitempty"`
}

// Backend is one server of a service.
type Backend struct {
	// ID is stable and unique among all backends of the configuration,
	// 1 … MaxBackendID; the number the API shows is the position instead.
	ID uint32 `json:"id,omitempty"`
	// Host is what the operator wrote: an address or a resolvable name.
	Host string `json:"ip"`
	// Addr is Host resolved by mgmt; always valid in a snapshot.
	Addr netip.Addr `json:"addr,omitzero"`
	Port uint16     `json:"port"`
	// Weight is 1–9; 0 means unset and acts as 1.
	Weight uint8 `json:"weight,omitempty"`
	// Priority is 1–9; 0 means unset and acts as 1.
	Priority uint8 `json:"priority,omitempty"`
	// ConnLimit bounds the exchanges in flight to this backend; 0 means no limit.
	ConnLimit uint32 `json:"connection_limit,omitempty"`
	// Timeout overrides the farm's ResponseTimeout; 0 means the farm's.
	Timeout     Seconds     `json:"timeout,omitempty"`
	Alias       string      `json:"alias,omitempty"`
	Maintenance Maintenance `json:"maintenance,omitempty"`
}

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

// EffectiveWeight is Weight with the unset value replaced.
func (b *Backend) EffectiveWeight() int { return max(1, int(b.Weight)) }

// EffectivePriority is Priority with the unset value replaced.
func (b *Backend) EffectivePriority() int { return max(1, int(b.Priority)) }

// DefaultHTTP returns the directives a new http farm starts with (the
// family's farm template).
func DefaultHTTP() *HTTP {
	return &HTTP{
		ConnectTimeout:  20,
		ResponseTimeout: 45,
		ResurrectTime:   21,
		RequestTimeout:  30,
		RewriteLocation: RewriteEnabled,
		Verbs:           VerbsMSRPCExt,
	}
}

// DefaultTTL is the session time-to-live of a service that sets none.
const DefaultTTL Seconds = 120
