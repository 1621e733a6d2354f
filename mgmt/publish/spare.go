package publish

import (
	"context"
	"errors"
	"os"
	"sync"

	"github.com/sluicelb/sluice/core/shm"
	"github.com/sluicelb/sluice/sysnet/ctl"
)

// spares are this process's copies of the engine's listening sockets. There are copies in netd,
// too, so that clients are not refused while the engine restarts. A restarted netd gets its
// copies back from here. They are bare descriptors because the runtime would wake this process
// for every client.
type spares struct {
	mu   sync.Mutex
	held map[string][]int
}

// keep copies the sockets of a key.
func (s *spares) keep(key string, files []*os.File) error {
	fds := make([]int, 0, len(files))
	for _, f := range files {
		fd, err := shm.DuplicateDescriptor(f)
		if err != nil {
			shm.CloseDescriptors(fds)
			return err
		}
		fds = append(fds, fd)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.held == nil {
		s.held = map[string][]int{}
	}
	shm.CloseDescriptors(s.held[key])
	s.held[key] = fds
	return nil
}

// has reports whether there are copies of a key.
func (s *spares) has(key string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.held[key] != nil
}

// none reports whether s is empty.
func (s *spares) none() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.held) == 0
}

// retain closes the copies of all keys that are not in needed.
func (s *spares) retain(needed map[string]bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for key, fds := range s.held {
		if !needed[key] {
			shm.CloseDescriptors(fds)
			delete(s.held, key)
		}
	}
}

// give calls do with the copies of all keys that are not in but, until one call fails. It
// returns the number of calls that succeeded.
func (s *spares) give(but map[string]bool, do func(key string, fds []int) error) (given int, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for key, fds := range s.held {
		if but[key] {
			continue
		}
		if err := do(key, fds); err != nil {
			return given, err
		}
		given++
	}
	return given, nil
}

// regain returns to netd the sockets it has lost.
func (p *Publisher) regain(ctx context.Context) {
	if p.spares.none() {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, tidyTimeout)
	defer cancel()
	list, err := p.options.Netd.List(ctx)
	if err != nil {
		return // it is retried soon
	}
	given, err := p.spares.give(setOf(list), func(key string, fds []int) error { return p.options.Netd.Adopt(ctx, key, fds) })
	if err != nil {
		p.options.Log.Warn("netd does not take back its listening sockets", "error", err)
		if refused, is := errors.AsType[*ctl.Error](err); is && refused != nil {
			p.spares.retain(nil) // netd must open others when needed, and ours would block the address
		}
	}
	if given > 0 {
		p.opened.Add(1)
		p.options.Log.Info("netd has the listening sockets again", "addresses", given)
	}
}

// copyHeld copies the sockets of an engine that had them before this process started.
func (p *Publisher) copyHeld(ctx context.Context) {
	p.mu.Lock()
	loops, lacking := p.hello.Loops, []string(nil)
	for key := range p.holds.has {
		if _, _, is := ctl.ParseKey(key); is && !p.spares.has(key) {
			lacking = append(lacking, key)
		}
	}
	p.mu.Unlock()
	for _, key := range lacking {
		files, err := p.open(ctx, key, loops) // netd returns the existing ones; others cannot be opened
		if err == nil {
			p.copy(key, files)
		}
		closeAll(files)
		if err != nil {
			return // netd is unreachable or has lost them: the next engine gets others
		}
	}
}

func (p *Publisher) copy(key string, files []*os.File) {
	if err := p.spares.keep(key, files); err != nil {
		p.options.Log.Warn("no copies of listening sockets are kept", "key", key, "error", err)
	}
}
