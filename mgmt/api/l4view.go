package api

import (
	"cmp"
	"net/netip"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/farmstate"
	"github.com/sluicelb/sluice/mgmt/validate"
)

// L4FarmView is everything about an l4xnat farm but its backends.
type L4FarmView struct {
	FarmName    string           `json:"farmname"`
	Profile     farm.Profile     `json:"profile"`
	Status      farm.Status      `json:"status"`
	Problem     string           `json:"problem,omitempty" doc:"Why the farm does not run: what keeps it from running, or why its last start was refused"`
	VIP         string           `json:"vip"`
	VPort       string           `json:"vport" doc:"Ports and ranges, like 80,8000:8010; * for all"`
	Listener    string           `json:"listener" enum:"l4xnat"`
	Protocol    farm.L4Protocol  `json:"protocol"`
	NAT         farm.NATType     `json:"nattype"`
	Algorithm   farm.L4Algorithm `json:"algorithm"`
	Persistence string           `json:"persistence" doc:"Empty for none; ip is srcip"`
	TTL         farm.Seconds     `json:"ttl" doc:"Seconds a session lives after its last use"`
	Guardian    string           `json:"farmguardian"`
	Sessions    []Session        `json:"sessions" doc:"The static ones; all are at /farms/FARM/sessions"`
	Logs        string           `json:"logs" enum:"true,false"`

	DataPath farm.DataPath `json:"datapath" enum:"auto,userspace,kernel" doc:"What was asked for"`
	Carrier  farm.DataPath `json:"carrier" enum:"userspace,kernel" doc:"What carries the farm"`
	Why      string        `json:"carrier_reason" doc:"Why that carries it"`
	Warnings []string      `json:"warnings,omitempty" doc:"What of the farm cannot work now"`

	LogLimit  uint32 `json:"log_limit" doc:"Lines per second at most"`
	LogPrefix string `json:"log_prefix"`
	LogLines
	ConnectTimeout farm.Seconds  `json:"contimeout"`
	IdleTimeout    farm.Seconds  `json:"idle_timeout" doc:"0 where the kernel tracks connections, which has its own, and with tcp_udp for 3600 of tcp and 30 of udp"`
	ResurrectTime  farm.Seconds  `json:"resurrectime"`
	StopGrace      farm.Seconds  `json:"grace" doc:"0 ends connections when the farm stops"`
	Responses      *uint16       `json:"responses" doc:"Datagrams that answer one; null when only silence ends a flow"`
	QUIC           string        `json:"quic" enum:"true,false"`
	MaxConnections uint32        `json:"maxconnections" doc:"0 means no bound"`
	Source         *netip.Addr   `json:"source"`
	Mark           uint32        `json:"mark" doc:"0 sets none"`
	Trusted        []string      `json:"trusted"`
	ProxyIn        farm.ProxyIn  `json:"proxyprotocol_in"`
	ProxyOut       farm.ProxyOut `json:"proxyprotocol_out"`
}

func (s *Server) l4FarmView(f *farm.Farm) L4FarmView {
	l := f.L4
	carrier, why := f.Carrier()
	return L4FarmView{
		FarmName: f.Name, Profile: f.Profile, Status: s.status(f), Problem: s.problem(f),
		VIP: f.VIP.String(), VPort: l.PortsText(), Listener: string(farm.ProfileL4),
		Protocol: l.Protocol, NAT: l.NAT, Algorithm: l.Algorithm, Persistence: validate.L4PersistenceText(l.Persist), TTL: cmp.Or(l.TTL, farm.DefaultL4TTL),
		Sessions: staticSessions(f.Own()), Logs: truth(l.Logs),
		DataPath: askedPath(l), Carrier: carrier, Why: why, Warnings: s.warnings(f),
		LogLimit: cmp.Or(l.LogLimit, farm.DefaultL4LogLimit), LogPrefix: cmp.Or(l.LogPrefix, "l4:"+f.Name+" "), LogLines: logLines(&l.AccessLog),
		ConnectTimeout: cmp.Or(l.ConnectTimeout, farm.DefaultL4Connect), IdleTimeout: idleTime(l, carrier),
		ResurrectTime: cmp.Or(l.ResurrectTime, farm.DefaultL4Resurrect), StopGrace: l.StopGrace,
		Responses: l.Responses, QUIC: truth(l.QUIC), MaxConnections: l.MaxConnections,
		Source: orNull(l.Source), Mark: l.Mark, Trusted: networks(l.Trusted),
		ProxyIn: cmp.Or(l.ProxyIn, farm.ProxyInOff), ProxyOut: cmp.Or(l.ProxyOut, farm.ProxyOutOff),
	}
}

