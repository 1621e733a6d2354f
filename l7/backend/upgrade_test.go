package backend_test

import (
	"io"
	"testing"
	"time"

	xhttp2 "golang.org/x/net/http2"

	"github.com/sluicelb/sluice/l7/backend"
	"github.com/sluicelb/sluice/l7/dial"
	"github.com/sluicelb/sluice/l7/l7test"
)

// reticent is a backend that sends SETTINGS when greet yields true and closes the connection
// when it yields false.
func reticent(t *testing.T) (addr string, greet chan bool) {
	greet = make(chan bool)
	addr = l7test.NewBackend(t, func(c *l7test.Recorder) {
		f := xhttp2.NewFramer(c.TCPConn, c.TCPConn)
		preface := make([]byte, len(xhttp2.ClientPreface))
		if _, err := io.ReadFull(c.TCPConn, preface); err != nil || !<-greet {
			return
		}
		_ = f.WriteSettings(xhttp2.Setting{ID: xhttp2.SettingEnableConnectProtocol, Val: 1})
		_, _ = io.Copy(io.Discard, c.TCPConn)
	}).Addr
	return addr, greet
}

// upgrading is an exchange that requests WebSocket and waits at most a second for the
// backend's SETTINGS.
func (d *desk) upgrading() *exchange {
	e := d.exchange("/")
	e.request = "GET / HTTP/1.1\r\nhost: a.test\r\nconnection: upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
	return e.start(func(_ *dial.Target, ask *backend.Ask) { ask.Upgrade, ask.Timeout = true, int64(time.Second) })
}

func TestUpgradeWaitsForSettings(t *testing.T) {
	t.Parallel()
	addr, greet := reticent(t)
	d := newDesk(t, addr)
	first := d.upgrading()
	time.Sleep(50 * time.Millisecond) // the connection is established by now
	second := d.upgrading()
	if second.reused || len(first.heard)+len(second.heard) != 0 {
		t.Fatal("they continue before the settings of the backend are known")
	}
	greet <- true
	first.wants("connected, own true")
	second.wants("connected, own false")
	last := d.exchange("/").start()
	d.on(func() { last.SetDeadline(d.loop.Now() + int64(2*time.Second)) })
	last.wants("expired")
	if len(first.heard)+len(second.heard) != 0 {
		t.Error("the timeout of the preface applies to later events")
	}
}

func TestUpgradeWithoutSettingsIsRefused(t *testing.T) {
	t.Parallel()
	addr, greet := reticent(t)
	t.Cleanup(func() { close(greet) })
	newDesk(t, addr).upgrading().wants("not connected, own false: backend does not speak HTTP/2")
}

func TestConnectionEndFailsTheUpgrade(t *testing.T) {
	t.Parallel()
	addr, greet := reticent(t)
	e := newDesk(t, addr).upgrading()
	greet <- false
	e.wants("not connected, own true: " + backend.ErrLost.Reason)
}
