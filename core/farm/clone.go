package farm

import "slices"

// Clone returns a deep copy: changing it never changes c. The bytes of
// certificates are shared, nobody changes those.
func (c *Config) Clone() *Config {
	out := &Config{Farms: slices.Clone(c.Farms), Certificates: slices.Clone(c.Certificates), Authorities: slices.Clone(c.Authorities),
		Challenges: slices.Clone(c.Challenges)}
	for i := range out.Farms {
		out.Farms[i] = out.Farms[i].Clone()
	}
	return out
}

// Clone returns a deep copy of the farm.
func (f *Farm) Clone() Farm {
	out := *f
	out.HTTP, out.L4 = f.HTTP.clone(), f.L4.clone()
	return out
}

func (h *HTTP) clone() *HTTP {
	if h == nil {
		return nil
	}
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
	return &out
}

// unshare gives a copied service its own copy of what it points to.
func (s *Service) unshare() {
	s.HeadRequire, s.HeadDeny = slices.Clone(s.HeadRequire), slices.Clone(s.HeadDeny)
	s.HeaderRules = s.HeaderRules.clone()
	s.Rewrites = slices.Clone(s.Rewrites)
	s.RetryOn = slices.Clone(s.RetryOn)
	s.TLS, s.Cookie, s.RateLimit = own(s.TLS), own(s.Cookie), own(s.RateLimit)
	s.Auth, s.Split = s.Auth.clone(), own(s.Split)
	s.Compression = s.Compression.clone()
	s.Backends = cloneBackends(s.Backends)
}

func cloneBackends(list []Backend) []Backend {
	out := slices.Clone(list)
	for i := range out {
		out[i].Sessions, out[i].ServerNames = slices.Clone(out[i].Sessions), slices.Clone(out[i].ServerNames)
	}
	return out
}

func own[T any](p *T) *T {
	if p == nil {
		return nil
	}
	v := *p
	return &v
}

func (r HeaderRules) clone() HeaderRules {
	return HeaderRules{
		AddRequest: slices.Clone(r.AddRequest), RemoveRequest: slices.Clone(r.RemoveRequest), ReplaceRequest: slices.Clone(r.ReplaceRequest),
		AddResponse: slices.Clone(r.AddResponse), RemoveResponse: slices.Clone(r.RemoveResponse), ReplaceResponse: slices.Clone(r.ReplaceResponse),
	}
}

// Farm returns the farm of that name, nil when there is none.
func (c *Config) Farm(name string) *Farm {
	for i := range c.Farms {
		if c.Farms[i].Name == name {
			return &c.Farms[i]
		}
	}
	return nil
}

// Service returns the service of that name, nil when there is none.
func (f *Farm) Service(name string) *Service {
	if f.HTTP == nil {
		return nil
	}
	for i := range f.HTTP.Services {
		if f.HTTP.Services[i].Name == name {
			return &f.HTTP.Services[i]
		}
	}
	return nil
}
