package farm

import "slices"

// Clone returns a deep copy that shares only the immutable bytes of certificates.
func (c *Config) Clone() *Config { return c.CloneWith(func(*Farm) bool { return true }) }

// CloneWith is like Clone, but shares the farms for which change returns false. They must
// not be modified in either copy.
func (c *Config) CloneWith(change func(*Farm) bool) *Config {
	out := &Config{Farms: slices.Clone(c.Farms), Certificates: slices.Clone(c.Certificates), Authorities: slices.Clone(c.Authorities),
		Challenges: slices.Clone(c.Challenges), System: c.System.Clone(), SystemUnsaid: c.SystemUnsaid,
		Checks: slices.Clone(c.Checks), ChecksUnsaid: c.ChecksUnsaid}
	for i := range out.Farms {
		if change(&out.Farms[i]) {
			out.Farms[i] = out.Farms[i].Clone()
		}
	}
	return out
}

// Clone returns a deep copy of the farm.
func (f *Farm) Clone() Farm {
	out := *f
	for _, p := range profiles {
		if d := p.in(f); d != nil {
			d.copyTo(&out)
		}
	}
	if out.Notes = own(f.Notes); out.Notes != nil {
		out.Notes.Tags = slices.Clone(out.Notes.Tags)
	}
	return out
}

func cloneBackends(list []Backend) []Backend {
	out := slices.Clone(list)
	for i := range out {
		out[i].Sessions, out[i].ServerNames = slices.Clone(out[i].Sessions), slices.Clone(out[i].ServerNames)
		out[i].Nets, out[i].Countries, out[i].Continents = slices.Clone(out[i].Nets), slices.Clone(out[i].Countries), slices.Clone(out[i].Continents)
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

// Farm returns the farm of that name, or nil.
func (c *Config) Farm(name string) *Farm {
	for i := range c.Farms {
		if c.Farms[i].Name == name {
			return &c.Farms[i]
		}
	}
	return nil
}
