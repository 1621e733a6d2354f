package l4farm

import (
	"fmt"
	"net/netip"
	"slices"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/validate/field"
	"github.com/sluicelb/sluice/mgmt/validate/profile"
)

// With nattype stateless_dnat and dnat, backends respond to the client's address and port,
// and nothing in a response identifies the farm. With dnat, connection tracking identifies
// it, and picks another port on a conflict. stateless_dnat only remembers that the client
// came through it recently. A client that reaches the same backend through two farms from
// the same port loses one of the connections. nattype nat is not affected, because its
// responses go to the appliance's address.

// answering is a backend address and transport on which it responds to clients.
type answering struct {
	transport farm.L4Protocol
	addr      netip.Addr
}

// answerer is the ports that a farm uses there, and the farm's position.
type answerer struct {
	ports farm.PortRange
	farm  int
}

// keeps reports whether backends of the farm respond to the client's address, through the
// appliance.
func keeps(f *farm.Farm) bool {
	return !f.Stopped && f.L4 != nil && (f.L4.NAT == farm.NATStateless || f.L4.NAT == farm.NATTarget)
}

// eachAnswer calls fn for every endpoint of the farm's backends until fn returns false.
func eachAnswer(f *farm.Farm, fn func(at answering, ports farm.PortRange) bool) {
	for i := range f.L4.Backends {
		b := &f.L4.Backends[i]
		if !b.Addr.IsValid() {
			continue
		}
		ports := f.VPorts()
		if b.Port != 0 && f.L4.Protocol != farm.L4All {
			ports = []farm.PortRange{{First: b.Port, Last: b.Port}}
		}
		for _, t := range f.Transports() {
			for _, p := range ports {
				if !fn(answering{t, b.Addr.Unmap()}, p) {
					return
				}
			}
		}
	}
}

// eachAmbiguous calls fn once for each farm whose responses cannot be distinguished from the
// responses of an earlier farm, until fn returns false. With both, it considers pairs of
// stateless_dnat farms, otherwise the other pairs.
func eachAmbiguous(cfg *farm.Config, both bool, fn func(f, earlier *farm.Farm, at answering) bool) bool {
	stateless := map[answering][]answerer{}
	for i := range cfg.Farms {
		if f := &cfg.Farms[i]; keeps(f) && f.L4.NAT == farm.NATStateless {
			eachAnswer(f, func(at answering, ports farm.PortRange) bool {
				stateless[at] = append(stateless[at], answerer{ports, i})
				return true
			})
		}
	}
	if len(stateless) == 0 {
		return true
	}
	found := map[int]bool{}
	goOn := true
	for i := range cfg.Farms {
		if !keeps(&cfg.Farms[i]) {
			continue
		}
		eachAnswer(&cfg.Farms[i], func(at answering, ports farm.PortRange) bool {
			for _, other := range stateless[at] {
				if other.farm == i || other.ports.First > ports.Last || ports.First > other.ports.Last ||
					both != (cfg.Farms[i].L4.NAT == farm.NATStateless) {
					continue
				}
				if later := max(i, other.farm); !found[later] {
					found[later] = true
					goOn = fn(&cfg.Farms[later], &cfg.Farms[min(i, other.farm)], at)
				}
				return false
			}
			return true
		})
		if !goOn {
			return false
		}
	}
	return true
}

// CheckAnswers rejects a farm that shares a backend with another in this way if one of them
// has nattype dnat. Connection tracking remembers a connection for minutes after its end,
// and every client that reuses the port in that time fails.
func CheckAnswers(cfg *farm.Config, yield func(field.Error) bool) bool {
	return eachAmbiguous(cfg, false, func(f, earlier *farm.Farm, at answering) bool {
		return yield(field.Error{Path: profile.FarmPath(f.Name), Field: "nattype", Message: fmt.Sprintf("nattype must not be %s while running farm %s with nattype %s sends clients to backend %s at the same port (%s): "+
			"answers of the backend would not tell by which farm a client came; use nattype nat for one of them, or give the backend another port or address there",
			f.L4.NAT, field.Show(earlier.Name), earlier.L4.NAT, at.addr, at.transport)})
	})
}

// AnswerWarnings warns about pairs of stateless_dnat farms, e.g. several VIPs for the same
// servers. A flow is forgotten seconds after its last packet, so only a client that uses
// one port for both at the same time fails. Both farms get the warning, so that a change of
// either shows it.
func AnswerWarnings(cfg *farm.Config, add func(f *farm.Farm, fieldName, text string)) {
	warned := map[string]bool{}
	warn := func(f, other *farm.Farm, at answering) {
		if warned[f.Name] {
			return
		}
		warned[f.Name] = true
		add(f, "nattype", fmt.Sprintf("running farm %s with nattype %s, too, sends clients to backend %s at the same port (%s): "+
			"a client that comes from one port to both at a time is answered by one only; give the backend another port or address there", field.Show(other.Name), other.L4.NAT, at.addr, at.transport))
	}
	eachAmbiguous(cfg, true, func(f, earlier *farm.Farm, at answering) bool {
		warn(earlier, f, at)
		warn(f, earlier, at)
		return true
	})
}

// SameAnswers compares where backends of layer 4 answer clients (eachAnswer).
func SameAnswers(was, f *farm.Farm) bool {
	a, b := was.L4, f.L4
	if a == nil || b == nil {
		return a == b
	}
	return a.NAT == b.NAT && a.Protocol == b.Protocol &&
		slices.EqualFunc(a.Backends, b.Backends, func(a, b farm.Backend) bool { return a.Addr == b.Addr && a.Port == b.Port })
}
