package httpfarm

import (
	"fmt"
	"net/netip"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/validate/field"
	"github.com/sluicelb/sluice/mgmt/validate/profile"
)

// Profile implements Profile for http farms.
type Profile struct{}

func (Profile) Name() farm.Profile { return farm.ProfileHTTP }

func (Profile) Farm() profile.Bodies[farm.Farm] {
	return profile.Bodies[farm.Farm]{Create: &Create, Update: &Update, Document: &Document}
}

func (Profile) Backend() profile.Bodies[farm.Backend] {
	return profile.Bodies[farm.Backend]{Create: &BackendCreate, Update: &BackendUpdate, Document: &BackendDocument}
}

func (Profile) TakesBackend(g farm.Group) error { return AddBackend("", g.Service) }

func (Profile) Session(g farm.Group, session any) (string, error) {
	return StaticSession(g.Service, session)
}

func (Profile) Begin(f *farm.Farm, named farm.Profile) {
	edit(f)
	if named == farm.ProfileHTTPS {
		setListener(f, field.TextValue("https"))
	}
}

func (Profile) SetPorts(f *farm.Farm, v field.Value) { profile.SetOnePort(f, v) }

func (Profile) PortsProblem(sent field.Values[farm.Farm]) string {
	return profile.OnePortProblem(sent, farm.ProfileHTTP)
}

func (Profile) ListensOn(f *farm.Farm) string { return f.AddrPort().String() }

func (Profile) OneVersion(*farm.Farm) string { return "" }

func (Profile) Check(f *farm.Farm, local []netip.Prefix, yield func(field.Error) bool) bool {
	path := profile.FarmPath(f.Name)
	if !Document.Verify(path, f, nil, yield) {
		return false
	}
	if f.HTTP == nil {
		return yield(field.Error{Path: path, Field: "profile", Message: "profile http needs its settings; they are missing"})
	}
	h := f.HTTP
	if reason := profile.OwnMark(h.Mark); reason != "" && !yield(field.Error{Path: path, Field: "mark", Message: "mark " + reason}) {
		return false
	}
	if h.TLS != nil && !checkTLS(path, h.TLS, yield) {
		return false
	}
	if !checkFarmRules(path, f, yield) {
		return false
	}
	if h.ResurrectTime < h.ConnectTimeout && !yield(field.Error{Path: path, Field: "resurrectime",
		Message: fmt.Sprintf("resurrectime must be at least contimeout (%d), got %d", h.ConnectTimeout, h.ResurrectTime)}) {
		return false
	}
	if len(h.Services) > profile.MaxServices && !yield(field.Error{Path: path, Field: "services",
		Message: fmt.Sprintf("services: at most %d are possible in a farm, got %d", profile.MaxServices, len(h.Services))}) {
		return false
	}
	names, in := make(map[string]bool, len(h.Services)), Document.Lookup(f)
	for i := range h.Services {
		s := &h.Services[i]
		if names[s.Name] && !yield(field.Error{Path: profile.ServicePath(f.Name, s.Name), Field: "name",
			Message: fmt.Sprintf("name must be unique in the farm, %s exists already", field.Show(s.Name))}) {
			return false
		}
		names[s.Name] = true
		if !checkService(f, s, in, local, yield) {
			return false
		}
	}
	return true
}

func (Profile) FarmWarnings(*farm.Farm, profile.Warn) {}

func (Profile) PriorityWarning(g farm.Group, i int) string { return PriorityWarning(g.Service, i) }

func (Profile) BackendWarnings(g farm.Group, i int, _ []netip.Prefix, add profile.Warn) {
	add("sessions", cutSessionsWarning(g.Backends()[i].Sessions))
}

func (Profile) GroupWarnings(f *farm.Farm, i int, add profile.Warn) {
	add("split", splitWarning(f.HTTP.Services, i))
	stickyWarnings(&f.HTTP.Services[i], add)
	cookieWarnings(f.HTTP, &f.HTTP.Services[i], add)
}

// splitWarning returns a text if the split weight of service i is ineffective because its
// neighbours have none.
func splitWarning(list []farm.Service, i int) string {
	if list[i].Split == nil || i > 0 && list[i-1].Split != nil || i+1 < len(list) && list[i+1].Split != nil {
		return ""
	}
	return "split has no effect: neither the service before nor the one behind it has one"
}

// stickyWarnings adds warnings about persistence fields without effect. Clients send these
// fields one by one in any order, so a missing one is not an error.
func stickyWarnings(s *farm.Service, add profile.Warn) {
	kind := s.Persistence
	if kind.Named() && s.SessionID == "" {
		names := map[farm.Persistence]string{farm.PersistURL: "parameter", farm.PersistCookie: "cookie", farm.PersistHeader: "header"}
		add("persistence", fmt.Sprintf("persistence %s has no effect yet: sessionid names the %s; set sessionid", kind, names[kind]))
	}
	ServiceDocument.IdleWarnings(s, nil, add)
	if kept := s.EffectivePersistence(); s.Cookie != nil && kept != farm.PersistNone {
		add("cookieinsert", fmt.Sprintf("cookieinsert has no effect while persistence is %s, which chooses the backend; set persistence NONE, or cookieinsert false", kept))
	}
}

// checkOwnConnectTimeout applies the limit of the farm's contimeout to that of a backend.
func checkOwnConnectTimeout(at string, f *farm.Farm, b *farm.Backend) *field.Error {
	if b.ConnectTimeout <= f.HTTP.ResurrectTime {
		return nil
	}
	return &field.Error{Path: at, Field: "contimeout", Message: fmt.Sprintf("contimeout must be at most resurrectime of the farm (%d), got %d", f.HTTP.ResurrectTime, b.ConnectTimeout)}
}
