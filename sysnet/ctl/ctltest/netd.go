// Package ctltest runs a netd for tests of ctl clients and parts.
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

// Listen opens the unixpacket socket of a netd. It uses its own short folder because the
// length of a socket path is limited.
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

// Self returns the allowed uids for a test: only that of this process.
func Self() []uint32 { return []uint32{uint32(os.Geteuid())} }

// Serve starts a netd with parts, which stops when the test ends, and returns the path of
// its socket.
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

// Client returns a client of the netd at path, which is closed when the test ends.
func Client(t *testing.T, path string) *ctl.Client {
	t.Helper()
	c := ctl.NewClient(path)
	t.Cleanup(c.Hangup)
	return c
}
