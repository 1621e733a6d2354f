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
	ctx    context.Context // ends on shutdown
	config *tls.Config
	failed chan error // why it stopped
	local  *http.Server

	mu      sync.Mutex
	network *http.Server // the server that accepts connections
	stopped bool
}

// moveTime bounds requests on the previous listener.
const moveTime = 2 * time.Minute

// listen starts accepting on a listener and stops on the previous one.
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
		if r.network == srv { // otherwise it was stopped on purpose
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

// stop lets requests in progress finish for a few seconds.
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
