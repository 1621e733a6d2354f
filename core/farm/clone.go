package farm

import "slices"

// Clone returns a deep copy: changing it never changes c.
func (c *Config) Clone() *Config {
	out := &Config{Farms: slices.Clone(c.Farms)}
	for i := range out.Farms {
		out.Farms[i].HTTP = out.Farms[i].HTTP.clone()
	}
	return out
}

// Clone returns a deep copy of the farm.
func (f *Farm) Clone() Farm {
	out := *f
	out.HTTP = f.HTTP.clone()
	return out
}

func (h *HTTP) clone() *HTTP {
	if h == nil {
		return nil
	}
	out := *h
	out.Services = slices.Clone(h.Services)
	for i := range out.Services {
		out.Services[i].Backends = slices.Clone(out.Services[i].Backends)
	}
	return &out
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
