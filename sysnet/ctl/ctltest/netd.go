// Package ctltest is a netd for tests of who serves and who asks one.
package ctltest

import (
	"context"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"testing"

	"github.com/sluicelb/sluice/sysnet/ctl"
)

// Listen opens the socket of a netd, whose path is short: that of a socket is
// bounded.
func Listen(t *testing.T) (path string, l *net.UnixListener) {
	t.Helper()
	dir, err := os.MkdirTemp("", "sluice-ctl-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	path = filepath.Join(dir, "netd.sock")
	l, err = net.ListenUnix("unixpacket", &net.UnixAddr{Name: path, Net: "unixpacket"})
	if err != nil {
		t.Fatal(err)
	}
	return path, l
}

// Self is who may ask: this process.
func Self() []uint32 { return []uint32{uint32(os.Geteuid())} }

// Serve starts a netd with these parts, until the test ends, and returns the path
// of its socket.
func Serve(t *testing.T, allowed []uint32, parts ctl.Parts) (path string) {
	t.Helper()
	path, l := Listen(t)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- ctl.Serve(ctx, nil, l, allowed, slog.New(slog.DiscardHandler), parts) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("netd: %v", err)
		}
	})
	return path
}

// Client is a mgmt that asks the netd there until the test ends.
func Client(t *testing.T, path string) *ctl.Client {
	t.Helper()
	c := ctl.NewClient(path)
	t.Cleanup(c.Hangup)
	return c
}
