package farm

import "net/netip"

// Profile is the kind of a farm.
type Profile string

// The profiles supported by this release.
const (
	ProfileHTTP Profile = "http"
	ProfileL4   Profile = "l4xnat"
)

// ProfileHTTPS is the name of an http farm with a TLS listener in requests and responses. No
// farm stores it.
const ProfileHTTPS Profile = "https"

// profiles lists every profile, with the location of a farm's settings and their empty
// value. A new profile needs a line here and a type that implements settings, in its own
// file.
var profiles = []struct {
	name  Profile
	in    func(*Farm) settings
	empty settings
}{
	{ProfileHTTP, func(f *Farm) settings { return given(f.HTTP) }, &HTTP{}},
	{ProfileL4, func(f *Farm) settings { return given(f.L4) }, &L4{}},
	{ProfileGSLB, func(f *Farm) settings { return given(f.Global) }, &GSLB{}},
}

// settings is implemented by the settings of each profile.
type settings interface {
	// groups returns the backend groups. own returns the owner of the farm's own backends,
	// or nil if backends belong to services.
	groups(*Farm) []Group
	own() owner
	// transports, vports and portsText describe the ports clients use.
	transports() []L4Protocol
	vports(*Farm) []PortRange
	portsText(*Farm) string
	// inEngine reports whether the engine carries the farm with its own sockets.
	inEngine(*Farm) bool
	// keepsPort reports whether a backend without a port gets the client's destination port.
	keepsPort() bool
	// mixesVersions: see Farm.MixesVersions.
	mixesVersions() bool
	// mark returns the default mark of connections to backends.
	mark() uint32
	// maxConnections limits clients, connections or flows; 0 means no limit.
	maxConnections() uint32
	// source returns the default source address of connections to backends.
	source() netip.Addr
	// carries returns the kind of traffic. reach returns how clients reach the farm besides
	// address and ports.
	carries() Traffic
	reach(*Farm) string
	// tls returns the TLS settings of the listener, or nil.
	tls() *TLS
	// headerRules returns the header rules of all services, or nil without headers.
	headerRules() *HeaderRules
	// filtered reports whether packets pass the machine's packet filter.
	filtered() bool
	log() (l *AccessLog, on bool)
	// keyHeaders returns the headers that must not be logged.
	keyHeaders() []string
	// noGrace removes grace periods, so that nothing unlimited continues after a stop.
	noGrace()
	// copyTo copies the settings into a farm.
	copyTo(*Farm)
}

func given[D any, P interface {
	*D
	settings
}](d P) settings {
	if d == nil {
		return nil
	}
	return d
}

// Profiles lists every profile a farm may have.
func Profiles() []Profile {
	out := make([]Profile, len(profiles))
	for i, p := range profiles {
		out[i] = p.name
	}
	return out
}

// settings returns the farm's settings, or nil if it has none, which mgmt refuses.
func (f *Farm) settings() settings {
	for _, p := range profiles {
		if d := p.in(f); d != nil {
			return d
		}
	}
	return nil
}

// SettingsProfile returns the profile of the farm's settings, or an empty string. It is
// Profile if the farm is Complete.
func (f *Farm) SettingsProfile() Profile {
	for _, p := range profiles {
		if p.in(f) != nil {
			return p.name
		}
	}
	return ""
}

// Complete reports whether the farm has the settings of exactly its profile.
func (f *Farm) Complete() bool {
	complete := false
	for _, p := range profiles {
		if (p.in(f) != nil) != (p.name == f.Profile) {
			return false
		}
		complete = complete || p.name == f.Profile
	}
	return complete
}

// Groups lists the groups of the farm, in the order of its services.
func (f *Farm) Groups() []Group {
	if d := f.settings(); d != nil {
		return d.groups(f)
	}
	return nil
}

// Own returns the group of a farm with its own backends. If backends belong to services
// the group is always empty.
func (f *Farm) Own() Group {
	g := Group{Farm: f}
	if d := f.settings(); d != nil {
		g.of = d.own()
	}
	return g
}

// HasServices reports whether the backends of the farm belong to services.
func (f *Farm) HasServices() bool {
	d := f.settings()
	return d != nil && d.own() == nil
}

// HasServices reports whether backends of farms of the profile belong to services.
func (p Profile) HasServices() bool {
	d := p.settings()
	return d != nil && d.own() == nil
}

// Carries returns the kind of traffic of farms of the profile.
func (p Profile) Carries() Traffic {
	if d := p.settings(); d != nil {
		return d.carries()
	}
	return ""
}

func (p Profile) settings() settings {
	for _, of := range profiles {
		if of.name == p {
			return of.empty
		}
	}
	return nil
}

// Traffic is the kind of client traffic of a farm. It decides which figures, lists and logs
// exist.
type Traffic string

// The kinds of traffic.
const (
	// TrafficRequests means HTTP requests with responses.
	TrafficRequests Traffic = "requests"
	// TrafficConnections means forwarded connections and flows.
	TrafficConnections Traffic = "connections"
	// TrafficQueries means DNS queries with answers.
	TrafficQueries Traffic = "queries"
)

// Carries returns the kind of traffic of the farm.
func (f *Farm) Carries() Traffic { return f.SettingsProfile().Carries() }

