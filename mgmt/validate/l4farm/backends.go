package l4farm

import (
	"fmt"
	"net/netip"
	"slices"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/validate/field"
	"github.com/sluicelb/sluice/mgmt/validate/profile"
)

// checkBackends checks the backends of an l4xnat farm, single and combined.
func checkBackends(f *farm.Farm, local []netip.Prefix, yield func(field.Error) bool) bool {
	type server struct {
		host string
		port uint16
	}
	l := f.L4
	seen, in := make(map[server]int, len(l.Backends)), Document.Lookup(f)
	for i, number := range f.Own().Numbers() {
		b := &l.Backends[i]
		at := profile.OwnBackendPath(f.Name, number)
		if !BackendDocument.Verify(at, b, in, yield) {
			return false
		}
		if err := checkBackend(at, f, b, local); err != nil && !yield(*err) {
			return false
		}
		if b.Of != 0 {
			continue // reported once for its name
		}
		key := server{host: profile.CanonHost(b.Host), port: targetPort(l, b)}
		if first, found := seen[key]; found && !yield(field.Error{Path: at, Field: "ip",
			Message: fmt.Sprintf("ip and port must be unique in the farm, backend %d is %s %s already", first, b.Host, portWords(key.port))}) {
			return false
		}
		seen[key] = number
	}
	if err := checkStatics(f); err != nil {
		return yield(*err)
	}
	return true
}

// targetPort returns the target port of a backend; 0 for the client's port.
func targetPort(l *farm.L4, b *farm.Backend) uint16 {
	if b.Port == 0 && l.PortCount() == 1 {
		return l.Ports[0].First
	}
	return b.Port
}

// portWords describes the port of a backend in a message.
func portWords(port uint16) string {
	if port == 0 {
		return "with the client's port"
	}
	return fmt.Sprintf("port %d", port)
}

// checkBackend checks one backend. A host name is judged by its resolved address, if any.
func checkBackend(path string, f *farm.Farm, b *farm.Backend, local []netip.Prefix) *field.Error {
	l := f.L4
	addr, problem := profile.Reach(path, f, b, local)
	if problem != nil || !addr.IsValid() {
		return problem
	}
	switch {
	case !b.Source.IsValid() && l.Source.IsValid() && l.Source.Is4() != addr.Is4():
		return &field.Error{Path: path, Field: "source", Message: fmt.Sprintf("source of the farm (%s) must be of the same IP version as the backend (%s); give the backend a source of its own, or set the farm's null", l.Source, addr)}
	case l.NAT == farm.NATDirect && addr.IsLoopback():
		return &field.Error{Path: path, Field: "ip", Message: fmt.Sprintf("ip must be of a neighbour with nattype dsr, got %s: packets go to its MAC address, and this machine has none for itself; use nattype nat", profile.HostAndAddr(b.Host, addr))}
	case profile.IsOwn(f.VIP, addr, local) && (l.NAT == farm.NATDirect || loops(l, b)):
		return &field.Error{Path: path, Field: "ip", Message: fmt.Sprintf("ip and port must not be the farm's own address, got %s %s: packets would go round in a circle", profile.HostAndAddr(b.Host, addr), portWords(b.Port))}
	}
	return nil
}

// loops reports whether traffic to b, whose address is the VIP, returns to the farm.
func loops(l *farm.L4, b *farm.Backend) bool {
	return b.Port == 0 || len(l.Ports) == 0 ||
		slices.ContainsFunc(l.Ports, func(p farm.PortRange) bool { return p.First <= b.Port && b.Port <= p.Last })
}

// checkStatics checks static sessions: persistence is on, their form is valid, and each
// has one backend.
func checkStatics(f *farm.Farm) *field.Error {
	l := f.L4
	first := map[string]int{}
	for i, number := range f.Own().Numbers() {
		at := profile.OwnBackendPath(f.Name, number)
		for _, session := range l.Backends[i].Sessions {
			found, err := StaticSession(l, session)
			if err != nil {
				return &field.Error{Path: at, Field: "sessions", Message: fmt.Sprintf("sessions: %v", err)}
			}
			if found != session {
				return &field.Error{Path: at, Field: "sessions", Message: fmt.Sprintf("sessions: write %s as %s", field.Show(session), field.Show(found))}
			}
			if key, _ := farm.ParseL4Key(l.Persist, session); key.Addr.IsValid() && f.VIP.IsValid() &&
				key.Addr.Is4() != f.VIP.Is4() {
				return &field.Error{Path: at, Field: "sessions", Message: fmt.Sprintf("sessions: %s must be of the same IP version as the vip (%s)", field.Show(session), f.VIP)}
			}
			if j, known := first[session]; known {
				return &field.Error{Path: at, Field: "sessions", Message: fmt.Sprintf("sessions: %s is with backend %d already", field.Show(session), j)}
			}
			first[session] = number
		}
	}
	if len(first) > profile.MaxStatic {
		return &field.Error{Path: profile.FarmPath(f.Name), Field: "sessions", Message: fmt.Sprintf("sessions: a farm has at most %d static ones, got %d", profile.MaxStatic, len(first))}
	}
	return nil
}

// StaticSession converts a static session of a farm into its stored form.
func StaticSession(l *farm.L4, session any) (string, error) {
	form := farm.L4KeyForm(l.Persist)
	if form == "" {
		return "", &field.Error{Path: "", Field: "session", Message: "session: the farm keeps no sessions; set persistence first"}
	}
	text, ok := field.ParseText(session)
	if !ok {
		return "", &field.Error{Path: "", Field: "session", Message: fmt.Sprintf("session must be %s with persistence %s, got %s", form, l.Persist, field.Show(session))}
	}
	key, err := farm.ParseL4Key(l.Persist, text)
	if err != nil {
		return "", &field.Error{Path: "", Field: "session", Message: fmt.Sprintf("session must be %s with persistence %s, got %s: %v", form, l.Persist, field.Show(text), err)}
	}
	return key.Text(l.Persist), nil
}
