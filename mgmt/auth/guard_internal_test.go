package auth

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/sluicelb/sluice/mgmt/rbac"
	"github.com/sluicelb/sluice/mgmt/rbac/rbactest"
	"github.com/sluicelb/sluice/mgmt/store"
)

// noKeys is a key store without any key.
type noKeys struct{}

func (noKeys) FindKey(string) (store.Key, bool) { return store.Key{}, false }

// ownUID returns the uid of this process, or another uid if that is root's.
func ownUID() uint32 {
	if uid := uint32(os.Geteuid()); uid != 0 {
		return uid
	}
	return 61741
}

func TestAnotherUserOnTheLocalSocketNeedsAKey(t *testing.T) {
	for name, c := range map[string]struct {
		uid     uint32
		err     error
		extra   []uint32
		trusted bool
	}{
		"root":           {uid: 0, trusted: true},
		"own uid":        {uid: ownUID()},
		"another user":   {uid: 54321},
		"a user allowed": {uid: 54321, extra: []uint32{54321}, trusted: true},
		"unknown user":   {uid: 0, err: errors.New("no credentials")},
	} {
		g := NewGuard(noKeys{}, rbactest.Book(t, &rbactest.Memory{}), time.Now, c.extra...)
		g.peer = func(*net.UnixConn) (uint32, error) { return c.uid, c.err }
		for _, conn := range []net.Conn{&net.UnixConn{}, tls.Server(&net.UnixConn{}, nil)} {
			r, _ := http.NewRequestWithContext(g.ConnContext(context.Background(), conn), http.MethodGet, "http://local/", nil)
			_, err := g.Identify(r)
			if got := err == nil; got != c.trusted {
				t.Errorf("%s, %T: trusted %t (%v), want %t", name, conn, got, err, c.trusted)
			}
			if g.Holds(r) != c.trusted {
				t.Errorf("%s, %T: that it is trusted holds: got %t, want %t", name, conn, !c.trusted, c.trusted)
			}
			if r.Header.Set(headerKey, "wrong"); g.Holds(r) {
				t.Errorf("%s, %T: a wrong key holds", name, conn)
			}
		}
	}
}

// The zero uid is root: a missing result from the kernel must not count as root.
func TestAPeerTheKernelDoesNotNameIsNotTrusted(t *testing.T) {
	if _, err := peerUID(&net.UnixConn{}); err == nil {
		t.Error("a connection without a socket has a user")
	}
	g := NewGuard(nil, rbactest.Book(t, &rbactest.Memory{}), time.Now)
	r, _ := http.NewRequestWithContext(g.ConnContext(context.Background(), &net.UnixConn{}), http.MethodGet, "http://local/", nil)
	if p, err := g.Identify(r); !errors.Is(err, ErrNoCredential) {
		t.Errorf("it is %+v, %v", p, err)
	}
}

func TestAConnectionFromTheNetworkIsNotLocal(t *testing.T) {
	c, other := net.Pipe()
	defer c.Close()
	defer other.Close()
	g := NewGuard(nil, rbactest.Book(t, &rbactest.Memory{}), time.Now)
	r, _ := http.NewRequestWithContext(g.ConnContext(context.Background(), c), http.MethodGet, "http://far/", nil)
	if Local(r) {
		t.Error("the request counts as local")
	}
}

func TestOldSessionsAreForgotten(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	s := NewSessions(func() time.Time { return now })
	s.Begin("ann", "", rbac.Epoch{})
	s.Begin("eve", "", rbac.Epoch{})
	now = now.Add(SessionTime)
	if s.Begin("bob", "", rbac.Epoch{}); len(s.open) != 1 {
		t.Errorf("%d are open", len(s.open))
	}
	if s.Holds("none", nil) || s.End("none") {
		t.Error("a session exists that was never started")
	}
}

func TestSessionsOfAllUsersAreBounded(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	s := NewSessions(func() time.Time { return now })
	for i := range 4095 {
		user := strconv.Itoa(i)
		s.open[digest(user)] = &session{OpenSession: OpenSession{User: user, Used: now.Add(time.Duration(i-4096) * time.Millisecond)}}
	}
	open := func(user string) bool { return s.open[digest(user)] != nil }
	if s.Begin("ann", "", rbac.Epoch{}); len(s.open) != 4096 || !open("0") {
		t.Errorf("there was room for all, and %d are open", len(s.open))
	}
	if s.Begin("eve", "", rbac.Epoch{}); len(s.open) != 4096 || open("0") || !open("1") {
		t.Errorf("%d are open, and not the oldest one went", len(s.open))
	}
}
