package demo

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"time"
)

// backend is one demonstration server.
type backend struct {
	name string
	addr netip.AddrPort
}

// startBackends starts one server for each name on loopback; they end with ctx.
func startBackends(ctx context.Context, names ...string) ([]backend, error) {
	var out []backend
	next := backendPort
	for _, name := range names {
		port, err := freePort(next)
		if err != nil {
			return nil, err
		}
		next = port + 1
		l, err := net.Listen("tcp4", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
		if err != nil {
			return nil, fmt.Errorf("starting the demonstration backend %q: %w", name, err)
		}
		server := &http.Server{Handler: answer(name), ReadHeaderTimeout: 10 * time.Second}
		go func() { _ = server.Serve(l) }() // ends with Close
		context.AfterFunc(ctx, func() { _ = server.Close() })
		out = append(out, backend{name, l.Addr().(*net.TCPAddr).AddrPort()})
	}
	return out, nil
}

func answer(name string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		w.Header().Set("X-Backend", name)
		fmt.Fprintf(w, "Hello from backend %q.\n%s %s for %s, forwarded for %s\n",
			name, r.Method, r.URL.RequestURI(), r.Host, r.Header.Get("X-Forwarded-For"))
	})
}
