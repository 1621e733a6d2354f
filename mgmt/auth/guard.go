package auth

import (
	"context"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/sluicelb/sluice/mgmt/rbac"
	"github.com/sluicelb/sluice/mgmt/store"
)

// The two spellings of the key header. The documentation of the product family has the
// first, its command line sends the second; a CGI server treated both as one.
const (
	headerKey    = "ZAPI_KEY"
	headerKeyAlt = "ZAPI-KEY"
)

// maxSecret limits the size of a hashed key. No valid key is that long.
const maxSecret = 256

// logInTime is how long a service may take to check a password.
const logInTime = 15 * time.Second

// Guard identifies the sender of a request; make it with NewGuard.
type Guard struct {
	// Even is the minimum duration of a refused login, because the response time of a service
	// would reveal its users. Set it before use; 0 means none.
	Even time.Duration

	now      func() time.Time
	keys     Finder
	book     *rbac.Book
	sessions *Sessions
	ledger   *Ledger
	used     usedKeys
	uids     []uint32
	peer     func(*net.UnixConn) (uint32, error)
}

// Finder finds the API key that a secret belongs to, in constant time; *store.Store is one.
type Finder interface {
	FindKey(secret string) (store.Key, bool)
}

// NewGuard returns a guard over the keys and the users of the book, with a clock. On the
// local socket, the system's root and the users with these uids act as root. The uid of this
// process is trusted only if it is one of them: mgmt has its own uid, and another process
// with that uid must not become root.
func NewGuard(keys Finder, book *rbac.Book, now func() time.Time, users ...uint32) *Guard {
	uids := append([]uint32{0}, users...)
	return &Guard{now: now, keys: keys, book: book, sessions: NewSessions(now), uids: uids, peer: peerUID, ledger: NewLedger(now)}
}

// CountIn makes the guard count guesses in a stored ledger. Call it before use.
func (g *Guard) CountIn(l *Ledger) { g.ledger = l }

type connKey struct{}

// peer is the result of ConnContext for a connection on the local socket.
type peer struct{ trusted bool }

// ConnContext is the http.Server hook that gets the user at the other end of a local
// connection from the kernel. Network connections are left unchanged.
func (g *Guard) ConnContext(ctx context.Context, c net.Conn) context.Context {
	local, ok := bare(c).(*net.UnixConn)
	if !ok {
		return ctx
	}
	uid, err := g.peer(local)
	return context.WithValue(ctx, connKey{}, peer{trusted: err == nil && slices.Contains(g.uids, uid)})
}

// bare returns the connection inside wrappers with a method NetConn.
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

// Trusted reports whether the request came over the local socket from a user who acts as
// root there.
func Trusted(r *http.Request) bool {
	p, ok := r.Context().Value(connKey{}).(peer)
	return ok && p.trusted && !KeyUsed(r)
}

// KeyUsed reports whether the request carries a key, right or wrong.
func KeyUsed(r *http.Request) bool {
	return len(r.Header.Values(headerKey)) > 0 || len(r.Header.Values(headerKeyAlt)) > 0
}

// IsKeyHeader reports whether a header of that name carries a key.
func IsKeyHeader(name string) bool {
	return strings.EqualFold(name, headerKey) || strings.EqualFold(name, headerKeyAlt)
}

// Identify returns the sender of the request. Errors: ErrNoCredential, ErrBadCredential,
// *LockedError.
func (g *Guard) Identify(r *http.Request) (Principal, error) {
	if Trusted(r) {
		root, _ := g.book.Identity(rbac.Root)
		return Principal{Name: rbac.Root, Source: "local", Who: root}, nil
	}
	if !KeyUsed(r) {
		_, text := remote(r)
		return g.logged(r, text)
	}
	return g.byKey(r)
}

// Renew returns the sender of an identified request with the current rights. It returns
// false if the credential is no longer valid, which ends a stream.
func (g *Guard) Renew(r *http.Request, by Principal) (Principal, bool) {
	who, known := g.book.Identity(by.Who.Name())
	by.Who = who
	return by, known && g.Holds(r)
}

// Holds reports whether the credential of an identified request is still valid. It does not
// keep a session alive.
func (g *Guard) Holds(r *http.Request) bool {
	if Trusted(r) {
		return true
	}
	if KeyUsed(r) {
		_, ok := g.check(r)
		return ok
	}
	cookies := r.CookiesNamed(Cookie)
	return len(cookies) == 1 && g.sessions.Holds(cookies[0].Value, g.book.Epoch)
}

// logged returns the user of the request's session.
func (g *Guard) logged(r *http.Request, source string) (Principal, error) {
	user, ok := g.session(r)
	if !ok {
		return Principal{}, ErrNoCredential
	}
	who, _ := g.book.Identity(user)
	cookie, _ := r.Cookie(Cookie)
	return Principal{Name: user, Source: source, Who: who, Session: true, Raised: g.sessions.Raised(cookie.Value)}, nil
}

// Source returns the origin of a request, for the history.
func Source(r *http.Request) string {
	_, text := remote(r)
	return text
}

// Network returns the network of an address that counts as one source for limits. All local
// clients are one source.
func Network(a net.Addr) netip.Prefix {
	at, err := netip.ParseAddrPort(a.String())
	if err != nil {
		return netip.Prefix{}
	}
	return block(at.Addr())
}

// network returns the network of a request's origin that counts as one source for limits.
func network(r *http.Request) netip.Prefix {
	source, _ := remote(r)
	return block(source)
}

// remote returns the source address and its text for the history. The address is zero on a
// local socket.
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
