package dial_test

import (
	"crypto/tls"
	"fmt"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/loop"
	"github.com/sluicelb/sluice/l7/dial"
)

// connections opens n connections to the target at once and puts them back.
func (b *bench) connections(t *dial.Target, n int) {
	b.t.Helper()
	e := &eager{user{done: make(chan result, n)}, b.pool}
	for range n {
		b.on(func() {
			var err error
			if e.conn, err = b.pool.Dial(t, e); err != nil {
				b.t.Error(err)
			}
		})
		if r := <-e.done; r.err != nil {
			b.t.Fatal(r.err)
		}
	}
}

// idle returns the number of idle connections to a backend.
func (b *bench) idle(id uint32) (n int) {
	b.on(func() { n = b.pool.IdleTo(id) })
	return n
}

// Clients choose the server names, and each name needs its own connection.
func TestOneTimeNamesEvictNoConnection(t *testing.T) {
	b := newBench(t)
	addr := backend(t, nil, nil)
	// The names differ only in the configuration. The connections are plain, so that a
	// thousand are made quickly.
	target := func(name string) *dial.Target {
		return &dial.Target{ID: 3, Addr: addr, Timeout: int64(time.Second), Options: loop.DialOptions{Security: loop.Security{ServerName: name}}}
	}
	for i := range 20 {
		to := target(fmt.Sprintf("used%d", i))
		b.ask(to)
		if _, reused := b.ask(to); !reused {
			t.Fatal("a connection is not used again")
		}
	}
	for i := range dial.MaxIdle + 200 {
		b.connections(target(fmt.Sprintf("once%d", i)), 1)
	}
	if n := b.idle(3); n != dial.MaxIdle {
		t.Errorf("%d connections are idle, want %d", n, dial.MaxIdle)
	}
	for i := range 20 {
		if _, reused := b.ask(target(fmt.Sprintf("used%d", i))); !reused {
			t.Errorf("the connection for name %d, which was in use, is gone", i)
		}
	}
	if _, reused := b.ask(target(fmt.Sprintf("once%d", dial.MaxIdle+199))); !reused {
		t.Error("the name that came last has no connection")
	}
	if _, reused := b.ask(target("once0")); reused {
		t.Error("the name that came first still has one")
	}
}

// A new name gets room even if all idle connections were used more than once.
func TestNewNameGetsAConnectionAmongUsedOnes(t *testing.T) {
	b := newBench(t)
	addr := backend(t, nil, nil)
	target := func(name string) *dial.Target {
		return &dial.Target{ID: 3, Addr: addr, Timeout: int64(time.Second), Options: loop.DialOptions{Security: loop.Security{ServerName: name}}}
	}
	for i := range dial.MaxIdle {
		to := target(fmt.Sprintf("used%d", i))
		b.ask(to)
		b.ask(to)
	}
	const more = dial.MaxIdle/8 + 20
	for i := range more {
		b.connections(target(fmt.Sprintf("new%d", i)), 1)
	}
	// They get an eighth plus one, and then evict each other.
	has := func(name string, i int, want bool) {
		t.Helper()
		b.on(func() {
			c := b.pool.Idle(target(fmt.Sprint(name, i)), &user{})
			if (c != nil) != want {
				t.Errorf("%s %d has a connection: %t", name, i, c != nil)
			}
			if c != nil {
				c.Discard()
			}
		})
	}
	for i := range more {
		has("new", i, i >= 19)
	}
	for i := range dial.MaxIdle {
		has("used", i, i >= dial.MaxIdle/8+1)
	}
	if n := b.idle(3); n != 0 {
		t.Errorf("%d are idle, none should be left", n)
	}
}

func TestConnectionsAreFoundByName(t *testing.T) {
	b := newBench(t)
	addr := backend(t, serverConfig(t), nil)
	config := &tls.Config{InsecureSkipVerify: true}
	for i := range 50 {
		b.ask(target(addr, config, fmt.Sprintf("name%d.test", i)))
	}
	for i := range 50 {
		name := fmt.Sprintf("name%d.test", i)
		if r, reused := b.ask(target(addr, config, name)); !reused || r.line != name+"\n" {
			t.Errorf("%s: reused %t, answer %q", name, reused, r.line)
		}
	}
}
