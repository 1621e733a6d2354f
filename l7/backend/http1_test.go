package backend_test

import (
	"testing"

	"github.com/sluicelb/sluice/core/enginetest"
	"github.com/sluicelb/sluice/l7/l7test"
)

func TestAConnectionOfHTTP1ServesOneExchangeAfterTheOther(t *testing.T) {
	t.Parallel()
	b := l7test.NewBackend(t, func(c *l7test.Recorder) {
		for {
			if _, err := c.Head(); err != nil {
				return
			}
			c.Say("ok")
		}
	})
	d := newDesk(t, b.Addr)
	first, second := d.exchange("/1"), d.exchange("/2")
	first.read = func() {
		if n, _ := first.Read(make([]byte, 10)); n == 2 {
			first.Finish(true)
			first.heard <- "ok"
		}
	}
	d.on(func() {
		if d.pool.Idle(&d.to, first) != nil {
			t.Error("a connection is idle before there was one")
		}
		var err error
		if first.Transport, err = d.pool.Dial(&d.to, first); err != nil {
			t.Error(err)
		}
	})
	first.wants("connected, own true")
	first.wants("ok")
	d.on(func() {
		second.Transport = d.pool.Idle(&d.to, second)
		if second.Transport == nil || !second.Reused() || d.pool.Idle(&d.to, first) != nil {
			t.Error("it is not idle for one")
			return
		}
		second.Finish(true)
		d.pool.Retain(noTarget)
	})
	enginetest.Eventually(t, "an idle connection to a backend that is gone ends", func() bool { return b.Open() == 0 })
}

func TestDialErrorsAreReturnedAtOnce(t *testing.T) {
	t.Parallel()
	d := newDesk(t, "255.255.255.255:1")
	e := d.exchange("/")
	d.on(func() {
		if up, err := d.pool.Dial(&d.to, e); up != nil || err == nil {
			t.Errorf("HTTP/1: %v, %v", up, err)
		}
	})
	if e.start(); len(e.heard) == 0 || e.Transport != nil {
		t.Error("HTTP/2: no error")
	}
	var conns int
	d.on(func() { conns = d.pool.ConnsTo(d.to.ID) })
	if conns != 0 {
		t.Errorf("%d connections exist", conns)
	}
}
