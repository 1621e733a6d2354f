package auth

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"os"
	"testing"
	"time"

	"github.com/sluicelb/sluice/mgmt/rbac/rbactest"
)

func TestAnotherUserOnTheLocalSocketNeedsAKey(t *testing.T) {
	for name, c := range map[string]struct {
		uid     uint32
		err     error
		extra   []uint32
		trusted bool
	}{
		"root":           {uid: 0, trusted: true},
		"same user":      {uid: uint32(os.Geteuid()), trusted: true},
		"another user":   {uid: 54321},
		"a user allowed": {uid: 54321, extra: []uint32{54321}, trusted: true},
		"unknown user":   {uid: 0, err: errors.New("no credentials")},
	} {
		g := NewGuard(nil, rbactest.Book(t, &rbactest.Memory{}), time.Now, c.extra...)
		g.peer = func(*net.UnixConn) (uint32, error) { return c.uid, c.err }
		for _, conn := range []net.Conn{&net.UnixConn{}, tls.Server(&net.UnixConn{}, nil)} {
			r, _ := http.NewRequestWithContext(g.ConnContext(context.Background(), conn), http.MethodGet, "http://local/", nil)
			_, err := g.Identify(r)
			if got := err == nil; got != c.trusted {
				t.Errorf("%s, %T: trusted %t (%v), want %t", name, conn, got, err, c.trusted)
			}
		}
	}
}

// The zero user is root: a kernel that says nothing must not be taken for it.
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
		t.Error("it is taken for one on the local socket")
	}
}
