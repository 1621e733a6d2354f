package syslog

import (
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Server is a syslog server with its options.
type Server struct {
	Target
	Drop Drop
	// Key distinguishes servers with different TLS roots: the name of the roots.
	Key string
}

func (s Server) same(other Server) bool {
	return s.Protocol == other.Protocol && s.Address == other.Address && s.Drop == other.Drop && s.Key == other.Key
}

// Remote sends messages to all servers of the appliance. It is safe for concurrent use.
// Use NewRemote to make one.
type Remote struct {
	log *slog.Logger
	now func() time.Time

	mu      sync.Mutex // serializes changes of the servers
	servers atomic.Pointer[[]server]
}

type server struct {
	Server
	sender *Sender
}

// NewRemote returns a Remote without servers. log must not lead back to it; now may be
// nil.
func NewRemote(log *slog.Logger, now func() time.Time) *Remote {
	r := &Remote{log: log, now: now}
	if r.now == nil {
		r.now = time.Now
	}
	r.servers.Store(&[]server{})
	return r
}

// Set replaces the servers. A server in both lists keeps its queue.
func (r *Remote) Set(list []Server) {
	r.mu.Lock()
	defer r.mu.Unlock()
	before := *r.servers.Load()
	var now []server
	for _, s := range list {
		if i := slices.IndexFunc(before, func(b server) bool { return b.same(s) }); i >= 0 {
			now = append(now, before[i])
			before = slices.Delete(slices.Clone(before), i, i+1)
			continue
		}
		now = append(now, server{s, NewSender(s.Target, s.Drop, Here(), r.log, r.now)})
		r.log.Info("messages go to a syslog server", "to", s.String())
	}
	r.servers.Store(&now)
	for _, gone := range before {
		gone.sender.Close()
		r.log.Info("no messages go to a syslog server any more", "to", gone.String())
	}
}

// Active reports whether there is a server.
func (r *Remote) Active() bool { return len(*r.servers.Load()) > 0 }

// Send sends a message to every server. It never waits.
func (r *Remote) Send(m Message) {
	if m.Time.IsZero() {
		m.Time = r.now()
	}
	for _, s := range *r.servers.Load() {
		s.sender.Send(&m)
	}
}

// Stats returns the statistics of each server.
func (r *Remote) Stats() []Stats {
	var out []Stats
	for _, s := range *r.servers.Load() {
		out = append(out, s.sender.Stats())
	}
	return out
}

// Close sends queued messages, for at most a second, and stops all senders.
func (r *Remote) Close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	var ending sync.WaitGroup
	for _, s := range *r.servers.Swap(&[]server{}) {
		ending.Go(s.sender.Close)
	}
	ending.Wait()
}
