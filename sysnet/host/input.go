package host

import (
	"context"
	"fmt"
	"os"

	"github.com/sluicelb/sluice/sysnet/ctl"
	"github.com/sluicelb/sluice/sysnet/firewall"
)

// inputDropped returns the listeners whose clients a foreign firewall drops. It returns
// the known results even if another firewall cannot be read.
func (h *Host) inputDropped(_ context.Context, _ []byte, files []*os.File) (any, error) {
	keys, err := ctl.OpenFarmKeys(files)
	if err != nil {
		return nil, err
	}
	farms := make(map[uint32][]firewall.Listener, len(keys))
	for id, list := range keys {
		for _, key := range list {
			network, addr, ok := ctl.ParseKey(key)
			if !ok {
				return nil, &ctl.Error{Code: ctl.CodeInvalid, Text: fmt.Sprintf("%q is no key of a listener", key)}
			}
			farms[id] = append(farms[id], firewall.Listener{Network: network, Addr: addr})
		}
	}
	dropped, err := firewall.Dropped(farms)
	if err != nil && len(dropped) > 0 {
		h.log.Debug("a firewall cannot be read", "reason", err)
		return dropped, nil
	}
	return dropped, err
}
