package validate

import (
	"fmt"
	"net/netip"

	"github.com/sluicelb/sluice/core/farm"
)

// MaxStatic is how many static sessions a service may have, MaxSession how long
// one is in bytes: what the engine looks at of what a client sends.
const (
	MaxStatic  = 1000
	MaxSession = 255
)

// backendSessions are the static sessions of a backend. Documents have them as
// a field; the API has calls of their own for them.
var backendSessions = field[farm.Backend]{
	rule: rule{name: "sessions", hints: advanced(atPersistence, "Static sessions"), kind: kindList, max: MaxStatic, maxLen: MaxSession, check: checkPrintable, must: "a text without control characters",
		musts: "a list of texts", about: "Static sessions: what clients are recognised by (address, cookie, header, parameter or user) who always come here. Only with persistence."},
	get: func(b *farm.Backend) Value { return listValue(b.Sessions) },
	set: func(b *farm.Backend, v Value) { b.Sessions = v.list },
}

// StaticSession brings a static session of a service into the form the engine
// finds it in.
func StaticSession(s *farm.Service, session any) (string, error) {
	if s.Persistence == farm.PersistNone {
		return "", &Error{"", "session", "session: the service keeps no sessions; set persistence first"}
	}
	text, ok := session.(string)
	if !ok || text == "" {
		return "", &Error{"", "session", "session must be a text of at least one character"}
	}
	r := backendSessions.rule
	r.name, r.kind = "session", kindText
	if err := r.verifyText("", text); err != nil {
		return "", err
	}
	if s.Persistence == farm.PersistIP {
		addr, err := netip.ParseAddr(text)
		if err != nil {
			return "", &Error{"", "session", fmt.Sprintf("session must be the address of a client with persistence IP, got %s", show(text))}
		}
		return addr.Unmap().String(), nil
	}
	return text, nil
}

// checkStatics holds the rules of static sessions: persistence, a form in which
// they are found, one backend for each.
func checkStatics(f *farm.Farm, s *farm.Service) *Error {
	first := map[string]int{}
	for i := range s.Backends {
		at := BackendPath(f.Name, s.Name, i)
		for _, session := range s.Backends[i].Sessions {
			found, err := StaticSession(s, session)
			if err != nil {
				return &Error{at, "sessions", fmt.Sprintf("sessions: %v", err)}
			}
			if found != session {
				return &Error{at, "sessions", fmt.Sprintf("sessions: write %s as %s", show(session), show(found))}
			}
			if j, known := first[session]; known {
				return &Error{at, "sessions", fmt.Sprintf("sessions: %s is with backend %d already", show(session), j)}
			}
			first[session] = i
		}
	}
	if len(first) > MaxStatic {
		return &Error{ServicePath(f.Name, s.Name), "sessions", fmt.Sprintf("sessions: a service has at most %d static ones, got %d", MaxStatic, len(first))}
	}
	return nil
}
