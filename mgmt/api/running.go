package api

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"sync"
	"time"
)

// running is the API while it is served.
type running struct {
	server *Server
	ctx    context.Context // ends when all is to end
	config *tls.Config
	failed chan error // why it is not any more
	local  *http.Server

	mu      sync.Mutex
	network *http.Server // the one that takes connections
	stopped bool
}

// moveTime is how long requests that came to the listener before may take.
const moveTime = 2 * time.Minute

// listen takes connections of a listener, and none any more of the one before.
func (r *running) listen(l net.Listener) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.stopped {
		_ = l.Close()
		return
	}
	before := r.network
	srv := r.server.httpServer()
	srv.TLSConfig = r.config
	r.network = srv
	go func() {
		err := srv.ServeTLS(gated(l), "", "")
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.network == srv { // else it was to end
			select {
			case r.failed <- err:
			default:
			}
		}
	}()
	if before != nil {
		go shutdown(r.ctx, moveTime, before)
	}
}

// stop lets requests under way finish for a few seconds.
func (r *running) stop(ctx context.Context) {
	r.mu.Lock()
	network := r.network
	r.network, r.stopped = nil, true
	r.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownTime)
	defer cancel()
	for _, srv := range []*http.Server{r.local, network} {
		if srv != nil {
			shutdown(ctx, shutdownTime, srv)
		}
	}
}

func shutdown(ctx context.Context, most time.Duration, srv *http.Server) {
	ctx, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	if srv.Shutdown(ctx) != nil {
		_ = srv.Close()
	}
}
