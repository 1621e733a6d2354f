package mgmt

import (
	"log/slog"

	"github.com/sluicelb/sluice/mgmt/apply"
	"github.com/sluicelb/sluice/sysnet/listening"
)

// listeners returns the listening sockets of this machine.
func listeners() ([]apply.Listener, error) {
	found, err := listening.List()
	if err != nil {
		slog.Warn("what other programs listen on is not known", "error", err)
		return nil, err
	}
	out := make([]apply.Listener, len(found))
	for i, s := range found {
		out[i] = apply.Listener(s)
	}
	return out, nil
}
