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
	// DefaultGrace is how long an orderly stop waits for exchanges under way.
	DefaultGrace = 2 * time.Second

	rootData = "/var/lib/sluice"
	rootAPI  = ":444"
	userAPI  = ":4444"
)

// Options says how to run one instance. The zero value is the default for the
// user who runs it.
type Options struct {
	// Data is the data directory, made when it is missing; empty means
	// DefaultData.
	Data string
	// API is where the API listens, "ADDR:PORT"; empty means port 444 on all
	// addresses, or 4444 without the right to bind that.
	API string
	// Config is a document that mgmt applies at start and on reload; empty
	// means none.
	Config string
	// OpenMetrics lets programs of this machine read GET /metrics without a key.
	OpenMetrics bool
	// OutboundAllow lists local addresses that mgmt may connect to all the same, as
	// outbound.ParseAllowed reads them.
	OutboundAllow string
	// Grace is DefaultGrace when zero.
	Grace time.Duration
	// Log is slog.Default when nil.
	Log *slog.Logger
	// Ready, when set, is called once, from a goroutine of its own, when all
	// roles serve.
	Ready func(Instance)
}

// Instance is what a running instance can be reached by.
type Instance struct {
	// Data is the absolute path of the data directory.
	Data string
	// Socket is the path of the command line's unix socket.
	Socket string
	// API is the address the API listens on, with the real port.
	API string
}

// DefaultData is the data directory of this user's instance: SLUICE_DATA when
// it is set, /var/lib/sluice for root, else "sluice" in the user's state
// directory (XDG_STATE_HOME or ~/.local/state).
func DefaultData() (string, error) {
	if dir := os.Getenv("SLUICE_DATA"); dir != "" {
		return dir, nil
	}
	if os.Geteuid() == 0 {
		return rootData, nil
	}
	return StateDir("sluice")
}

// StateDir is the directory of that name among the state of the calling user.
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
