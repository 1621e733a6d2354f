package conntrack

import (
	"context"
	"errors"
	"fmt"

	"github.com/mdlayher/netlink"
	ct "github.com/ti-mo/conntrack"
	"golang.org/x/sys/unix"
)

// FlushUDP deletes the UDP entries whose backend satisfies only, and returns their number.
// The kernel deletes by mark only, and other protocols may share the mark, so the entries
// are deleted one by one.
func FlushUDP(ctx context.Context, only func(backend uint32) bool) (sum int, err error) {
	f := Farms()
	f.Protocol = unix.IPPROTO_UDP
	f.Only = func(mark uint32) bool { id, ok := BackendOf(mark); return ok && only(id) }
	var meant []ct.Flow
	err = dump(ctx, f, func() { meant = nil }, func(msg []byte) error {
		if !f.fits(examine(msg)) || len(msg) < netlinkHead+genHeader {
			return nil
		}
		var event ct.Event
		m := netlink.Message{Header: netlink.Header{Type: msgNew, Length: uint32(len(msg))}, Data: msg[netlinkHead:]}
		if err := event.Unmarshal(m); err != nil {
			return fmt.Errorf("tracked connections: %w", err)
		}
		meant = append(meant, ct.Flow{TupleOrig: event.Flow.TupleOrig, TupleReply: event.Flow.TupleReply, Zone: event.Flow.Zone})
		return nil
	})
	if err != nil || len(meant) == 0 {
		return 0, err
	}
	c, err := ct.Dial(nil)
	if err != nil {
		return 0, fmt.Errorf("tracked connections: %w", err)
	}
	defer c.Close()
	for _, flow := range meant {
		if ctx.Err() != nil {
			return sum, ctx.Err()
		}
		switch err := c.Delete(flow); {
		case err == nil:
			sum++
		case !errors.Is(err, unix.ENOENT): // it may have ended meanwhile
			return sum, fmt.Errorf("deleting a tracked connection: %w", err)
		}
	}
	return sum, nil
}
