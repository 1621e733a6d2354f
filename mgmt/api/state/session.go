package state

import (
	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/api/rest"
)

// StaticSessions lists the static sessions of a group.
func StaticSessions(g farm.Group) []Session {
	out := []Session{}
	for i, b := range g.Backends() {
		for _, session := range b.Sessions {
			out = append(out, StaticSession(g, i, session))
		}
	}
	return out
}

// StaticSession describes a static session of the backend at that position.
func StaticSession(g farm.Group, position int, session string) Session {
	b := &g.Backends()[position]
	return Session{Client: session, ID: g.Number(position), Session: session, BackendIP: b.ShownAddress(), BackendPort: rest.OrNull(b.Port), Service: g.Name(), Type: "static"}
}

// Session is one persistence session of a farm: clients identified by Session go to that
// backend.
type Session struct {
	Client      string  `json:"client"`
	ID          int     `json:"id" doc:"Number of the backend in its service or farm"`
	Session     string  `json:"session"`
	BackendIP   string  `json:"backend_ip"`
	BackendPort *uint16 `json:"backend_port" doc:"null if a backend of an l4xnat farm keeps the client's port"`
	Service     string  `json:"service,omitempty" doc:"Absent in l4xnat farms"`
	// TTL is nil for static sessions.
	TTL  *string `json:"ttl" doc:"Remaining time if unused, e.g. 54m5s; null for a static session"`
	Type string  `json:"type" enum:"static,dynamic"`
}
