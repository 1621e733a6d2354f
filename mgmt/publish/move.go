package publish

import (
	"context"
	"slices"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/link"
)

// SessionStore stores persistence sessions by group ID; the engine and netd implement it.
type SessionStore interface {
	Sessions(ctx context.Context, service uint32, limit int) (total int, list []link.Session, err error)
	ChangeSessions(ctx context.Context, change link.SessionChange) (changed int, err error)
}

// moveTime bounds the delay of a publication by the sessions of one farm.
const moveTime = 2 * time.Second

// keeping is the component that stores the sessions of a group (engine or kernel), and their
// key.
type keeping struct {
	kernel bool
	by     string
}

// keepings returns the keeping of each group of the started farms, by group ID. HTTP services
// are left out because only the engine handles them.
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

// move holds the sessions of a farm that changes its data path.
type move struct {
	service uint32
	to      SessionStore
	list    []link.Session
	// replace removes the receiver's sessions first. The engine still has sessions from before
	// the kernel took the farm over; the complete list of the kernel replaces them.
	replace bool
}

// pack reads the sessions of farms that change their data path, before the change. If the read
// fails, the farm starts without sessions.
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

// unpack sends the sessions to the new data path of their farms.
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