// L4FarmDetails is the answer about one l4xnat farm.
type L4FarmDetails struct {
	Description string          `json:"description"`
	Params      L4FarmView      `json:"params"`
	Backends    []L4BackendView `json:"backends"`
	IPDS        IPDS            `json:"ipds"`
}

// staticSessions lists the static sessions of a group.
func staticSessions(g farm.Group) []Session {
	out := []Session{}
	for i, b := range g.Backends() {
		for _, session := range b.Sessions {
			out = append(out, StaticSession(g, i, session))
		}
	}
	return out
}

// networks writes addresses and networks as they are read.
func networks(list []netip.Prefix) []string {
	out := []string{}
	for _, p := range list {
		out = append(out, validate.NetworkText(p))
	}
	return out
}

// L4BackendView is everything about a backend of an l4xnat farm. ID is its
// number, which it keeps.
type L4BackendView struct {
	ID          int         `json:"id"`
	IP          string      `json:"ip"`
	Port        *uint16     `json:"port" doc:"null keeps the port the client used"`
	Status      farm.Status `json:"status" enum:"up,down,maintenance"`
	Problem     string      `json:"problem,omitempty" doc:"Why a backend that can be connected to gets no traffic"`
	Mode        string      `json:"maintenance_mode,omitempty" enum:"drain,cut" doc:"How the backend was taken out"`
	Weight      int         `json:"weight" doc:"1 when it was never set"`
	Priority    int         `json:"priority" doc:"1 when it was never set"`
	MaxConns    uint32      `json:"max_conns" doc:"0 means no limit"`
	Source      *netip.Addr `json:"source"`
	Mark        *uint32     `json:"mark"`
	Alias       *string     `json:"alias"`
	ServerNames []string    `json:"server_names" doc:"Names of TLS clients that go to this server"`
	Resolution  *Resolution `json:"resolution,omitempty" doc:"Of a backend with a host name"`
}

func (s *Server) l4BackendView(g farm.Group, i int) L4BackendView {
	b := &g.Backends()[i]
	r := s.resolution(g, i)
	return L4BackendView{
		ID: g.Number(i), IP: b.Place(), Port: orNull(b.Port), Status: s.l4Status(g, i), Problem: cmp.Or(s.backendProblem(b), nameProblem(b, r)), Mode: string(b.Maintenance), Resolution: r,
		Weight: b.EffectiveWeight(), Priority: b.EffectivePriority(), MaxConns: b.ConnLimit,
		Source: orNull(b.Source), Mark: orNull(b.Mark), Alias: orNull(b.Alias), ServerNames: append([]string{}, b.ServerNames...),
	}
}

// l4Status is the status of a backend of an l4xnat farm: one that nothing is
// known about is available, which the family calls up.
func (s *Server) l4Status(g farm.Group, i int) farm.Status {
	return farmstate.InStatistics(farmstate.In(g, i, s.deps.Health))
}

// idleTime is the one in force. Where the kernel tracks connections it is what
// was asked for, to no effect.
func idleTime(l *farm.L4, carrier farm.DataPath) farm.Seconds {
	switch {
	case l.NAT == farm.NATDirect, l.NAT == farm.NATStateless:
		return cmp.Or(l.IdleTimeout, farm.DefaultPacketIdleTime)
	case carrier == farm.DataPathKernel:
		return l.IdleTimeout
	case l.Protocol == farm.L4TCPUDP: // two, one for each
		return l.IdleTimeout
	case l.Protocol == farm.L4UDP:
		return cmp.Or(l.IdleTimeout, farm.DefaultUDPIdle)
	}
	return cmp.Or(l.IdleTimeout, farm.DefaultTCPIdle)
}
