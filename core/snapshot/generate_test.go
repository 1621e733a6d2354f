package snapshot_test

import (
	"net/netip"

	"pgregory.net/rapid"

	"github.com/sluicelb/sluice/core/farm"
)

// anyConfig draws configurations with arbitrary values in every field. The encoding must
// preserve invalid ones too.
func anyConfig() *rapid.Generator[*farm.Config] {
	return rapid.Custom(func(t *rapid.T) *farm.Config {
		return &farm.Config{Farms: rapid.SliceOfN(anyFarm(), 0, 3).Draw(t, "farms")}
	})
}

func anyFarm() *rapid.Generator[farm.Farm] {
	return rapid.Custom(func(t *rapid.T) farm.Farm {
		f := farm.Farm{
			ID: rapid.Uint32().Draw(t, "id"), Name: anyText().Draw(t, "name"),
			Profile: farm.Profile(anyText().Draw(t, "profile")),
			VIP:     anyAddr().Draw(t, "vip"), VPort: rapid.Uint16().Draw(t, "vport"),
			Stopped: rapid.Bool().Draw(t, "stopped"),
		}
		if rapid.Bool().Draw(t, "http") {
			f.HTTP = anyHTTP().Draw(t, "settings")
		}
		if rapid.Bool().Draw(t, "l4") {
			f.L4 = anyL4().Draw(t, "l4 settings")
		}
		return f
	})
}

func anyL4() *rapid.Generator[*farm.L4] {
	return rapid.Custom(func(t *rapid.T) *farm.L4 {
		l := &farm.L4{
			ID:        rapid.Uint32().Draw(t, "id"),
			Protocol:  rapid.SampledFrom(farm.L4Protocols()).Draw(t, "protocol"),
			NAT:       rapid.SampledFrom(farm.NATTypes()).Draw(t, "nattype"),
			Algorithm: rapid.SampledFrom(farm.L4Algorithms()).Draw(t, "algorithm"),
			Persist:   rapid.SampledFrom(farm.L4Persistences()).Draw(t, "persistence"),
			TTL:       anySeconds(t), DataPath: rapid.SampledFrom(farm.DataPaths()).Draw(t, "datapath"),
			Logs: rapid.Bool().Draw(t, "logs"), LogLimit: rapid.Uint32().Draw(t, "limit"), LogPrefix: anyText().Draw(t, "prefix"),
			ConnectTimeout: anySeconds(t), IdleTimeout: anySeconds(t), ResurrectTime: anySeconds(t), StopGrace: anySeconds(t),
			QUIC: rapid.Bool().Draw(t, "quic"), MaxConnections: rapid.Uint32().Draw(t, "connections"),
			Source: anyAddr().Draw(t, "source"), Mark: rapid.Uint32().Draw(t, "mark"),
			Backends: orNil(rapid.SliceOfN(anyBackend(), 0, 3).Draw(t, "backends")),
		}
		l.Ports = orNil(rapid.SliceOfN(rapid.Custom(func(t *rapid.T) farm.PortRange {
			return farm.PortRange{First: rapid.Uint16().Draw(t, "first"), Last: rapid.Uint16().Draw(t, "last")}
		}), 0, 3).Draw(t, "ports"))
		if rapid.Bool().Draw(t, "answers") {
			n := rapid.Uint16().Draw(t, "responses")
			l.Responses = &n
		}
		return l
	})
}

func anyHTTP() *rapid.Generator[*farm.HTTP] {
	return rapid.Custom(func(t *rapid.T) *farm.HTTP {
		h := &farm.HTTP{
			ConnectTimeout: anySeconds(t), ResponseTimeout: anySeconds(t),
			ResurrectTime: anySeconds(t), RequestTimeout: anySeconds(t),
			RewriteLocation: rapid.SampledFrom(farm.RewriteLocations()).Draw(t, "rewrite"),
			Verbs:           rapid.SampledFrom(farm.VerbSets()).Draw(t, "verbs"),
			Error414:        anyText().Draw(t, "414"), Error500: anyText().Draw(t, "500"),
			Error501: anyText().Draw(t, "501"), Error503: anyText().Draw(t, "503"),
		}
		h.Services = orNil(rapid.SliceOfN(anyService(), 0, 3).Draw(t, "services"))
		return h
	})
}

func anyService() *rapid.Generator[farm.Service] {
	return rapid.Custom(func(t *rapid.T) farm.Service {
		return farm.Service{
			ID: rapid.Uint32().Draw(t, "id"), Name: anyText().Draw(t, "name"),
			VHost: anyText().Draw(t, "vhost"), URL: anyText().Draw(t, "url"),
			Redirect:     anyText().Draw(t, "redirect"),
			RedirectType: rapid.SampledFrom(farm.RedirectTypes()).Draw(t, "type"),
			RedirectCode: rapid.Int().Draw(t, "code"),
			Persistence:  rapid.SampledFrom(farm.Persistences()).Draw(t, "persistence"),
			TTL:          anySeconds(t), SessionID: anyText().Draw(t, "sessionid"),
			Policy:   rapid.SampledFrom(farm.RoutingPolicies()).Draw(t, "policy"),
			Backends: orNil(rapid.SliceOfN(anyBackend(), 0, 3).Draw(t, "backends")),
		}
	})
}

func anyBackend() *rapid.Generator[farm.Backend] {
	return rapid.Custom(func(t *rapid.T) farm.Backend {
		return farm.Backend{
			ID: rapid.Uint32().Draw(t, "id"), Host: anyText().Draw(t, "host"),
			Addr: anyAddr().Draw(t, "addr"), Port: rapid.Uint16().Draw(t, "port"),
			Weight: rapid.Uint8().Draw(t, "weight"), Priority: rapid.Uint8().Draw(t, "priority"),
			ConnLimit: rapid.Uint32().Draw(t, "limit"), Timeout: anySeconds(t),
			Alias:       anyText().Draw(t, "alias"),
			Maintenance: rapid.SampledFrom([]farm.Maintenance{"", farm.MaintenanceDrain, farm.MaintenanceCut}).Draw(t, "maintenance"),
		}
	})
}

// anyAddr draws IPv4, IPv6 with and without a zone, IPv4-mapped and invalid addresses.
func anyAddr() *rapid.Generator[netip.Addr] {
	four := rapid.Custom(func(t *rapid.T) netip.Addr {
		return netip.AddrFrom4([4]byte(rapid.SliceOfN(rapid.Byte(), 4, 4).Draw(t, "v4")))
	})
	six := rapid.Custom(func(t *rapid.T) netip.Addr {
		a := netip.AddrFrom16([16]byte(rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "v6")))
		return a.WithZone(rapid.SampledFrom([]string{"", "eth0", "1"}).Draw(t, "zone"))
	})
	mapped := rapid.Map(four, func(a netip.Addr) netip.Addr { return netip.AddrFrom16(a.As16()) })
	return rapid.OneOf(four, six, mapped, rapid.Just(netip.Addr{}))
}

// anyText draws texts, some of them invalid UTF-8.
func anyText() *rapid.Generator[string] {
	bytes := rapid.Map(rapid.SliceOfN(rapid.Byte(), 0, 20), func(b []byte) string { return string(b) })
	return rapid.OneOf(rapid.String(), bytes)
}

func anySeconds(t *rapid.T) farm.Seconds {
	return farm.Seconds(rapid.Uint32().Draw(t, "seconds"))
}

// orNil returns nil for an empty list, like omitempty.
func orNil[T any](list []T) []T {
	if len(list) == 0 {
		return nil
	}
	return list
}
