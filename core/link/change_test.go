package link_test

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/link"
)

func TestChangesOfSessionsAreMadeOrRefused(t *testing.T) {
	e := table(3)
	var got atomic.Pointer[link.SessionChange]
	e.change = func(c link.SessionChange) (int, error) {
		got.Store(&c)
		switch c.Act {
		case link.FlushSessions:
			return 42, nil
		case link.DeleteSession:
			panic("index out of range")
		}
		return 0, errors.New("the service keeps no sessions")
	}
	c := dial(t, serve(t, e))
	change := link.SessionChange{Service: 7, Act: link.FlushSessions, Key: []byte{0xff, 0}}
	if n, err := c.ChangeSessions(context.Background(), change); err != nil || n != 42 || !reflect.DeepEqual(*got.Load(), change) {
		t.Errorf("%d, %v, the engine got %+v", n, err, got.Load())
	}
	if _, err := c.ChangeSessions(context.Background(), link.SessionChange{Act: 9}); !errors.Is(err, link.ErrRefused) || !strings.Contains(err.Error(), "keeps no sessions") {
		t.Errorf("refused with %v", err)
	}
	if _, err := c.ChangeSessions(context.Background(), link.SessionChange{Act: link.DeleteSession}); err == nil || errors.Is(err, link.ErrRefused) || errors.Is(err, link.ErrGone) {
		t.Errorf("a panic is answered %v", err)
	}
	s, ok, err := c.Session(context.Background(), 7, []byte("client 1"))
	if want := (link.Session{Key: []byte("client 1"), Backend: 1, TTL: time.Second}); err != nil || !ok || !reflect.DeepEqual(s, want) {
		t.Errorf("%+v, %v, %v", s, ok, err)
	}
	if s, ok, err := c.Session(context.Background(), 7, []byte("nobody")); err != nil || ok {
		t.Errorf("%+v, %v, %v", s, ok, err)
	}
	wantTotal(t, c, 3) // questions still work
}
