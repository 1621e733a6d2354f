package line

import (
	"context"
	"errors"
	"net"
	"os"
	"testing"
	"time"

	"github.com/sluicelb/sluice/cmd/harden"
)

// slow is a supervisor that delays answers about passwords until the question is cancelled.
type slow struct{}

func (slow) Ready(harden.Status)                {}
func (slow) Overstepped(string)                 {}
func (slow) Config() (*os.File, error)          { return nil, ErrNoConfig }
func (slow) Roles() []Role                      { return nil }
func (slow) ListenAPI(string) (*os.File, error) { return nil, ErrNoConfig }
func (slow) HostRequest(ctx context.Context, _ string, _ []byte) ([]byte, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}
func (slow) RootPassword(ctx context.Context, _ string) (bool, error) {
	<-ctx.Done()
	return false, ctx.Err()
}

func (slow) ChangeRootPassword(ctx context.Context, _, _ string) (bool, error) {
	return false, ErrNoConfig
}

func TestCancelledRequestIsForgotten(t *testing.T) {
	post, theirs, err := Pair(slow{}, slow{})
	if err != nil {
		t.Fatal(err)
	}
	defer post.Close()
	c, err := net.FileConn(theirs)
	if err != nil {
		t.Fatal(err)
	}
	_ = theirs.Close()
	l := Answer(c.(*net.UnixConn))
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if _, err := l.RootPassword(ctx, "x"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v", err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.waiting) != 0 {
		t.Errorf("%d questions are waited for", len(l.waiting))
	}
}

// A repeated answer must not block the channel.
func TestSecondAnswerIsDropped(t *testing.T) {
	mine := make(chan answer, 1)
	l := &Line{waiting: map[uint64]chan answer{7: mine}}
	l.deliver(answer{m: message{Question: 7, Right: true}})
	done := make(chan bool)
	go func() {
		l.deliver(answer{m: message{Question: 7}})
		close(done)
	}()
	select {
	case <-done:
	case <-time.After(5 * time.Second):
		t.Fatal("it waits")
	}
	if a := <-mine; !a.m.Right {
		t.Error("the first is not there")
	}
}
