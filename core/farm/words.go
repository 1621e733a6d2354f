package farm

// The enumerations keep the words of the contract, so that API, file, store
// and snapshot all spell them the same way. Engines turn them into numbers
// when they compile their tables.

// VerbSet names the methods an http farm accepts. Of the sets of the family each
// includes the ones listed before it, except VerbsOptionsHTTP.
type VerbSet string

// The verb sets of the family (directive xHTTP 0 … 5).
const (
	VerbsStandard    VerbSet = "standardHTTP"   // GET POST HEAD
	VerbsExtended    VerbSet = "extendedHTTP"   // + PUT PATCH DELETE
	VerbsWebDAV      VerbSet = "standardWebDAV" // + WebDAV verbs, OPTIONS, TRACE
	VerbsMSWebDAV    VerbSet = "MSextWebDAV"    // + Microsoft WebDAV
	VerbsMSRPCExt    VerbSet = "MSRPCext"       // + RPC_IN_DATA RPC_OUT_DATA
	VerbsOptionsHTTP VerbSet = "optionsHTTP"    // GET POST HEAD PUT PATCH DELETE OPTIONS
)

// VerbsAny is every method but CONNECT, known or not.
const VerbsAny VerbSet = "any"

// VerbSets lists every set.
func VerbSets() []VerbSet {
	return []VerbSet{VerbsStandard, VerbsExtended, VerbsWebDAV, VerbsMSWebDAV, VerbsMSRPCExt, VerbsOptionsHTTP, VerbsAny}
}

// PathPolicy says which path backends get, and which paths a farm refuses.
type PathPolicy string

// The policies; the zero value acts as PathAsIs. Decisions are made on the
// canonical path with all of them.
const (
	PathAsIs      PathPolicy = "asis"      // backends get the path byte for byte
	PathCanonical PathPolicy = "canonical" // backends get the canonical path
	PathStrict    PathPolicy = "strict"    // as canonical; paths that backends may decode to another one get a 400
)

// PathPolicies lists every policy.
func PathPolicies() []PathPolicy { return []PathPolicy{PathAsIs, PathCanonical, PathStrict} }

// RewriteLocation says which Location and Content-Location headers of a
// response are rewritten to the address the client used.
type RewriteLocation string

// The modes of rewritelocation: "enabled" rewrites values that point at the
// backend or at the farm's own address, "-backends" only those that point at
// the backend; "-path" also undoes URL rewriting.
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

// RedirectType says whether a redirect keeps the path of the request.
type RedirectType string

// The redirect types; the empty value acts as RedirectDefault.
const (
	RedirectDefault RedirectType = "default"
	RedirectAppend  RedirectType = "append"
)

// DefaultRedirectCode is the status of redirects that name none.
const DefaultRedirectCode = 302

// RedirectTypes lists every type.
func RedirectTypes() []RedirectType { return []RedirectType{RedirectDefault, RedirectAppend} }

// RedirectCodes lists every status a redirect may use.
func RedirectCodes() []int { return []int{301, 302, 307} }

// Persistence says what identifies a returning client; empty means nothing does.
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

// Persistences lists every kind that remembers something.
func Persistences() []Persistence {
	return []Persistence{PersistIP, PersistBasic, PersistURL, PersistParm, PersistCookie, PersistHeader}
}

// Named reports whether a client is found by a cookie, header or parameter that
// SessionID names.
func (p Persistence) Named() bool {
	return p == PersistURL || p == PersistCookie || p == PersistHeader
}

// RoutingPolicy is the balancing algorithm of a service; empty acts as
// PolicyRoundRobin. All respect weights, priorities and connection limits.
type RoutingPolicy string

// The policies. The last two are Sluice's own additions to the family's four.
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

// Maintenance says whether, and how, an operator took a backend out.
type Maintenance string

// The maintenance modes; MaintenanceOff means the backend is in use.
const (
	MaintenanceOff   Maintenance = ""
	MaintenanceDrain Maintenance = "drain" // sessions and connections are kept, new ones refused
	MaintenanceCut   Maintenance = "cut"   // sessions and connections are removed too
)

// Status is what the outside sees of a farm or a backend.
type Status string

// The statuses of farms and backends, in the API's lower-case spelling.
const (
	StatusUp            Status = "up"
	StatusDown          Status = "down"
	StatusMaintenance   Status = "maintenance"
	StatusUndefined     Status = "undefined"      // backends only: nothing is known yet
	StatusCritical      Status = "critical"       // farms only: no backend is up
	StatusProblem       Status = "problem"        // farms only: some backend is down
	StatusNeededRestart Status = "needed restart" // farms only: stored changes are not applied
)

// BackendProtocol is what the backends of a service speak.
type BackendProtocol string

// The protocols. With httpsb h2 is agreed on by ALPN, without it the backends
// know beforehand (RFC 9113 section 3.3).
const (
	BackendHTTP1 BackendProtocol = "http1" // what empty means
	BackendHTTP2 BackendProtocol = "h2"
)

// BackendProtocols lists them, the default first.
func BackendProtocols() []BackendProtocol { return []BackendProtocol{BackendHTTP1, BackendHTTP2} }

// Multiplexed reports whether the backends speak HTTP/2: exchanges then share
// connections.
func (s *Service) Multiplexed() bool { return s.BackendProtocol == BackendHTTP2 }

// ProxyIn says what a farm does with a header of the PROXY protocol in front of
// a connection, by which a trusted peer tells whose connection it passes on.
type ProxyIn string

// What may be done; the zero value acts as ProxyInOff.
const (
	ProxyInOff      ProxyIn = "off"      // it is bytes like any other
	ProxyInOptional ProxyIn = "optional" // trusted peers may send one, nobody else
	ProxyInRequired ProxyIn = "required" // trusted peers must, others are closed
)

// ProxyIns lists what may be done.
func ProxyIns() []ProxyIn { return []ProxyIn{ProxyInOff, ProxyInOptional, ProxyInRequired} }

// ProxyOut says whether connections to backends begin with a header of the
// PROXY protocol that tells for whom they are. Such a connection is kept for
// that client alone, as a pinned one.
type ProxyOut string

// The headers; the zero value acts as ProxyOutOff.
const (
	ProxyOutOff ProxyOut = "off"
	ProxyOutV1  ProxyOut = "v1" // a line of text
	ProxyOutV2  ProxyOut = "v2" // binary, with what TLS agreed on with the client
)

// ProxyOuts lists the headers.
func ProxyOuts() []ProxyOut { return []ProxyOut{ProxyOutOff, ProxyOutV1, ProxyOutV2} }
