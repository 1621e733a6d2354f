package farm

// Enumerations use the words of the contract, so that API, file, store and snapshot have the
// same spelling. Engines convert them to numbers when they compile tables.

// VerbSet names the methods an http farm accepts. Each of Zevenet's sets includes the ones
// listed before it, except VerbsOptionsHTTP.
type VerbSet string

// Zevenet's verb sets (directive xHTTP 0 … 5).
const (
	VerbsStandard    VerbSet = "standardHTTP"   // GET POST HEAD
	VerbsExtended    VerbSet = "extendedHTTP"   // + PUT PATCH DELETE
	VerbsWebDAV      VerbSet = "standardWebDAV" // + WebDAV verbs, OPTIONS, TRACE
	VerbsMSWebDAV    VerbSet = "MSextWebDAV"    // + Microsoft WebDAV
	VerbsMSRPCExt    VerbSet = "MSRPCext"       // + RPC_IN_DATA RPC_OUT_DATA
	VerbsOptionsHTTP VerbSet = "optionsHTTP"    // GET POST HEAD PUT PATCH DELETE OPTIONS
)

// VerbsAny is every method except CONNECT, known or not.
const VerbsAny VerbSet = "any"

// VerbSets lists every set.
func VerbSets() []VerbSet {
	return []VerbSet{VerbsStandard, VerbsExtended, VerbsWebDAV, VerbsMSWebDAV, VerbsMSRPCExt, VerbsOptionsHTTP, VerbsAny}
}

// PathPolicy decides which path backends get, and which paths a farm refuses.
type PathPolicy string

// The policies; the zero value acts as PathAsIs. All of them use the canonical path for
// decisions.
const (
	PathAsIs      PathPolicy = "asis"      // backends get the path byte for byte
	PathCanonical PathPolicy = "canonical" // backends get the canonical path
	PathStrict    PathPolicy = "strict"    // like canonical; paths that backends may decode differently get a 400
)

// PathPolicies lists every policy.
func PathPolicies() []PathPolicy { return []PathPolicy{PathAsIs, PathCanonical, PathStrict} }

// RewriteLocation decides which Location and Content-Location headers of a response are
// rewritten to the address the client used.
type RewriteLocation string

// The modes of rewritelocation. "enabled" rewrites values that point to the backend or the
// farm's own address, "-backends" only those that point to the backend. "-path" also reverts
// URL rewriting.
const (
	RewriteDisabled            RewriteLocation = "disabled"
	RewriteEnabled             RewriteLocation = "enabled"
	RewriteEnabledBackends     RewriteLocation = "enabled-backends"
	RewriteEnabledPath         RewriteLocation = "enabled-path"
	RewriteEnabledBackendsPath RewriteLocation = "enabled-backends-path"
)

// RewriteLocations lists every mode.
func RewriteLocations() []RewriteLocation {
	return []RewriteLocation{RewriteDisabled, RewriteEnabled, RewriteEnabledBackends, RewriteEnabledPath, RewriteEnabledBackendsPath}
}

// RedirectType decides whether a redirect keeps the path of the request.
type RedirectType string

// The redirect types; the empty value acts as RedirectDefault.
const (
	RedirectDefault RedirectType = "default"
	RedirectAppend  RedirectType = "append"
)

// DefaultRedirectCode is the default status of redirects.
const DefaultRedirectCode = 302

// RedirectTypes lists every type.
func RedirectTypes() []RedirectType { return []RedirectType{RedirectDefault, RedirectAppend} }

// RedirectCodes lists every status a redirect may use.
func RedirectCodes() []int { return []int{301, 302, 307} }

// Persistence is how a returning client is identified; empty means not at all.
type Persistence string

// The persistence kinds of an http service.
const (
	PersistNone   Persistence = ""
	PersistIP     Persistence = "IP"     // client address
	PersistBasic  Persistence = "BASIC"  // user of basic authentication
	PersistURL    Persistence = "URL"    // query parameter SessionID
	PersistParm   Persistence = "PARM"   // path parameter after ';'
	PersistCookie Persistence = "COOKIE" // cookie SessionID
	PersistHeader Persistence = "HEADER" // request header SessionID
)

