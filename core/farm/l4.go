package farm

import (
	"cmp"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// L4 holds the settings of an l4xnat farm and its backends. DefaultL4 returns Zevenet's
// defaults.
type L4 struct {
	// ID is the number of the farm's backend group. It shares the numbering of services and
	// identifies sessions and rotations.
	ID uint32 `json:"id,omitempty"`
	// Ports are the virtual ports, ascending and disjoint; empty means all, or none for
	// protocols without ports.
	Ports     []PortRange   `json:"ports,omitempty"`
	Protocol  L4Protocol    `json:"protocol"`
	NAT       NATType       `json:"nattype"`
	Algorithm L4Algorithm   `json:"algorithm"`
	Persist   L4Persistence `json:"persistence,omitempty"`
	// TTL is how long a session lives after its last use.
	TTL Seconds `json:"ttl"`
	// DataPath is the configured data path; Carrier returns the effective one.
	DataPath DataPath `json:"datapath,omitempty"`
	// Logs logs each new connection, at most LogLimit per second (0 means
	// DefaultL4LogLimit), with the prefix LogPrefix (empty means "l4:NAME "). These lines
	// are written by the kernel. In userspace a line is written when the connection has
	// ended, as configured in AccessLog.
	Logs      bool      `json:"logs,omitempty"`
	LogLimit  uint32    `json:"log_limit,omitempty"`
	LogPrefix string    `json:"log_prefix,omitempty"`
	AccessLog AccessLog `json:"access_log,omitzero"`
	// ConnectTimeout limits one connect to one backend; userspace, TCP.
	ConnectTimeout Seconds `json:"contimeout,omitempty"`
	// IdleTimeout is the idle timeout of a connection or flow; 0 means DefaultTCPIdle or
	// DefaultUDPIdle. Userspace.
	IdleTimeout Seconds `json:"idle_timeout,omitempty"`
	// ResurrectTime is how often a backend found down is tried again; userspace.
	ResurrectTime Seconds `json:"resurrectime,omitempty"`
	// StopGrace is how long connections may continue after the farm was stopped; 0 means
	// none: a stop flushes connections (contract, module l4xnat).
	StopGrace Seconds `json:"grace,omitempty"`
	// Responses is the number of datagrams from the backend per client datagram after
	// which a flow is over: 1 for DNS, 0 for one-way streams like syslog. A nil value
	// means that only IdleTimeout ends it. UDP in userspace.
	Responses *uint16 `json:"responses,omitempty"`
	// QUIC keeps migrating clients on their backend by QUIC connection IDs (RFC 9000 §5.1).
	// UDP in userspace.
	QUIC bool `json:"quic,omitempty"`
	// MaxConnections limits the connections or flows of the farm; 0 means no limit except
	// file descriptors.
	MaxConnections uint32 `json:"maxconnections,omitempty"`
	// Source is the address backends see with NAT type nat; if invalid the system chooses. A
	// backend's own has priority.
	Source netip.Addr `json:"source,omitzero"`
	// Mark is the mark of packets to backends without their own.
	Mark uint32 `json:"mark,omitempty"`
	// Trusted lists the peers whose PROXY header is accepted; ProxyIn other than off
	// requires some. TCP in userspace, as ProxyOut.
	Trusted  []netip.Prefix `json:"trusted,omitempty"`
	ProxyIn  ProxyIn        `json:"proxyprotocol_in,omitempty"`
	ProxyOut ProxyOut       `json:"proxyprotocol_out,omitempty"`
	// Check is the name of the backends' check, or empty.
	Check    string    `json:"farmguardian,omitempty"`
	Backends []Backend `json:"backends,omitempty"`
	// LastSlot is the highest backend slot used so far.
	LastSlot uint32 `json:"last_seat,omitempty"`
}

// Defaults of an l4xnat farm.
const (
	DefaultL4TTL          Seconds = 60
	DefaultL4Connect      Seconds = 5
	DefaultL4Resurrect    Seconds = 10
	DefaultTCPIdle        Seconds = 3600
	DefaultUDPIdle        Seconds = 30
	DefaultL4LogLimit     uint32  = 10
	DefaultPacketIdleTime Seconds = 120 // of flows in dsr and stateless_dnat
)

// DefaultL4 returns the settings of a new l4xnat farm.
func DefaultL4() *L4 {
	return &L4{Protocol: L4TCP, NAT: NATMasquerade, Algorithm: L4Weight, TTL: DefaultL4TTL}
}

// IdleTimeout returns the idle timeout of a connection or flow of the l4xnat farm. If the
// kernel tracks connections it is the configured value, without effect. With both tcp and
// udp 0 stands for the default of each.
func (f *Farm) IdleTimeout() Seconds {
	l := f.L4
	switch {
	case l == nil:
		return 0
	case l.NAT == NATDirect, l.NAT == NATStateless:
		return cmp.Or(l.IdleTimeout, DefaultPacketIdleTime)
	case l.Protocol == L4TCPUDP, f.InKernel():
		return l.IdleTimeout
	case l.Protocol == L4UDP:
		return cmp.Or(l.IdleTimeout, DefaultUDPIdle)
	}
	return cmp.Or(l.IdleTimeout, DefaultTCPIdle)
}

// MaxPortRanges is the maximum number of ports and ranges of a farm.
const MaxPortRanges = 64

// PortRange is the ports First … Last, inclusive; 1 ≤ First ≤ Last.
type PortRange struct {
	First uint16 `json:"first"`
	Last  uint16 `json:"last"`
}

// Count returns the number of ports in the range.
func (p PortRange) Count() int { return int(p.Last) - int(p.First) + 1 }

// String returns "80" or "8000:8010", Zevenet's syntax.
func (p PortRange) String() string {
	if p.First == p.Last {
		return strconv.Itoa(int(p.First))
	}
	return strconv.Itoa(int(p.First)) + ":" + strconv.Itoa(int(p.Last))
}

// PortCount returns the number of listed ports; 0 means all.
func (l *L4) PortCount() int {
	n := 0
	for _, p := range l.Ports {
		n += p.Count()
	}
	return n
}

// PortsText returns the virtual port in Zevenet's syntax: "80", "80,443,8000:8010", "*".
func (l *L4) PortsText() string {
	if len(l.Ports) == 0 {
		return "*"
	}
	texts := make([]string, len(l.Ports))
	for i, p := range l.Ports {
		texts[i] = p.String()
	}
	return strings.Join(texts, ",")
}

// Implementation of settings.

func (l *L4) groups(f *Farm) []Group    { return []Group{{Farm: f, of: l}} }
func (l *L4) own() owner                { return l }
func (l *L4) transports() []L4Protocol  { return l.Protocol.Transports() }
func (l *L4) portsText(*Farm) string    { return l.PortsText() }
func (l *L4) inEngine(f *Farm) bool     { return f.InUserspace() }
func (l *L4) keepsPort() bool           { return true }
func (l *L4) mark() uint32              { return l.Mark }
func (l *L4) maxConnections() uint32    { return l.MaxConnections }
func (l *L4) source() netip.Addr        { return l.Source }
func (l *L4) carries() Traffic          { return TrafficConnections }
func (l *L4) tls() *TLS                 { return nil }
func (l *L4) headerRules() *HeaderRules { return nil }
func (l *L4) filtered() bool            { return l.NAT != NATDirect }
func (l *L4) keyHeaders() []string      { return nil }
func (l *L4) noGrace()                  { l.StopGrace = 0 }

// log always uses JSON: the combined format is for requests.
func (l *L4) log() (a *AccessLog, on bool) {
	of := l.AccessLog
	if of.Format = LogJSON; len(of.Fields) == 0 {
		of.Fields = ConnectionLogFields()
	}
	return &of, l.Logs
}

func (l *L4) reach(f *Farm) string {
	if f.InUserspace() {
		return string(l.Protocol) + " in userspace"
	}
	return string(l.Protocol)
}

func (l *L4) vports(*Farm) []PortRange {
	if len(l.Ports) == 0 {
		return []PortRange{{First: 1, Last: 65535}}
	}
	return l.Ports
}

func (l *L4) mixesVersions() bool {
	return l.NAT == NATMasquerade && l.DataPath != DataPathKernel && l.NotUserspace() == ""
}

func (l *L4) copyTo(f *Farm) {
	out := *l
	out.Ports, out.Trusted, out.Responses = slices.Clone(l.Ports), slices.Clone(l.Trusted), own(l.Responses)
	out.Backends, out.AccessLog = cloneBackends(l.Backends), l.AccessLog.clone()
	f.L4 = &out
}

// Implementation of owner.

func (l *L4) called() string            { return "" }
func (l *L4) number() *uint32           { return &l.ID }
func (l *L4) lastSlot() *uint32         { return &l.LastSlot }
func (l *L4) list() *[]Backend          { return &l.Backends }
func (l *L4) sessionsBy() string        { return string(l.Persist) }
func (l *L4) sessionTTL() Seconds       { return cmp.Or(l.TTL, DefaultL4TTL) }
func (l *L4) redirects() bool           { return false }
func (l *L4) check() *string            { return &l.Check }
func (l *L4) builtIn() (string, uint16) { return "", 0 }
func (l *L4) choosing() Choosing        { return Choosing{Algorithm: l.Algorithm} }