// Reach returns how clients reach the farm besides address and ports.
func (f *Farm) Reach() string {
	if d := f.settings(); d != nil {
		return d.reach(f)
	}
	return ""
}

// ListenerTLS returns the TLS settings of the farm's listener, or nil.
func (f *Farm) ListenerTLS() *TLS {
	if d := f.settings(); d != nil {
		return d.tls()
	}
	return nil
}

// HTTPS reports whether the farm's listener speaks TLS.
func (f *Farm) HTTPS() bool { return f.HTTP != nil && f.HTTP.TLS != nil }

// Headers returns the header rules of all services of the farm, or nil.
func (f *Farm) Headers() *HeaderRules {
	if d := f.settings(); d != nil {
		return d.headerRules()
	}
	return nil
}

// Filtered reports whether packets of the farm pass the machine's packet filter, where other
// rules may drop them.
func (f *Farm) Filtered() bool {
	d := f.settings()
	return d != nil && d.filtered()
}

// StopAtOnce stops the farm. Requests in progress finish, connections do not: one could last
// forever if the farm were started again.
func (f *Farm) StopAtOnce() {
	f.Stopped = true
	if d := f.settings(); d != nil {
		d.noGrace()
	}
}

// Transports returns the transport protocols of the farm.
func (f *Farm) Transports() []L4Protocol {
	if d := f.settings(); d != nil {
		return d.transports()
	}
	return []L4Protocol{L4TCP}
}

// VPorts returns the virtual ports of the farm, ascending.
func (f *Farm) VPorts() []PortRange {
	if d := f.settings(); d != nil {
		return d.vports(f)
	}
	return f.onePort()
}

func (f *Farm) onePort() []PortRange { return []PortRange{{First: f.VPort, Last: f.VPort}} }

// Takes reports whether packets of a transport protocol to a port of the VIP belong to the
// farm.
func (f *Farm) Takes(transport L4Protocol, port uint16) bool {
	for _, t := range f.Transports() {
		for _, p := range f.VPorts() {
			if t == transport && p.First <= port && port <= p.Last && !f.without(t, port) {
				return true
			}
		}
	}
	return false
}

// without reports whether the farm does not use a port with a transport: DNS over TLS has a
// port for TCP only.
func (f *Farm) without(t L4Protocol, port uint16) bool {
	return t == L4UDP && f.Global != nil && port == f.Global.EffectiveTLSPort()
}

// PortsText returns the virtual port of a farm of any profile as text.
func (f *Farm) PortsText() string {
	if d := f.settings(); d != nil {
		return d.portsText(f)
	}
	return f.onePort()[0].String()
}

// InEngine reports whether the engine carries the farm with its own sockets.
func (f *Farm) InEngine() bool {
	d := f.settings()
	return d != nil && d.inEngine(f)
}

// MixesVersions reports whether backends may have another IP version than the VIP, because
// the engine makes its own connections to them.
func (f *Farm) MixesVersions() bool {
	d := f.settings()
	return d == nil || d.mixesVersions()
}

// KeepsPort reports whether a backend may have no port and gets the client's destination
// port.
func (f *Farm) KeepsPort() bool {
	d := f.settings()
	return d != nil && d.keepsPort()
}

// DefaultMark returns the mark (SO_MARK) of connections to backends without their own; 0
// sets none.
func (f *Farm) DefaultMark() uint32 {
	if d := f.settings(); d != nil {
		return d.mark()
	}
	return 0
}

// MostConnections returns the limit of clients, connections or flows of the farm; 0 means no
// limit except the machine's.
func (f *Farm) MostConnections() uint32 {
	if s := f.settings(); s != nil {
		return s.maxConnections()
	}
	return 0
}

// DefaultSource returns the source address of connections to backends without their own; if
// invalid the system chooses.
func (f *Farm) DefaultSource() netip.Addr {
	if d := f.settings(); d != nil {
		return d.source()
	}
	return netip.Addr{}
}

// Log returns the farm's access log settings, or nil, and whether it is enabled.
func (f *Farm) Log() (l *AccessLog, on bool) {
	if d := f.settings(); d != nil && d.inEngine(f) {
		return d.log()
	}
	return nil, false
}

// KeyHeaders returns headers that must not be logged for the farm, such as client keys.
func (f *Farm) KeyHeaders() []string {
	if d := f.settings(); d != nil {
		return d.keyHeaders()
	}
	return nil
}

// Listener is an address where the engine accepts connections or datagrams.
type Listener struct {
	// Transport is L4TCP or L4UDP.
	Transport L4Protocol
	Addr      netip.AddrPort
}

// Key returns the listener's name in netd, mgmt and engine: "tcp/192.0.2.1:80".
func (l Listener) Key() string { return string(l.Transport) + "/" + l.Addr.String() }

// Listeners returns the listeners of a farm in the engine: one for each transport of each
// virtual port. It returns nil for other farms. The caller must check whether the farm is
// stopped.
func (f *Farm) Listeners() (list []Listener) {
	if !f.InEngine() {
		return nil
	}
	for _, r := range f.VPorts() {
		for port := int(r.First); port <= int(r.Last); port++ {
			for _, t := range f.Transports() {
				if !f.without(t, uint16(port)) {
					list = append(list, Listener{t, netip.AddrPortFrom(f.VIP, uint16(port))})
				}
			}
		}
	}
	return list
}