// Persistences lists every kind except none.
func Persistences() []Persistence {
	return []Persistence{PersistIP, PersistBasic, PersistURL, PersistParm, PersistCookie, PersistHeader}
}

// Named reports whether SessionID names the cookie, header or parameter that identifies a
// client.
func (p Persistence) Named() bool {
	return p == PersistURL || p == PersistCookie || p == PersistHeader
}

// RoutingPolicy is the balancing algorithm of a service; empty acts as
// PolicyRoundRobin. All respect weights, priorities and connection limits.
type RoutingPolicy string

// The policies. The last two extend Zevenet's four.
const (
	PolicyRoundRobin       RoutingPolicy = "ROUND_ROBIN"
	PolicyLeastConnections RoutingPolicy = "LEAST_CONNECTIONS"
	PolicyResponseTime     RoutingPolicy = "RESPONSE_TIME"
	PolicyPending          RoutingPolicy = "PENDING_CONNECTIONS"
	PolicyRandomOfTwo      RoutingPolicy = "RANDOM_OF_TWO"
	PolicyConsistentHash   RoutingPolicy = "CONSISTENT_HASH"
)

// RoutingPolicies lists every policy.
func RoutingPolicies() []RoutingPolicy {
	return []RoutingPolicy{PolicyRoundRobin, PolicyLeastConnections, PolicyResponseTime, PolicyPending, PolicyRandomOfTwo, PolicyConsistentHash}
}

// Maintenance is an operator's setting to take a backend out of use.
type Maintenance string

// The maintenance modes; MaintenanceOff means the backend is in use.
const (
	MaintenanceOff   Maintenance = ""
	MaintenanceDrain Maintenance = "drain" // sessions and connections are kept, new ones refused
	MaintenanceCut   Maintenance = "cut"   // sessions and connections are removed too
)

// Status is the public status of a farm or a backend.
type Status string

// The statuses of farms and backends, in the API's lower-case spelling.
const (
	StatusUp            Status = "up"
	StatusDown          Status = "down"
	StatusMaintenance   Status = "maintenance"
	StatusUndefined     Status = "undefined"      // backends only: unknown yet
	StatusCritical      Status = "critical"       // farms only: no backend is up
	StatusProblem       Status = "problem"        // farms only: some backend is down
	StatusNeededRestart Status = "needed restart" // farms only: stored changes are not applied
)

// BackendProtocol is the protocol of a service's backends.
type BackendProtocol string

// The protocols. With httpsb h2 is negotiated by ALPN; without it h2 is used with prior
// knowledge (RFC 9113 section 3.3).
const (
	BackendHTTP1 BackendProtocol = "http1" // default
	BackendHTTP2 BackendProtocol = "h2"
)

// BackendProtocols lists the protocols, the default first.
func BackendProtocols() []BackendProtocol { return []BackendProtocol{BackendHTTP1, BackendHTTP2} }

// Multiplexed reports whether the backends use HTTP/2, so that exchanges share connections.
func (s *Service) Multiplexed() bool { return s.BackendProtocol == BackendHTTP2 }

// ProxyIn is the treatment of a PROXY protocol header at the beginning of a connection, by
// which a trusted peer sends the original client's address.
type ProxyIn string

// The treatments; the zero value acts as ProxyInOff.
const (
	ProxyInOff      ProxyIn = "off"      // treated as data
	ProxyInOptional ProxyIn = "optional" // only trusted peers may send one
	ProxyInRequired ProxyIn = "required" // trusted peers must send one, others are closed
)

// ProxyIns lists the treatments.
func ProxyIns() []ProxyIn { return []ProxyIn{ProxyInOff, ProxyInOptional, ProxyInRequired} }

// ProxyOut decides whether connections to backends begin with a PROXY protocol header with
// the client's address. Such a connection is used for that client only, like a pinned one.
type ProxyOut string

// The headers; the zero value acts as ProxyOutOff.
const (
	ProxyOutOff ProxyOut = "off"
	ProxyOutV1  ProxyOut = "v1" // a line of text
	ProxyOutV2  ProxyOut = "v2" // binary, with the TLS parameters of the client
)

// ProxyOuts lists the headers.
func ProxyOuts() []ProxyOut { return []ProxyOut{ProxyOutOff, ProxyOutV1, ProxyOutV2} }
