package kernel

import (
	"context"
	"errors"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/l4/kernel/rules"
	"github.com/sluicelb/sluice/sysnet/ctl"
)

// Errors for queries about sessions.
var (
	ErrNoFarm    = errors.New("the kernel carries no such farm")
	errNoTable   = errors.New("the farm keeps no sessions: set persistence first")
	errNoBackend = errors.New("the farm has no such backend")
)

// keepingNow returns the running farm with sessions of that service number.
func (k *Reconciler) keepingNow(service uint32) (*farm.Farm, error) {
	v := k.shown.Load()
	for i := range v.farms {
		f := &v.farms[i]
		if f.L4.ID != service || f.Stopped || v.problems[f.ID] != "" {
			continue
		}
		if f.L4.Persist == farm.L4PersistNone {
			return nil, errNoTable
		}
		return f, nil
	}
	return nil, ErrNoFarm
}

// Sessions returns the number of sessions of a farm, found by the number of its backend
// group, and at most limit of them, static ones first.
func (k *Reconciler) Sessions(ctx context.Context, service uint32, limit int) (total int, list []ctl.KernelSession, err error) {
	f, err := k.keepingNow(service)
	if err != nil {
		return 0, nil, err
	}
	known, static := backendsOf(f), map[string]bool{}
	for i := range f.L4.Backends {
		b := &f.L4.Backends[i]
		for _, key := range b.Sessions {
			list = append(list, ctl.KernelSession{Key: key, Backend: b.ID, Static: true})
			if canonical, err := rules.SessionKey(f.L4.Persist, f.VIP, key); err == nil {
				static[canonical] = true
			}
		}
	}
	learned, err := k.options.Filter.Learned(ctx, f)
	if err != nil {
		return 0, nil, err
	}
	for _, s := range learned {
		if known[s.Backend] && !static[s.Key] {
			list = append(list, s)
		}
	}
	return len(list), list[:min(len(list), limit)], nil
}

// Session returns the session of one key.
func (k *Reconciler) Session(ctx context.Context, service uint32, client string) (ctl.KernelSession, bool, error) {
	f, err := k.keepingNow(service)
	if err != nil {
		return ctl.KernelSession{}, false, err
	}
	key, err := rules.SessionKey(f.L4.Persist, f.VIP, client)
	if err != nil {
		return ctl.KernelSession{}, false, nil
	}
	for i := range f.L4.Backends {
		b := &f.L4.Backends[i]
		for _, text := range b.Sessions {
			if own, err := rules.SessionKey(f.L4.Persist, f.VIP, text); err == nil && own == key {
				return ctl.KernelSession{Key: text, Backend: b.ID, Static: true}, true, nil
			}
		}
	}
	s, ok, err := k.options.Filter.Find(ctx, f, key)
	return s, ok && backendsOf(f)[s.Backend], err
}

// AddSession adds a client's session as if a packet had made it. ttl 0 means the farm's.
func (k *Reconciler) AddSession(ctx context.Context, service uint32, client string, backend uint32, ttl time.Duration) error {
	f, err := k.keepingNow(service)
	if err != nil {
		return err
	}
	key, err := rules.SessionKey(f.L4.Persist, f.VIP, client)
	if err != nil {
		return err
	}
	if !backendsOf(f)[backend] {
		return errNoBackend
	}
	if ttl <= 0 {
		ttl = time.Duration(f.L4.TTL) * time.Second
	}
	return k.options.Filter.Learn(ctx, f, ctl.KernelSession{Key: key, Backend: backend, TTL: ttl})
}

// LearnSessions adds sessions as if packets had made them, those with a valid key and a
// backend of the farm. It returns their number.
func (k *Reconciler) LearnSessions(ctx context.Context, service uint32, list []ctl.KernelSession) (int, error) {
	f, err := k.keepingNow(service)
	if err != nil {
		return 0, err
	}
	known := backendsOf(f)
	var learned []ctl.KernelSession
	for _, s := range list {
		key, err := rules.SessionKey(f.L4.Persist, f.VIP, s.Key)
		if err != nil || s.Static || !known[s.Backend] || s.TTL <= 0 {
			continue
		}
		learned = append(learned, ctl.KernelSession{Key: key, Backend: s.Backend, TTL: s.TTL})
	}
	if len(learned) == 0 {
		return 0, nil
	}
	return len(learned), k.options.Filter.Learn(ctx, f, learned...)
}

// DeleteSession deletes a session and reports whether it existed. Static sessions stay: they
// are configuration.
func (k *Reconciler) DeleteSession(ctx context.Context, service uint32, client string) (bool, error) {
	f, err := k.keepingNow(service)
	if err != nil {
		return false, err
	}
	key, err := rules.SessionKey(f.L4.Persist, f.VIP, client)
	if err != nil {
		return false, nil
	}
	return k.options.Filter.Forget(ctx, f, key)
}

// FlushSessions deletes all sessions of a farm except static ones, and returns their number.
func (k *Reconciler) FlushSessions(ctx context.Context, service uint32) (int, error) {
	f, err := k.keepingNow(service)
	if err != nil {
		return 0, err
	}
	learned, err := k.options.Filter.Learned(ctx, f)
	if err != nil {
		return 0, err
	}
	return len(learned), k.options.Filter.ForgetAll(ctx, f)
}

func backendsOf(f *farm.Farm) map[uint32]bool {
	out := map[uint32]bool{}
	for i := range f.L4.Backends {
		if b := &f.L4.Backends[i]; b.Maintenance != farm.MaintenanceCut {
			out[b.ID] = true
		}
	}
	return out
}
