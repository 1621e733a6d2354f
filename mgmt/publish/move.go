package publish

import (
	"context"
	"slices"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/link"
)

// SessionStore keeps persistence sessions by the number of their group; the
// engine and netd are one each.
type SessionStore interface {
	Sessions(ctx context.Context, service uint32, limit int) (total int, list []link.Session, err error)
	ChangeSessions(ctx context.Context, change link.SessionChange) (changed int, err error)
}

// moveTime bounds how long a publication is held up by the sessions of one farm.
const moveTime = 2 * time.Second

// keeping says whether engine or kernel keeps the sessions of a group, and by what.
type keeping struct {
	kernel bool
	by     string
}

// keepings are those of the groups of cfg whose farms run, by number. Services
// are not among them: no other data path than the engine has any.
func keepings(cfg *farm.Config) map[uint32]keeping {
	out := map[uint32]keeping{}
	for i := range cfg.Farms {
		f := &cfg.Farms[i]
		if f.Stopped || f.HasServices() {
			continue
		}
		if g := f.Own(); len(f.Groups()) > 0 && g.KeepsSessions() {
			out[g.ID()] = keeping{kernel: f.InKernel(), by: g.SessionsBy()}
		}
	}
	return out
}

// move is the sessions of a farm that goes from one data path to another.
type move struct {
	service uint32
	to      SessionStore
	list    []link.Session
	// replace: the engine keeps those of farms it does not carry, and what became
	// of them in the kernel counts, if the list is all of that.
	replace bool
}

// pack takes the sessions of farms that another data path carries from now on,
// before it does. Whose cannot be had begin anew.
func (p *Publisher) pack(ctx context.Context, engine Engine, cfg *farm.Config) (moves []move) {
	if p.options.KernelSessions == nil {
		return nil
	}
	p.mu.Lock()
	was := p.keeps
	p.mu.Unlock()
	for service, now := range keepings(cfg) {
		before, known := was[service]
		if !known || before.by != now.by || before.kernel == now.kernel {
			continue
		}
		from, to := SessionStore(engine), p.options.KernelSessions
		if before.kernel {
			from, to = to, from
		}
		asking, cancel := context.WithTimeout(ctx, moveTime)
		total, list, err := from.Sessions(asking, service, link.MaxCarried)
		cancel()
		if err != nil {
			p.options.Log.Warn("sessions of a farm are not carried over to its new data path", "service", service, "error", err)
			continue
		}
		all := len(list) == total
		list = slices.DeleteFunc(list, func(s link.Session) bool { return s.Static })
		moves = append(moves, move{service, to, list, before.kernel && all})
	}
	return moves
}

// unpack gives the sessions to the engine or kernel that carries their farms now.
func (p *Publisher) unpack(ctx context.Context, moves []move) {
	for _, m := range moves {
		learning, cancel := context.WithTimeout(ctx, moveTime)
		if m.replace {
			if _, err := m.to.ChangeSessions(learning, link.SessionChange{Service: m.service, Act: link.FlushSessions}); err != nil {
				p.options.Log.Warn("sessions from before the kernel carried the farm are kept", "service", m.service, "error", err)
			}
		}
		for part := range slices.Chunk(m.list, link.MaxLearned) {
			if _, err := m.to.ChangeSessions(learning, link.SessionChange{Service: m.service, Act: link.LearnSessions, List: part}); err != nil {
				p.options.Log.Warn("sessions of a farm are not carried over to its new data path", "service", m.service, "error", err)
				break
			}
		}
		cancel()
	}
}
