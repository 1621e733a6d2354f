package farm

import "net/netip"

// Profile is the kind of a farm.
type Profile string

// The profiles this release carries traffic for.
const (
	ProfileHTTP Profile = "http"
	ProfileL4   Profile = "l4xnat"
)

// ProfileHTTPS is what an http farm whose listener speaks TLS is called, and may
// be asked for as; no farm has it.
const ProfileHTTPS Profile = "https"

// profiles lists every profile, with where a farm keeps its settings and what
// some without any content say. A new one is a line here and a type that
// implements them, in a file of its own.
var profiles = []struct {
	name  Profile
	in    func(*Farm) settings
	empty settings
}{
	{ProfileHTTP, func(f *Farm) settings { return given(f.HTTP) }, &HTTP{}},
	{ProfileL4, func(f *Farm) settings { return given(f.L4) }, &L4{}},
	{ProfileGSLB, func(f *Farm) settings { return given(f.Global) }, &GSLB{}},
}

// settings are what a farm of one profile has besides its name and address.
type settings interface {
	// groups lists the groups of backends; own is who has those of the farm
	// itself, nil where backends belong to services.
	groups(*Farm) []Group
	own() owner
	// transports, vports and portsText say what clients reach.
	transports() []L4Protocol
	vports(*Farm) []PortRange
	portsText(*Farm) string
	// inEngine: the engine carries the farm, by sockets of its own.
	inEngine(*Farm) bool
	// keepsPort: a backend without a port gets the one the client used.
	keepsPort() bool
	// mixesVersions: see Farm.MixesVersions.
	mixesVersions() bool
	// mark is that of connections to backends without one.
	mark() uint32
	// maxConnections bounds the clients, or their connections or flows; 0 does not.
	maxConnections() uint32
	// source is the address connections to backends come from that have none of their own.
	source() netip.Addr
	// carries is what the farm takes of clients, reach what besides its address and
	// ports says how they reach it.
	carries() Traffic
	reach(*Farm) string
	// tls is how the listener speaks TLS, nil when it does not.
	tls() *TLS
	// headerRules are those of all services, nil where there are no headers.
	headerRules() *HeaderRules
	// filtered reports whether packets go by the machine's packet filter.
	filtered() bool
	log() (l *AccessLog, on bool)
	// keyHeaders are the headers no log may show.
	keyHeaders() []string
	// noGrace lets nothing go on after a stop that could go on without end.
	noGrace()
	// copyTo gives a farm a copy of the settings.
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

// settings are those of the farm; nil for one without any, which mgmt refuses.
func (f *Farm) settings() settings {
	for _, p := range profiles {
		if d := p.in(f); d != nil {
			return d
		}
	}
	return nil
}

// SettingsProfile is the profile whose settings the farm has, empty for none. It is
// Profile, unless the farm is not Complete.
func (f *Farm) SettingsProfile() Profile {
	for _, p := range profiles {
		if p.in(f) != nil {
			return p.name
		}
	}
	return ""
}

// Complete reports whether the farm has the settings of its profile, and no
// others.
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

// Own is the group of a farm that has backends of its own. Where backends belong
// to services it has none, and must not be given any.
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

// HasServices reports whether the backends of farms of the profile belong to
// services.
func (p Profile) HasServices() bool {
	d := p.settings()
	return d != nil && d.own() == nil
}

// Carries is what farms of the profile take of clients.
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

// Traffic is what a farm takes of its clients. It decides what is counted,
// timed, listed and logged of them.
type Traffic string

// The kinds of traffic.
const (
	// TrafficRequests are requests of HTTP, each with an answer of its own.
	TrafficRequests Traffic = "requests"
	// TrafficConnections are connections and flows, passed on as they are.
	TrafficConnections Traffic = "connections"
	// TrafficQueries are questions of the DNS, each with an answer.
	TrafficQueries Traffic = "queries"
)

// Carries is what the farm takes of its clients.
func (f *Farm) Carries() Traffic { return f.SettingsProfile().Carries() }

// Reach is what besides its address and ports says how clients reach the farm.
func (f *Farm) Reach() string {
	if d := f.settings(); d != nil {
		return d.reach(f)
	}
	return ""
}

// ListenerTLS is how the farm speaks TLS with clients, nil when it does not.
func (f *Farm) ListenerTLS() *TLS {
	if d := f.settings(); d != nil {
		return d.tls()
	}
	return nil
}

// HTTPS reports whether the farm's listener speaks TLS.
func (f *Farm) HTTPS() bool { return f.HTTP != nil && f.HTTP.TLS != nil }

// Headers are the header rules of all services of the farm, nil where there can
// be none.
func (f *Farm) Headers() *HeaderRules {
	if d := f.settings(); d != nil {
		return d.headerRules()
	}
	return nil
}

// Filtered reports whether packets of the farm go by the packet filter of the
// machine, whose rules of others may keep them.
func (f *Farm) Filtered() bool {
	d := f.settings()
	return d != nil && d.filtered()
}

// StopAtOnce stops the farm. Requests under way finish, connections do not: one
// would go on for ever if the farm were started again meanwhile.
func (f *Farm) StopAtOnce() {
	f.Stopped = true
	if d := f.settings(); d != nil {
		d.noGrace()
	}
}

// Transports are the transport protocols the farm takes packets of.
func (f *Farm) Transports() []L4Protocol {
	if d := f.settings(); d != nil {
		return d.transports()
	}
	return []L4Protocol{L4TCP}
}

// VPorts are the virtual ports the farm takes, ascending.
func (f *Farm) VPorts() []PortRange {
	if d := f.settings(); d != nil {
		return d.vports(f)
	}
	return f.onePort()
}

func (f *Farm) onePort() []PortRange { return []PortRange{{First: f.VPort, Last: f.VPort}} }

// Takes reports whether packets of a transport protocol to a port of its VIP
// are the farm's.
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

// without reports whether a port is none of a transport, though it is one of the farm's:
// encrypted connections for questions have a port of TCP alone.
func (f *Farm) without(t L4Protocol, port uint16) bool {
	return t == L4UDP && f.Global != nil && port == f.Global.EffectiveTLSPort()
}

// PortsText is the virtual port of a farm of any profile as text.
func (f *Farm) PortsText() string {
	if d := f.settings(); d != nil {
		return d.portsText(f)
	}
	return f.onePort()[0].String()
}

// InEngine reports whether the engine carries the farm, by sockets of its own.
func (f *Farm) InEngine() bool {
	d := f.settings()
	return d != nil && d.inEngine(f)
}

// MixesVersions reports whether backends may be of another IP version than the
// VIP: where the engine makes connections of its own to them.
func (f *Farm) MixesVersions() bool {
	d := f.settings()
	return d == nil || d.mixesVersions()
}

// KeepsPort reports whether a backend may be without a port: it gets the one the
// client used.
func (f *Farm) KeepsPort() bool {
	d := f.settings()
	return d != nil && d.keepsPort()
}

// DefaultMark is the mark (SO_MARK) of connections to backends that have none of
// their own; 0 sets none.
func (f *Farm) DefaultMark() uint32 {
	if d := f.settings(); d != nil {
		return d.mark()
	}
	return 0
}

// MostConnections bounds the clients of the farm, or their connections or flows; 0 means
// no bound but that of the machine.
func (f *Farm) MostConnections() uint32 {
	if s := f.settings(); s != nil {
		return s.maxConnections()
	}
	return 0
}

// DefaultSource is the address connections to backends come from that have none of
// their own; invalid: the system chooses.
func (f *Farm) DefaultSource() netip.Addr {
	if d := f.settings(); d != nil {
		return d.source()
	}
	return netip.Addr{}
}

// Log is what the farm says of its access log, nil when it has none, and
// whether it is written.
func (f *Farm) Log() (l *AccessLog, on bool) {
	if d := f.settings(); d != nil && d.inEngine(f) {
		return d.log()
	}
	return nil, false
}

// KeyHeaders are the headers that may be in no log of the farm, as keys of
// clients are.
func (f *Farm) KeyHeaders() []string {
	if d := f.settings(); d != nil {
		return d.keyHeaders()
	}
	return nil
}

// Listener is an address the engine takes connections or datagrams on.
type Listener struct {
	// Transport is L4TCP or L4UDP.
	Transport L4Protocol
	Addr      netip.AddrPort
}

// Key names the listener, as netd, mgmt and engine do: "tcp/192.0.2.1:80".
func (l Listener) Key() string { return string(l.Transport) + "/" + l.Addr.String() }

// Listeners are those the engine needs to carry the farm: none for one it does
// not carry, one for each transport of each virtual port otherwise. A farm that
// is stopped needs none either, which is for the caller to know.
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
