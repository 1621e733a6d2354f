package auth

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"os"
	"slices"
	"strings"

	"github.com/sluicelb/sluice/mgmt/store"
)

// The two spellings of the key header. The family documents the first, its
// command line sends the second; a CGI server made one of both.
const (
	headerKey    = "ZAPI_KEY"
	headerKeyAlt = "ZAPI-KEY"
)

// maxSecret bounds what is hashed; no key of ours is that long.
const maxSecret = 256

// Guard tells who sends a request; make it with NewGuard.
type Guard struct {
	keys     Finder
	throttle *Throttle
	uids     []uint32
	peer     func(*net.UnixConn) (uint32, error)
}

// Finder finds the API key a secret belongs to, in constant time; *store.Store
// is one.
type Finder interface {
	FindKey(secret string) (store.Key, bool)
}

// NewGuard returns a guard over the keys. Besides root and the user of this
// process, the users named act as root on the local socket.
func NewGuard(keys Finder, throttle *Throttle, users ...uint32) *Guard {
	uids := append([]uint32{0, uint32(os.Geteuid())}, users...)
	return &Guard{keys: keys, throttle: throttle, uids: uids, peer: peerUID}
}

type connKey struct{}

// peer is what ConnContext found out about a connection: it is on the local
// socket, and trusted or not.
type peer struct{ trusted bool }

// ConnContext is the http.Server hook that asks the kernel who is at the other
// end of a local connection. A network connection passes unchanged.
func (g *Guard) ConnContext(ctx context.Context, c net.Conn) context.Context {
	local, ok := bare(c).(*net.UnixConn)
	if !ok {
		return ctx
	}
	uid, err := g.peer(local)
	return context.WithValue(ctx, connKey{}, peer{trusted: err == nil && slices.Contains(g.uids, uid)})
}

// bare returns the connection inside wrappers that tell what they wrap.
func bare(c net.Conn) net.Conn {
	for {
		w, ok := c.(interface{ NetConn() net.Conn })
		if !ok {
			return c
		}
		c = w.NetConn()
	}
}

// Local reports whether the request came over the local socket.
func Local(r *http.Request) bool {
	_, ok := r.Context().Value(connKey{}).(peer)
	return ok
}

// KeyUsed reports whether the request carries a key, right or wrong.
func KeyUsed(r *http.Request) bool {
	return len(r.Header.Values(headerKey)) > 0 || len(r.Header.Values(headerKeyAlt)) > 0
}

// IsKeyHeader reports whether a header of that name carries a key.
func IsKeyHeader(name string) bool {
	return strings.EqualFold(name, headerKey) || strings.EqualFold(name, headerKeyAlt)
}

// Identify returns who sends the request. Errors: ErrNoCredential,
// ErrBadCredential, *LockedError.
func (g *Guard) Identify(r *http.Request) (Principal, error) {
	if p, ok := r.Context().Value(connKey{}).(peer); ok && p.trusted && !KeyUsed(r) {
		return Principal{Name: "root", Source: "local", Root: true}, nil
	}
	source, text := remote(r)
	if wait := g.throttle.Wait(source); wait > 0 {
		return Principal{}, &LockedError{Wait: wait}
	}
	if !KeyUsed(r) {
		return Principal{}, ErrNoCredential
	}
	key, ok := g.check(r)
	if !ok {
		g.throttle.Failed(source)
		return Principal{}, ErrBadCredential
	}
	g.throttle.Succeeded(source)
	return Principal{Name: fmt.Sprintf("%s (key %d)", key.User, key.ID), Source: text, Root: true}, nil
}

// check reads the key. Several values are accepted only when they agree: two
// hops must not be able to read two different ones.
func (g *Guard) check(r *http.Request) (store.Key, bool) {
	values := slices.Concat(r.Header.Values(headerKey), r.Header.Values(headerKeyAlt))
	for _, v := range values {
		if v != values[0] {
			return store.Key{}, false
		}
	}
	if values[0] == "" || len(values[0]) > maxSecret {
		return store.Key{}, false
	}
	return g.keys.FindKey(values[0])
}

// remote returns the source address, the zero one on a local socket, and its
// text for the record of who changed what.
func remote(r *http.Request) (netip.Addr, string) {
	if Local(r) {
		return netip.Addr{}, "local"
	}
	at, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return netip.Addr{}, "unknown"
	}
	return at.Addr(), at.Addr().Unmap().String()
}
