package supervisor

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"
)

// Defaults of Options.
const (
	// DefaultGrace is the time of an orderly stop for exchanges in progress.
	DefaultGrace = 2 * time.Second

	rootData = "/var/lib/sluice"
	rootAPI  = ":444"
	userAPI  = ":4444"
)

// Options configure an instance. The zero value has the defaults for the current user.
type Options struct {
	// Data is the data directory, created if missing; empty means DefaultData.
	Data string
	// API is the listen address of the API, "ADDR:PORT". Empty means port 444 on all
	// addresses, or 4444 without the privilege to bind that.
	API string
	// Config is a document that mgmt applies at start and on reload; may be empty.
	Config string
	// OpenMetrics allows GET /metrics from this machine without a key.
	OpenMetrics bool
	// OutboundAllow lists local addresses that mgmt may connect to, in the format of
	// outbound.ParseAllowed.
	OutboundAllow string
	// Grace is DefaultGrace when zero.
	Grace time.Duration
	// Log is slog.Default when nil.
	Log *slog.Logger
	// Ready, if set, is called once on its own goroutine when all roles serve.
	Ready func(Instance)
}

// Instance holds the addresses of a running instance.
type Instance struct {
	// Data is the absolute path of the data directory.
	Data string
	// Socket is the path of the command line's unix socket.
	Socket string
	// API is the address the API listens on, with the real port.
	API string
}

// DefaultData returns the data directory of this user's instance: SLUICE_DATA if set,
// /var/lib/sluice for root, else "sluice" in the user's state directory (XDG_STATE_HOME or
// ~/.local/state).
func DefaultData() (string, error) {
	if dir := os.Getenv("SLUICE_DATA"); dir != "" {
		return dir, nil
	}
	if os.Geteuid() == 0 {
		return rootData, nil
	}
	return StateDir("sluice")
}

// StateDir returns the directory of that name in the user's state directory.
func StateDir(name string) (string, error) {
	if dir := os.Getenv("XDG_STATE_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, name), nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", fmt.Errorf("no place for data: %w; choose a directory with --data", err)
	}
	return filepath.Join(home, ".local", "state", name), nil
}

func (o *Options) fill() error {
	if o.Data == "" {
		dir, err := DefaultData()
		if err != nil {
			return err
		}
		o.Data = dir
	}
	for _, path := range []*string{&o.Data, &o.Config} {
		if *path == "" {
			continue
		}
		abs, err := filepath.Abs(*path)
		if err != nil {
			return err
		}
		*path = abs
	}
	if o.Grace == 0 {
		o.Grace = DefaultGrace
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	return nil
}
