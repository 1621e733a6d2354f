package auth

import (
	"context"
	"errors"
	"net"
	"net/http"
	"os"
	"testing"
	"time"
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
		g := NewGuard(nil, NewThrottle(time.Now), c.extra...)
		g.peer = func(*net.UnixConn) (uint32, error) { return c.uid, c.err }
		r, _ := http.NewRequestWithContext(g.ConnContext(context.Background(), &net.UnixConn{}), http.MethodGet, "http://local/", nil)
		_, err := g.Identify(r)
		if got := err == nil; got != c.trusted {
			t.Errorf("%s: trusted %t (%v), want %t", name, got, err, c.trusted)
		}
	}
}

func TestAConnectionFromTheNetworkIsNotLocal(t *testing.T) {
	c, other := net.Pipe()
	defer c.Close()
	defer other.Close()
	g := NewGuard(nil, NewThrottle(time.Now))
	r, _ := http.NewRequestWithContext(g.ConnContext(context.Background(), c), http.MethodGet, "http://far/", nil)
	if Local(r) {
		t.Error("it is taken for one on the local socket")
	}
}

func TestNobodyHasTheZeroRight(t *testing.T) {
	if (Principal{Root: true}).May(RightNone) {
		t.Error("a route without a right must be closed to root too")
	}
	if (Principal{}).May(RightRead) {
		t.Error("the zero principal may read")
	}
}
