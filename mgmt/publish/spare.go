package publish

import (
	"context"
	"errors"
	"os"
	"sync"

	"github.com/sluicelb/sluice/core/shm"
	"github.com/sluicelb/sluice/sysnet/ctl"
)

// spares are this process's copies of the engine's listening sockets. netd has copies, too,
// so that no client is refused while the engine is started anew; a netd that was itself
// started anew gets its copies back from here. They are bare descriptors: the runtime would
// wake this process for every client.
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

// none reports whether there are no copies.
func (s *spares) none() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.held) == 0
}

// retain closes the copies of all keys but these.
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

// give calls do with the copies of all keys but these, until one fails, and returns how many
// did not.
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

// regain gives netd the sockets it does not have any more.
func (p *Publisher) regain(ctx context.Context) {
	if p.spares.none() {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, tidyTimeout)
	defer cancel()
	list, err := p.options.Netd.List(ctx)
	if err != nil {
		return // it is asked again soon
	}
	given, err := p.spares.give(setOf(list), func(key string, fds []int) error { return p.options.Netd.Adopt(ctx, key, fds) })
	if err != nil {
		p.options.Log.Warn("netd does not take back its listening sockets", "error", err)
		if refused, is := errors.AsType[*ctl.Error](err); is && refused != nil {
			p.spares.retain(nil) // netd is to open others when they are needed: ours would be in its way
		}
	}
	if given > 0 {
		p.opened.Add(1)
		p.options.Log.Info("netd has the listening sockets again", "addresses", given)
	}
}

// copyHeld copies the sockets of an engine that had them before this process was started.
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
		files, err := p.open(ctx, key, loops) // those it has; no others can be opened
		if err == nil {
			p.copy(key, files)
		}
		closeAll(files)
		if err != nil {
			return // netd is away, or has lost them: the next engine gets others
		}
	}
}

func (p *Publisher) copy(key string, files []*os.File) {
	if err := p.spares.keep(key, files); err != nil {
		p.options.Log.Warn("no copies of listening sockets are kept", "key", key, "error", err)
	}
}
