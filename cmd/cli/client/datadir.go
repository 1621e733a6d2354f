package client

import (
	"os"
	"path/filepath"
)

// Socket is the name of the control socket in the data directory.
const Socket = "mgmt.sock"

// DefaultData returns the default data directory: /var/lib/sluice for root, otherwise a
// directory below the user's state directory.
func DefaultData() string { return defaultData(os.Geteuid() == 0) }

func defaultData(root bool) string {
	if root {
		return "/var/lib/sluice"
	}
	if dir := os.Getenv("XDG_STATE_HOME"); dir != "" {
		return filepath.Join(dir, "sluice")
	}
	home, err := os.UserHomeDir()
	if err != nil {
		home = "/"
	}
	return filepath.Join(home, ".local", "state", "sluice")
}
