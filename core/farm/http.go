package farm

import (
	"cmp"
	"net/netip"
	"slices"
	"strconv"
)

// Implementation of settings.

func (h *HTTP) groups(f *Farm) []Group {
	out := make([]Group, len(h.Services))
	for i := range h.Services {
		out[i] = f.GroupOf(&h.Services[i])
	}
	return out
}

func (h *HTTP) own() owner                   { return nil }
func (h *HTTP) transports() []L4Protocol     { return []L4Protocol{L4TCP} }
func (h *HTTP) vports(f *Farm) []PortRange   { return f.onePort() }
func (h *HTTP) portsText(f *Farm) string     { return strconv.Itoa(int(f.VPort)) }
func (h *HTTP) inEngine(*Farm) bool          { return true }
func (h *HTTP) keepsPort() bool              { return false }
func (h *HTTP) mixesVersions() bool          { return true }
func (h *HTTP) mark() uint32                 { return h.Mark }
func (h *HTTP) maxConnections() uint32       { return h.MaxConnections }
func (h *HTTP) source() netip.Addr           { return netip.Addr{} }
func (h *HTTP) carries() Traffic             { return TrafficRequests }
func (h *HTTP) reach(*Farm) string           { return "" }
func (h *HTTP) tls() *TLS                    { return h.TLS }
func (h *HTTP) headerRules() *HeaderRules    { return &h.HeaderRules }
func (h *HTTP) filtered() bool               { return false }
func (h *HTTP) log() (l *AccessLog, on bool) { return &h.AccessLog, h.Logs }
func (h *HTTP) noGrace()                     {}

func (h *HTTP) copyTo(f *Farm) {
	out := *h
	out.HeaderRules = h.HeaderRules.clone()
	out.Trusted = slices.Clone(h.Trusted)
	out.AccessLog = h.AccessLog.clone()
	if out.TLS = own(h.TLS); out.TLS != nil {
		out.TLS.Certificates = slices.Clone(h.TLS.Certificates)
	}
	out.Services = slices.Clone(h.Services)
	for i := range out.Services {
		out.Services[i].unshare()
	}
	f.HTTP = &out
}

// unshare copies everything a copied service points to.
func (s *Service) unshare() {
	s.HeadRequire, s.HeadDeny = slices.Clone(s.HeadRequire), slices.Clone(s.HeadDeny)
	s.HeaderRules = s.HeaderRules.clone()
	s.Rewrites = slices.Clone(s.Rewrites)
	s.RetryOn, s.Leniency = slices.Clone(s.RetryOn), slices.Clone(s.Leniency)
	s.TLS, s.Cookie, s.RateLimit = own(s.TLS), own(s.Cookie), own(s.RateLimit)
	s.Auth, s.Split = s.Auth.clone(), own(s.Split)
	s.Compression = s.Compression.clone()
	s.Backends = cloneBackends(s.Backends)
}

func (r HeaderRules) clone() HeaderRules {
	return HeaderRules{
		AddRequest: slices.Clone(r.AddRequest), RemoveRequest: slices.Clone(r.RemoveRequest), ReplaceRequest: slices.Clone(r.ReplaceRequest),
		AddResponse: slices.Clone(r.AddResponse), RemoveResponse: slices.Clone(r.RemoveResponse), ReplaceResponse: slices.Clone(r.ReplaceResponse),
	}
}

// GroupOf returns the group of a service of the farm.
func (f *Farm) GroupOf(s *Service) Group { return Group{Farm: f, Service: s, of: s} }

// Implementation of owner.

func (s *Service) called() string            { return s.Name }
func (s *Service) number() *uint32           { return &s.ID }
func (s *Service) lastSlot() *uint32         { return &s.LastSlot }
func (s *Service) list() *[]Backend          { return &s.Backends }
func (s *Service) sessionsBy() string        { return string(s.EffectivePersistence()) }
func (s *Service) sessionTTL() Seconds       { return cmp.Or(s.TTL, DefaultTTL) }
func (s *Service) redirects() bool           { return s.Redirect != "" || s.DNSFarm != "" }
func (s *Service) check() *string            { return &s.Check }
func (s *Service) builtIn() (string, uint16) { return "", 0 }
func (s *Service) choosing() Choosing        { return Choosing{Policy: &s.Policy} }

// Services returns the services of an http farm, or none.
func (f *Farm) Services() []Service {
	if f.HTTP == nil {
		return nil
	}
	return f.HTTP.Services
}

// IgnoresCase reports whether the URL pattern of a service is case-insensitive.
func (f *Farm) IgnoresCase(s *Service) bool {
	return s.IgnoreCase || f.HTTP != nil && f.HTTP.IgnoreCase
}

// SetServices replaces the services of an http farm.
func (f *Farm) SetServices(list []Service) { f.HTTP.Services = list }

// Service returns the service of that name, or nil.
func (f *Farm) Service(name string) *Service {
	list := f.Services()
	for i := range list {
		if list[i].Name == name {
			return &list[i]
		}
	}
	return nil
}
