package table

import (
	"fmt"
	"time"

	"github.com/sluicelb/sluice/core/balance"
	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/session"
	"github.com/sluicelb/sluice/core/tlsconf"
	"github.com/sluicelb/sluice/l7/http1"
	"github.com/sluicelb/sluice/l7/rewrite"
	"github.com/sluicelb/sluice/l7/state"
)

// Service is one compiled service.
type Service struct {
	ID   uint32 // stable number
	Name string

	// Matching, and actions other than forwarding.
	conditions *conditions // may be nil
	share      share       // of requests that neighbours match, too
	limit      *rateLimit  // may be nil
	Auth       *Protection // nil without authentication
	Redirect   *Redirect   // may be nil
	DNSFarm    string      // gslb farm that responds; may be empty

	// Backends and their selection.
	Backends []Backend
	at       map[uint32]int // positions in Backends by stable number
	Picker   *balance.Picker
	Tracked  bool // the picker compares loads
	hashed   bool // the picker needs the client's hash
	Persist  Persistence
	Sessions *session.Table   // nil without persistence
	kept     state.SessionsOf // key of Sessions in the registry
	Cookie   *Inserted        // may be nil

	// Protocol towards backends.
	TLS         *tlsconf.Backend // nil for plain HTTP
	Multiplexed bool             // HTTP/2
	Pinned      bool             // backend connections are reserved for one client
	IgnoreClose bool             // exchanges continue after the client half-closes
	Leniency    http1.Leniency   // deviations accepted in responses

	// Changes to requests and responses.
	Request, Response *Rules       // header rules; may be nil
	urls              *rewrite.URL // path rules; may be nil
	Locate            Locate
	Compress          *Compression // may be nil
	ServedBy          string       // field that names the backend to clients, in lower case; may be empty

	// Handling of full and failing backends.
	Queue        *state.Queue
	QueueLength  int64     // 0: no queue
	QueueTimeout int64     // nanoseconds
	Retry        *Retrying // nil: only connects are retried
	Outlier      *Outlier  // nil: no ejection
}

// Find returns the position of the backend with that number, or -1.
func (sv *Service) Find(id uint32) int {
	if i, ok := sv.at[id]; ok {
		return i
	}
	return -1
}

// Position returns the position of a backend of the service, or -1.
func (sv *Service) Position(b *Backend) int {
	for i := range sv.Backends {
		if &sv.Backends[i] == b {
			return i
		}
	}
	return -1
}

// Rehearsal returns a copy of the service for a run without side effects. All state that
// exchanges change must be replaced here.
func (sv *Service) Rehearsal() *Service {
	c := *sv
	c.Picker = sv.Picker.Copy()
	if sv.Sessions != nil {
		c.Sessions = session.New(1)
	}
	return &c
}

func (c *Compiler) compileService(out *Service, build *tlsconf.Build, first bool, f *farm.Farm, s *farm.Service) (err error) {
	*out = Service{
		ID: s.ID, Name: s.Name, DNSFarm: s.DNSFarm, Persist: newPersistence(s), Multiplexed: s.Multiplexed(),
		Pinned: (s.Pinned || announcing(s) != 0) && !s.Multiplexed(), IgnoreClose: s.IgnoreClose,
		Leniency: newLeniency(s.Leniency),
	}
	c.compileBackends(out, first, f, s)
	c.compileResilience(out, s)
	out.limit = c.newRateLimit(s)
	if out.Persist.Kind != farm.PersistNone {
		out.kept = state.SessionsFor(s)
		out.Sessions = c.registry.Sessions.Of(out.kept).Table
	}
	if s.TLS != nil {
		if out.TLS, err = build.Backend(s.ID, s.TLS, protocols(s)...); err != nil {
			return fmt.Errorf("TLS to backends: %w", err)
		}
		out.reachSecurely()
	}
	return out.compileRules(f, s)
}

// compileBackends compiles the backends of a service and their selection.
func (c *Compiler) compileBackends(out *Service, first bool, f *farm.Farm, s *farm.Service) {
	algorithm := balance.Parse(s.Policy)
	out.Tracked, out.hashed = algorithm.NeedsLoad(), algorithm == balance.ConsistentHash
	out.Backends, out.at = make([]Backend, len(s.Backends)), make(map[uint32]int, len(s.Backends))
	members := make([]balance.Member, len(s.Backends))
	numbers := f.GroupOf(s).Numbers()
	for i := range s.Backends {
		b := &s.Backends[i]
		load := c.registry.Loads.Of(b.ID)
		if first {
			load.MarkOld() // the engine is new, not the backend
		}
		out.Backends[i] = newBackend(f, s, b)
		out.Backends[i].Number, out.Backends[i].Load = numbers[i], load
		out.Backends[i].Queue = c.registry.OwnQueues.Of(b.ID)
		out.at[b.ID] = i
		members[i] = balance.Member{
			ID: b.ID, Weight: b.EffectiveWeight(), Priority: b.EffectivePriority(), Limit: int64(b.ConnLimit),
			Out: b.Maintenance != farm.MaintenanceOff, Slot: c.health.Slot(b.ID), Load: load,
			SlowStart: time.Duration(nanos(s.SlowStart)),
		}
	}
	out.Picker = balance.New(algorithm, members, c.health, c.registry.States.Of(s.ID))
}

// compileRules compiles the service's authentication and its rules for heads and bodies.
func (sv *Service) compileRules(f *farm.Farm, s *farm.Service) (err error) {
	if sv.conditions, err = newConditions(s); err != nil {
		return err
	}
	if sv.Auth, err = newProtection(s); err != nil {
		return err
	}
	sv.Locate = newLocate(f.HTTP, s)
	if sv.Compress, err = newCompression(s.Compression); err != nil {
		return fmt.Errorf("compression: %w", err)
	}
	if sv.ServedBy, err = newServedBy(s, sv.Backends); err != nil {
		return fmt.Errorf("served_by: %w", err)
	}
	if sv.Cookie, err = newInserted(s, sv.Backends, f.HTTPS()); err != nil {
		return fmt.Errorf("cookie: %w", err)
	}
	if sv.Redirect, err = newRedirect(f, s); err != nil {
		return fmt.Errorf("redirect: %w", err)
	}
	if sv.urls, err = rewrite.NewURL(s.Rewrites, f.HTTP.IgnoreCase || s.IgnoreCase); err != nil {
		return fmt.Errorf("rules for paths: %w", err)
	}
	if sv.Request, err = requestRules(&f.HTTP.HeaderRules, &s.HeaderRules); err != nil {
		return fmt.Errorf("rules for request fields: %w", err)
	}
	if sv.Response, err = responseRules(f, s); err != nil {
		return fmt.Errorf("rules for response fields: %w", err)
	}
	return nil
}
