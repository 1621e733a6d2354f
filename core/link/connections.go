package link

import (
	"context"
	"fmt"
	"net/netip"
	"time"
)

// MaxConnections is the maximum number of connections in one answer; each takes up to
// 200 bytes. MaxNamed is the maximum number of backends in one question.
const (
	MaxConnections = 1000
	MaxNamed       = 1 << 14
)

// Connection is a current connection or flow of an l4xnat farm.
type Connection struct {
	Backend  uint32 `cbor:"1,keyasint"` // stable number
	Protocol string `cbor:"2,keyasint"` // "tcp" or "udp"
	// State is "connecting" or "established", for flows "unreplied" or "replied".
	State string `cbor:"3,keyasint"`
	// Client is the source and To the virtual address; Server is the backend's address.
	Client netip.AddrPort `cbor:"4,keyasint"`
	To     netip.AddrPort `cbor:"5,keyasint"`
	Server netip.AddrPort `cbor:"6,keyasint"`
	// Idle is the remaining lifetime of a flow without traffic; 0 for connections.
	Idle time.Duration `cbor:"7,keyasint,omitempty"`
	// In and Out are the bytes from and to the client; 0 for flows.
	In  uint64 `cbor:"8,keyasint,omitempty"`
	Out uint64 `cbor:"9,keyasint,omitempty"`
}

// connectionQuestion asks for connections to backends by stable number.
type connectionQuestion struct {
	// All selects every backend; Backends is empty then.
	All      bool     `cbor:"1,keyasint,omitempty"`
	Backends []uint32 `cbor:"2,keyasint,omitempty"`
	Limit    int      `cbor:"3,keyasint,omitempty"`
	// End ends the connections instead of listing them.
	End bool `cbor:"4,keyasint,omitempty"`
}

// named returns the backends; nil means all.
func (q *connectionQuestion) named() []uint32 {
	if q.All {
		return nil
	}
	return append([]uint32{}, q.Backends...)
}

// about returns a question about backends; nil means all.
func about(backends []uint32) *connectionQuestion {
	return &connectionQuestion{All: backends == nil, Backends: backends}
}

// Connections returns the number of connections to backends and at most limit of them,
// never more than MaxConnections. backends holds at most MaxNamed stable numbers; nil
// means all. Cancellation works as for Sessions.
func (c *Client) Connections(ctx context.Context, backends []uint32, limit int) (total int, list []Connection, err error) {
	q := about(backends)
	q.Limit = min(max(limit, 0), MaxConnections)
	a, err := c.answerTo(ctx, &question{Connections: q})
	if err != nil {
		return 0, nil, fmt.Errorf("ask for connections: %w", err)
	}
	return a.Total, a.Connections, nil
}

// EndConnections ends the connections to backends in the engine (nil means all) and
// returns their number. A request that was sent takes effect even if ctx ends.
func (c *Client) EndConnections(ctx context.Context, backends []uint32) (ended int, err error) {
	q := about(backends)
	q.End = true
	a, err := c.answerTo(ctx, &question{Connections: q})
	if err != nil {
		return 0, fmt.Errorf("end connections: %w", err)
	}
	return a.Total, nil
}

// answer gets the answer from the handler.
func (q *connectionQuestion) answer(h Handler) answer {
	if q.End {
		return answer{Total: h.EndConnections(q.named())}
	}
	limit := min(max(q.Limit, 0), MaxConnections)
	total, list := h.Connections(q.named(), limit)
	list = list[:min(len(list), limit)]
	return answer{Total: max(total, len(list)), Connections: list}
}
