package wire_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"testing"
	"time"

	"github.com/sluicelb/sluice/mgmt/probe"
	"github.com/sluicelb/sluice/mgmt/probe/probetest"
	"github.com/sluicelb/sluice/mgmt/probe/wire"
)

func open(t *testing.T, ctx context.Context, most int, answer func(net.Conn)) *wire.Conn {
	t.Helper()
	to := probetest.Server(t, answer)
	c, err := wire.Open(ctx, &probe.Machine{}, "tcp", probe.Address("", 0, to), most)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func keep(c net.Conn) { _, _ = io.Copy(io.Discard, c) }

func TestReadingEndsAtTheBound(t *testing.T) {
	c := open(t, t.Context(), 10, func(c net.Conn) {
		_, _ = c.Write(bytes.Repeat([]byte("x"), 100))
		keep(c)
	})
	got, err := io.ReadAll(c)
	if string(got) != "xxxxxxxxxx" || !errors.Is(err, wire.ErrTooMuch) {
		t.Errorf("read %q, %v", got, err)
	}
}

func TestReadsEndWithTheCheckDespiteLibraryDeadlines(t *testing.T) {
	for _, cut := range []bool{true, false} {
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		if cut {
			ctx, cancel = context.WithCancel(t.Context())
			time.AfterFunc(20*time.Millisecond, cancel)
		}
		c := open(t, ctx, 10, keep)
		_ = c.SetDeadline(time.Now().Add(time.Hour))
		_ = c.SetReadDeadline(time.Time{})
		if _, err := c.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("cut %t: %v", cut, err)
		}
		cancel()
	}
}

func TestDeadlinesOfDatagramsEndWithTheCheck(t *testing.T) {
	to := probetest.Datagrams(t, func([]byte) []byte { return nil })
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	d, err := wire.OpenUDP(ctx, &probe.Machine{}, "", probe.Address("", 0, to))
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	for _, until := range []time.Time{time.Now().Add(time.Hour), {}} {
		_ = d.SetReadDeadline(until)
		if _, err := d.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Error(err)
		}
	}
	_ = d.SetDeadline(time.Now().Add(time.Hour)) // a past deadline stays
	if _, err := d.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Error(err)
	}
}

func TestLostQueryIsRepeated(t *testing.T) {
	asked := 0
	to := probetest.Datagrams(t, func(b []byte) []byte {
		if asked++; asked < 3 {
			return []byte("something else")
		}
		return b
	})
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
	defer cancel()
	d, err := wire.OpenUDP(ctx, &probe.Machine{}, "", probe.Address("", 0, to))
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	answer, err := d.Ask(ctx, []byte("hello"), func(b []byte) bool { return string(b) == "hello" })
	if string(answer) != "hello" || err != nil {
		t.Errorf("%q, %v", answer, err)
	}
}

func TestConnectionIsClosedWhenTLSFails(t *testing.T) {
	gone := make(chan error, 1)
	to := probetest.Server(t, func(c net.Conn) {
		b := make([]byte, 4096)
		_, _ = c.Read(b)
		_, _ = io.WriteString(c, "no TLS here, only words that are long enough")
		_, err := io.Copy(io.Discard, c)
		gone <- err
	})
	s := wire.Server{Secure: true}
	if c, err := s.Open(t.Context(), &probe.Machine{}, to, func(string, ...any) {}); c != nil || err == nil {
		t.Errorf("%v, %v", c, err)
	}
	<-gone
}
