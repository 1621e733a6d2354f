package validate

import (
	"fmt"
	"iter"
	"net"
	"net/netip"

	"github.com/sluicelb/sluice/core/farm"
)

// Rules checks whole configurations. The zero value knows no local network.
type Rules struct {
	// Prefixes returns the addresses of this machine with their prefix length,
	// host bits kept (192.0.2.7/24); nil means none. Called once per check.
	Prefixes func() []netip.Prefix
	// Own are the addresses of the appliance's own API, which no running farm
	// may take.
	Own []netip.AddrPort
}

// MaxErrors bounds what All returns: who broke more rules starts with these.
const MaxErrors = 100

// MaxServices is how many services one farm may have.
const MaxServices = 4096

// Config returns the first broken rule as *Error, nil when there is none.
func (r Rules) Config(cfg *farm.Config) error {
	for err := range r.walk(cfg) {
		return &err
	}
	return nil
}

// All returns the broken rules in document order, at most MaxErrors.
func (r Rules) All(cfg *farm.Config) []Error {
	var out []Error
	for err := range r.walk(cfg) {
		if out = append(out, err); len(out) == MaxErrors {
			break
		}
	}
	return out
}

// Config is Rules{}.Config: every rule that needs no knowledge of this machine.
func Config(cfg *farm.Config) error { return Rules{}.Config(cfg) }

// All is Rules{}.All.
func All(cfg *farm.Config) []Error { return Rules{}.All(cfg) }

// SystemPrefixes returns the addresses of this machine as Rules wants them;
// none when they cannot be read.
func SystemPrefixes() []netip.Prefix {
	addrs, err := net.InterfaceAddrs()
	if err != nil {
		return nil
	}
	var out []netip.Prefix
	for _, a := range addrs {
		network, ok := a.(*net.IPNet)
		if !ok {
			continue
		}
		addr, ok := netip.AddrFromSlice(network.IP)
		bits, _ := network.Mask.Size()
		if ok {
			out = append(out, netip.PrefixFrom(addr.Unmap(), bits))
		}
	}
	return out
}

// FarmPath, ServicePath and BackendPath are the Path of errors about an object.
func FarmPath(name string) string { return fmt.Sprintf("farm %s", show(name)) }

// ServicePath names a service of a farm.
func ServicePath(farmName, name string) string {
	return fmt.Sprintf("%s service %s", FarmPath(farmName), show(name))
}

// BackendPath names a backend of a service by its position from 0.
func BackendPath(farmName, service string, position int) string {
	return fmt.Sprintf("%s backend %d", ServicePath(farmName, service), position)
}

// walk yields every broken rule; the helpers return false when nobody listens
// any more.
func (r Rules) walk(cfg *farm.Config) iter.Seq[Error] {
	return func(yield func(Error) bool) {
		var local []netip.Prefix
		if r.Prefixes != nil {
			local = r.Prefixes()
		}
		backends := 0
		for i := range cfg.Farms {
			f := &cfg.Farms[i]
			if !checkFarm(f, local, yield) {
				return
			}
			backends += countBackends(f)
		}
		if checkTogether(cfg, yield) && r.checkOwn(cfg, yield) && checkLogFiles(cfg, yield) && backends > farm.MaxBackendID {
			yield(Error{Field: "backends", Message: fmt.Sprintf("backends: at most %d are possible over all farms, got %d", farm.MaxBackendID, backends)})
		}
	}
}

func countBackends(f *farm.Farm) int {
	n := 0
	for _, g := range f.Groups() {
		n += len(g.Backends())
	}
	return n
}

func checkFarm(f *farm.Farm, local []netip.Prefix, yield func(Error) bool) bool {
	if f.Profile == farm.ProfileL4 {
		return checkL4(f, local, yield)
	}
	path := FarmPath(f.Name)
	if !FarmDocument.verify(path, f, yield) {
		return false
	}
	if f.HTTP == nil {
		return yield(Error{path, "profile", "profile http needs its directives; they are missing"})
	}
	h := f.HTTP
	if reason := ownMark(h.Mark); reason != "" && !yield(Error{path, "mark", "mark " + reason}) {
		return false
	}
	if h.TLS != nil && !checkTLS(path, h.TLS, yield) {
		return false
	}
	if !checkProxyIn(path, h.ProxyIn, h.Trusted, yield) || !checkFarmRules(path, f, yield) {
		return false
	}
	if h.ResurrectTime < h.ConnectTimeout && !yield(Error{path, "resurrectime",
		fmt.Sprintf("resurrectime must be at least contimeout (%d), got %d", h.ConnectTimeout, h.ResurrectTime)}) {
		return false
	}
	if len(h.Services) > MaxServices && !yield(Error{path, "services",
		fmt.Sprintf("services: at most %d are possible in a farm, got %d", MaxServices, len(h.Services))}) {
		return false
	}
	names := make(map[string]bool, len(h.Services))
	for i := range h.Services {
		s := &h.Services[i]
		if names[s.Name] && !yield(Error{ServicePath(f.Name, s.Name), "name",
			fmt.Sprintf("name must be unique in the farm, %s exists already", show(s.Name))}) {
			return false
		}
		names[s.Name] = true
		if !checkService(f, s, local, yield) {
			return false
		}
	}
	return true
}
